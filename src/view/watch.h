/* Has the file of the scan changed since the viewer was started, or gone? What is seen would be a mixture then. */
#ifndef CRD_VIEW_WATCH_H
#define CRD_VIEW_WATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crd_watch {
    const char *path;                                  /* NULL: nothing is watched */
    int64_t bytes, device, file, seconds, nanoseconds; /* as they were */
} crd_watch;

/* A file or a folder; what is neither (a pattern, a volume in a file of several) isn't watched. `path` must stay. */
void crd_watch_begin(crd_watch *watch, const char *path);
/* A sentence, once, when it isn't as it was; else NULL. */
const char *crd_watch_look(crd_watch *watch);

#endif
