/* Which numbers a voxel gets, and which volumes a run makes of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "predict/request.h"
#include "predict/settings_text.h"

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

/* ---- quantities ------------------------------------------------------------------------------------------------ */

/* "" where a voxel has one probability only. */
static const char *class_name(const crd_request *request, int plane)
{
    return request->planes > 1 ? request->classes[plane].name : "";
}

/* "5-95_pore", and either part alone. */
enum { WHICH_BYTES = 96 };
static char *join_words(const char *first, const char *second, char text[WHICH_BYTES])
{
    snprintf(text, WHICH_BYTES, "%.47s%s%.47s", first, first[0] != '\0' && second[0] != '\0' ? "_" : "", second);
    return text;
}

static int64_t find_quantity(const crd_request *request, crd_quantity_kind kind, int plane, int64_t low, int64_t high)
{
    for (int64_t i = 0; i < request->quantity_count; i++) {
        const crd_quantity *q = &request->quantities[i];
        if (q->kind == kind && q->plane == plane && q->low == low && q->high == high) return i;
    }
    return -1;
}

/* Of two equal ones the first stays. */
static void add_quantity(crd_request *request, crd_quantity quantity, const char *stem, const char *part)
{
    char name[WHICH_BYTES];
    if (find_quantity(request, quantity.kind, quantity.plane, quantity.low, quantity.high) >= 0) return;
    snprintf(quantity.name, sizeof quantity.name, "%s", join_words(stem, part, name));
    request->quantities[request->quantity_count++] = quantity;
}

/* The same of every plane. */
static void add_planes(crd_request *request, crd_quantity quantity, const char *stem)
{
    for (; quantity.plane < request->planes; quantity.plane++) {
        add_quantity(request, quantity, stem, class_name(request, quantity.plane));
    }
}

static void add_percentile(crd_request *request, double percentile)
{
    char name[48], number[CRD_NUMBER_BYTES];
    const int64_t row = row_of(request, percentile);
    snprintf(name, sizeof name, "p%s", crd_short_number(percentile, 6, number));
    add_planes(request, (crd_quantity){.kind = CRD_PERCENTILE, .low = row, .high = row, .stored = CRD_F32}, name);
}

static crd_type sample_type(const crd_request *request)
{
    const char *asked = request->options->save_samples;
    return strcmp(asked, "f32") == 0 ? CRD_F32 : strcmp(asked, "u16") == 0 ? CRD_U16 : CRD_U8;
}

static void add_averaged(crd_request *request, const crd_pair *bounds)
{
    const crd_predict_options *options = request->options;
    char name[48];
    add_planes(request, (crd_quantity){.kind = CRD_PROBABILITY, .stored = CRD_F32}, "prob");
    for (int64_t i = 0; i < request->interval_count; i++) {
        const crd_interval *interval = &request->intervals[i];
        const crd_quantity width = {.kind = CRD_WIDTH,
                                    .low = interval->low,
                                    .high = interval->high,
                                    .stored = CRD_F32,
                                    .passing = request->planes > 1 && !options->unc_by_class};
        snprintf(name, sizeof name, "unc_%s", interval->text);
        add_planes(request, width, name);
    }
    for (int64_t i = 0; i < options->percentiles.count; i++) add_percentile(request, options->percentiles.items[i]);
    if (bounds != NULL) {
        add_percentile(request, bounds->low);
        add_percentile(request, bounds->high);
    }
    if (options->std) add_planes(request, (crd_quantity){.kind = CRD_DEVIATION, .stored = CRD_F32}, "std");
    for (int64_t s = 0; request->save_samples && !request->save_bits && s < request->samples; s++) {
        snprintf(name, sizeof name, "sample_%lld", (long long)(request->first_sample + s));
        add_planes(request, (crd_quantity){.kind = CRD_SAMPLE, .low = s, .high = s, .stored = sample_type(request)},
                   name);
    }
    if (options->entropy)
        add_quantity(request, (crd_quantity){.kind = CRD_ALEATORIC, .stored = CRD_F32}, "aleatoric", "");
    request->averaged_count = request->quantity_count;
}

