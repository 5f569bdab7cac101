/* Runs that come, or grow, while the server is there. */
#ifndef CRD_VIEW_RUNS_H
#define CRD_VIEW_RUNS_H

#include "base/error.h"

typedef struct crd_view crd_view;
typedef struct crd_runs crd_runs;

crd_status crd_runs_open(crd_runs **out);
void crd_runs_close(crd_runs **runs);
/* From now on the run in `folder` is looked for, shown as `name`, and followed until it is complete. Any thread. */
crd_status crd_runs_follow(crd_view *view, const char *folder, const char *name);
/* The same of those that the server began with and that aren't complete. */
crd_status crd_runs_follow_first(crd_view *view, const char *folder);
/* An earlier run that is complete is shown, too; the last one stays the one that counts. Any thread. */
crd_status crd_runs_show(crd_view *view, const char *folder, const char *name);
/* The same of a part of a run: a box, in a folder of its own. Any thread. */
crd_status crd_runs_show_part(crd_view *view, const char *folder, const char *name);
/* Nobody writes it any more: what is there stays, and nothing is looked for. */
void crd_runs_forget(crd_view *view, const char *name);
/* Looks at all of them; from one thread. */
void crd_runs_look(crd_view *view);

#endif
