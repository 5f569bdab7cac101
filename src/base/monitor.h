/* The library's side of credence/monitor.h. All of these accept a NULL monitor. */
#ifndef CRD_BASE_MONITOR_H
#define CRD_BASE_MONITOR_H

#include "base/error.h"
#include "credence/monitor.h"

void crd_info(const crd_monitor *monitor, const char *format, ...) __attribute__((format(printf, 2, 3)));
void crd_warn(const crd_monitor *monitor, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* CRD_ERR_CANCELLED, with the record set, when the callback asks to stop. */
crd_status crd_advance(const crd_monitor *monitor, const char *stage, const char *unit, int64_t done, int64_t total,
                       const char *note);

#endif
