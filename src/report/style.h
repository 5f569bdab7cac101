/* The style sheet and the script of a report. They are the files of web/report inside the library (cmake/embed.cmake);
 * the colours before them are those of all that is drawn. */
#ifndef CRD_REPORT_STYLE_H
#define CRD_REPORT_STYLE_H

#include "base/text.h"

typedef struct crd_report_file {
    const char *name; /* "report.css" */
    const char *type, *etag;
    const unsigned char *bytes;
    int64_t count;
} crd_report_file;

extern const crd_report_file crd_report_files[];
extern const int crd_report_file_count;

/* Light or dark as the reader's browser is set, and for paper. */
void crd_report_style(crd_text *page);
/* The file of that name, as it is. */
void crd_report_add_file(crd_text *page, const char *name);

#endif
