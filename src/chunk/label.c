#include "chunk/label_file.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "volume/format.h"
#include "volume/sidecar.h"

static crd_status count_value(crd_label *label, double value, int64_t times)
{
    const int64_t at = crd_value_place(&label->met, value);
    if (at == label->met.count || label->met.values[at] != value) {
        if (!isfinite(value)) {
            return crd_fail(CRD_ERR_FORMAT, "the label %s holds voxels that are not finite numbers", label->path);
        }
        if (label->met.count == CRD_LABEL_VALUES_MAX) {
            return crd_fail(CRD_ERR_FORMAT, "the label %s has more than %d different values; is it really a label?",
                            label->path, (int)CRD_LABEL_VALUES_MAX);
        }
        memmove(label->voxels + at + 1, label->voxels + at, (size_t)(label->met.count - at) * sizeof *label->voxels);
        label->voxels[at] = 0;
        crd_value_insert(&label->met, at, value);
    }
    label->voxels[at] += times;
    return CRD_OK;
}

/* How many bytes are 1; false where there are others than 0 and 1. */
static bool count_ones(const uint8_t *bytes, int64_t count, int64_t *ones)
{
    *ones = 0;
    for (int64_t first = 0; first < count; first += 4096) {
        const int64_t end = first + 4096 < count ? first + 4096 : count;
        uint32_t sum = 0;
        uint8_t most = 0;
        for (int64_t i = first; i < end; i++) {
            sum += bytes[i];
            most = bytes[i] > most ? bytes[i] : most;
        }
        if (most > 1) return false;
        *ones += sum;
    }
    return true;
}

/* Bytes, as labels mostly are: counted in four tables, so that long runs of one value don't wait for each other. */
static crd_status count_bytes(crd_label *label, const uint8_t *bytes)
{
    int64_t tables[4][256] = {{0}}, ones;
    if (count_ones(bytes, label->slice_voxels, &ones)) {
        if (ones < label->slice_voxels) CRD_PASS(count_value(label, 0.0, label->slice_voxels - ones));
        return ones > 0 ? count_value(label, 1.0, ones) : CRD_OK;
    }
    for (int64_t i = 0; i < label->slice_voxels; i++) tables[i & 3][bytes[i]]++;
    for (int value = 0; value < 256; value++) {
        const int64_t times = tables[0][value] + tables[1][value] + tables[2][value] + tables[3][value];
        if (times > 0) CRD_PASS(count_value(label, (double)value, times));
    }
    return CRD_OK;
}

static bool is_bytes(const crd_label *label)
{
    return crd_volume_describe(label->volume)->type == CRD_U8;
}

static crd_status learn_values(crd_label *label, const crd_monitor *monitor)
{
    const int64_t *shape = crd_volume_describe(label->volume)->shape;
    for (int64_t z = 0; z < shape[0]; z++) {
        const crd_box slice = {{z, 0, 0}, {1, shape[1], shape[2]}};
        CRD_PASS(crd_volume_read(label->volume, &slice, is_bytes(label) ? CRD_U8 : CRD_F64, label->slice));
        if (is_bytes(label)) CRD_PASS(count_bytes(label, (const uint8_t *)label->slice));
        for (int64_t i = is_bytes(label) ? label->slice_voxels : 0; i < label->slice_voxels;) { /* long runs */
            int64_t run = 1;
            while (i + run < label->slice_voxels && label->slice[i + run] == label->slice[i]) run++;
            CRD_PASS(count_value(label, label->slice[i], run));
            i += run;
        }
        CRD_PASS(crd_advance(monitor, "reading the label", "slices", z + 1, shape[0], NULL));
    }
    return CRD_OK;
}

const char *crd_label_type(const char *path, const crd_volume_options *options)
{
    if (options->type != NULL || options->shape[0] == 0 || crd_sidecar_names_type(path)) return options->type;
    return "u8";
}

static crd_status make_room(crd_label *label)
{
    const int64_t *shape = crd_volume_describe(label->volume)->shape;
    label->slice_voxels = shape[1] * shape[2];
    return crd_alloc(label->slice_voxels, sizeof *label->slice, "a slice of the label", &label->slice);
}

crd_status crd_label_learn(const char *path, const int64_t shape[3], const crd_volume_options *options,
                           const crd_monitor *monitor, crd_label **out)
{
    crd_status status = CRD_OK;
    crd_label *label = NULL;
    crd_volume_options reading = {0};
    *out = NULL;
    if (options != NULL) reading = *options;
    reading.unit = NULL;
    reading.type = crd_label_type(path, &reading);
    CRD_TRY(crd_alloc(1, sizeof *label, "the label", &label));
    CRD_TRY(crd_strdup(path, &label->path));
    CRD_TRY(crd_volume_open(path, &reading, monitor, &label->volume));
    CRD_TRY(make_room(label));
    const int64_t *own = crd_volume_describe(label->volume)->shape;
    if (memcmp(own, shape, 3 * sizeof *shape) != 0) {
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "the label %s has shape %" PRId64 ",%" PRId64 ",%" PRId64 " (z,y,x) and its scan %" PRId64 ",%" PRId64
                 ",%" PRId64 "; they must be equal",
                 path, own[0], own[1], own[2], shape[0], shape[1], shape[2]);
    }
    CRD_TRY(learn_values(label, monitor));
    *out = label;
    label = NULL;
