/* Arrays and callbacks as volumes that a name opens, against plain loops over the same array. */
#include <pthread.h>
#include <stdatomic.h>

#include "harness.h"
#include "volume/types.h"
#include "volume/views/lent.h"
#include "volume_tools.h"

enum { Z = 6, Y = 7, X = 9, COUNT = Z * Y * X, READERS = 4 };
static const int64_t shape[3] = {Z, Y, X};
static double room[3][2 * COUNT]; /* for arrays of any type */

static crd_volume_info info_of(crd_type type)
{
    return (crd_volume_info){.shape = {Z, Y, X}, .type = type, .spacing = {3, 2, 1}, .unit = "micron"};
}

/* All of it and some boxes, through the handle and through one that its name opened, against `all`. */
static bool shows(crd_volume *lent, const void *all)
{
    const crd_type type = crd_volume_describe(lent)->type;
    const size_t size = crd_type_size(type);
    static double got[COUNT], wanted[COUNT];
    crd_volume *opened = NULL;
    uint64_t state = 3;
    bool same = crd_volume_open(crd_volume_path(lent), NULL, NULL, &opened) == CRD_OK && opened != lent;
    for (int i = 0; i < 40 && same; i++) {
        crd_box box = {{0, 0, 0}, {Z, Y, X}};
        if (i > 0) box = tools_random_box(shape, &state);
        const size_t bytes = (size_t)(box.size[0] * box.size[1] * box.size[2]) * size;
        tools_copy_box((void *)(uintptr_t)all, shape, size, &box, wanted, 0);
        same = crd_volume_read(i % 2 ? lent : opened, &box, type, got) == CRD_OK && memcmp(got, wanted, bytes) == 0;
    }
    crd_volume_close(&opened);
    return same;
}

static void test_orders(void)
{
    for (int type = 0; type < CRD_TYPE_COUNT; type++) {
        const crd_volume_info info = info_of((crd_type)type);
        const int64_t size = (int64_t)crd_type_size((crd_type)type);
        tools_fill((crd_type)type, COUNT, (uint64_t)type, room[0]);
        const int64_t layouts[][3] = {{Y * X * size, X * size, size},              /* as files have it */
                                      {size, Z * size, Z * Y * size},              /* z fastest */
                                      {-Y * X * size, X * size, size},             /* z backwards */
                                      {-size, -Z * size, -Z * Y * size},           /* all backwards, z fastest */
                                      {X * size, Z * X * size, size},              /* y slowest */
                                      {2 * Y * X * size, 2 * X * size, 2 * size}}; /* every second voxel */
        for (size_t k = 0; k < sizeof layouts / sizeof layouts[0]; k++) {
            for (int swapped = 0; swapped < 2; swapped++) {
                const int64_t *strides = layouts[k];
                crd_volume *volume = NULL;
                char *first = (char *)room[1];
                for (int axis = 0; axis < 3; axis++) {
                    if (strides[axis] < 0) first -= strides[axis] * (shape[axis] - 1);
                }
                for (int64_t i = 0; i < COUNT; i++) {
                    char *at = first + i / (X * Y) * strides[0] + i / X % Y * strides[1] + i % X * strides[2];
                    memcpy(at, (char *)room[0] + i * size, (size_t)size);
                    if (swapped) crd_swap_bytes(at, 1, (size_t)size);
                }
                const bool big = swapped != (int)CRD_BIG_ENDIAN;
                CHECK_OK(crd_volume_from_memory(first, &info, strides, big, "scan", &volume));
                CHECK(strcmp(crd_volume_path(volume), "memory:scan") == 0);
                CHECK(strcmp(crd_volume_describe(volume)->unit, "um") == 0);
                CHECK(shows(volume, room[0]));
                crd_volume_close(&volume);
            }
        }
    }
}

static void test_names(void)
{
    crd_volume *a = NULL, *b = NULL, *c = NULL;
    const crd_volume_info info = info_of(CRD_U8);
    const crd_volume_options finer = {.spacing = {0.5, 0.25, 0.125}, .unit = "nm"};
    tools_fill(CRD_U8, COUNT, 1, room[0]);
    CHECK_OK(crd_volume_from_memory(room[0], &info, NULL, false, "a", &a));
    CHECK_FAILS(crd_volume_from_memory(room[0], &info, NULL, false, "a", &b), CRD_ERR_BUSY, "memory:a");
    CHECK(b == NULL);
    CHECK_OK(crd_volume_from_memory(room[0], &info, NULL, false, NULL, &b));
    CHECK_OK(crd_volume_from_memory(room[0], &info, NULL, false, NULL, &c));
    CHECK(strcmp(crd_volume_path(b), crd_volume_path(c)) != 0);
    CHECK(crd_is_lent("memory:a") && !crd_is_lent("a") && !crd_is_lent("memory:b"));
    crd_volume_close(&c);
    CHECK_OK(crd_volume_open("memory:a", &finer, NULL, &c));
    CHECK(crd_volume_describe(c)->spacing[2] == 0.125 && strcmp(crd_volume_describe(c)->unit, "nm") == 0);
    CHECK(crd_volume_describe(a)->spacing[2] == 1);
    crd_volume_close(&a);
    CHECK(!crd_is_lent("memory:a") && shows(b, room[0]));
    uint8_t one;
    const crd_box corner = {.size = {1, 1, 1}};
    CHECK_OK(crd_volume_read(c, &corner, CRD_U8, &one)); /* what its name opened stands for itself */
    crd_volume_close(&c);
    CHECK_FAILS(crd_volume_open("memory:a", NULL, NULL, &c), CRD_ERR_SYSTEM, "memory:a");
    crd_volume_close(&b);
    static const char *const wrong[] = {"", "a/b", "a:b", "..", "scan*"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_FAILS(crd_volume_from_memory(room[0], &info, NULL, false, wrong[i], &b), CRD_ERR_ARGUMENT, "short word");
    }
    CHECK_FAILS(crd_volume_from_memory(room[0], &info, (int64_t[]){INT64_MAX / 2, 1, 1}, false, NULL, &b),
                CRD_ERR_ARGUMENT, "along z");
    CHECK_FAILS(crd_volume_from_memory(room[0], &info, (int64_t[]){1, INT64_MIN, 1}, false, NULL, &b), CRD_ERR_ARGUMENT,
                "along y");
}

