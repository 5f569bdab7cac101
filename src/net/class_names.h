/* Names of classes as a text, "pore,ysz,nickel". */
#ifndef CRD_NET_CLASS_NAMES_H
#define CRD_NET_CLASS_NAMES_H

#include "credence/model.h"

int crd_class_names_count(const char *names);
/* The check of such a setting. */
crd_status crd_check_class_names(const char *name, const char *text);

#endif
