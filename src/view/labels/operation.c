#include "view/labels/operation.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "view/http/request.h"
#include "view/labels/blocks.h"

const char *const crd_paint_names[CRD_PAINT_KINDS] = {
    [CRD_PAINT_STROKE] = "stroke",   [CRD_PAINT_FILL] = "fill",     [CRD_PAINT_POLYGON] = "polygon",
    [CRD_PAINT_BETWEEN] = "between", [CRD_PAINT_ACCEPT] = "accept", [CRD_PAINT_CLEAR] = "clear"};

/* Of planes across each axis: the axis that runs down, and the one to the right. */
static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};

/* Points may leave the volume by so much: a pointer does. */
enum { BEYOND = 8 * 4096 };

static crd_status wrong(const char *what)
{
    return crd_fail(CRD_ERR_ARGUMENT, "the operation's %s", what);
}

static bool whole(const cJSON *item, int64_t low, int64_t high, int64_t *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= (double)low && item->valuedouble <= (double)high) ||
        item->valuedouble != floor(item->valuedouble)) {
        return false;
    }
    *out = (int64_t)item->valuedouble;
    return true;
}

static const cJSON *get(const cJSON *json, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(json, name);
}

bool crd_operation_id(const cJSON *json, char id[CRD_PAINT_ID])
{
    const cJSON *item = get(json, "id");
    id[0] = '\0';
    if (item == NULL) return true;
    const char *text = cJSON_GetStringValue(item);
    if (text == NULL || text[0] == '\0' || strlen(text) >= CRD_PAINT_ID) return false;
    for (const char *c = text; *c != '\0'; c++) {
        const bool plain =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '_';
        if (!plain) return false;
    }
    memcpy(id, text, strlen(text) + 1);
    return true;
}

static crd_status take_over(const cJSON *over, crd_operation *out)
{
    const char *word = cJSON_GetStringValue(over);
    if (over == NULL || (word != NULL && strcmp(word, "all") == 0)) {
        memset(out->over, 1, sizeof out->over);
        return CRD_OK;
    }
    if (word != NULL && strcmp(word, "unlabelled") == 0) {
        out->over[CRD_UNLABELLED] = true;
        return CRD_OK;
    }
    if (!cJSON_IsArray(over)) return wrong("over must be \"all\", \"unlabelled\" or a list of classes");
    for (const cJSON *item = over->child; item != NULL; item = item->next) {
        int64_t class;
        if (!whole(item, 0, CRD_UNLABELLED, &class)) return wrong("over names what is no class");
        out->over[class] = true;
    }
    return CRD_OK;
}

static crd_status take_grey(const cJSON *grey, crd_operation *out)
{
    if (grey == NULL || cJSON_IsNull(grey)) return CRD_OK;
    const cJSON *low = cJSON_GetArrayItem(grey, 0), *high = cJSON_GetArrayItem(grey, 1);
    if (!cJSON_IsArray(grey) || cJSON_GetArraySize(grey) != 2 || !cJSON_IsNumber(low) || !cJSON_IsNumber(high) ||
        !(low->valuedouble <= high->valuedouble)) {
        return wrong("grey must be two numbers, the lower first");
    }
    out->greyed = true;
    out->grey[0] = low->valuedouble;
    out->grey[1] = high->valuedouble;
    return CRD_OK;
}

static crd_status take_box(const cJSON *box, const int64_t shape[3], bool needed, crd_operation *out)
{
    out->box = (crd_box){.size = {shape[0], shape[1], shape[2]}};
    if (box == NULL || cJSON_IsNull(box)) return needed ? wrong("box is missing") : CRD_OK;
    if (!crd_request_box(cJSON_GetStringValue(box), shape, &out->box)) {
        return wrong("box must be z0:z1,y0:y1,x0:x1 inside the scan");
    }
    out->boxed = true;
    return CRD_OK;
}

