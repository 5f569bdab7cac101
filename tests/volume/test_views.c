/* Views: arrays in memory, boxes, masks and mirrored ends, against plain loops over the same array. */
#include <pthread.h>

#include "harness.h"
#include "volume/views/view.h"
#include "volume_tools.h"

enum { Z = 5, Y = 7, X = 11, COUNT = Z * Y * X, BOXES = 60 };
static const int64_t shape[3] = {Z, Y, X};
static double room[4][4096]; /* for arrays of any type; aligned for all */

static crd_volume_info info_of(crd_type type)
{
    return (crd_volume_info){.shape = {Z, Y, X}, .type = type, .spacing = {3, 2, 1}, .unit = "micron"};
}

static crd_volume *array_of(crd_type type, const void *voxels)
{
    crd_volume *volume = NULL;
    const crd_volume_info info = info_of(type);
    return crd_view_memory(voxels, &info, NULL, NULL, &volume) == CRD_OK ? volume : NULL;
}

/* Random boxes of the volume, in its own type and as floats, against `all`, an array of the same shape. */
static bool shows(crd_volume *volume, const void *all)
{
    const crd_volume_info *info = crd_volume_describe(volume);
    const size_t size = crd_type_size(info->type);
    static double got[4096], wanted[4096], wide[4096];
    static float narrow[4096];
    uint64_t state = 1;
    char *copy = malloc(sizeof wanted);
    memcpy(copy, all, (size_t)(info->shape[0] * info->shape[1] * info->shape[2]) * size);
    bool same = true;
    for (int i = 0; i <= BOXES && same; i++) {
        crd_box box = {{0, 0, 0}, {info->shape[0], info->shape[1], info->shape[2]}};
        if (i > 0) box = tools_random_box(info->shape, &state);
        const int64_t count = box.size[0] * box.size[1] * box.size[2];
        tools_copy_box(copy, info->shape, size, &box, wanted, 0);
        same = crd_volume_read(volume, &box, info->type, got) == CRD_OK &&
               memcmp(got, wanted, (size_t)count * size) == 0 &&
               crd_volume_read(volume, &box, CRD_F64, wide) == CRD_OK &&
               crd_volume_read(volume, &box, CRD_F32, narrow) == CRD_OK;
        for (int64_t k = 0; k < count && same && info->type == CRD_I16; k++) {
            same = wide[k] == (double)((int16_t *)wanted)[k] && narrow[k] == (float)((int16_t *)wanted)[k];
        }
        for (int64_t k = 0; k < count && same && info->type == CRD_F64; k++) {
            const double value = ((double *)wanted)[k];
            same = (isnan(value) && isnan(narrow[k])) || narrow[k] == (float)value;
        }
    }
    free(copy);
    return same;
}

static bool same_statistics(crd_volume *a, crd_volume *b)
{
    static crd_volume_statistics of[2];
    return crd_volume_measure(a, NULL, &of[0]) == CRD_OK && crd_volume_measure(b, NULL, &of[1]) == CRD_OK &&
           memcmp(&of[0], &of[1], sizeof of[0]) == 0;
}

static void test_memory(void)
{
    for (int type = 0; type < CRD_TYPE_COUNT; type++) {
        const int64_t size = (int64_t)crd_type_size((crd_type)type);
        const crd_volume_info info = info_of((crd_type)type);
        tools_fill((crd_type)type, COUNT, (uint64_t)type, room[0]);
        crd_volume *volume = array_of((crd_type)type, room[0]);
        CHECK(volume != NULL && shows(volume, room[0]));
        const crd_volume_info *said = crd_volume_describe(volume);
        CHECK(said->type == (crd_type)type && said->spacing[0] == 3 && strcmp(said->unit, "um") == 0);
        CHECK(said->scale == 1.0 && strcmp(said->format, "memory") == 0);
        crd_volume_close(&volume);
        /* x backwards, gaps between voxels, rows and slices, and an odd address. */
        const int64_t strides[3] = {2 * Y * X * size + 5, 2 * X * size + 1, -2 * size};
        char *first = (char *)room[1] + 1 + (X - 1) * 2 * size;
        for (int64_t i = 0; i < COUNT; i++) {
            memcpy(first + i / (X * Y) * strides[0] + i / X % Y * strides[1] + i % X * strides[2],
                   (char *)room[0] + i * size, (size_t)size);
        }
        CHECK_OK(crd_view_memory(first, &info, strides, "a", &volume));
        CHECK(shows(volume, room[0]));
        crd_volume_close(&volume);
    }
    /* A single slice for all z. */
    crd_volume *volume = NULL;
    const crd_volume_info info = info_of(CRD_I16);
    tools_fill(CRD_I16, Y * X, 3, room[0]);
    for (int z = 0; z < Z; z++) memcpy((int16_t *)room[1] + z * Y * X, room[0], Y * X * 2);
    CHECK_OK(crd_view_memory(room[0], &info, (int64_t[]){0, 2 * X, 2}, NULL, &volume));
    CHECK(shows(volume, room[1]));
    crd_volume_close(&volume);
}