done:
    crd_label_close(&label);
    return status;
}

crd_status crd_label_open(const char *path, const int64_t shape[3], const crd_label_options *options,
                          const crd_monitor *monitor, crd_label **out)
{
    CRD_PASS(crd_label_learn(path, shape, options->volume, monitor, out));
    const crd_status status = crd_label_decide(out, 1, options, monitor);
    if (status != CRD_OK) crd_label_close(out);
    return status;
}

crd_status crd_label_reopen(const crd_label *label, crd_label **out)
{
    crd_status status = CRD_OK;
    crd_label *copy = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *copy, "the label", &copy));
    CRD_TRY(crd_strdup(label->path, &copy->path));
    CRD_TRY(crd_volume_open_again(label->volume, &copy->volume));
    CRD_TRY(make_room(copy));
    copy->met = label->met;
    memcpy(copy->voxels, label->voxels, sizeof copy->voxels);
    memcpy(copy->classes, label->classes, sizeof copy->classes);
    memcpy(copy->counts, label->counts, sizeof copy->counts);
    copy->unlabelled = label->unlabelled;
    copy->meaning = label->meaning;
    *out = copy;
    copy = NULL;
done:
    crd_label_close(&copy);
    return status;
}

void crd_label_close(crd_label **pointer)
{
    crd_label *label = *pointer;
    if (label == NULL) return;
    crd_volume_close(&label->volume);
    crd_free(&label->path);
    crd_free(&label->slice);
    crd_free(pointer);
}

const crd_volume_info *crd_label_info(const crd_label *label)
{
    return crd_volume_describe(label->volume);
}

void crd_label_counts(const crd_label *label, int64_t counts[3])
{
    counts[0] = label->counts[0];
    counts[1] = 0;
    for (int c = 1; c < label->meaning.count; c++) counts[1] += label->counts[c];
    counts[2] = label->unlabelled;
}

void crd_label_class_counts(const crd_label *label, int64_t counts[CRD_CLASSES_MAX])
{
    memcpy(counts, label->counts, sizeof label->counts);
}

const crd_label_classes *crd_label_meaning(const crd_label *label)
{
    return &label->meaning;
}

/* In place. A value that wasn't there when the label was opened has no class. */
static crd_status classify_bytes(const crd_label *label, int64_t count, uint8_t *classes)
{
    enum { UNKNOWN = 254 };
    uint8_t table[256], unknown = 0;
    memset(table, UNKNOWN, sizeof table);
    for (int64_t i = 0; i < label->met.count; i++) table[(int)label->met.values[i]] = label->classes[i];
    if (label->met.count <= 2) { /* the usual label: comparing is vector code, looking up is not */
        const uint8_t first = (uint8_t)label->met.values[0], last = (uint8_t)label->met.values[label->met.count - 1];
        const uint8_t first_class = table[first], last_class = table[last];
        for (int64_t i = 0; i < count; i++) {
            const uint8_t value = classes[i];
            const uint8_t class = value == last ? last_class : value == first ? first_class : (uint8_t)UNKNOWN;
            unknown |= class == UNKNOWN;
            classes[i] = class;
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            classes[i] = table[classes[i]];
            unknown |= classes[i] == UNKNOWN;
        }
    }
    if (!unknown) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "the label %s changed while it was being read", label->path);
}

crd_status crd_label_read(crd_label *label, const crd_box *box, uint8_t *classes)
{
    if (is_bytes(label)) {
        CRD_PASS(crd_volume_read(label->volume, box, CRD_U8, classes));
        return classify_bytes(label, box->size[0] * box->size[1] * box->size[2], classes);
    }
    const int64_t area = box->size[1] * box->size[2];
    for (int64_t z = 0; z < box->size[0]; z++) {
        const crd_box slice = {{box->origin[0] + z, box->origin[1], box->origin[2]}, {1, box->size[1], box->size[2]}};
        uint8_t *row = classes + z * area;
        CRD_PASS(crd_volume_read(label->volume, &slice, CRD_F64, label->slice));
        int64_t at = 0;
        for (int64_t i = 0; i < area; i++) {
            if (i == 0 || label->slice[i] != label->slice[i - 1]) {
                at = crd_value_place(&label->met, label->slice[i]);
                if (at == label->met.count || label->met.values[at] != label->slice[i]) {
                    return crd_fail(CRD_ERR_FORMAT, "the label %s changed while it was being read", label->path);
                }
            }
            row[i] = label->classes[at];
        }
    }
    return CRD_OK;
}

int64_t crd_label_slices_at_once(const crd_label *label, const crd_box *box, int64_t z)
{
    return crd_volume_slices_at_once(label->volume, z, box->origin[0] + box->size[0], box->size[1] * box->size[2]);
}

int64_t crd_label_count(const uint8_t *classes, int64_t count)
{
    enum { BLOCK = 1 << 14 }; /* short sums are faster vector code than long ones */
    int64_t labelled = 0;
    for (int64_t first = 0; first < count; first += BLOCK) {
        const int64_t end = first + BLOCK < count ? first + BLOCK : count;
        uint16_t some = 0;
        for (int64_t i = first; i < end; i++) some = (uint16_t)(some + (classes[i] != CRD_LABEL_NONE));
        labelled += some;
    }
    return labelled;
}
