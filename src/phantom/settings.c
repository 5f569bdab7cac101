/* The settings of all kinds, from one list. The defaults are what makes a kind look like itself, and hard enough that
 * no global threshold does the work (docs/PHANTOMS.md has the figures). */
#include <stddef.h>

#include "base/error.h"
#include "phantom/check.h"
#include "volume/setting_checks.h"

#define AT(FIELD) offsetof(crd_phantom_options, FIELD)

#define REAL(GROUP, NAME, FIELD, DEFAULT, LOW, HIGH, ARGUMENT, HELP)                                                   \
    {.name = NAME,                                                                                                     \
     .kind = CRD_SETTING_REAL,                                                                                         \
     .offset = AT(FIELD),                                                                                              \
     .initial = DEFAULT,                                                                                               \
     .low = LOW,                                                                                                       \
     .high = HIGH,                                                                                                     \
     .argument = ARGUMENT,                                                                                             \
     .help = HELP,                                                                                                     \
     .group = GROUP},

#define SHAPE_ROW                                                                                                      \
    {.name = "shape",                                                                                                  \
     .kind = CRD_SETTING_TRIPLE,                                                                                       \
     .offset = AT(shape),                                                                                              \
     .initial = "64,128,128",                                                                                          \
     .low = 8,                                                                                                         \
     .high = 1000000,                                                                                                  \
     .argument = "z,y,x",                                                                                              \
     .help = "voxels along each axis",                                                                                 \
     .group = "Files"},

#define FILE_ROWS                                                                                                      \
    {.name = "output",                                                                                                 \
     .kind = CRD_SETTING_TEXT,                                                                                         \
     .scope = CRD_SCOPE_PLACE,                                                                                         \
     .offset = AT(output),                                                                                             \
     .argument = "DIR",                                                                                                \
     .short_name = 'o',                                                                                                \
     .help = "folder for scan, label, truth and phantom.json; made where it is missing",                               \
     .group = "Files"},                                                                                                \
        {.name = "threads",                                                                                            \
         .kind = CRD_SETTING_INT,                                                                                      \
         .scope = CRD_SCOPE_PROCESS,                                                                                   \
         .offset = AT(threads),                                                                                        \
         .initial = "0",                                                                                               \
         .low = 0,                                                                                                     \
         .high = 4096,                                                                                                 \
         .argument = "N",                                                                                              \
         .help = "threads to use; 0: one per core. The result doesn't depend on it",                                   \
         .group = "Files"},                                                                                            \
        {.name = "seed",                                                                                               \
         .kind = CRD_SETTING_INT,                                                                                      \
         .offset = AT(seed),                                                                                           \
         .initial = "1",                                                                                               \
         .low = 0,                                                                                                     \
         .high = 9007199254740991.0,                                                                                   \
         .argument = "N",                                                                                              \
         .help = "another seed gives another sample of the same material",                                             \
         .group = "Files"},                                                                                            \
        {.name = "format",                                                                                             \
         .kind = CRD_SETTING_TEXT,                                                                                     \
         .offset = AT(format),                                                                                         \
         .initial = "tiff",                                                                                            \
         .check = crd_check_format,                                                                                    \
         .argument = "NAME",                                                                                           \
         .help = "format of the three volumes: tiff, hdf5, npy, raw, nifti, nrrd, metaimage, zarr or zarr3, or a "     \
                 "suffix such as nii.gz, mhd or ome.tif",                                                              \
         .group = "Files"},                                                                                            \
        {.name = "type",                                                                                               \
         .kind = CRD_SETTING_CHOICE,                                                                                   \
         .offset = AT(type),                                                                                           \
         .initial = "u16",                                                                                             \
         .choices = "u8|u16|f32",                                                                                      \
         .help = "type of the scan's voxels; f32 runs from 0 to 1",                                                    \
         .group = "Files"},                                                                                            \
        {.name = "spacing",                                                                                            \
         .kind = CRD_SETTING_TEXT,                                                                                     \
         .offset = AT(spacing),                                                                                        \
         .check = crd_check_spacing,                                                                                   \
         .argument = "z,y,x,UNIT",                                                                                     \
         .help = "edges of a voxel, to be written into the files: 0.65,0.65,0.65,um",                                  \
         .group = "Files"},

/* EACH has a default for graphite, weld and electrode in this order; GRAINS for graphite and electrode; SAME has one
 * for all. */