static void test_memory_refused(void)
{
    crd_volume *volume = NULL;
    crd_volume_info info = info_of(CRD_U8);
    static const crd_box outside[] = {{{0, 0, 0}, {Z + 1, 1, 1}}, {{-1, 0, 0}, {1, 1, 1}}, {{0, Y, 0}, {1, 1, 1}},
                                      {{0, 0, 1}, {1, 1, X}},     {{0, 0, 0}, {0, 1, 1}},  {{0, 0, 3}, {1, 1, -1}}};
    info.shape[1] = 0;
    CHECK_FAILS(crd_view_memory(room[0], &info, NULL, "mine", &volume), CRD_ERR_ARGUMENT, "mine");
    CHECK(volume == NULL);
    info.shape[1] = INT64_MAX / 2;
    CHECK_FAILS(crd_view_memory(room[0], &info, NULL, NULL, &volume), CRD_ERR_ARGUMENT, "the array");
    info = info_of(CRD_TYPE_COUNT);
    CHECK_FAILS(crd_view_memory(room[0], &info, NULL, NULL, &volume), CRD_ERR_ARGUMENT, "no voxel type");
    volume = array_of(CRD_U8, room[0]);
    CHECK(volume != NULL);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        crd_volume *view = NULL;
        CHECK_FAILS(crd_volume_read(volume, &outside[i], CRD_U8, room[1]), CRD_ERR_ARGUMENT, "doesn't lie within");
        CHECK_FAILS(crd_view_box(volume, &outside[i], &view), CRD_ERR_ARGUMENT, "doesn't lie within");
        CHECK(view == NULL);
    }
    CHECK_FAILS(crd_volume_write(volume, &(crd_box){.size = {1, 1, 1}}, room[1]), CRD_ERR_ARGUMENT, "not open");
    crd_volume_close(&volume);
}

/* An array with z fastest gives the statistics of the same bytes as an x-fastest one, and so does each view of it. */
static void test_z_fastest(void)
{
    crd_volume *fortran = NULL, *plain = NULL, *view = NULL, *part = NULL;
    crd_volume_info info = info_of(CRD_F32), turned = info_of(CRD_F32);
    const int64_t strides[3] = {4, 4 * Z, 4 * Z * Y};
    const crd_box box = {{1, 2, 3}, {3, 4, 5}};
    turned.shape[0] = X, turned.shape[2] = Z;
    tools_fill(CRD_F32, COUNT, 9, room[0]);
    float *file = (float *)room[0], *all = (float *)room[1], *boxed = (float *)room[2];
    for (int64_t i = 0; i < COUNT; i++) all[i] = file[i / (X * Y) + (i / X % Y + i % X * Y) * Z];
    tools_copy_box(all, shape, 4, &box, boxed, 0);
    CHECK_OK(crd_view_memory(file, &info, strides, NULL, &fortran));
    CHECK_OK(crd_view_memory(file, &turned, NULL, NULL, &plain));
    CHECK(fortran->z_fastest && !plain->z_fastest);
    CHECK(same_statistics(fortran, plain) && shows(fortran, all));
    crd_volume_close(&plain);

    info.shape[0] = 3, info.shape[1] = 4, info.shape[2] = 5;
    CHECK_OK(crd_view_box(fortran, &box, &view));
    CHECK_OK(crd_view_memory(file + 1 + 2 * Z + 3 * Z * Y, &info, strides, NULL, &part));
    CHECK(view->z_fastest && same_statistics(view, part) && shows(view, boxed) && shows(fortran, all));
    CHECK(crd_volume_slices_at_once(view, 0, 3, 20) == 3);
    crd_volume_close(&view);
    crd_volume_close(&part);

    crd_volume *same = NULL;
    CHECK_OK(crd_view_mirrored(fortran, shape, &same));
    CHECK(same->z_fastest && same_statistics(same, fortran) && shows(same, all));
    crd_volume_close(&same);
    memset(room[3], 1, COUNT);
    crd_volume *mask = array_of(CRD_U8, room[3]);
    CHECK_OK(crd_view_masked(fortran, mask, &view));
    CHECK(!view->z_fastest);
    crd_volume_close(&view);
    crd_volume_close(&mask);
    crd_volume_close(&fortran);
}

