#include "report/stack.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "draw/colour.h"
#include "draw/picture.h"
#include "report/figures.h"

/* A PNG has at most a million rows for libpng: slices times rows. */
enum { VOXELS_MOST = 8 << 20, EDGE_MOST = 900, OUTSIDE = 255 };

static int64_t reduced(int64_t size, int64_t step)
{
    return (size + step - 1) / step;
}

void crd_stack_steps(const int64_t shape[3], const double spacing[3], int64_t voxels, int64_t steps[3])
{
    for (int axis = 0; axis < 3; axis++) steps[axis] = reduced(shape[axis], EDGE_MOST);
    while (reduced(shape[0], steps[0]) * reduced(shape[1], steps[1]) * reduced(shape[2], steps[2]) > voxels) {
        int shortest = -1;
        double least = (double)INFINITY;
        for (int axis = 0; axis < 3; axis++) {
            const double length = (double)(steps[axis] + 1) * (spacing[axis] > 0.0 ? spacing[axis] : 1.0);
            if (steps[axis] < shape[axis] && length < least) {
                shortest = axis;
                least = length;
            }
        }
        if (shortest < 0) return;
        steps[shortest]++;
    }
}

/* One volume on its way to bytes. */
typedef struct source {
    crd_volume *volume;
    const crd_box *box; /* in the volume */
    crd_volume *mask;
    const crd_box *in_mask;
    const crd_reported_run *run;
    bool classes;
    double low, high, half; /* what becomes 0 and 255; above which a value of two classes is foreground */
    int levels;
} source;

typedef struct room {
    float *slice, *sums;
    uint8_t *inside;
    uint32_t *votes; /* by class, the last for what lies outside the mask */
} room;

enum { KINDS = CRD_CLASSES_MAX + 1 };

static void free_room(room *r)
{
    crd_free(&r->slice);
    crd_free(&r->sums);
    crd_free(&r->inside);
    crd_free(&r->votes);
}

static crd_status make_room(const int64_t area, int64_t cells, room *r)
{
    static const char what[] = "the slices of a page";
    CRD_PASS(crd_alloc(area, sizeof *r->slice, what, &r->slice));
    CRD_PASS(crd_alloc(area, 1, what, &r->inside));
    CRD_PASS(crd_alloc(cells, sizeof *r->sums, what, &r->sums));
    return crd_alloc(cells * KINDS, sizeof *r->votes, what, &r->votes);
}

static int class_of(const source *from, float value)
{
    if (from->run->class_count == 2) return (double)value > from->half;
    const int number = crd_reported_class(from->run, value);
    return number < 0 ? KINDS - 1 : number;
}

/* One slice of the volume into the sums of the reduced one. */
static void collect(const source *from, const crd_stack *stack, const int64_t shape[3], room *r)
{
    for (int64_t y = 0; y < shape[1]; y++) {
        const int64_t row = y / stack->steps[1] * stack->shape[2];
        for (int64_t x = 0; x < shape[2]; x++) {
            const int64_t cell = row + x / stack->steps[2], i = y * shape[2] + x;
            const float value = r->slice[i];
            if (!from->classes) {
                r->sums[cell] += isfinite(value) ? value : 0.0f;
            } else {
                r->votes[cell * KINDS + (from->mask == NULL || r->inside[i] ? class_of(from, value) : KINDS - 1)]++;
            }
        }
    }
}

static uint8_t byte_of(const source *from, double mean)
{
    const double t = from->high > from->low ? (mean - from->low) / (from->high - from->low) : 0.0;
    const double level = rint(fmin(1.0, fmax(0.0, t)) * (from->levels - 1));
    return (uint8_t)rint(level * 255.0 / (from->levels - 1));
}

static void settle(const source *from, const crd_stack *stack, const int64_t shape[3], int64_t slices, room *r,
                   uint8_t *out)
{
    const int64_t cells = stack->shape[1] * stack->shape[2];
    for (int64_t cell = 0; cell < cells; cell++) {
        const int64_t at[2] = {cell / stack->shape[2] * stack->steps[1], cell % stack->shape[2] * stack->steps[2]};
        int64_t voxels = slices;
        for (int k = 0; k < 2; k++) {
            const int64_t left = shape[k + 1] - at[k], step = stack->steps[k + 1];
            voxels *= left < step ? left : step;
        }
        if (!from->classes) {
            out[cell] = byte_of(from, (double)r->sums[cell] / (double)voxels);
            continue;
        }
        const uint32_t *votes = r->votes + cell * KINDS;
        int best = 0;
        for (int k = 1; k < KINDS; k++) {
            if (votes[k] > votes[best]) best = k;
        }
        out[cell] = (uint8_t)(best == KINDS - 1 ? OUTSIDE : best);
    }
}

