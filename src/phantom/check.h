/* Checks options that did not come through the settings table against its ranges. */
#ifndef CRD_PHANTOM_CHECK_H
#define CRD_PHANTOM_CHECK_H

#include "credence/phantom.h"

crd_status crd_phantom_check(crd_phantom_kind kind, const crd_phantom_options *options);

#endif
