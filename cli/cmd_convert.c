/* credence convert: from one format to another, of any size. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "describe.h"
#include "reading.h"

typedef struct convert_options {
    char *dtype;
    char *format;
    int64_t compress;
    int64_t levels;
    char *bbox;
    char *factor;
    char *new_spacing;
    char *by;
    bool grey;
    cli_reading reading;
} convert_options;

static const crd_setting rows[] = {
    {.name = "dtype",
     .kind = CRD_SETTING_TEXT,
     .offset = offsetof(convert_options, dtype),
     .argument = "TYPE",
     .help = "type of the voxels in OUT: u8, i8, u16, i16, u32, i32, u64, f32 or f64 (raw data, too: u16be); whole "
             "numbers are "
             "rounded and clamped. Without it IN's type stays",
     .group = "Output"},
    {.name = "format",
     .kind = CRD_SETTING_TEXT,
     .offset = offsetof(convert_options, format),
     .check = cli_check_as_predict,
     .argument = "NAME",
     .help = "format of OUT, where its own suffix doesn't say it: tiff, hdf5, npy, raw, nifti, nrrd, metaimage, zarr "
             "(OME-Zarr 0.4) or zarr3 (0.5, many chunks in a file), or a suffix of theirs"},
    {.name = "compress",
     .kind = CRD_SETTING_INT,
     .offset = offsetof(convert_options, compress),
     .initial = "0",
     .low = 0,
     .high = 9,
     .argument = "N",
     .help = "0: no compression; 1 (fast) to 9 (small) where the format can"},
    {.name = "levels",
     .kind = CRD_SETTING_INT,
     .offset = offsetof(convert_options, levels),
     .initial = "0",
     .low = 0,
     .high = 16,
     .argument = "N",
     .help =
         "OME-Zarr: resolutions in OUT, each half of the one before; 0: until one fits a chunk, 1: the full one alone"},
    {.name = "bbox",
     .kind = CRD_SETTING_TEXT,
     .offset = offsetof(convert_options, bbox),
     .check = cli_check_as_predict,
     .argument = "z0:z1,y0:y1,x0:x1",
     .help = "only these voxels, each from the first to behind the last; OUT keeps their place in IN where its format "
             "can",
     .group = "Which voxels"},
    {.name = "factor",
     .kind = CRD_SETTING_TEXT,
     .offset = offsetof(convert_options, factor),
     .argument = "F|z,y,x",
     .help = "so many times as many voxels along each axis: 1/2 or 0.5 for an eighth of all, 2 for eight times as "
             "many, 1,1/4,1/4 for smaller slices"},
    {.name = "new-spacing",
     .kind = CRD_SETTING_TEXT,
     .offset = offsetof(convert_options, new_spacing),
     .argument = "z,y,x,UNIT",
     .help = "voxels of these edges in OUT: 1.3,1.3,1.3,um (--spacing says what they are in IN)"},
    {.name = "by",
     .kind = CRD_SETTING_CHOICE,
     .offset = offsetof(convert_options, by),
     .choices = "auto|mean|majority|nearest",
     .initial = "auto",
     .help = "what a voxel of another size is: the mean of what lies under it (between voxels: linear), the class of "
             "the majority, or the nearest voxel; auto: majority where whole numbers have 16 values at most, else "
             "the mean"},
    {.name = "grey",
     .kind = CRD_SETTING_FLAG,
     .offset = offsetof(convert_options, grey),
     .help = "TIFF, PNG or JPEG of colours: their grey values, .299 red + .587 green + .114 blue"},
    CLI_READING_ROWS(convert_options, reading),
};
static const crd_settings settings = {.title = "convert", .rows = rows, .count = sizeof rows / sizeof rows[0]};

/* For raw input --type says what IN holds; all other formats say that themselves, so there it can only mean OUT. */
static const char *type_of_output(const convert_options *options, const crd_volume *in)
{
    if (options->dtype != NULL) return options->dtype;
    return strcmp(crd_volume_describe(in)->format, "raw") != 0 ? options->reading.type : NULL;
}

/* As the file that was written says it, which some formats can't do in full. */
static int print_result(const char *path, const crd_volume_options *writing)
{
    const crd_volume_options reading = {.format = writing->format};
    cli_json json = {.out = stdout};
    crd_volume *out = NULL;
    if (crd_volume_open(path, &reading, NULL, &out) != CRD_OK) return cli_library_failed();
    cli_json_open(&json, NULL, '{');
    cli_json_volume(&json, path, crd_volume_describe(out));
    cli_json_close(&json);
    crd_volume_close(&out);
    return CLI_DONE;
}

