#include "base/monitor.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const crd_monitor *monitor, crd_level level, const char *format, va_list arguments)
{
    char text[1024];
    if (monitor == NULL || monitor->message == NULL) return;
    vsnprintf(text, sizeof text, format, arguments);
    crd_clean_line(text);
    monitor->message(monitor->context, level, text);
}

void crd_info(const crd_monitor *monitor, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(monitor, CRD_LEVEL_INFO, format, arguments);
    va_end(arguments);
}

void crd_warn(const crd_monitor *monitor, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(monitor, CRD_LEVEL_WARNING, format, arguments);
    va_end(arguments);
}

crd_status crd_advance(const crd_monitor *monitor, const char *stage, const char *unit, int64_t done, int64_t total,
                       const char *note)
{
    if (monitor == NULL || monitor->progress == NULL) return CRD_OK;
    const crd_progress progress = {.stage = stage, .unit = unit, .done = done, .total = total, .note = note};
    if (monitor->progress(monitor->context, &progress)) return CRD_OK;
    return crd_fail(CRD_ERR_CANCELLED, "stopped while %s, at %lld of %lld %s", stage, (long long)done, (long long)total,
                    unit);
}
