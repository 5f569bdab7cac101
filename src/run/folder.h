/* The run folder for the run that writes it: created, locked, and never silently overwritten. */
#ifndef CRD_RUN_FOLDER_H
#define CRD_RUN_FOLDER_H

#include "run/lock.h"
#include "run/outputs.h"

/* What is to be written. Everything is borrowed. */
typedef struct crd_run_target {
    const char *path;
    bool resume, overwrite;
    const char *name; /* what the volumes' names begin with */
    const crd_output *outputs;
    int64_t output_count;
    const char *inputs[3]; /* files that are read: scan, model, mask; NULL: none */
} crd_run_target;

typedef struct crd_run_folder {
    crd_run_target target;
    crd_lock *lock;
    bool made;     /* by this run: removed again if nothing was written */
    bool occupied; /* it holds something, which is a run's */
    bool resume;   /* there are finished slices to continue from */
    bool complete; /* a whole run is there, and --resume was asked for: nothing to do */
} crd_run_folder;

/* Makes and locks the folder, and refuses one that holds something unless --overwrite or --resume was given. */
crd_status crd_run_folder_open(const crd_run_target *target, const crd_monitor *monitor, crd_run_folder *out);
/* For --overwrite: removes the earlier run's files. To be called once nothing can be refused any more; that no input is
 * among them is known by then. Whatever ends it, what is left is no complete run and can be cleared again. */
crd_status crd_run_folder_clear(const crd_run_folder *folder);
/* Once .partial is there and before the first volume is begun: notes which volumes the run writes, and removes those
 * that it began in another format before it was interrupted. */
crd_status crd_run_folder_list(const crd_run_folder *folder);
void crd_run_folder_close(crd_run_folder *folder);

/* Is there room for `bytes` more than the finished slices that are there already? */
crd_status crd_run_folder_check_space(const crd_run_folder *folder, int64_t bytes);

#endif
