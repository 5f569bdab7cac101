#include <stddef.h>

#include "credence/report.h"

#define AT(FIELD) offsetof(crd_report_options, FIELD)

static const crd_setting rows[] = {
    {.name = "run", .kind = CRD_SETTING_TEXT, .offset = AT(run), .argument = "DIR",
     .help = "the run folder, as the first argument without a flag gives it", .group = "Report"},
    {.name = "second", .kind = CRD_SETTING_TEXT, .offset = AT(second), .argument = "DIR",
     .help = "a run to show beside it, as the second argument gives it"},
    {.name = "output", .kind = CRD_SETTING_TEXT, .offset = AT(output), .argument = "FILE.html", .short_name = 'o',
     .help = "the page; its pictures are inside it, and also in the folder FILE_pictures"},
    {.name = "title", .kind = CRD_SETTING_TEXT, .offset = AT(title), .argument = "TEXT",
     .help = "heading of the page; without it the scan's name"},
    {.name = "scan", .kind = CRD_SETTING_TEXT, .offset = AT(scan), .argument = "FILE",
     .help = "the scan, where it isn't any more where the run's manifest says"},
    {.name = "label", .kind = CRD_SETTING_TEXT, .offset = AT(label), .argument = "FILE",
     .help = "label that is drawn over the scan; runs that haven't been validated are validated against it",
     .group = "Label"},
    {.name = "foreground", .kind = CRD_SETTING_REALS, .offset = AT(foreground), .argument = "V,...",
     .help = "values of the label that mean foreground"},
    {.name = "ignore", .kind = CRD_SETTING_REALS, .offset = AT(ignore), .argument = "V,...",
     .help = "values of the label that mean \"not labelled\""},
    {.name = "mask", .kind = CRD_SETTING_TEXT, .offset = AT(mask), .argument = "FILE|cylinder",
     .help = "voxels that count in a validation"},
    {.name = "threads", .kind = CRD_SETTING_INT, .offset = AT(threads), .initial = "0", .low = 0, .high = 4096,
     .argument = "N", .help = "threads; 0: one per core", .group = "Running"},
};

const crd_settings crd_report_settings = {.title = "report", .rows = rows, .count = sizeof rows / sizeof rows[0]};