/* The smallest type that holds the values of all classes. */
static crd_type class_type(const crd_request *request)
{
    static const struct {
        crd_type type;
        double low, high;
    } whole[] = {{CRD_U8, 0, UINT8_MAX},
                 {CRD_U16, 0, UINT16_MAX},
                 {CRD_I16, INT16_MIN, INT16_MAX},
                 {CRD_I32, INT32_MIN, INT32_MAX}};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        bool fits = true;
        for (int k = 0; k < request->class_count; k++) {
            const double value = request->classes[k].value;
            fits = fits && value == floor(value) && value >= whole[i].low && value <= whole[i].high;
        }
        if (fits) return whole[i].type;
    }
    for (int k = 0; k < request->class_count; k++) {
        if ((double)(float)request->classes[k].value != request->classes[k].value) return CRD_F64;
    }
    return CRD_F32;
}

/* Bits of the largest class's number. */
static int bit_planes(const crd_request *request)
{
    int count = 1;
    while (1 << count < request->class_count) count++;
    return count;
}

static void add_made(crd_request *request)
{
    for (int64_t i = 0; request->planes > 1 && i < request->interval_count; i++) {
        const crd_interval *interval = &request->intervals[i];
        add_quantity(request, (crd_quantity){.kind = CRD_CLASS, .stored = class_type(request)}, "seg", "");
        add_quantity(
            request,
            (crd_quantity){.kind = CRD_CLASS_WIDTH, .low = interval->low, .high = interval->high, .stored = CRD_F32},
            "unc", interval->text);
    }
    if (request->options->entropy) {
        add_quantity(request, (crd_quantity){.kind = CRD_ENTROPY, .stored = CRD_F32}, "entropy", "");
        add_quantity(request, (crd_quantity){.kind = CRD_EPISTEMIC, .stored = CRD_F32}, "epistemic", "");
    }
    for (int plane = 0; request->save_bits && plane < bit_planes(request); plane++) {
        for (int64_t s = 0; s < request->samples; s += 64) {
            char name[48], bit[16] = "";
            const int64_t last = s + 63 < request->samples ? s + 63 : request->samples - 1;
            snprintf(name, sizeof name, "samples_%lld", (long long)s);
            if (request->planes > 1) snprintf(bit, sizeof bit, "b%d", plane);
            add_quantity(
                request,
                (crd_quantity){.kind = CRD_SAMPLE_BITS, .plane = plane, .low = s, .high = last, .stored = CRD_U64},
                name, bit);
        }
    }
}

/* ---- volumes --------------------------------------------------------------------------------------------------- */

static double scale_of(crd_type type)
{
    return type == CRD_U8 ? 1.0 / 255.0 : 1.0 / 65535.0;
}

/* `which` it is, of several of one role; else "". A volume that is there is named once. */
static crd_status add_output(crd_request *request, crd_output_role role, int64_t quantity, crd_type type,
                             const char *which)
{
    const crd_quantity *q = &request->quantities[quantity];
    const bool of_percents = q->kind == CRD_WIDTH || q->kind == CRD_CLASS_WIDTH || q->kind == CRD_PERCENTILE;
    const bool of_class = request->planes > 1 && q->kind <= CRD_SAMPLE;
    const bool of_bits = q->kind == CRD_ALEATORIC || q->kind == CRD_ENTROPY || q->kind == CRD_EPISTEMIC;
    const bool bound = role == CRD_OUTPUT_LOWER_BOUND || role == CRD_OUTPUT_UPPER_BOUND;
    crd_output output = {.role = role,
                         .type = type,
                         .percents = {of_percents ? request->percentiles[q->low] : (double)NAN,
                                      of_percents ? request->percentiles[q->high] : (double)NAN},
                         .class_name = of_class ? request->classes[q->plane].name : NULL,
                         .quantity = quantity,
                         .largest = of_bits ? bit_planes(request) : 1,
                         .cut = bound || (role == CRD_OUTPUT_SEGMENTATION && q->kind == CRD_PROBABILITY)};
    const bool scaled = !output.cut && q->kind != CRD_CLASS && (type == CRD_U8 || type == CRD_U16);
    output.scale = scaled ? output.largest * scale_of(type) : 1.0;
    for (int64_t i = 0; i < request->output_count; i++) {
        if (request->outputs[i].role == role && request->outputs[i].quantity == quantity) return CRD_OK;
    }
    CRD_PASS(crd_output_name(request->name, role, which, request->suffix, &output.file));
    request->outputs[request->output_count++] = output;
    return CRD_OK;
}