/* `view` is what was asked for of `in`. */
static int convert(const cli_context *context, const crd_volume *in, crd_volume *view)
{
    const convert_options *options = context->options;
    const char *path = context->arguments[1];
    crd_volume_info info = *crd_volume_describe(view);
    crd_volume_options writing = {
        .compress = (int)options->compress, .levels = (int)options->levels, .format = options->format};
    writing.type = type_of_output(options, in);
    if (writing.type != NULL && crd_type_parse(writing.type, &info.type, NULL) != CRD_OK) return cli_library_failed();
    if (crd_volume_convert(view, path, &info, &writing, context->monitor) != CRD_OK) return cli_library_failed();
    return context->common->json ? print_result(path, &writing) : CLI_DONE;
}

/* "1/2", "0.5" or "2", up to `end`. */
static bool read_factor(const char *text, const char *end, double *out)
{
    char *behind = NULL, *last = NULL;
    const double over = strtod(text, &behind), under = *behind == '/' ? strtod(behind + 1, &last) : 1.0;
    *out = over / under;
    return behind > text && (*behind == '/' ? last : behind) == end && isfinite(*out) && *out > 0.0;
}

/* How many old voxels long a new one is. */
static int find_steps(const cli_context *context, const crd_volume_info *info, double step[3])
{
    const convert_options *options = context->options;
    if (options->factor != NULL) {
        const char *at = options->factor;
        for (int axis = 0; axis < 3; axis++) {
            const char *end = at + strcspn(at, ",");
            double factor = 0.0;
            const bool all = axis == 0 && *end == '\0';
            if (!read_factor(at, end, &factor) || (!all && (*end == ',') != (axis < 2))) {
                return cli_usage(context->command, "--factor must be a number above 0 or z,y,x, such as 1/2, not '%s'",
                                 options->factor);
            }
            step[axis] = 1.0 / factor;
            if (all) step[1] = step[2] = step[0];
            if (all) break;
            at = end + 1;
        }
        return CLI_DONE;
    }
    double edges[3];
    char unit[16] = "";
    if (crd_spacing_parse(options->new_spacing, edges, unit) != CRD_OK) {
        return cli_usage(context->command, "--new-spacing: %s", crd_last_error()->message);
    }
    if (!(info->spacing[0] > 0.0)) {
        return cli_fail(
            "%s doesn't say how large its voxels are; give --spacing, or --factor in place of --new-spacing",
            context->arguments[0]);
    }
    if (unit[0] != '\0' && strcmp(unit, info->unit) != 0) {
        return cli_fail("--new-spacing is in %s and %s in %s; give it in the same unit", unit, context->arguments[0],
                        info->unit[0] != '\0' ? info->unit : "an unknown unit (--spacing says which)");
    }
    for (int axis = 0; axis < 3; axis++) step[axis] = edges[axis] / info->spacing[axis];
    return CLI_DONE;
}

enum { MOST_CLASSES = 16 };

/* Adds what isn't among the values yet; false where they become too many for classes. */
static bool add_values(const double *row, int64_t count, double values[MOST_CLASSES], int *known)
{
    for (int64_t i = 0; i < count; i++) {
        int k = *known - 1;
        while (k >= 0 && values[k] != row[i]) k--;
        if (k >= 0) continue;
        if (*known == MOST_CLASSES) return false;
        values[(*known)++] = row[i];
    }
    return true;
}

/* Do three slices of whole numbers have few values, as classes have? */
static bool holds_classes(crd_volume *in)
{
    const crd_volume_info *info = crd_volume_describe(in);
    double values[MOST_CLASSES], *row = NULL;
    int known = 0;
    if (info->type == CRD_F32 || info->type == CRD_F64) return false;
    row = calloc((size_t)info->shape[2], sizeof *row);
    bool few = row != NULL;
    for (int64_t part = 1; part < 4 && few; part++) {
        crd_box box = {{info->shape[0] * part / 4, 0, 0}, {1, 1, info->shape[2]}};
        for (; box.origin[1] < info->shape[1] && few; box.origin[1]++) {
            few = crd_volume_read(in, &box, CRD_F64, row) == CRD_OK && add_values(row, info->shape[2], values, &known);
        }
    }
    free(row);
    return few;
}

/* A place between two new voxels is none that OUT could say. */
static void warn_of_place(const cli_context *context, const crd_volume_info *from, const crd_volume_info *to)
{
    bool was = false, is = false;
    for (int axis = 0; axis < 3; axis++) {
        was |= from->origin[axis] != 0;
        is |= to->origin[axis] != 0;
    }
    if (!was || is) return;
    context->monitor->message(context->monitor->context, CRD_LEVEL_WARNING,
                              "what is converted begins between two of the new voxels of the volume that it is a part "
                              "of, so its place there isn't kept");
}