static crd_status reduce(const source *from, const crd_stack *stack, const int64_t shape[3], room *r,
                         const crd_monitor *monitor, uint8_t *out)
{
    const int64_t cells = stack->shape[1] * stack->shape[2];
    for (int64_t z = 0; z < stack->shape[0]; z++) {
        const int64_t first = z * stack->steps[0];
        const int64_t slices = shape[0] - first < stack->steps[0] ? shape[0] - first : stack->steps[0];
        memset(r->sums, 0, (size_t)cells * sizeof *r->sums);
        memset(r->votes, 0, (size_t)cells * KINDS * sizeof *r->votes);
        for (int64_t k = 0; k < slices; k++) {
            crd_box slice = {{from->box->origin[0] + first + k, from->box->origin[1], from->box->origin[2]},
                             {1, shape[1], shape[2]}};
            CRD_PASS(crd_volume_read(from->volume, &slice, CRD_F32, r->slice));
            if (from->classes && from->mask != NULL) {
                memcpy(slice.origin, from->in_mask->origin, sizeof slice.origin);
                slice.origin[0] += first + k;
                CRD_PASS(crd_volume_read(from->mask, &slice, CRD_U8, r->inside));
            }
            collect(from, stack, shape, r);
        }
        settle(from, stack, shape, slices, r, out + z * cells);
        CRD_PASS(crd_advance(monitor, "slices for the page", "slices", z + 1, stack->shape[0], NULL));
    }
    return CRD_OK;
}

/* What the slider shows. Fewer levels than 256 can't be seen, and take much less room. */
static int list_sources(crd_reported_run *runs, int count, double high, source *sources, crd_stack *out)
{
    enum { GREYS = 128, COLOURS = 64 };
    crd_reported_run *s = &runs[0];
    int used = 0;
    crd_volume *back = s->scan != NULL ? s->scan : s->prob;
    if (back == NULL) return 0;
    sources[used] =
        (source){.volume = back, .box = &s->whole, .low = 0.0, .high = 1.0 / s->prob_scale, .levels = GREYS};
    if (s->scan != NULL) {
        sources[used].box = &s->in_scan;
        sources[used].low = s->scan_low;
        sources[used].high = s->scan_high;
    }
    snprintf(out->names[used++], sizeof out->names[0], "scan");
    for (int i = 0; i < count; i++) {
        s = &runs[i];
        sources[used] = (source){.volume = s->seg != NULL ? s->seg : s->prob,
                                 .box = &s->whole,
                                 .mask = s->mask,
                                 .in_mask = &s->in_scan,
                                 .run = s,
                                 .classes = true,
                                 .half = s->seg != NULL ? 0.0 : 0.5 / s->prob_scale};
        snprintf(out->names[used++], sizeof out->names[0], "seg%d", i);
        if (s->unc == NULL) continue;
        sources[used] =
            (source){.volume = s->unc, .box = &s->whole, .low = 0.0, .high = high / s->unc_scale, .levels = COLOURS};
        snprintf(out->names[used++], sizeof out->names[0], "unc%d", i);
    }
    return used;
}

static crd_status make_at(const source *sources, int used, const int64_t shape[3], const double spacing[3],
                          int64_t voxels, const crd_monitor *monitor, crd_stack *out)
{
    crd_status status = CRD_OK;
    room r = {0};
    uint8_t *grey = NULL;
    crd_stack_steps(shape, spacing, voxels, out->steps);
    for (int axis = 0; axis < 3; axis++) out->shape[axis] = reduced(shape[axis], out->steps[axis]);
    const int64_t cells = out->shape[1] * out->shape[2];
    CRD_TRY(make_room(shape[1] * shape[2], cells, &r));
    CRD_TRY(crd_alloc(cells * out->shape[0], 1, "the slices of a page", &grey));
    for (int i = 0; i < used; i++) {
        crd_free(&out->png[i]);
        CRD_TRY(reduce(&sources[i], out, shape, &r, monitor, grey));
        CRD_TRY(crd_png_encode_grey(grey, out->shape[2], out->shape[0] * out->shape[1], &out->png[i], &out->bytes[i]));
    }
    out->count = used;
done:
    free_room(&r);
    crd_free(&grey);
    return status;
}