static crd_status take_points(const cJSON *points, const int64_t shape[3], int least, crd_operation *out)
{
    const int axes[2] = {down[out->axis], right[out->axis]};
    const int count = cJSON_IsArray(points) ? cJSON_GetArraySize(points) : 0;
    if (count % 2 != 0 || count < 2 * least) return wrong("points must be pairs of whole numbers, and enough of them");
    if (count > 2 * CRD_PAINT_POINTS) return wrong("points are too many");
    out->point_count = count / 2;
    CRD_PASS(crd_alloc(out->point_count, sizeof *out->points, "points", &out->points));
    int64_t *to = out->points[0];
    int i = 0;
    for (const cJSON *item = points->child; item != NULL; item = item->next, i++) {
        if (!whole(item, -BEYOND, 8 * shape[axes[i % 2]] + BEYOND, &to[i])) {
            return wrong("points must be whole numbers of eighths of a voxel, not far from the scan");
        }
    }
    return CRD_OK;
}

static crd_status take_plane(const cJSON *json, const int64_t shape[3], crd_operation *out)
{
    int64_t axis;
    if (!whole(get(json, "axis"), 0, 2, &axis)) return wrong("axis must be 0, 1 or 2");
    out->axis = (int)axis;
    if (!whole(get(json, "slice"), 0, shape[axis] - 1, &out->slice)) return wrong("slice isn't one of the scan");
    return CRD_OK;
}

static crd_status take_own(const cJSON *json, const int64_t shape[3], crd_operation *out)
{
    const cJSON *below = get(json, "below"), *at = get(json, "at");
    if (out->kind != CRD_PAINT_ACCEPT && out->kind != CRD_PAINT_CLEAR) CRD_PASS(take_plane(json, shape, out));
    switch (out->kind) {
    case CRD_PAINT_STROKE:
        if (!whole(get(json, "radius"), 1, CRD_PAINT_RADIUS, &out->radius)) {
            return wrong("radius must be 1 to 2048 eighths of a voxel");
        }
        out->ball = cJSON_IsTrue(get(json, "ball"));
        return take_points(get(json, "points"), shape, 1, out);
    case CRD_PAINT_POLYGON:
        return take_points(get(json, "points"), shape, 3, out);
    case CRD_PAINT_FILL:
        if (!whole(cJSON_GetArrayItem(at, 0), 0, shape[down[out->axis]] - 1, &out->at[0]) ||
            !whole(cJSON_GetArrayItem(at, 1), 0, shape[right[out->axis]] - 1, &out->at[1])) {
            return wrong("at must be a voxel of the plane: down and right");
        }
        return CRD_OK;
    case CRD_PAINT_BETWEEN:
        if (!whole(get(json, "to"), 0, shape[out->axis] - 1, &out->to)) return wrong("to isn't a slice of the scan");
        if (out->to - out->slice < 2 && out->slice - out->to < 2) return wrong("two slices have none between them");
        memset(out->over, 0, sizeof out->over);
        out->over[CRD_UNLABELLED] = true;
        return CRD_OK;
    case CRD_PAINT_ACCEPT:
        out->limited = below != NULL && !cJSON_IsNull(below);
        if (out->limited && !cJSON_IsNumber(below)) return wrong("below must be a number");
        out->below = out->limited ? below->valuedouble : 0.0;
        return CRD_OK;
    default:
        return CRD_OK;
    }
}

crd_status crd_operation_read(const cJSON *json, const int64_t shape[3], crd_operation *out)
{
    int64_t value = CRD_UNLABELLED;
    memset(out, 0, sizeof *out);
    const char *word = cJSON_GetStringValue(get(json, "do"));
    while (word != NULL && out->kind < CRD_PAINT_KINDS && strcmp(word, crd_paint_names[out->kind]) != 0) out->kind++;
    if (word == NULL || out->kind == CRD_PAINT_KINDS) {
        return wrong("do must be stroke, fill, polygon, between, accept or clear");
    }
    if (!crd_operation_id(json, out->id)) return wrong("id must be up to 47 letters, digits, - and _");
    const bool boxed = out->kind == CRD_PAINT_ACCEPT || out->kind == CRD_PAINT_CLEAR;
    if (!boxed && !whole(get(json, "value"), 0, CRD_UNLABELLED, &value)) return wrong("value is missing");
    if (value >= CRD_PAINT_CLASSES && value != CRD_UNLABELLED) return wrong("value must be a class, 0 to 15, or 255");
    out->value = (uint8_t)value;
    CRD_PASS(take_over(get(json, "over"), out));
    CRD_PASS(take_grey(get(json, "grey"), out));
    CRD_PASS(take_box(get(json, "box"), shape, boxed, out));
    return take_own(json, shape, out);
}

void crd_operation_free(crd_operation *operation)
{
    crd_free(&operation->points);
}
