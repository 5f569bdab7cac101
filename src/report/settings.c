#include <stddef.h>

#include "credence/report.h"
#include "volume/setting_rows.h"

#define AT(FIELD) offsetof(crd_report_options, FIELD)

static const crd_setting rows[] = {
    {.name = "run",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(run),
     .argument = "DIR",
     .help = "the run folder, as the first argument without a flag gives it",
     .group = "Report"},
    {.name = "second",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(second),
     .argument = "DIR",
     .help = "a run to show beside it, as the second argument gives it"},
    {.name = "output",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_PLACE,
     .offset = AT(output),
     .argument = "FILE.html",
     .short_name = 'o',
     .help = "the page; its pictures are inside it, and also in the folder FILE_pictures"},
    {.name = "title",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(title),
     .argument = "TEXT",
     .help = "heading of the page; without it the scan's name"},
    {.name = "small",
     .kind = CRD_SETTING_FLAG,
     .offset = AT(small),
     .help = "leave out the slider through all slices, which takes up to 14 MiB"},
    {.name = "scan",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(scan),
     .argument = "FILE",
     .help = "the scan, where it isn't any more where the run's manifest says"},
    {.name = "label",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(label),
     .argument = "FILE",
     .help = "label that is drawn over the scan, and against which the run is validated",
     .group = "Label"},
    CRD_FOREGROUND_ROW(crd_report_options, "values of the label that mean foreground"),
    CRD_IGNORE_ROW(crd_report_options),
    CRD_MASK_ROW(crd_report_options, "FILE|cylinder", "voxels that count in a validation"),
    CRD_THREADS_ROW(crd_report_options, 4096, "Running", "threads; 0: one per core"),
};

const crd_settings crd_report_settings = {
    .title = "report", .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(crd_report_options)};
