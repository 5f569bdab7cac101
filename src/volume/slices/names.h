/* A volume kept as one file per slice: which files a folder or a pattern means, and in which order. */
#ifndef CRD_VOLUME_SLICES_NAMES_H
#define CRD_VOLUME_SLICES_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/monitor.h"
#include "volume/format.h"

/* Does the folder or the pattern hold at least one file with one of the format's suffixes? Hidden files and
 * folders inside don't count. */
bool crd_slices_present(const char *path, const crd_format *format);

/* The files' paths, slice 2 before slice 10. A number missing in their sequence, names of two sequences and a number
 * that occurs twice are errors; what was ignored or had to be assumed is said through `monitor`. Free with
 * crd_slices_free. */
crd_status crd_slices_list(const char *path, const crd_format *format, const crd_monitor *monitor, char ***names,
                           int64_t *count);
void crd_slices_free(char ***names, int64_t count);

/* Rising order of names in which runs of digits count as numbers; for qsort and tests. */
int crd_slices_compare(const char *a, const char *b);

#endif
