#include "report/style.h"

#include <string.h>

#include "draw/style.h"

void crd_report_add_file(crd_text *page, const char *name)
{
    for (int i = 0; i < crd_report_file_count; i++) {
        if (strcmp(crd_report_files[i].name, name) != 0) continue;
        crd_text_add_bytes(page, (const char *)crd_report_files[i].bytes, crd_report_files[i].count);
    }
}

void crd_report_style(crd_text *page)
{
    crd_text_add(page,
                 ":root{color-scheme:light dark;" CRD_LIGHT_COLOURS "--warn:#fff4d6;--warn-line:#b45309}"
                 "@media(prefers-color-scheme:dark){:root{" CRD_DARK_COLOURS "--warn:#3a2f12;--warn-line:#fbbf24}}"
                 "@media print{:root{color-scheme:light;" CRD_LIGHT_COLOURS
                 "--card:#fff;--ink:#000;--soft:#333;--line:#bbb;--warn:#fff;--warn-line:#b45309}}" CRD_SVG_STYLE "\n");
    crd_report_add_file(page, "report.css");
}
