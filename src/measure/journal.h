/* Inside src/measure: what a measurement of a run has finished, so that --resume needn't do it again. Each thing is a
 * small file of its own in RUN/.measure, which is gone once the measurement is complete. */
#ifndef CRD_MEASURE_JOURNAL_H
#define CRD_MEASURE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/monitor.h"

typedef struct crd_journal crd_journal;

/* `key` says what is measured and how: what was kept under another key is thrown away, as is all without `resume`. */
crd_status crd_journal_open(const char *folder, const char *key, bool resume, const crd_monitor *monitor,
                            crd_journal **out);
void crd_journal_close(crd_journal **journal);
/* The measurement is complete: removes everything. NULL is fine. */
crd_status crd_journal_finish(crd_journal *journal);

/* Bytes under a name ("transport-1-z-5"). What isn't there, or isn't of that size and whole, isn't found. Without a
 * journal (NULL) nothing is, and nothing is kept. */
crd_status crd_journal_find(const crd_journal *journal, const char *name, void *data, int64_t bytes, bool *found);
crd_status crd_journal_keep(const crd_journal *journal, const char *name, const void *data, int64_t bytes);

#endif