/* ---- callbacks ---- */

typedef struct source {
    atomic_int inside, most, calls;
    bool fails, silent;
} source;

static crd_status read_box(void *context, const crd_box *box, void *voxels)
{
    source *s = context;
    const int now = atomic_fetch_add(&s->inside, 1) + 1;
    for (int most = atomic_load(&s->most); most < now && !atomic_compare_exchange_weak(&s->most, &most, now);) {
    }
    atomic_fetch_add(&s->calls, 1);
    if (!s->fails) tools_copy_box(room[0], shape, 2, box, voxels, 0);
    for (volatile int i = 0; i < 2000; i++) {
    }
    atomic_fetch_sub(&s->inside, 1);
    if (!s->fails) return CRD_OK;
    return s->silent ? CRD_ERR_SYSTEM : crd_set_error(CRD_ERR_NUMERIC, "the detector was off");
}

static void *read_much(void *path)
{
    static _Thread_local uint16_t got[COUNT];
    crd_volume *volume = NULL;
    uint64_t state = 9;
    bool fine = crd_volume_open(path, NULL, NULL, &volume) == CRD_OK;
    for (int i = 0; i < 300 && fine; i++) {
        const crd_box box = tools_random_box(shape, &state);
        fine = crd_volume_read(volume, &box, CRD_U16, got) == CRD_OK;
    }
    crd_volume_close(&volume);
    return fine ? path : NULL;
}

static void test_callback(void)
{
    const crd_volume_info info = info_of(CRD_U16);
    tools_fill(CRD_U16, COUNT, 5, room[0]);
    for (int alone = 0; alone < 2; alone++) {
        source s = {.calls = 0};
        crd_volume *volume = NULL;
        const crd_volume_source from = {
            .size = sizeof from, .read = read_box, .context = &s, .layer = 2, .one_at_a_time = alone == 1};
        pthread_t threads[READERS];
        char path[] = "memory:made";
        CHECK_OK(crd_volume_from_callback(&from, &info, "made", &volume));
        CHECK(shows(volume, room[0]));
        CHECK(strcmp(crd_volume_describe(volume)->format, "callback") == 0);
        for (int i = 0; i < READERS; i++) CHECK(pthread_create(&threads[i], NULL, read_much, path) == 0);
        for (int i = 0; i < READERS; i++) {
            void *done = NULL;
            CHECK(pthread_join(threads[i], &done) == 0 && done == path);
        }
        CHECK(atomic_load(&s.calls) >= READERS * 300);
        if (alone) CHECK(atomic_load(&s.most) == 1);
        crd_volume_close(&volume);
    }
}

static void test_callback_fails(void)
{
    source s = {.fails = true};
    crd_volume *volume = NULL;
    const crd_volume_info info = info_of(CRD_U16);
    const crd_box box = {.size = {1, 1, 1}};
    crd_volume_source from = {.size = sizeof from, .read = read_box, .context = &s};
    crd_volume_statistics statistics;
    uint16_t got;
    CHECK_OK(crd_volume_from_callback(&from, &info, "off", &volume));
    CHECK_FAILS(crd_volume_read(volume, &box, CRD_U16, &got), CRD_ERR_NUMERIC,
                "memory:off can't be read: the detector");
    CHECK_FAILS(crd_volume_measure(volume, NULL, &statistics), CRD_ERR_NUMERIC, "the detector was off");
    s.silent = true;
    CHECK_FAILS(crd_volume_read(volume, &box, CRD_U16, &got), CRD_ERR_SYSTEM, "without saying why");
    crd_volume_close(&volume);
    from.read = NULL;
    CHECK_FAILS(crd_volume_from_callback(&from, &info, "off", &volume), CRD_ERR_ARGUMENT, "reads");
    from = (crd_volume_source){.read = read_box};
    CHECK_FAILS(crd_volume_from_callback(&from, &info, "off", &volume), CRD_ERR_ARGUMENT, "size");
    CHECK(volume == NULL && !crd_is_lent("memory:off"));
}

TEST_MAIN(TEST(test_orders), TEST(test_names), TEST(test_callback), TEST(test_callback_fails))
