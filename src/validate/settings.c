#include <stddef.h>

#include "credence/validate.h"

#define AT(FIELD) offsetof(crd_validate_options, FIELD)

static const crd_setting rows[] = {
    {.name = "run", .kind = CRD_SETTING_TEXT, .offset = AT(run), .argument = "DIR",
     .help = "the run folder, as the argument without a flag gives it", .group = "What is validated"},
    {.name = "prob", .kind = CRD_SETTING_TEXT, .offset = AT(prob), .argument = "FILE",
     .help = "probability map, in place of a run folder's"},
    {.name = "seg", .kind = CRD_SETTING_TEXT, .offset = AT(seg), .argument = "FILE",
     .help = "segmentation; without one, where the probability is above one half"},
    {.name = "unc", .kind = CRD_SETTING_TEXT, .offset = AT(unc), .argument = "FILE", .help = "uncertainty map"},
    {.name = "intervals", .kind = CRD_SETTING_LIST, .offset = AT(intervals), .argument = "FILE",
     .help = "uncertainty map of a wider interval, to see how the map grows; may be repeated"},
    {.name = "measure", .kind = CRD_SETTING_CHOICE, .offset = AT(measure), .initial = "width", .choices = "width|std",
     .help = "which map of a run folder is the uncertainty: the width of the interval, or the standard deviation"},
    {.name = "label", .kind = CRD_SETTING_TEXT, .offset = AT(label), .argument = "FILE", .help = "the truth, or the hand label",
     .group = "Label"},
    {.name = "foreground", .kind = CRD_SETTING_REALS, .offset = AT(foreground), .argument = "V,...",
     .help = "values of the label that mean foreground; without it the larger of two"},
    {.name = "ignore", .kind = CRD_SETTING_REALS, .offset = AT(ignore), .argument = "V,...",
     .help = "values of the label that mean \"not labelled\": those voxels don't count"},
    {.name = "mask", .kind = CRD_SETTING_TEXT, .offset = AT(mask), .argument = "FILE|cylinder",
     .help = "voxels that count: where a volume isn't 0, or the circle inscribed in (y, x); without it the run's own"},
    {.name = "edge", .kind = CRD_SETTING_INT, .offset = AT(edge), .initial = "2", .low = 1, .high = 32, .argument = "N",
     .help = "edge of the cubes in voxels", .group = "PAvPU3D"},
    {.name = "stride", .kind = CRD_SETTING_INT, .offset = AT(stride), .initial = "1", .low = 1, .high = 1000000,
     .argument = "N", .help = "voxels from one cube to the next"},
    {.name = "accuracy-threshold", .kind = CRD_SETTING_REAL, .offset = AT(accuracy_threshold), .initial = "0.875",
     .low = 0, .high = 1, .argument = "SHARE", .help = "a cube is accurate with at least this share of right voxels"},
    {.name = "threshold", .kind = CRD_SETTING_TEXT, .offset = AT(threshold), .initial = "mean", .argument = "T",
     .help = "a cube is uncertain when its mean uncertainty is at least this: a number, or mean for that of the map"},
    {.name = "thresholds", .kind = CRD_SETTING_REALS, .offset = AT(thresholds), .low = 0, .high = 1, .argument = "T,...",
     .help = "thresholds of the curve; without them 64 that are spread as the map's values are"},
    {.name = "core", .kind = CRD_SETTING_FLAG, .offset = AT(core),
     .help = "leave out geometry, growth, slices and distances: about three times as fast", .group = "Running"},
    {.name = "csv", .kind = CRD_SETTING_FLAG, .offset = AT(csv),
     .help = "print the figures as a line for spreadsheets, below a line of names"},
    {.name = "threads", .kind = CRD_SETTING_INT, .offset = AT(threads), .initial = "0", .low = 0, .high = 4096,
     .argument = "N", .help = "threads; 0: one per core"},
    {.name = "shape", .kind = CRD_SETTING_TRIPLE, .offset = AT(shape), .low = 1, .high = 9007199254740991.0,
     .argument = "z,y,x", .help = "a raw label: voxels along z, y and x", .group = "What the label's file doesn't say"},
    {.name = "type", .kind = CRD_SETTING_TEXT, .offset = AT(type), .argument = "TYPE",
     .help = "a raw label: u8, i8, u16, i16, u32, i32, f32 or f64, with le or be for the byte order"},
    {.name = "offset", .kind = CRD_SETTING_INT, .offset = AT(offset), .initial = "0", .low = 0,
     .high = 9007199254740991.0, .argument = "BYTES", .help = "a raw label: bytes to skip at the start of the file"},
};

const crd_settings crd_validate_settings = {.title = "validate", .rows = rows, .count = sizeof rows / sizeof rows[0]};
