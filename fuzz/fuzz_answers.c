/* What the helper for HDF5 says isn't believed, and here it says anything: good files of each kind are opened, and what
 * a real helper answers is changed as the input says before anybody looks at it. That is refused with a sentence, or
 * taken for voxels or a model. The linker leads the library's calls of base/hdf5/helper.h here (CMakeLists.txt). */
#include <hdf5.h>

#include "base/hdf5/helper.h"
#include "base/memory.h"
#include "common.h"
#include "net/model.h"

enum { PLAIN, CHUNKED, PACKED, COMPACT, MODEL, FILES, ANSWERS = 512, WINDOW = 1 << 20 };

static void must(int good)
{
    if (!good) abort();
}

/* ---- real helpers, one for each file, and what they once said ---- */

typedef struct answer {
    uint64_t order; /* 0: none */
    crd_status status;
    char sentence[CRD_HELPER_SENTENCE];
    size_t result_bytes;
    int64_t window_bytes;
    char *result, *window;
} answer;

static struct source {
    char path[128];
    crd_helper *real;
    answer answers[ANSWERS];
} sources[FILES];

/* Who asks has one of these for a helper. */
typedef struct liar {
    struct source *source;
    bool opened; /* the first order is the same each time, but for how much memory is free */
    int64_t window_bytes;
    char *window;
} liar;

/* The changes that are still to be made. */
static const uint8_t *change_at, *change_end;

crd_status __real_crd_helper_start(const char *file, const char *shown, const char *mark, crd_helper **out);
void __real_crd_helper_close(crd_helper **helper);
crd_status __real_crd_helper_ask(crd_helper *helper, const void *order, size_t order_bytes, void *result, size_t bytes);
crd_status __real_crd_helper_widen(crd_helper *helper, int64_t bytes);
const char *__real_crd_helper_window(const crd_helper *helper);
int __real_crd_helper_file(const crd_helper *helper);
int64_t __real_crd_helper_length(const crd_helper *helper);

crd_status __wrap_crd_helper_start(const char *file, const char *shown, const char *mark, crd_helper **out)
{
    crd_status status = CRD_OK;
    liar *made = NULL;
    *out = NULL;
    for (int i = 0; i < FILES; i++) {
        struct source *s = &sources[i];
        if (strcmp(s->path, file) != 0) continue;
        if (s->real == NULL) CRD_TRY(__real_crd_helper_start(s->path, s->path, mark, &s->real));
        CRD_TRY(crd_alloc(1, sizeof *made, "a helper", &made));
        made->source = s;
        *out = (crd_helper *)(void *)made;
        return CRD_OK;
    }
    status = __real_crd_helper_start(file, shown, mark, out); /* which fails: there are no other files */
    must(status != CRD_OK);
done:
    return status;
}

void __wrap_crd_helper_close(crd_helper **helper)
{
    liar *l = (liar *)(void *)*helper;
    if (l != NULL) crd_free(&l->window);
    crd_free(&l);
    *helper = NULL;
}

int __wrap_crd_helper_file(const crd_helper *helper)
{
    return __real_crd_helper_file(((const liar *)(const void *)helper)->source->real);
}

int64_t __wrap_crd_helper_length(const crd_helper *helper)
{
    return __real_crd_helper_length(((const liar *)(const void *)helper)->source->real);
}

crd_status __wrap_crd_helper_widen(crd_helper *helper, int64_t bytes)
{
    liar *l = (liar *)(void *)helper;
    char *wider = NULL;
    if (bytes <= l->window_bytes) return CRD_OK;
    if (bytes > WINDOW) return crd_fail(CRD_ERR_MEMORY, "%s: no shared memory for its values", l->source->path);
    CRD_PASS(crd_alloc(bytes, 1, "a window", &wider));
    crd_free(&l->window);
    l->window = wider;
    l->window_bytes = bytes;
    return CRD_OK;
}

int64_t __wrap_crd_helper_window_bytes(const crd_helper *helper)
{
    return ((const liar *)(const void *)helper)->window_bytes;
}

const char *__wrap_crd_helper_window(const crd_helper *helper)
{
    return ((const liar *)(const void *)helper)->window;
}

bool __wrap_crd_helper_left_behind(const crd_helper *helper)
{
    (void)helper;
    return false;
}

static uint64_t hash(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < count; i++) h = (h ^ at[i]) * 1099511628211u;
    return h | 1;
}

/* What the real helper says to it, remembered as long as there is room for more. NULL: it can't be asked. */
static const answer *truth(liar *l, const void *order, size_t order_bytes, size_t bytes)
{
    struct source *s = l->source;
    const uint64_t key = l->opened ? hash(order, order_bytes) : 2;
    answer *a = s->answers;
    while (a < &s->answers[ANSWERS - 1] && a->order != 0 && a->order != key) a++;
    l->opened = true;
    if (a->order == key) return a;
    if (a->order != 0) { /* the last of a full table is used again */
        crd_free(&a->result);
        crd_free(&a->window);
        a->order = 0;
    }
    must(crd_alloc((int64_t)bytes + 1, 1, "an answer", &a->result) == CRD_OK);
    if (__real_crd_helper_widen(s->real, l->window_bytes) != CRD_OK) return NULL;
    a->order = key;
    a->result_bytes = bytes;
    a->window_bytes = l->window_bytes;
    a->status = __real_crd_helper_ask(s->real, order, order_bytes, a->result, bytes);
    if (a->status != CRD_OK) snprintf(a->sentence, sizeof a->sentence, "%s", crd_last_error()->message);
    if (l->window_bytes > 0) {
        must(crd_alloc(l->window_bytes, 1, "an answer", &a->window) == CRD_OK);
        memcpy(a->window, __real_crd_helper_window(s->real), (size_t)l->window_bytes);
    }
    return a;
}

