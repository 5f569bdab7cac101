/* The parts of the page. */
#ifndef CRD_REPORT_PAGE_H
#define CRD_REPORT_PAGE_H

#include "base/text.h"
#include "report/names.h"
#include "report/reported_run.h"
#include "report/stack.h"

/* Pictures go into the page, and as PNG files into a folder, which is made already. */
typedef struct crd_page_pictures {
    crd_text *page;
    const char *folder;
    const char *which; /* put before captions: "", or "Run A: " */
    int count;
    const char *look; /* what the page's slider shows in place of the next one; NULL: nothing */
    bool framed;      /* draw a line around */
    double frame[4];  /* left, top, right, bottom, as shares of the picture */
} crd_page_pictures;

/* "Run A: ", "Run B: " */
extern const char *const crd_page_run_names[2];

/* Everything up to the first section: style sheet, heading. */
void crd_page_begin(crd_text *page, const char *title, const crd_reported_run *runs, int count);
/* The middle slice, a sentence, warnings, and the numbers that matter. */
crd_status crd_page_opening(crd_page_pictures *pictures, crd_reported_run *runs, int count, const crd_stack *stack);
/* Its pictures: scan, segmentation, uncertainty. */
crd_status crd_page_middle(crd_page_pictures *pictures, crd_reported_run *runs, int count, const crd_stack *stack);
/* Where the model comes from, how good it is, and the figures against a label. */
crd_status crd_page_trust(crd_text *page, const crd_reported_run *runs, int count);
/* The most uncertain regions of all runs, each with a crop. */
crd_status crd_page_regions(crd_page_pictures *pictures, crd_reported_run *runs, int count);
/* Slices across all three axes, chosen where they matter; the same for both runs, chosen by the first. */
crd_status crd_page_slices(crd_page_pictures *pictures, crd_reported_run *runs, int count);
/* Every plot, of two runs side by side. */
crd_status crd_page_plots(crd_text *page, const crd_reported_run *runs, int count);
/* What the uncertainty is, and what it isn't. */
void crd_page_words(crd_text *page, const crd_reported_run *run);
/* A paragraph to paste, and the settings. */
crd_status crd_page_made(crd_text *page, const crd_reported_run *runs, int count);
/* With the voxels of the slider and the script. */
void crd_page_end(crd_text *page, const crd_stack *stack);

/* Of more than two classes: shares with their intervals, Dice, IoU; which colour is which; what was taken for what. */
void crd_page_class_table(crd_text *page, const crd_reported_run *run);
void crd_page_class_key(crd_text *page, const crd_reported_run *run);
void crd_page_class_name(crd_text *page, const crd_reported_run *run, int number);
void crd_page_confusion(crd_text *page, const crd_reported_run *runs, int count);
/* Do two runs tell the same classes apart? */
bool crd_page_same_classes(const crd_reported_run runs[2]);
/* What the mask's line in the pictures is, for a key; nothing where there is no mask. */
void crd_page_mask_key(crd_text *page, const crd_reported_run *runs, int count);
/* Which outline is which; `label`: there is one. */
void crd_page_outline_key(crd_text *page, const crd_reported_run *runs, int count, bool label);
/* The end of the colour bar for all maps of the page. */
double crd_page_highest(const crd_reported_run *runs, int count);
/* Above what is said of one of two runs: its name. */
void crd_page_which(crd_text *page, const crd_reported_run *run);
/* A whole number with its thousands apart: 1 234 567. */
void crd_page_count(crd_text *page, int64_t count);
/* The unit of the voxels' edges as people write it. */
const char *crd_page_unit(const crd_reported_run *run);

#endif
