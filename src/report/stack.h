/* All slices of a run, reduced, for the slider of the page: scan, classes, uncertainty, a byte for each voxel. */
#ifndef CRD_REPORT_STACK_H
#define CRD_REPORT_STACK_H

#include "base/text.h"
#include "report/reported_run.h"

/* In the page, as base64. */
#define CRD_STACK_BYTES (INT64_C(14) << 20)

/* How many voxels become one along each axis, so that at most `voxels` are left: those that are shortest in space are
 * put together first. `spacing` of 0: cubes. */
void crd_stack_steps(const int64_t shape[3], const double spacing[3], int64_t voxels, int64_t steps[3]);

/* What the page's script needs to know of it, as the value of an HTML attribute. */
typedef struct crd_stack {
    int64_t shape[3], steps[3];
    int count;       /* of PNG files: scan, then classes and uncertainty of each run */
    uint8_t *png[5]; /* grey, slice under slice */
    int64_t bytes[5];
    char names[5][16]; /* "scan", "seg0", "unc0", ... */
} crd_stack;

/* Means over the voxels that become one (scan, uncertainty), and what most of them are (classes; 255 outside the mask).
 * Runs of different boxes have none: `count` is 0. Free whatever happens; begins as {0}. */
crd_status crd_stack_make(crd_reported_run *runs, int count, double high, int64_t limit, const crd_monitor *monitor,
                          crd_stack *out);
void crd_stack_free(crd_stack *stack);

/* data-facts="..." for the element that the script finds its pictures in. */
void crd_stack_facts(crd_text *page, const crd_stack *stack, const crd_reported_run *runs, int count);
/* The voxels, at the end of the page. */
void crd_stack_data(crd_text *page, const crd_stack *stack);

#endif