#define STRENGTHS(EACH, SAME, GRAINS, WELD, ELECTRODE, WORLD, WORLD_SAME)                                              \
    WORLD("Objects", "fraction", fraction, "0.5", "0.18", "0.5", 0.01, 0.8, "F",                                       \
          "share of all voxels that are foreground; of an electrode, particle")                                        \
    WORLD("Objects", "roughness", roughness, "0.4", "0.35", "0.4", 0.0, 5.0, "V",                                      \
          "standard deviation of the objects' surfaces from smooth ones, in voxels")                                   \
    GRAINS("grain-size", grain_size, "15", "12", 2.0, 200.0, "V", "typical radius of a grain, in voxels")              \
    GRAINS("grain-spread", grain_spread, "0.22", "0.3", 0.0, 0.5, "S",                                                 \
           "standard deviation of the logarithm of the radius")                                                        \
    GRAINS("grain-flatness", grain_flatness, "2.8", "1.2", 1.0, 8.0, "R", "long radius over short radius")             \
    GRAINS("grain-tilt", grain_tilt, "22", "45", 0.0, 60.0, "DEG", "typical angle between a grain's flat axis and z")  \
    GRAINS("grain-grey", grain_grey, "0.018", "0.018", 0.0, 1.0, "G",                                                  \
           "standard deviation of the grey value between grains")                                                      \
    GRAINS("grain-film", grain_film, "1.6", "1", 0.0, 5.0, "V", "matrix between grains that touch, in voxels")         \
    ELECTRODE("binder-fraction", binder_fraction, "0.15", 0.005, 0.4, "F", "share of all voxels that are binder")      \
    ELECTRODE("binder-grey", binder_grey, "0.5", 0.0, 1.0, "R",                                                        \
              "where the binder's grey value lies between the pore's (0) and the particles' (1)")                      \
    ELECTRODE("binder-scatter", binder_scatter, "1.2", 0.0, 10.0, "V",                                                 \
              "standard deviation of the binder's surface from an even meniscus, in voxels")                           \
    WELD("void-size", void_size, "5", 1.0, 200.0, "V", "typical radius of a void, in voxels")                          \
    WELD("void-spread", void_spread, "0.35", 0.0, 0.5, "S", "standard deviation of the logarithm of the radius")       \
    WELD("void-flatness", void_flatness, "1.3", 1.0, 8.0, "R", "long radius over short radius")                        \
    WELD("void-plates", void_plates, "0.3", 0.0, 1.0, "R", "density of voids in the plates, relative to the weld's")   \
    WELD("margin", margin, "0.01", 0.0, 0.3, "F", "air above and below, each as a share of the height")                \
    WELD("bead-height", bead_height, "0.05", 0.0, 0.3, "F", "height of the bead, as a share of the height")            \
    WELD("bead-width", bead_width, "0.7", 0.1, 1.5, "F", "width of the bead, as a share of the width")                 \
    WELD("ripple", ripple, "0.25", 0.0, 1.0, "F", "height of the ripples, as a share of the bead's")                   \
    WELD("seam-gap", seam_gap, "0.03", 0.0, 0.3, "F", "width of the open seam, as a share of the width")               \
    EACH("Scan (G: share of full scale)", "contrast", contrast, "0.2", "0.2", "0.3", 0.0, 1.0, "G",                    \
         "light phase minus dark phase")                                                                               \
    EACH(NULL, "brightness", brightness, "0.45", "0.4", "0.45", 0.0, 1.0, "G",                                         \
         "grey value half-way between the phases")                                                                     \
    SAME(NULL, "texture", texture, "0.015", 0.0, 1.0, "G", "standard deviation inside each phase")                     \
    SAME(NULL, "blur", blur, "0.8", 0.0, 5.0, "V", "standard deviation of the point spread, in voxels")                \
    SAME(NULL, "noise", noise, "0.022", 0.0, 1.0, "G", "standard deviation of the white noise")                        \
    SAME(NULL, "noise-correlated", noise_correlated, "0.025", 0.0, 1.0, "G",                                           \
         "standard deviation of the correlated noise")                                                                 \
    SAME(NULL, "noise-correlation", noise_correlation, "0.8", 0.0, 5.0, "V",                                           \
         "standard deviation of the Gaussian that correlates it, in voxels")                                           \
    EACH(NULL, "rings", rings, "0.03", "0.02", "0.03", 0.0, 1.0, "G", "standard deviation of the ring artifacts")      \
    EACH(NULL, "cupping", cupping, "0.15", "0.06", "0.15", -1.0, 1.0, "G",                                             \
         "beam hardening: grey value at the corners minus that at the centre")                                         \
    EACH(NULL, "drift", drift, "0.03", "0.02", "0.03", 0.0, 1.0, "G", "standard deviation of the slow drift")          \
    SAME(NULL, "drift-length", drift_length, "48", 2.0, 4096.0, "V", "voxels over which the drift changes")            \
    EACH("Label", "label-waver", label_waver, "0.3", "0.4", "0.3", 0.0, 5.0, "V",                                      \
         "standard deviation of the label's boundary, smooth in 3D, in voxels")                                        \
    EACH(NULL, "label-jitter", label_jitter, "0.2", "0.25", "0.2", 0.0, 5.0, "V",                                      \
         "the same, drawn anew in every slice")                                                                        \
    WORLD_SAME(NULL, "label-miss", label_miss, "0.05", 0.0, 1.0, "P",                                                  \
               "probability that a small object is missing from the label")