crd_status crd_stack_make(crd_reported_run *runs, int count, double high, int64_t limit, const crd_monitor *monitor,
                          crd_stack *out)
{
    source sources[5];
    const int64_t *shape = runs[0].whole.size;
    if (count > 1 && (memcmp(shape, runs[1].whole.size, sizeof runs[1].whole.size) != 0 ||
                      memcmp(runs[0].in_scan.origin, runs[1].in_scan.origin, sizeof runs[1].in_scan.origin) != 0)) {
        return CRD_OK;
    }
    memset(sources, 0, sizeof sources);
    const int used = list_sources(runs, count, high, sources, out);
    for (int64_t voxels = VOXELS_MOST; used > 0;) {
        int64_t all = 0;
        CRD_PASS(make_at(sources, used, shape, runs[0].spacing, voxels, monitor, out));
        for (int i = 0; i < used; i++) all += (out->bytes[i] + 2) / 3 * 4;
        if (all <= limit) break;
        /* As many as would fit if all took what they took now, and a little less. */
        voxels =
            (int64_t)(0.95 * (double)limit / (double)all * (double)(out->shape[0] * out->shape[1] * out->shape[2]));
        if (voxels < 1) {
            crd_stack_free(out);
            break;
        }
    }
    return CRD_OK;
}

void crd_stack_free(crd_stack *stack)
{
    for (int i = 0; i < 5; i++) crd_free(&stack->png[i]);
    stack->count = 0;
}

static void add_integers(crd_text *json, const char *name, const int64_t values[3])
{
    crd_text_print(json, "\"%s\":[%lld,%lld,%lld],", name, (long long)values[0], (long long)values[1],
                   (long long)values[2]);
}

void crd_stack_facts(crd_text *page, const crd_stack *stack, const crd_reported_run *runs, int count)
{
    const crd_reported_run *s = &runs[0];
    uint8_t colours[CRD_COLOURS][3];
    crd_text json = {0};
    char *text = NULL;
    if (stack->count == 0) return;
    crd_text_add(&json, "{");
    add_integers(&json, "shape", stack->shape);
    add_integers(&json, "steps", stack->steps);
    add_integers(&json, "whole", s->whole.size);
    add_integers(&json, "origin", s->in_scan.origin);
    crd_text_add(&json, "\"spacing\":[");
    for (int axis = 0; axis < 3; axis++) {
        if (axis > 0) crd_text_add(&json, ",");
        crd_text_number(&json, s->spacing[axis] > 0.0 ? s->spacing[axis] : 0.0, 6, "0");
    }
    crd_text_add(&json, "],\"unit\":");
    crd_text_json(&json, crd_page_unit(s));
    crd_text_add(&json, ",\"classes\":[");
    for (int i = 0; i < count; i++) crd_text_print(&json, "%s%d", i > 0 ? "," : "", runs[i].class_count);
    crd_text_add(&json, "],\"tints\":\"");
    for (int k = 0; k < CRD_CLASS_COLOURS; k++) crd_text_print(&json, "%06x", (unsigned)crd_class_colours[k]);
    crd_text_print(&json, "\",\"masked\":\"%06x\",\"colours\":\"", (unsigned)CRD_FIGURE_MASKED);
    crd_colour_map(colours);
    for (int i = 0; i < CRD_COLOURS; i++) {
        crd_text_print(&json, "%02x%02x%02x", colours[i][0], colours[i][1], colours[i][2]);
    }
    crd_text_add(&json, "\"}");
    const crd_status status = crd_text_finish(&json, &text);
    if (status == CRD_OK) {
        crd_text_add(page, " data-facts=\"");
        crd_text_html(page, text);
        crd_text_add(page, "\"");
    } else if (page->status == CRD_OK) {
        page->status = status;
    }
    crd_free(&text);
}

void crd_stack_data(crd_text *page, const crd_stack *stack)
{
    for (int i = 0; i < stack->count; i++) {
        crd_text_print(page, "<script type=\"text/plain\" id=\"stack-%s\">", stack->names[i]);
        crd_text_base64(page, stack->png[i], stack->bytes[i]);
        crd_text_add(page, "</script>\n");
    }
}