static void test_box(void)
{
    const crd_box box = {{1, 0, 4}, {3, 7, 5}}, inner = {{1, 2, 0}, {2, 3, 4}}, both = {{2, 2, 4}, {2, 3, 4}};
    for (int type = 0; type < CRD_TYPE_COUNT; type++) {
        crd_volume *view = NULL, *inside = NULL;
        tools_fill((crd_type)type, COUNT, (uint64_t)type, room[0]);
        crd_volume *volume = array_of((crd_type)type, room[0]);
        CHECK(volume != NULL);
        volume->info.origin[2] = 100;
        volume->layer = 4;
        tools_copy_box(room[0], shape, crd_type_size((crd_type)type), &box, room[1], 0);
        CHECK_OK(crd_view_box(volume, &box, &view));
        const crd_volume_info *info = crd_volume_describe(view);
        CHECK(memcmp(info->shape, box.size, sizeof box.size) == 0 && info->spacing[0] == 3 && view->layer == 4);
        CHECK(info->origin[0] == 1 && info->origin[1] == 0 && info->origin[2] == 104);
        CHECK(shows(view, room[1]));
        /* Inside the volume, outside the view. */
        CHECK_FAILS(crd_volume_read(view, &(crd_box){{2, 0, 0}, {2, 1, 1}}, (crd_type)type, room[2]), CRD_ERR_ARGUMENT,
                    "doesn't lie within");
        tools_copy_box(room[0], shape, crd_type_size((crd_type)type), &both, room[1], 0);
        CHECK_OK(crd_view_box(view, &inner, &inside));
        CHECK(shows(inside, room[1]) && crd_volume_describe(inside)->origin[2] == 104);
        crd_volume_close(&inside);
        crd_volume_close(&view);
        crd_volume_close(&volume);
    }
}

/* The index that a walk to and fro between the ends of n voxels has reached after so many steps. */
static int64_t walked(int64_t steps, int64_t n)
{
    int64_t at = 0, direction = 1;
    for (; steps > 0 && n > 1; steps--) {
        if (at + direction < 0 || at + direction >= n) direction = -direction;
        at += direction;
    }
    return at;
}

static void test_mirrored(void)
{
    static const int64_t cases[][6] = {
        {Z, Y, X, 2 * Z, Y, X + 1}, {1, 2, 3, 4, 9, 13}, {2, 1, 1, 7, 5, 1}, {Z, Y, X, Z, Y, X}, {3, 4, 5, 3, 4, 29}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t *from = cases[i], *to = cases[i] + 3;
        for (int type = 0; type < CRD_TYPE_COUNT; type++) {
            const size_t size = crd_type_size((crd_type)type);
            crd_volume *volume = NULL, *view = NULL;
            crd_volume_info info = info_of((crd_type)type);
            memcpy(info.shape, from, sizeof info.shape);
            tools_fill((crd_type)type, from[0] * from[1] * from[2], i, room[0]);
            char *out = (char *)room[1];
            for (int64_t z = 0; z < to[0]; z++) {
                for (int64_t y = 0; y < to[1]; y++) {
                    for (int64_t x = 0; x < to[2]; x++, out += size) {
                        const int64_t at =
                            (walked(z, from[0]) * from[1] + walked(y, from[1])) * from[2] + walked(x, from[2]);
                        memcpy(out, (char *)room[0] + (size_t)at * size, size);
                    }
                }
            }
            CHECK_OK(crd_view_memory(room[0], &info, NULL, NULL, &volume));
            CHECK_OK(crd_view_mirrored(volume, to, &view));
            CHECK(memcmp(crd_volume_describe(view)->shape, to, sizeof info.shape) == 0);
            CHECK(shows(view, room[1]));
            CHECK_FAILS(crd_volume_read(view, &(crd_box){{to[0], 0, 0}, {1, 1, 1}}, (crd_type)type, room[2]),
                        CRD_ERR_ARGUMENT, "doesn't lie within");
            crd_volume_close(&view);
            crd_volume_close(&volume);
        }
    }
    crd_volume *volume = array_of(CRD_U8, room[0]), *view = NULL;
    CHECK_FAILS(crd_view_mirrored(volume, (int64_t[]){Z, Y - 1, X}, &view), CRD_ERR_ARGUMENT, "fewer voxels");
    CHECK_FAILS(crd_view_mirrored(volume, (int64_t[]){INT64_MAX, Y, X}, &view), CRD_ERR_ARGUMENT, "shape");
    CHECK(view == NULL);
    crd_volume_close(&volume);
}