/* ---- the lies ---- */

static uint8_t next(void)
{
    return change_at < change_end ? *change_at++ : 0;
}

/* One byte, a word or a long one at some place. */
static void lie(char *bytes, int64_t count)
{
    static const int64_t special[] = {0,      1, -1, 2, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, (int64_t)1 << 32,
                                      1 << 16};
    const uint8_t how = next();
    const int64_t place = next() | (int64_t)next() << 8;
    int64_t value = special[how / 4 % (sizeof special / sizeof *special)];
    const size_t width = (size_t[]){1, 4, 8, 8}[how % 4];
    if (how >= 128) {
        value = 0;
        for (size_t i = 0; i < width; i++) value |= (int64_t)((uint64_t)next() << (8 * i));
    }
    if (count < (int64_t)width) return;
    const int64_t at = width == 1 ? place % count : place % (count / (int64_t)width) * (int64_t)width;
    memcpy(bytes + at, &value, width);
}

crd_status __wrap_crd_helper_ask(crd_helper *helper, const void *order, size_t order_bytes, void *result, size_t bytes)
{
    liar *l = (liar *)(void *)helper;
    const answer *a = truth(l, order, order_bytes, bytes);
    const uint8_t what = next();
    if (a == NULL) return crd_last_error()->status;
    if (what >= 240) return crd_fail(CRD_ERR_FORMAT, "%s is said to be broken", l->source->path);
    if (a->status != CRD_OK) {
        if (what < 128) return crd_fail(a->status, "%s", a->sentence);
        if (bytes > 0) memset(result, what, bytes); /* it can't, and says that it could */
        return CRD_OK;
    }
    must(a->result_bytes == bytes && a->window_bytes <= l->window_bytes);
    if (bytes > 0) memcpy(result, a->result, bytes);
    if (a->window_bytes > 0) memcpy(l->window, a->window, (size_t)a->window_bytes);
    for (int i = what % 8; i > 0; i--) {
        if (bytes > 0 && (what & 8 || l->window_bytes == 0)) {
            lie(result, (int64_t)bytes);
        } else if (l->window_bytes > 0) {
            lie(l->window, l->window_bytes);
        }
    }
    return CRD_OK;
}

/* ---- the good files ---- */

static void make_volume(const char *path, int kind)
{
    static uint16_t voxels[6 * 10 * 12];
    const hsize_t dims[3] = {6, 10, 12}, chunk[3] = {4, 5, 7};
    for (size_t i = 0; i < sizeof voxels / sizeof *voxels; i++) voxels[i] = (uint16_t)(i * 40503u >> 4);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(3, dims, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
    if (kind == COMPACT) must(H5Pset_layout(creation, H5D_COMPACT) >= 0);
    if (kind == CHUNKED || kind == PACKED) must(H5Pset_chunk(creation, 3, chunk) >= 0);
    if (kind == PACKED) {
        must(H5Pset_shuffle(creation) >= 0 && H5Pset_deflate(creation, 3) >= 0 && H5Pset_fletcher32(creation) >= 0);
    }
    const hid_t set = H5Dcreate2(file, "data", H5T_STD_U16LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    must(H5Dwrite(set, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, voxels) >= 0);
    must(H5Dclose(set) >= 0 && H5Pclose(creation) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
}

static void make_files(void)
{
    static const char *const names[FILES] = {"plain.h5", "chunked.h5", "packed.h5", "compact.h5", "model.h5"};
    const crd_model_info info = {.kind = CRD_BCNN, .filters = 1, .groups = 1, .classes = 2};
    crd_model *model = NULL;
    for (int i = 0; i < FILES; i++) {
        snprintf(sources[i].path, sizeof sources[i].path, "%s", fuzz_path(names[i]));
        if (i != MODEL) make_volume(sources[i].path, i);
    }
    must(crd_model_make_empty(&info, &model) == CRD_OK);
    must(crd_model_save(model, sources[MODEL].path) == CRD_OK);
    crd_model_free(&model);
}

/* Told the truth, all of them can be read. */
static void read_good(const char *path)
{
    crd_model *model = NULL;
    crd_volume *volume = NULL;
    if (strcmp(path, sources[MODEL].path) == 0) {
        must(crd_model_load(path, &model) == CRD_OK);
        crd_model_free(&model);
        return;
    }
    uint16_t voxel = 0;
    const crd_box last = {.origin = {5, 9, 11}, .size = {1, 1, 1}};
    must(crd_volume_open(path, NULL, NULL, &volume) == CRD_OK);
    must(crd_volume_read(volume, &last, CRD_U16, &voxel) == CRD_OK && voxel == (uint16_t)(719 * 40503u >> 4));
    crd_volume_close(&volume);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    crd_model *model = NULL;
    if (sources[0].path[0] == '\0') {
        make_files();
        for (int i = 0; i < FILES; i++) read_good(sources[i].path);
    }
    fuzz_trusts = false;
    change_at = data;
    change_end = data + size;
    const int which = next() % FILES;
    if (which != MODEL) {
        fuzz_read(sources[which].path, &options);
    } else if (crd_model_load(sources[which].path, &model) == CRD_OK) {
        char text[1024];
        crd_model_summary(model, text, sizeof text);
        crd_model_free(&model);
    } else {
        const char *message = crd_last_error()->message;
        must(message[0] != '\0' && strchr(message, '\n') == NULL && model == NULL);
    }
    return 0;
}