/* A volume for every plane of a quantity, of which `quantity` says all but that. */
static crd_status add_outputs(crd_request *request, crd_output_role role, crd_quantity quantity, crd_type type,
                              const char *which)
{
    for (int plane = 0; plane < request->planes; plane++) {
        char text[WHICH_BYTES];
        CRD_PASS(add_output(request, role, find_quantity(request, quantity.kind, plane, quantity.low, quantity.high),
                            type, join_words(which, class_name(request, plane), text)));
    }
    return CRD_OK;
}

static crd_status add_intervals(crd_request *request, crd_type type)
{
    const crd_quantity_kind kind = request->planes > 1 ? CRD_CLASS_WIDTH : CRD_WIDTH;
    for (int64_t i = 0; i < request->interval_count; i++) {
        const crd_interval *interval = &request->intervals[i];
        CRD_PASS(add_output(request, CRD_OUTPUT_UNCERTAINTY,
                            find_quantity(request, kind, 0, interval->low, interval->high), type,
                            i == 0 ? "" : interval->text));
    }
    for (int64_t i = 0; request->options->unc_by_class && request->planes > 1 && i < request->interval_count; i++) {
        const crd_interval *interval = &request->intervals[i];
        const crd_quantity width = {.kind = CRD_WIDTH, .low = interval->low, .high = interval->high};
        CRD_PASS(add_outputs(request, CRD_OUTPUT_CLASS_UNCERTAINTY, width, type, i == 0 ? "" : interval->text));
    }
    return CRD_OK;
}

static crd_status add_percentiles(crd_request *request, const crd_pair *bounds, crd_type type)
{
    const crd_real_list *list = &request->options->percentiles;
    for (int64_t i = 0; i < list->count; i++) {
        char number[CRD_NUMBER_BYTES];
        const int64_t row = row_of(request, list->items[i]);
        CRD_PASS(add_outputs(request, CRD_OUTPUT_PERCENTILE,
                             (crd_quantity){.kind = CRD_PERCENTILE, .low = row, .high = row}, type,
                             crd_short_number(list->items[i], 6, number)));
    }
    if (request->options->std) {
        CRD_PASS(add_outputs(request, CRD_OUTPUT_DEVIATION, (crd_quantity){.kind = CRD_DEVIATION}, type, ""));
    }
    for (int i = 0; request->options->entropy && i < 3; i++) {
        static const struct {
            crd_output_role role;
            crd_quantity_kind kind;
        } parts[] = {{CRD_OUTPUT_ENTROPY, CRD_ENTROPY},
                     {CRD_OUTPUT_ALEATORIC, CRD_ALEATORIC},
                     {CRD_OUTPUT_EPISTEMIC, CRD_EPISTEMIC}};
        CRD_PASS(add_output(request, parts[i].role, find_quantity(request, parts[i].kind, 0, 0, 0), type, ""));
    }
    for (int side = 0; bounds != NULL && side < 2; side++) {
        const int64_t row = row_of(request, side == 0 ? bounds->low : bounds->high);
        CRD_PASS(add_outputs(request, side == 0 ? CRD_OUTPUT_LOWER_BOUND : CRD_OUTPUT_UPPER_BOUND,
                             (crd_quantity){.kind = CRD_PERCENTILE, .low = row, .high = row}, CRD_U8, ""));
    }
    return CRD_OK;
}

static crd_status add_samples(crd_request *request)
{
    char number[24];
    for (int64_t s = 0; !request->save_bits && s < request->samples; s++) {
        snprintf(number, sizeof number, "%lld", (long long)(request->first_sample + s));
        CRD_PASS(add_outputs(request, CRD_OUTPUT_SAMPLE, (crd_quantity){.kind = CRD_SAMPLE, .low = s, .high = s},
                             sample_type(request), number));
    }
    for (int64_t i = request->averaged_count; i < request->quantity_count; i++) {
        const crd_quantity *bits = &request->quantities[i];
        char plane[24] = "", which[WHICH_BYTES];
        if (bits->kind != CRD_SAMPLE_BITS) continue;
        snprintf(number, sizeof number, "%lld", (long long)bits->low);
        if (request->planes > 1) snprintf(plane, sizeof plane, "b%d", bits->plane);
        CRD_PASS(add_output(request, CRD_OUTPUT_SAMPLE_BITS, i, CRD_U64,
                            join_words(plane, bits->low > 0 ? number : "", which)));
    }
    return CRD_OK;
}

