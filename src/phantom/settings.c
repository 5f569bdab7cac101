/* The settings of both kinds. Strengths that mean the same share a row; their defaults are what makes a kind look like
 * itself, and hard enough that no global threshold does the work (docs/PHANTOMS.md has the figures). */
#include <stddef.h>

#include "base/error.h"
#include "phantom/check.h"

#define AT(FIELD) offsetof(crd_phantom_options, FIELD)

#define REAL(NAME, FIELD, DEFAULT, LOW, HIGH, ARGUMENT, HELP)                                                          \
    {                                                                                                                  \
        .name = NAME, .kind = CRD_SETTING_REAL, .offset = AT(FIELD), .initial = DEFAULT, .low = LOW, .high = HIGH,     \
        .argument = ARGUMENT, .help = HELP                                                                             \
    }

#define FILE_ROWS                                                                                                      \
    {.name = "output",                                                                                                 \
     .kind = CRD_SETTING_TEXT,                                                                                         \
     .offset = AT(output),                                                                                             \
     .argument = "DIR",                                                                                                \
     .short_name = 'o',                                                                                                \
     .help = "folder for scan, label, truth and phantom.json"},                                                        \
        {.name = "shape",                                                                                              \
         .kind = CRD_SETTING_TRIPLE,                                                                                   \
         .offset = AT(shape),                                                                                          \
         .initial = "64,128,128",                                                                                      \
         .low = 8,                                                                                                     \
         .high = 1000000,                                                                                              \
         .argument = "z,y,x",                                                                                          \
         .help = "voxels along each axis"},                                                                            \
        {.name = "seed",                                                                                               \
         .kind = CRD_SETTING_INT,                                                                                      \
         .offset = AT(seed),                                                                                           \
         .initial = "1",                                                                                               \
         .low = 0,                                                                                                     \
         .high = 9007199254740991.0,                                                                                   \
         .argument = "N",                                                                                              \
         .help = "another seed, another sample of the same kind"},                                                     \
        {.name = "format",                                                                                             \
         .kind = CRD_SETTING_TEXT,                                                                                     \
         .offset = AT(format),                                                                                         \
         .initial = "tiff",                                                                                            \
         .argument = "NAME",                                                                                           \
         .help = "format of the three volumes"},                                                                       \
        {.name = "type",                                                                                               \
         .kind = CRD_SETTING_CHOICE,                                                                                   \
         .offset = AT(type),                                                                                           \
         .initial = "u16",                                                                                             \
         .choices = "u8|u16|f32",                                                                                      \
         .help = "type of the scan"},                                                                                  \
        {.name = "spacing",                                                                                            \
         .kind = CRD_SETTING_TEXT,                                                                                     \
         .offset = AT(spacing),                                                                                        \
         .argument = "z,y,x,unit",                                                                                     \
         .help = "edges of a voxel, written into the files"},                                                          \
    {                                                                                                                  \
        .name = "threads", .kind = CRD_SETTING_INT, .offset = AT(threads), .initial = "0", .low = 0, .high = 4096,     \
        .argument = "N", .help = "threads to use; 0: one per core"                                                     \
    }

#define SCAN_ROWS(CONTRAST, BRIGHTNESS, TEXTURE, BLUR, NOISE, CORRELATED, LENGTH, RINGS, CUPPING, DRIFT)               \
    REAL("contrast", contrast, CONTRAST, 0.0, 1.0, "G", "light phase minus dark phase, as a share of full scale"),     \
        REAL("brightness", brightness, BRIGHTNESS, 0.0, 1.0, "G", "grey value half-way between the phases"),           \
        REAL("texture", texture, TEXTURE, 0.0, 1.0, "G", "standard deviation of the grey value inside each phase"),    \
        REAL("blur", blur, BLUR, 0.0, 5.0, "V", "standard deviation of the point spread, in voxels"),                  \
        REAL("noise", noise, NOISE, 0.0, 1.0, "G", "standard deviation of the white noise"),                           \
        REAL("noise-correlated", noise_correlated, CORRELATED, 0.0, 1.0, "G",                                          \
             "standard deviation of the correlated noise"),                                                            \
        REAL("noise-correlation", noise_correlation, LENGTH, 0.0, 5.0, "V", "correlation length of it, in voxels"),    \
        REAL("rings", rings, RINGS, 0.0, 1.0, "G", "standard deviation of the ring artifacts"),                        \
        REAL("cupping", cupping, CUPPING, -1.0, 1.0, "G", "grey value at the corners minus that at the centre"),       \
        REAL("drift", drift, DRIFT, 0.0, 1.0, "G", "standard deviation of the slow drift"),                            \
    {                                                                                                                  \
        .name = "drift-length", .kind = CRD_SETTING_INT, .offset = AT(drift_length), .initial = "48", .low = 2,        \
        .high = 4096, .argument = "V", .help = "voxels over which the drift changes"                                   \
    }

#define LABEL_ROWS(WAVER, JITTER, MISS)                                                                                \
    REAL("label-waver", label_waver, WAVER, 0.0, 5.0, "V",                                                             \
         "standard deviation of the label's boundary, smooth in 3D, in voxels"),                                       \
        REAL("label-jitter", label_jitter, JITTER, 0.0, 5.0, "V", "the same, anew in every slice"),                    \
        REAL("label-miss", label_miss, MISS, 0.0, 1.0, "P",                                                            \
             "probability that a small object is missing from the label")

