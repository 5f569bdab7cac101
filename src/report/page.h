/* The parts of the page. */
#ifndef CRD_REPORT_PAGE_H
#define CRD_REPORT_PAGE_H

#include "base/text.h"
#include "report/reported_run.h"

/* Everything up to the first section: style sheet, heading, warnings. */
void crd_page_begin(crd_text *page, const char *title, const crd_reported_run *runs, int count);
/* The figures that matter, in large print, and as a table beside those of a second run. */
crd_status crd_page_summary(crd_text *page, const crd_reported_run *runs, int count);
/* Of more than two classes: shares with their intervals, Dice, IoU; which colour is which; what was taken for what. */
void crd_page_class_table(crd_text *page, const crd_reported_run *run);
void crd_page_class_key(crd_text *page, const crd_reported_run *run);
void crd_page_confusion(crd_text *page, const crd_reported_run *runs, int count);
/* Do two runs tell the same classes apart? */
bool crd_page_same_classes(const crd_reported_run runs[2]);
/* What the interval is, and what it isn't. */
void crd_page_words(crd_text *page, const crd_reported_run *run);

/* Pictures go into the page, and as PNG files into a folder, which is made already. */
typedef struct crd_page_pictures {
    crd_text *page;
    const char *folder;
    const char *which; /* put before captions: "", or "Run A: " */
    int count;
} crd_page_pictures;

/* Slices across all three axes, chosen where they matter; the same for both runs, chosen by the first. */
crd_status crd_page_slices(crd_page_pictures *pictures, crd_reported_run *runs, int count);
/* The table of the most uncertain regions, each with a crop. */
crd_status crd_page_regions(crd_page_pictures *pictures, crd_reported_run *run);

/* Every plot, of two runs side by side. */
crd_status crd_page_plots(crd_text *page, const crd_reported_run *runs, int count);
void crd_page_manifest(crd_text *page, const crd_reported_run *runs, int count);
void crd_page_end(crd_text *page);

/* The unit of the voxels' edges as people write it. */
const char *crd_page_unit(const crd_reported_run *run);

#endif
