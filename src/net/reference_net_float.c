/* The textbook network in float. */
#include "net/reference_net.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"

#include "ops/real_float.h"

#include "net/reference_net.inc"