static const crd_setting graphite_rows[] = {
    FILE_ROWS,
    REAL("fraction", fraction, "0.5", 0.01, 0.9, "F", "share of the voxels that are grain"),
    REAL("grain-size", grain_size, "11", 2.0, 200.0, "V", "typical radius of a grain, in voxels"),
    REAL("grain-spread", grain_spread, "0.22", 0.0, 0.5, "S", "standard deviation of the logarithm of the radius"),
    REAL("grain-flatness", grain_flatness, "2.8", 1.0, 8.0, "R", "long radius over short radius"),
    REAL("grain-tilt", grain_tilt, "22", 0.0, 60.0, "DEG", "typical angle between a grain's flat axis and z"),
    REAL("grain-grey", grain_grey, "0.012", 0.0, 1.0, "G", "standard deviation of the grey value from grain to grain"),
    REAL("grain-film", grain_film, "1.6", 0.0, 5.0, "V", "thickness of the matrix between grains that touch"),
    REAL("roughness", roughness, "0.6", 0.0, 5.0, "V", "standard deviation of the grains' surfaces"),
    SCAN_ROWS("0.2", "0.45", "0.015", "0.9", "0.028", "0.03", "0.8", "0.02", "0.06", "0.025"),
    LABEL_ROWS("0.4", "0.25", "0.05"),
};

static const crd_setting weld_rows[] = {
    FILE_ROWS,
    REAL("fraction", fraction, "0.18", 0.001, 0.5, "F", "share of all voxels that are void"),
    REAL("void-size", void_size, "5", 1.0, 200.0, "V", "typical radius of a void, in voxels"),
    REAL("void-spread", void_spread, "0.35", 0.0, 0.5, "S", "standard deviation of the logarithm of the radius"),
    REAL("void-flatness", void_flatness, "1.3", 1.0, 8.0, "R", "long radius over short radius"),
    REAL("void-plates", void_plates, "0.3", 0.0, 1.0, "R", "density of voids in the plates, relative to the weld"),
    REAL("margin", margin, "0.015", 0.0, 0.3, "F", "air above and below, each as a share of the height"),
    REAL("bead-height", bead_height, "0.03", 0.0, 0.3, "F", "height of the bead, as a share of the height"),
    REAL("bead-width", bead_width, "0.7", 0.1, 1.5, "F", "width of the bead, as a share of the width"),
    REAL("ripple", ripple, "0.25", 0.0, 1.0, "F", "height of the ripples, as a share of the bead's"),
    REAL("seam-gap", seam_gap, "0.03", 0.0, 0.3, "F", "width of the open seam under the weld, as a share of the width"),
    REAL("roughness", roughness, "0.35", 0.0, 5.0, "V", "standard deviation of the voids' surfaces"),
    SCAN_ROWS("0.2", "0.4", "0.015", "0.9", "0.022", "0.026", "0.8", "0.02", "0.06", "0.02"),
    LABEL_ROWS("0.4", "0.25", "0.05"),
};

static const crd_settings tables[] = {
    [CRD_PHANTOM_GRAPHITE] = {.title = "phantom graphite",
                              .rows = graphite_rows,
                              .count = sizeof graphite_rows / sizeof graphite_rows[0]},
    [CRD_PHANTOM_WELD] = {.title = "phantom weld", .rows = weld_rows, .count = sizeof weld_rows / sizeof weld_rows[0]},
};

const crd_settings *crd_phantom_settings(crd_phantom_kind kind)
{
    return &tables[kind == CRD_PHANTOM_WELD ? CRD_PHANTOM_WELD : CRD_PHANTOM_GRAPHITE];
}

static crd_status check_number(const crd_setting *row, double value)
{
    if (row->low == 0.0 && row->high == 0.0) return CRD_OK;
    if (value >= row->low && value <= row->high) return CRD_OK; /* false for NaN, too */
    return crd_fail(CRD_ERR_ARGUMENT, "%s is %g; it must lie between %g and %g", row->name, value, row->low, row->high);
}

crd_status crd_phantom_check(crd_phantom_kind kind, const crd_phantom_options *options)
{
    if (kind != CRD_PHANTOM_GRAPHITE && kind != CRD_PHANTOM_WELD) {
        return crd_fail(CRD_ERR_ARGUMENT, "there is no phantom of kind %d; choose graphite (0) or weld (1)", (int)kind);
    }
    const crd_settings *table = crd_phantom_settings(kind);
    for (size_t i = 0; i < table->count; i++) {
        const crd_setting *row = &table->rows[i];
        const void *field = (const char *)options + row->offset;
        if (row->kind == CRD_SETTING_REAL) CRD_PASS(check_number(row, *(const double *)field));
        if (row->kind == CRD_SETTING_INT) CRD_PASS(check_number(row, (double)*(const int64_t *)field));
        if (row->kind == CRD_SETTING_TRIPLE) {
            for (int k = 0; k < 3; k++) CRD_PASS(check_number(row, (double)((const int64_t *)field)[k]));
        }
    }
    return CRD_OK;
}
