/* The files of the page, which lie in web/ and inside the library (cmake/embed.cmake). */
#ifndef CRD_VIEW_PAGE_H
#define CRD_VIEW_PAGE_H

#include <stdint.h>

typedef struct crd_page_file {
    const char *name; /* "paint/raster.js": as web/ has it */
    const char *type; /* "text/javascript; charset=utf-8" */
    const char *etag; /* with its quotes */
    const unsigned char *bytes;
    int64_t count;
} crd_page_file;

extern const crd_page_file crd_page_files[];
extern const int crd_page_file_count;

#endif
