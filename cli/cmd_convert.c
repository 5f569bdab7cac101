/* credence convert: from one format to another, of any size. */
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
     .help =
         "format of OUT, where its own suffix doesn't say it: tiff, hdf5, npy, raw, nifti, nrrd, metaimage or zarr, "
         "or a suffix of theirs"},
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

static int convert_part(const cli_context *context, crd_volume *in)
{
    const convert_options *options = context->options;
    crd_volume *part = NULL;
    crd_box box;
    if (options->bbox == NULL) return convert(context, in, in);
    if (crd_box_parse("bbox", options->bbox, crd_volume_describe(in)->shape, &box) != CRD_OK ||
        crd_view_box(in, &box, &part) != CRD_OK) {
        return cli_library_failed();
    }
    const int code = convert(context, in, part);
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
    if (options->dtype != NULL && crd_type_parse(options->dtype, &type, NULL) != CRD_OK) {
        return cli_usage(context->command, "--dtype: %s", crd_last_error()->message);
    }
    if (crd_volume_open(context->arguments[0], &reading, context->monitor, &in) != CRD_OK) return cli_library_failed();
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
    .uses = CLI_USES_JSON,
    .details =
        "IN is a file, a folder of slices, a quoted pattern such as 'slices/*.tif', file.h5:/path/to/dataset, or an "
        "OME-Zarr folder or one of its levels (scan.zarr/2). The format of OUT follows its suffix: .tif, .ome.tif, .h5 "
        "(OUT.h5:/path names the dataset), .npy, .raw, .nii, .nii.gz, .nrrd, .nhdr, .mha, .mhd or .zarr. OUT appears "
        "under its name when it is complete.\n"
        "For raw input --type is the type of IN; for all other formats it means the same as --dtype.",
    .examples = "credence convert scan.tif scan.h5:/raw --compress 4\n"
                "credence convert 'slices/*.tif' scan.npy --spacing 0.65,0.65,0.65,um\n"
                "credence convert scan.tif scan.nii.gz\n"
                "credence convert scan.tif scan.zarr --compress 5\n"
                "# raw data, 512 slices of 1024 x 1024\n"
                "credence convert scan.raw scan.tif --shape 512,1024,1024 --type u16le\n"
                "credence convert label.tif label_8bit.tif --dtype u8\n"
                "# 100 slices of the middle\n"
                "credence convert scan.h5 part.tif --bbox 450:550,200:712,200:712",
    .run = run,
};
