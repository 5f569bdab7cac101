/* Options as data: those that did not come through the settings table are held against its ranges here. */
#ifndef CRD_PHANTOM_CHECK_H
#define CRD_PHANTOM_CHECK_H

#include "credence/phantom.h"

crd_status crd_phantom_check(crd_phantom_kind kind, const crd_phantom_options *options);

/* The rows that decide what the phantom is: all but the folder and the threads. */
const crd_settings *crd_phantom_recorded(crd_phantom_kind kind);

#endif
