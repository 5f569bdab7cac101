/* Reports: one self-contained HTML page on a run, or on two side by side, for people who have to decide something.
 *
 *     crd_report_options options;
 *     crd_settings_default(&crd_report_settings, &options);
 *     crd_settings_set(&crd_report_settings, &options, "run", "run");
 *     crd_settings_set(&crd_report_settings, &options, "output", "report.html");
 *     if (crd_report(&options, NULL) != CRD_OK) fail(crd_last_error()->message);
 *     crd_settings_clear(&crd_report_settings, &options);
 *
 * The page needs no network. Its pictures are inside it, and also lie beside it as PNG files; so are all slices,
 * reduced to at most 14 MiB, and a script that leafs through them, without which it can be read as well. What a run
 * doesn't have (a label, a probe, further intervals) is left out. Needs a build with libpng.
 *
 * Threads: several calls may run at once, each in a thread of its own and with an output of its own. Options are only
 * read, and may be shared.
 */
#ifndef CREDENCE_REPORT_H
#define CREDENCE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "credence/monitor.h"
#include "credence/settings.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every option; crd_report_settings describes and fills it. Strings and lists are owned by the struct. */
typedef struct crd_report_options {
    size_t size;  /* of this struct: crd_settings_default fills it in */
    char *run;    /* a run folder of `predict` */
    char *second; /* another one, shown beside it; or NULL */
    char *output; /* the page; pictures go to a folder beside it, NAME_pictures */
    char *label;  /* the run is validated against it, and it is drawn over the scan; NULL: figures as they are */
    char *scan;   /* where the manifest's scan is now; or NULL */
    char *title;  /* NULL: the scan's name */
    crd_real_list foreground, ignore;
    char *mask;
    int64_t threads;
    bool small; /* without the slider through all slices */
} crd_report_options;

CRD_API extern const crd_settings crd_report_settings;

/* Writes the page and its pictures; a page or pictures that an earlier report left there are replaced. `monitor` may be
 * NULL. */
CRD_API crd_status crd_report(const crd_report_options *options, const crd_monitor *monitor);

#ifdef __cplusplus
}
#endif
#endif