#define NONE(...)
#define OF_WELD(...)      REAL("Weld", __VA_ARGS__)
#define OF_ELECTRODE(...) REAL("Electrode", __VA_ARGS__)
#define FIRST(GROUP, NAME, FIELD, A, B, C, LOW, HIGH, ARGUMENT, HELP)                                                  \
    REAL(GROUP, NAME, FIELD, A, LOW, HIGH, ARGUMENT, HELP)
#define SECOND(GROUP, NAME, FIELD, A, B, C, LOW, HIGH, ARGUMENT, HELP)                                                 \
    REAL(GROUP, NAME, FIELD, B, LOW, HIGH, ARGUMENT, HELP)
#define THIRD(GROUP, NAME, FIELD, A, B, C, LOW, HIGH, ARGUMENT, HELP)                                                  \
    REAL(GROUP, NAME, FIELD, C, LOW, HIGH, ARGUMENT, HELP)
#define NAMES_ALL(GROUP, NAME, FIELD, A, B, C, LOW, HIGH, ARGUMENT, HELP)                                              \
    REAL(GROUP, NAME, FIELD, A, LOW, HIGH, ARGUMENT, HELP " (weld: " B ", electrode: " C ")")
#define FIRST_GRAINS(NAME, FIELD, A, B, ...)  REAL("Grains", NAME, FIELD, A, __VA_ARGS__)
#define SECOND_GRAINS(NAME, FIELD, A, B, ...) REAL("Grains", NAME, FIELD, B, __VA_ARGS__)
#define NAMES_GRAINS(NAME, FIELD, A, B, LOW, HIGH, ARGUMENT, HELP)                                                     \
    REAL("Graphite and electrode", NAME, FIELD, A, LOW, HIGH, ARGUMENT, HELP " (electrode: " B ")")

#define IMAGE_ROWS                                                                                                     \
    {.name = "truth",                                                                                                  \
     .kind = CRD_SETTING_TEXT,                                                                                         \
     .offset = AT(truth),                                                                                              \
     .argument = "FILE",                                                                                               \
     .help = "label volume of 2 to 16 phases, whole numbers from 0 to 255; its shape is the phantom's",                \
     .group = "Image"},                                                                                                \
        {.name = "greys",                                                                                              \
         .kind = CRD_SETTING_REALS,                                                                                    \
         .offset = AT(greys),                                                                                          \
         .low = 0,                                                                                                     \
         .high = 1,                                                                                                    \
         .argument = "G,...",                                                                                          \
         .help =                                                                                                       \
             "grey value of each phase, in rising order of their values in the label; without it evenly from dark "    \
             "to light",                                                                                               \
         .group = "Image"},

static const crd_setting graphite_rows[] = {
    SHAPE_ROW FILE_ROWS STRENGTHS(FIRST, REAL, FIRST_GRAINS, NONE, NONE, FIRST, REAL)};
static const crd_setting weld_rows[] = {SHAPE_ROW FILE_ROWS STRENGTHS(SECOND, REAL, NONE, OF_WELD, NONE, SECOND, REAL)};
static const crd_setting electrode_rows[] = {
    SHAPE_ROW FILE_ROWS STRENGTHS(THIRD, REAL, SECOND_GRAINS, NONE, OF_ELECTRODE, THIRD, REAL)};
