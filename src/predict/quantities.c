/* Which numbers a voxel gets, and which volumes a run makes of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "predict/request.h"
#include "predict/settings_text.h"
#include "volume/choose.h"
#include "volume/views/lent.h"

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int64_t row_of(const crd_request *request, double percentile)
{
    int64_t row = 0;
    while (request->percentiles[row] != percentile) row++;
    return row;
}

/* All percentiles that anything needs, rising, each once. */
static crd_status collect_percentiles(crd_request *request, const crd_pair_list *pairs, const crd_pair *bounds)
{
    const crd_real_list *list = &request->options->percentiles;
    int64_t count = 0;
    CRD_PASS(crd_alloc(2 * pairs->count + list->count + 2, sizeof(double), "the percentiles", &request->percentiles));
    for (int64_t i = 0; i < pairs->count; i++) {
        request->percentiles[count++] = pairs->items[i].low;
        request->percentiles[count++] = pairs->items[i].high;
    }
    for (int64_t i = 0; i < list->count; i++) {
        if (!(list->items[i] >= 0.0 && list->items[i] <= 100.0)) {
            return crd_fail(CRD_ERR_ARGUMENT, "percentiles must lie in 0 .. 100, not %g", list->items[i]);
        }
        request->percentiles[count++] = list->items[i];
    }
    if (bounds != NULL) {
        request->percentiles[count++] = bounds->low;
        request->percentiles[count++] = bounds->high;
    }
    qsort(request->percentiles, (size_t)count, sizeof(double), by_size);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && request->percentiles[i] == request->percentiles[i - 1]) continue;
        request->percentiles[request->percentile_count++] = request->percentiles[i];
    }
    return CRD_OK;
}

static int64_t add_quantity(crd_request *request, crd_quantity_kind kind, int64_t low, int64_t high, crd_type stored,
                            const char *name)
{
    for (int64_t i = 0; i < request->quantity_count; i++) {
        const crd_quantity *q = &request->quantities[i];
        if (q->kind == kind && q->low == low && q->high == high) return i;
    }
    crd_quantity *q = &request->quantities[request->quantity_count];
    *q = (crd_quantity){.kind = kind, .low = low, .high = high, .stored = stored};
    snprintf(q->name, sizeof q->name, "%s", name);
    return request->quantity_count++;
}

static double scale_of(crd_type type)
{
    return type == CRD_U8 ? 1.0 / 255.0 : type == CRD_U16 ? 1.0 / 65535.0 : 1.0;
}

/* `which` it is, of several of one role; else "". */
static crd_status add_output(crd_request *request, crd_output_role role, int64_t quantity, crd_type type,
                             const char *which)
{
    crd_output *output = &request->outputs[request->output_count];
    const crd_quantity *q = &request->quantities[quantity];
    const bool of_percents = q->kind == CRD_WIDTH || q->kind == CRD_PERCENTILE;
    *output = (crd_output){.role = role,
                           .type = type,
                           .percents = {of_percents ? request->percentiles[q->low] : (double)NAN,
                                        of_percents ? request->percentiles[q->high] : (double)NAN},
                           .quantity = quantity};
    output->scale = crd_output_cut(output) ? 1.0 : scale_of(type);
    CRD_PASS(crd_output_name(request->name, role, which, request->suffix, &output->file));
    request->output_count++;
    return CRD_OK;
}

static int64_t percentile_quantity(crd_request *request, double percentile)
{
    char name[48], number[CRD_NUMBER_BYTES];
    const int64_t row = row_of(request, percentile);
    snprintf(name, sizeof name, "p%s", crd_short_number(percentile, 6, number));
    return add_quantity(request, CRD_PERCENTILE, row, row, CRD_F32, name);
}

static crd_status add_intervals(crd_request *request, const crd_pair *pairs, crd_type type)
{
    for (int64_t i = 0; i < request->interval_count; i++) {
        char name[48];
        crd_interval *interval = &request->intervals[i];
        interval->low = row_of(request, pairs[i].low);
        interval->high = row_of(request, pairs[i].high);
        crd_interval_text((const double[]){pairs[i].low, pairs[i].high}, interval->text);
        snprintf(name, sizeof name, "unc_%s", interval->text);
        const int64_t quantity = add_quantity(request, CRD_WIDTH, interval->low, interval->high, CRD_F32, name);
        CRD_PASS(add_output(request, CRD_OUTPUT_UNCERTAINTY, quantity, type, i == 0 ? "" : interval->text));
    }
    return CRD_OK;
}

