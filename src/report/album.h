/* The pictures of a report: drawn, written beside the page, and put into it. */
#ifndef CRD_REPORT_ALBUM_H
#define CRD_REPORT_ALBUM_H

#include "base/text.h"
#include "report/subject.h"

typedef struct crd_album {
    crd_text *page;
    const char *folder; /* where the PNG files go; made already */
    const char *which;  /* put before captions: "", or "Run A: " */
    int count;
} crd_album;

/* Slices across all three axes, chosen where they matter; the same for both runs, chosen by the first. */
crd_status crd_album_slices(crd_album *album, crd_subject *subjects, int count);
/* The table of the most uncertain regions, each with a crop. */
crd_status crd_album_regions(crd_album *album, crd_subject *subject);

/* Colour bar from 0 to `high`. */
void crd_album_bar(crd_text *page, double high, const char *words);

#endif