static void test_masked(void)
{
    int16_t *voxels = (int16_t *)room[0];
    uint8_t *inside = (uint8_t *)room[1];
    double *wanted = room[2];
    tools_fill(CRD_I16, COUNT, 1, voxels);
    tools_fill(CRD_U8, COUNT, 2, inside);
    for (int i = 0; i < COUNT; i++) {
        inside[i] &= 2; /* anything but 0 is inside */
        wanted[i] = inside[i] != 0 ? voxels[i] : (double)NAN;
    }
    crd_volume *volume = array_of(CRD_I16, voxels), *mask = array_of(CRD_U8, inside), *view = NULL;
    crd_volume *plain = array_of(CRD_F64, wanted);
    CHECK_OK(crd_view_masked(volume, mask, &view));
    CHECK(crd_volume_describe(view)->type == CRD_F64 && strcmp(crd_volume_describe(view)->unit, "um") == 0);
    CHECK(shows(view, wanted) && same_statistics(view, plain));
    CHECK_FAILS(crd_volume_read(view, &(crd_box){{0, 0, 0}, {Z, Y, X + 1}}, CRD_F64, room[3]), CRD_ERR_ARGUMENT,
                "doesn't lie within");
    crd_volume_close(&view);
    CHECK_FAILS(crd_view_masked(mask, volume, &view), CRD_ERR_MISMATCH, "u8");
    crd_volume *small = NULL;
    CHECK_OK(crd_view_box(mask, &(crd_box){{0, 0, 0}, {Z, Y, X - 1}}, &small));
    CHECK_FAILS(crd_view_masked(volume, small, &view), CRD_ERR_MISMATCH, "shape");
    CHECK(view == NULL);
    crd_volume_close(&small);
    crd_volume_close(&plain);
    crd_volume_close(&mask);
    crd_volume_close(&volume);
}

/* A view of a file, opened again and read by another thread after all else was closed. */
typedef struct reading {
    crd_volume *volume;
    const void *wanted;
    bool same;
} reading;

static void *read_all(void *argument)
{
    reading *r = argument;
    r->same = shows(r->volume, r->wanted);
    return NULL;
}

static bool again_shows(crd_volume **view, crd_volume **below, const void *wanted)
{
    reading r = {.wanted = wanted};
    pthread_t thread;
    const bool opened = crd_volume_open_again(*view, &r.volume) == CRD_OK;
    crd_volume_close(view);
    crd_volume_close(below);
    if (!opened || pthread_create(&thread, NULL, read_all, &r) != 0) return false;
    pthread_join(thread, NULL);
    crd_volume_close(&r.volume);
    return r.same;
}

/* Raw voxels, which only the options describe; their strings are gone afterwards. */
static crd_volume *raw_of(const char *name, const void *voxels, size_t bytes, const char *type)
{
    crd_volume *volume = NULL;
    char text[8], unit[8];
    snprintf(text, sizeof text, "%s", type);
    snprintf(unit, sizeof unit, "mm");
    FILE *file = fopen(scratch(name), "wb");
    if (file == NULL || fwrite("head", 4, 1, file) != 1 || fwrite(voxels, bytes, 1, file) != 1 || fclose(file) != 0) {
        return NULL;
    }
    const crd_volume_options options = {.shape = {Z, Y, X}, .type = text, .unit = unit, .offset = 4};
    const crd_status status = crd_volume_open(scratch(name), &options, NULL, &volume);
    memset(text, 0, sizeof text);
    memset(unit, 0, sizeof unit);
    return status == CRD_OK ? volume : NULL;
}