static crd_status add_samples(crd_request *request)
{
    const char *asked = request->options->save_samples;
    const crd_type type = strcmp(asked, "f32") == 0 ? CRD_F32 : strcmp(asked, "u16") == 0 ? CRD_U16 : CRD_U8;
    for (int64_t s = 0; s < request->samples; s++) {
        char name[48], number[24];
        snprintf(number, sizeof number, "%lld", (long long)(request->first_sample + s));
        snprintf(name, sizeof name, "sample_%s", number);
        const int64_t quantity = add_quantity(request, CRD_SAMPLE, s, s, type, name);
        CRD_PASS(add_output(request, CRD_OUTPUT_SAMPLE, quantity, type, number));
    }
    return CRD_OK;
}

static crd_status add_bits(crd_request *request)
{
    if (request->draws_per_chunk) {
        return crd_fail(CRD_ERR_ARGUMENT, "save-samples: with --draws per-chunk every chunk has draws of its own, so "
                                          "that there are no realisations to keep as bits");
    }
    for (int64_t s = 0; s < request->samples; s += 64) {
        char name[48], number[24] = "";
        const int64_t last = s + 63 < request->samples ? s + 63 : request->samples - 1;
        if (s > 0) snprintf(number, sizeof number, "%lld", (long long)s);
        snprintf(name, sizeof name, "samples_%lld", (long long)s);
        const int64_t quantity = add_quantity(request, CRD_SAMPLE_BITS, s, last, CRD_U64, name);
        CRD_PASS(add_output(request, CRD_OUTPUT_SAMPLE_BITS, quantity, CRD_U64, number));
    }
    return CRD_OK;
}

static crd_status list_outputs(crd_request *request, const crd_pair *pairs, const crd_pair *bounds)
{
    const crd_predict_options *options = request->options;
    crd_type type = CRD_F32;
    if (options->dtype != NULL) CRD_PASS(crd_type_parse(options->dtype, &type, NULL));
    if (type != CRD_F32 && type != CRD_U8 && type != CRD_U16) {
        return crd_fail(CRD_ERR_ARGUMENT, "dtype must be f32, u8 or u16, not %s", options->dtype);
    }
    const int64_t probability = add_quantity(request, CRD_PROBABILITY, 0, 0, CRD_F32, "prob");
    CRD_PASS(add_output(request, CRD_OUTPUT_PROBABILITY, probability, type, ""));
    CRD_PASS(add_output(request, CRD_OUTPUT_SEGMENTATION, probability, CRD_U8, ""));
    CRD_PASS(add_intervals(request, pairs, type));
    for (int64_t i = 0; i < options->percentiles.count; i++) {
        char number[CRD_NUMBER_BYTES];
        const int64_t before = request->quantity_count;
        const int64_t quantity = percentile_quantity(request, options->percentiles.items[i]);
        if (quantity < before) continue; /* named twice */
        crd_short_number(options->percentiles.items[i], 6, number);
        CRD_PASS(add_output(request, CRD_OUTPUT_PERCENTILE, quantity, type, number));
    }
    if (options->std) {
        const int64_t deviation = add_quantity(request, CRD_DEVIATION, 0, 0, CRD_F32, "std");
        CRD_PASS(add_output(request, CRD_OUTPUT_DEVIATION, deviation, type, ""));
    }
    if (bounds != NULL) {
        const int64_t low = percentile_quantity(request, bounds->low);
        const int64_t high = percentile_quantity(request, bounds->high);
        CRD_PASS(add_output(request, CRD_OUTPUT_LOWER_BOUND, low, CRD_U8, ""));
        CRD_PASS(add_output(request, CRD_OUTPUT_UPPER_BOUND, high, CRD_U8, ""));
    }
    return request->save_bits ? add_bits(request) : request->save_samples ? add_samples(request) : CRD_OK;
}

