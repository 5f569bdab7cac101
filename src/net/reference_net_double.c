/* The textbook network in double. */
#include "net/reference_net.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"

#include "ops/real_double.h"

#include "net/reference_net.inc"