/* Names of classes are free: "5-95" is one, and an interval as well. */
static crd_status check_names(const crd_request *request)
{
    for (int64_t i = 0; i < request->output_count; i++) {
        for (int64_t k = 0; k < i; k++) {
            if (strcmp(request->outputs[i].file, request->outputs[k].file) != 0) continue;
            return crd_fail(CRD_ERR_ARGUMENT,
                            "two volumes would have the name %s: a class of the model is called like one of the "
                            "intervals; choose other --intervals",
                            request->outputs[i].file);
        }
    }
    return CRD_OK;
}

static crd_status list_outputs(crd_request *request, const crd_pair *bounds)
{
    const crd_predict_options *options = request->options;
    crd_type type = CRD_F32;
    if (options->dtype != NULL) CRD_PASS(crd_type_parse(options->dtype, &type, NULL));
    if (type != CRD_F32 && type != CRD_U8 && type != CRD_U16) {
        return crd_fail(CRD_ERR_ARGUMENT, "dtype must be f32, u8 or u16, not %s", options->dtype);
    }
    if (request->save_bits && request->draws_per_chunk) {
        return crd_fail(CRD_ERR_ARGUMENT, "save-samples: with --draws per-chunk every chunk has draws of its own, so "
                                          "that there are no realisations to keep as bits");
    }
    add_averaged(request, bounds);
    add_made(request);
    CRD_PASS(add_outputs(request, CRD_OUTPUT_PROBABILITY, (crd_quantity){.kind = CRD_PROBABILITY}, type, ""));
    const int64_t class = find_quantity(request, CRD_CLASS, 0, 0, 0);
    CRD_PASS(add_output(request, CRD_OUTPUT_SEGMENTATION, class >= 0 ? class : 0,
                        class >= 0 ? request->quantities[class].stored : CRD_U8, ""));
    CRD_PASS(add_intervals(request, type));
    CRD_PASS(add_percentiles(request, bounds, type));
    if (request->save_samples) CRD_PASS(add_samples(request));
    return check_names(request);
}

static void set_intervals(crd_request *request, const crd_pair *pairs)
{
    for (int64_t i = 0; i < request->interval_count; i++) {
        crd_interval *interval = &request->intervals[i];
        interval->low = row_of(request, pairs[i].low);
        interval->high = row_of(request, pairs[i].high);
        crd_interval_text((const double[]){pairs[i].low, pairs[i].high}, interval->text);
    }
}

crd_status crd_request_outputs(crd_request *request)
{
    const crd_predict_options *options = request->options;
    crd_pair usual = {33.0, 67.0};
    const crd_pair_list intervals =
        options->intervals.count > 0 ? options->intervals : (crd_pair_list){.items = &usual, .count = 1};
    const crd_pair *bounds = options->bounds.count > 0 ? options->bounds.items : NULL;
    CRD_PASS(crd_pairs_check("intervals", NULL, &intervals, INT64_MAX));
    CRD_PASS(crd_pairs_check("bounds", NULL, &options->bounds, 1));
    request->interval_count = intervals.count;
    CRD_PASS(collect_percentiles(request, &intervals, bounds));
    const int64_t by_plane =
        4 + request->interval_count + options->percentiles.count + (request->save_samples ? request->samples : 0);
    const int64_t most = request->planes * by_plane + 4 + request->interval_count + 4 * (request->samples / 64 + 1);
    CRD_PASS(crd_alloc(request->interval_count, sizeof *request->intervals, "the intervals", &request->intervals));
    CRD_PASS(crd_alloc(most, sizeof *request->quantities, "the list of quantities", &request->quantities));
    CRD_PASS(crd_alloc(most, sizeof *request->outputs, "the list of volumes", &request->outputs));
    set_intervals(request, intervals.items);
    return list_outputs(request, bounds);
}