static int resample(const cli_context *context, const crd_volume *in, crd_volume *part)
{
    const convert_options *options = context->options;
    const crd_volume_info *from = crd_volume_describe(part);
    crd_volume *out = NULL;
    double step[3];
    crd_resampling join = strcmp(options->by, "majority") == 0  ? CRD_RESAMPLE_MAJORITY
                          : strcmp(options->by, "nearest") == 0 ? CRD_RESAMPLE_NEAREST
                                                                : CRD_RESAMPLE_MEAN;
    int code = find_steps(context, from, step);
    if (code != CLI_DONE) return code;
    if (strcmp(options->by, "auto") == 0 && holds_classes(part)) {
        char text[512];
        join = CRD_RESAMPLE_MAJORITY;
        snprintf(text, sizeof text, "%s seems to hold classes, so voxels are joined by majority (--by mean: by means)",
                 context->arguments[0]);
        context->monitor->message(context->monitor->context, CRD_LEVEL_INFO, text);
    }
    if (crd_view_resampled(part, step, join, &out) != CRD_OK) return cli_library_failed();
    warn_of_place(context, from, crd_volume_describe(out));
    code = convert(context, in, out);
    crd_volume_close(&out);
    return code;
}

static int convert_part(const cli_context *context, crd_volume *in)
{
    const convert_options *options = context->options;
    crd_volume *part = NULL;
    crd_box box = {.origin = {0, 0, 0}};
    memcpy(box.size, crd_volume_describe(in)->shape, sizeof box.size);
    if (options->bbox != NULL && crd_box_parse("bbox", options->bbox, box.size, &box) != CRD_OK) {
        return cli_library_failed();
    }
    if (options->bbox != NULL && crd_view_box(in, &box, &part) != CRD_OK) return cli_library_failed();
    const bool resampled = options->factor != NULL || options->new_spacing != NULL;
    crd_volume *of = part != NULL ? part : in;
    const int code = resampled ? resample(context, in, of) : convert(context, in, of);
    crd_volume_close(&part);
    return code;
}

static int run(cli_context *context)
{
    const convert_options *options = context->options;
    crd_volume_options reading;
    cli_reading_space space;
    crd_volume *in = NULL;
    int code = cli_reading_options(context, &options->reading, &space, &reading);
    if (code != CLI_DONE) return code;
    crd_type type;
    if (options->factor != NULL && options->new_spacing != NULL) {
        return cli_usage(context->command, "--factor and --new-spacing say the same in two ways; give one of them");
    }
    if (options->dtype != NULL && crd_type_parse(options->dtype, &type, NULL) != CRD_OK) {
        return cli_usage(context->command, "--dtype: %s", crd_last_error()->message);
    }
    const crd_status opened = (options->grey ? crd_volume_open_grey : crd_volume_open)(context->arguments[0], &reading,
                                                                                       context->monitor, &in);
    if (opened != CRD_OK) return cli_library_failed();
    code = convert_part(context, in);
    crd_volume_close(&in);
    return code;
}

const cli_command cli_convert = {
    .name = "convert",
    .summary = "copy a volume into another format, type or compression, of any size",
    .arguments = "IN OUT",
    .least = 2,
    .most = 2,
    .settings = &settings,
    .options_size = sizeof(convert_options),
    .uses = CLI_USES_JSON | CLI_USES_FILES,
    .details =
        "IN is a file, a folder of slices (TIFF, PNG or JPEG), a quoted pattern such as 'slices/*.tif', "
        "file.h5:/path/to/dataset, or an OME-Zarr folder or one of its levels (scan.zarr/2). The format of OUT follows "
        "its suffix: .tif, .ome.tif, .h5 "
        "(OUT.h5:/path names the dataset), .npy, .raw, .nii, .nii.gz, .nrrd, .nhdr, .mha, .mhd or .zarr. A name that "
        "ends in / or has a * (out/slice_*.tif) means a TIFF file for each slice, in a folder that is made. OUT "
        "appears "
        "under its name when it is complete.\n"
        "For raw input --type is the type of IN; for all other formats it means the same as --dtype.",
    .examples = "credence convert scan.tif scan.h5:/raw --compress 4\n"
                "credence convert 'slices/*.tif' scan.npy --spacing 0.65,0.65,0.65,um\n"
                "credence convert photos/ scan.tif --grey\n"
                "credence convert scan.tif scan.nii.gz\n"
                "credence convert scan.tif scan.zarr --compress 5\n"
                "credence convert scan.tif scan.zarr --format zarr3 --compress 5\n"
                "# raw data, 512 slices of 1024 x 1024\n"
                "credence convert scan.raw scan.tif --shape 512,1024,1024 --type u16le\n"
                "credence convert label.tif label_8bit.tif --dtype u8\n"
                "# a part, as one file for each slice\n"
                "credence convert scan.h5 'part/slice_*.tif' --bbox 450:550,200:712,200:712\n"
                "# a scan in an eighth of the voxels, and its label with it\n"
                "credence convert scan.h5 small.tif --factor 1/2\n"
                "credence convert label.tif small_label.tif --factor 1/2 --by majority\n"
                "credence convert scan.tif even.tif --new-spacing 1,1,1,um",
    .run = run,
};
