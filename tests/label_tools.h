/* What the tests of painted labels share: a project in a folder of its own, random operations, and all labels in
 * memory. */
#ifndef CRD_TESTS_LABEL_TOOLS_H
#define CRD_TESTS_LABEL_TOOLS_H

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "view/labels/labels.h"

static char label_folder[256];

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static inline void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void label_clean(void)
{
    remove_tree(label_folder);
}

/* A path in a folder that is removed at the end: in memory, since every stroke is brought onto the disk. Static
 * storage, eight in turn. */
static inline const char *label_path(const char *name)
{
    static char paths[8][512];
    static int next;
    if (label_folder[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(label_folder, sizeof label_folder, "%s/credence-labels-XXXXXX",
                 base != NULL                    ? base
                 : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                 : "/tmp");
        if (mkdtemp(label_folder) == NULL) {
            perror(label_folder);
            exit(1);
        }
        atexit(label_clean);
    }
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", label_folder, name);
    return path;
}

static uint64_t label_seed = 1;

static inline int64_t any(int64_t count)
{
    label_seed = label_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((label_seed >> 33) % (uint64_t)count);
}

/* A grey value for every voxel, without a file. */
static inline double grey_at(int64_t z, int64_t y, int64_t x)
{
    return (double)((z * 7 + y * 13 + x * 5 + y * x % 11) % 100);
}

static inline crd_status read_grey(void *context, const crd_box *box, double *values)
{
    (void)context;
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            for (int64_t x = 0; x < box->size[2]; x++) {
                *values++ = grey_at(box->origin[0] + z, box->origin[1] + y, box->origin[2] + x);
            }
        }
    }
    return CRD_OK;
}

static inline crd_status read_classes(void *context, const crd_box *box, uint8_t *classes)
{
    (void)context;
    for (int64_t z = 0; z < box->size[0]; z++) {
        for (int64_t y = 0; y < box->size[1]; y++) {
            for (int64_t x = 0; x < box->size[2]; x++) {
                const int64_t grey = (int64_t)grey_at(box->origin[0] + z, box->origin[1] + y, box->origin[2] + x);
                *classes++ = grey < 20 ? 255 : (uint8_t)(grey / 40);
            }
        }
    }
    return CRD_OK;
}

static const crd_paint_sources label_sources = {.grey = read_grey, .classes = read_classes, .uncertainty = read_grey};

static inline crd_status read_operation(const char *words, const int64_t shape[3], crd_operation *out)
{
    cJSON *json = cJSON_Parse(words);
    const crd_status status = crd_operation_read(json, shape, out);
    cJSON_Delete(json);
    return status;
}

/* An operation of any kind, as a page could send it. */
static inline void random_words(const int64_t shape[3], char words[2048])
{
    static const int down[3] = {1, 0, 1}, right[3] = {2, 2, 0};
    const int axis = (int)any(3), kind = (int)any(6);
    const int64_t rows = shape[down[axis]], columns = shape[right[axis]];
    const char *const overs[] = {"\"all\"", "\"unlabelled\"", "[0,2]", "[1,255]"};
    int at = snprintf(words, 2048, "{\"do\":\"%s\",\"axis\":%d,\"slice\":%lld,\"value\":%d,\"over\":%s",
                      crd_paint_names[kind], axis, (long long)any(shape[axis]), any(5) == 0 ? 255 : (int)any(3),
                      overs[any(4)]);
    if (any(3) == 0)
        at += snprintf(words + at, 2048 - (size_t)at, ",\"grey\":[%d,%d]", (int)any(40), 40 + (int)any(60));
    if (kind == CRD_PAINT_STROKE || kind == CRD_PAINT_POLYGON) {
        const int64_t count = kind == CRD_PAINT_STROKE ? 1 + any(5) : 3 + any(6);
        at += snprintf(words + at, 2048 - (size_t)at, ",\"points\":[");
        for (int64_t i = 0; i < count; i++) {
            at += snprintf(words + at, 2048 - (size_t)at, "%s%lld,%lld", i > 0 ? "," : "",
                           (long long)(any(8 * rows + 160) - 80), (long long)(any(8 * columns + 160) - 80));
        }
        at += snprintf(words + at, 2048 - (size_t)at, "],\"radius\":%lld,\"ball\":%s", (long long)(1 + any(120)),
                       any(2) == 0 ? "true" : "false");
    }
    if (kind == CRD_PAINT_FILL) {
        at += snprintf(words + at, 2048 - (size_t)at, ",\"at\":[%lld,%lld]", (long long)any(rows),
                       (long long)any(columns));
    }
    if (kind == CRD_PAINT_BETWEEN)
        at += snprintf(words + at, 2048 - (size_t)at, ",\"to\":%lld", (long long)any(shape[axis]));
    if (kind == CRD_PAINT_ACCEPT || kind == CRD_PAINT_CLEAR) {
        int64_t low[3], high[3];
        for (int i = 0; i < 3; i++) {
            low[i] = any(shape[i]);
            high[i] = low[i] + 1 + any(shape[i] - low[i]);
        }
        at +=
            snprintf(words + at, 2048 - (size_t)at, ",\"box\":\"%lld:%lld,%lld:%lld,%lld:%lld\"", (long long)low[0],
                     (long long)high[0], (long long)low[1], (long long)high[1], (long long)low[2], (long long)high[2]);
        if (any(2) == 0) at += snprintf(words + at, 2048 - (size_t)at, ",\"below\":%d", (int)any(100));
    }
    snprintf(words + at, 2048 - (size_t)at, "}");
}

static inline crd_status read_all(crd_labels *labels, const int64_t shape[3], uint8_t *voxels)
{
    const crd_box box = {.size = {shape[0], shape[1], shape[2]}};
    return crd_labels_read(labels, &box, voxels);
}

#endif