static const crd_setting image_rows[] = {FILE_ROWS IMAGE_ROWS STRENGTHS(THIRD, REAL, NONE, NONE, NONE, NONE, NONE)};
static const crd_setting all_rows[] = {
    SHAPE_ROW FILE_ROWS IMAGE_ROWS STRENGTHS(NAMES_ALL, REAL, NAMES_GRAINS, OF_WELD, OF_ELECTRODE, NAMES_ALL, REAL)};

#define TABLE(TITLE, ROWS)                                                                                             \
    {                                                                                                                  \
        .title = TITLE, .rows = ROWS, .count = sizeof ROWS / sizeof ROWS[0], .size = sizeof(crd_phantom_options)       \
    }

static const crd_settings tables[] = {[CRD_PHANTOM_GRAPHITE] = TABLE("phantom graphite", graphite_rows),
                                      [CRD_PHANTOM_WELD] = TABLE("phantom weld", weld_rows),
                                      [CRD_PHANTOM_ELECTRODE] = TABLE("phantom electrode", electrode_rows),
                                      [CRD_PHANTOM_IMAGE] = TABLE("phantom image", image_rows)};
static const char *const names[] = {"graphite", "weld", "electrode", "image"};
const crd_settings crd_phantom_all_settings = TABLE("phantom", all_rows);

static bool is_kind(crd_phantom_kind kind)
{
    return (int)kind >= 0 && (int)kind < CRD_PHANTOM_KINDS;
}

const crd_settings *crd_phantom_settings(crd_phantom_kind kind)
{
    return &tables[is_kind(kind) ? kind : CRD_PHANTOM_GRAPHITE];
}

const char *crd_phantom_kind_name(crd_phantom_kind kind)
{
    return is_kind(kind) ? names[kind] : "";
}

int64_t crd_phantom_phases(crd_phantom_kind kind)
{
    return kind == CRD_PHANTOM_IMAGE ? 0 : kind == CRD_PHANTOM_ELECTRODE ? 3 : 2;
}

const char *crd_phantom_phase_name(crd_phantom_kind kind, int64_t phase)
{
    static const char *const phases[CRD_PHANTOM_KINDS][3] = {[CRD_PHANTOM_GRAPHITE] = {"matrix", "grain", ""},
                                                             [CRD_PHANTOM_WELD] = {"metal or air", "void", ""},
                                                             [CRD_PHANTOM_ELECTRODE] = {"pore", "particle", "binder"}};
    return is_kind(kind) && phase >= 0 && phase < crd_phantom_phases(kind) ? phases[kind][phase] : "";
}

static crd_status check_number(const crd_setting *row, double value)
{
    if (value >= row->low && value <= row->high) return CRD_OK; /* false for NaN, too */
    return crd_fail(CRD_ERR_ARGUMENT, "%s is %g; it must lie between %g and %g", row->name, value, row->low, row->high);
}

crd_status crd_phantom_check(crd_phantom_kind kind, const crd_phantom_options *options)
{
    if (!is_kind(kind)) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "there is no phantom of kind %d; choose graphite (0), weld (1), electrode (2) or image (3)",
                        (int)kind);
    }
    const crd_settings *table = crd_phantom_settings(kind);
    for (int k = 0; kind == CRD_PHANTOM_IMAGE && k < 3; k++) { /* whose shape is no option */
        if (options->shape[k] < 8) {
            return crd_fail(CRD_ERR_ARGUMENT, "the truth %s has an axis of %lld voxels; a phantom has 8 and more",
                            options->truth != NULL ? options->truth : "", (long long)options->shape[k]);
        }
    }
    for (size_t i = 0; i < table->count; i++) {
        const crd_setting *row = &table->rows[i];
        const void *field = (const char *)options + row->offset;
        if (row->kind == CRD_SETTING_REAL) CRD_PASS(check_number(row, *(const double *)field));
        if (row->kind == CRD_SETTING_INT) CRD_PASS(check_number(row, (double)*(const int64_t *)field));
        if (row->kind == CRD_SETTING_TRIPLE) {
            for (int k = 0; k < 3; k++) CRD_PASS(check_number(row, (double)((const int64_t *)field)[k]));
        }
    }
    if (options->type == NULL || options->format == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "a phantom needs a type and a format, such as u16 and tiff");
    }
    return CRD_OK;
}
