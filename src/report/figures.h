/* The pictures of a page: drawn, written beside it, and put into it. */
#ifndef CRD_REPORT_FIGURES_H
#define CRD_REPORT_FIGURES_H

#include "report/page.h"
#include "report/planes.h"

enum { CRD_FIGURE_PREDICTED, CRD_FIGURE_LABELLED }; /* numbers of crd_class_colours */
enum { CRD_FIGURE_EDGE = 448, CRD_FIGURE_MASKED = 0xf2f2f2 };

/* A colour bar from 0 to `high`. */
void crd_figure_bar(crd_text *page, double high, const char *words);
crd_status crd_figure_grey(crd_page_pictures *pictures, const crd_planes *p, int64_t width, int64_t height,
                           bool contours, const char *where);
crd_status crd_figure_classes(crd_page_pictures *pictures, const crd_planes *p, const crd_plane *plane, int64_t width,
                              int64_t height, const char *name, const char *where);
crd_status crd_figure_segmentation(crd_page_pictures *pictures, const crd_planes *p, int64_t width, int64_t height,
                                   const char *where);
crd_status crd_figure_map(crd_page_pictures *pictures, const crd_planes *p, const crd_plane *plane, double high,
                          int64_t width, int64_t height, const char *name, const char *where);
crd_status crd_figure_tinted(crd_page_pictures *pictures, const crd_reported_run *s, const crd_planes *p, int64_t width,
                             int64_t height, const char *where);
/* Where two runs of the same classes don't agree, in one slice. */
crd_status crd_figure_difference(crd_page_pictures *pictures, const crd_planes p[2], int64_t width, int64_t height,
                                 const char *where);

#endif