static void test_open_again(void)
{
    const int64_t longer[3] = {Z, Y, X + 2};
    const crd_box box = {{1, 2, 3}, {4, 5, 6}};
    int16_t *voxels = (int16_t *)room[0];
    tools_fill(CRD_I16, COUNT, 8, voxels);
    crd_volume *file = raw_of("again.raw", voxels, COUNT * 2, "i16le"), *view = NULL, *above = NULL;
    CHECK(file != NULL);
    tools_copy_box(voxels, shape, 2, &box, room[1], 0);
    CHECK_OK(crd_view_box(file, &box, &view));
    CHECK(again_shows(&view, &file, room[1]));

    file = raw_of("again.raw", voxels, COUNT * 2, "i16le");
    for (int64_t i = 0; i < Z * Y * (X + 2); i++) {
        const int64_t x = i % (X + 2);
        ((int16_t *)room[1])[i] = voxels[i / (X + 2) * X + (x < X ? x : 2 * X - 2 - x)];
    }
    CHECK_OK(crd_view_mirrored(file, longer, &view));
    CHECK(again_shows(&view, &file, room[1]));

    /* A box of what a mask leaves, two files below. */
    file = raw_of("again.raw", voxels, COUNT * 2, "i16le");
    tools_fill(CRD_U8, COUNT, 4, room[2]);
    for (int i = 0; i < COUNT; i++) {
        ((uint8_t *)room[2])[i] &= 1;
        room[1][i] = ((uint8_t *)room[2])[i] != 0 ? voxels[i] : (double)NAN;
    }
    crd_volume *mask = raw_of("mask.raw", room[2], COUNT, "u8");
    CHECK(file != NULL && mask != NULL);
    CHECK_OK(crd_view_masked(file, mask, &view));
    CHECK_OK(crd_view_box(view, &box, &above));
    tools_copy_box(room[1], shape, 8, &box, room[3], 0);
    CHECK(again_shows(&above, &view, room[3]));
    crd_volume_close(&mask);
    crd_volume_close(&file);

    crd_volume *array = array_of(CRD_I16, voxels), *none = NULL;
    CHECK(array != NULL && again_shows(&array, &none, voxels));
    /* What is gone can't be opened again, and nothing stays open. */
    file = raw_of("gone.raw", voxels, COUNT * 2, "i16le");
    CHECK_OK(crd_view_box(file, &box, &view));
    CHECK(unlink(scratch("gone.raw")) == 0);
    CHECK_FAILS(crd_volume_open_again(view, &above), CRD_ERR_SYSTEM, "gone.raw");
    CHECK(above == NULL);
    crd_volume_close(&view);
    crd_volume_close(&file);
}

static void test_converted(void)
{
    const crd_box box = {{1, 2, 3}, {4, 5, 6}};
    crd_volume *file = NULL, *view = NULL;
    tools_fill(CRD_U16, COUNT, 8, room[0]);
    crd_volume *array = array_of(CRD_U16, room[0]);
    CHECK_OK(crd_volume_convert(array, scratch("all.mhd"), NULL, NULL, NULL));
    CHECK_OK(crd_volume_open(scratch("all.mhd"), NULL, NULL, &file));
    CHECK_OK(crd_view_box(file, &box, &view));
    /* A view stands for the files that it looks at. */
    CHECK_FAILS(crd_volume_convert(view, scratch("all.mhd"), NULL, NULL, NULL), CRD_ERR_ARGUMENT, "would replace");
    CHECK_FAILS(crd_volume_convert(view, scratch("all.raw"), NULL, NULL, NULL), CRD_ERR_ARGUMENT, "would replace");
    CHECK_OK(crd_volume_convert(view, scratch("box.npy"), NULL, NULL, NULL));
    crd_volume_close(&view);
    crd_volume_close(&file);
    CHECK_OK(crd_volume_open(scratch("box.npy"), NULL, NULL, &file));
    tools_copy_box(room[0], shape, 2, &box, room[1], 0);
    CHECK(shows(file, room[1]) && crd_volume_describe(file)->origin[2] == 3);
    crd_volume_close(&file);
    crd_volume_close(&array);
}

TEST_MAIN(TEST(test_memory), TEST(test_memory_refused), TEST(test_z_fastest), TEST(test_box), TEST(test_mirrored),
          TEST(test_masked), TEST(test_open_again), TEST(test_converted))