/* The scan's file without dataset, level or final slashes: "file.h5:/entry/data" -> "file.h5", "scan.zarr/0" ->
 * "scan.zarr", "slices/" -> "slices". */
static crd_status file_of_scan(const char *path, char **file)
{
    const char *dataset = NULL;
    CRD_PASS(crd_split_dataset(path, false, file, &dataset));
    char *level = strstr(*file, ".zarr/");
    if (level != NULL) level[sizeof ".zarr" - 1] = '\0';
    size_t end = strlen(*file);
    while (end > 1 && (*file)[end - 1] == '/') (*file)[--end] = '\0';
    return CRD_OK;
}

/* "dir/scan.nii.gz" and "scan.ome.zarr" -> "scan"; "slices/a_*.tif" -> "a_". */
static crd_status name_of_scan(const char *file, char **out)
{
    const char *slash = strrchr(file, crd_is_lent(file) ? ':' : '/'), *name = slash != NULL ? slash + 1 : file;
    CRD_PASS(crd_alloc((int64_t)strlen(name) + 8, 1, "a name", out));
    size_t length = 0;
    for (; *name != '\0'; name++) {
        if (strchr("*?[]", *name) == NULL) (*out)[length++] = *name;
    }
    char *dot = strrchr(*out, '.');
    if (dot != NULL && dot != *out && strcmp(dot, ".gz") == 0) {
        *dot = '\0';
        dot = strrchr(*out, '.');
    }
    if (dot != NULL && dot != *out) *dot = '\0';
    dot = strrchr(*out, '.');
    if (dot != NULL && dot != *out && strcmp(dot, ".ome") == 0) *dot = '\0';
    if ((*out)[0] == '\0' || strcmp(*out, ".") == 0 || strcmp(*out, "..") == 0) strcpy(*out, "scan");
    return CRD_OK;
}

/* The one asked for; else the scan's own, packed or with its header apart as the scan is. */
static crd_status choose_format(crd_request *request, const char *file)
{
    const char *wanted = request->options->format, *own = request->scan.format;
    const bool no_file = request->unfiled || crd_is_lent(request->options->scan);
    const bool replaced = no_file || strcmp(own, "raw") == 0 || strcmp(own, "hdf5") == 0;
    const bool chosen = wanted != NULL && wanted[0] != '\0';
    const crd_format *format = NULL;
    CRD_PASS(crd_format_to_write(request->unfiled ? "npy"
                                 : chosen         ? wanted
                                 : replaced       ? "tiff"
                                                  : own,
                                 &format, request->suffix));
    request->format = format->name;
    if (!chosen && !replaced) crd_format_kind(format, file, request->suffix);
    return CRD_OK;
}

crd_status crd_request_outputs(crd_request *request)
{
    crd_status status = CRD_OK;
    const crd_predict_options *options = request->options;
    crd_pair usual = {33.0, 67.0};
    const crd_pair_list intervals =
        options->intervals.count > 0 ? options->intervals : (crd_pair_list){.items = &usual, .count = 1};
    const crd_pair *bounds = options->bounds.count > 0 ? options->bounds.items : NULL;
    char *file = NULL;
    CRD_TRY(crd_pairs_check("intervals", NULL, &intervals, INT64_MAX));
    CRD_TRY(crd_pairs_check("bounds", NULL, &options->bounds, 1));
    request->interval_count = intervals.count;
    CRD_TRY(collect_percentiles(request, &intervals, bounds));
    const int64_t most =
        6 + request->interval_count + options->percentiles.count + (request->save_samples ? request->samples : 0);
    CRD_TRY(crd_alloc(request->interval_count, sizeof *request->intervals, "the intervals", &request->intervals));
    CRD_TRY(crd_alloc(most, sizeof *request->quantities, "the list of quantities", &request->quantities));
    CRD_TRY(crd_alloc(most, sizeof *request->outputs, "the list of volumes", &request->outputs));
    CRD_TRY(file_of_scan(options->scan, &file));
    CRD_TRY(name_of_scan(file, &request->name));
    CRD_TRY(choose_format(request, file));
    CRD_TRY(list_outputs(request, intervals.items, bounds));
done:
    crd_free(&file);
    return status;
}
