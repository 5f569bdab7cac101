/* A folder or a pattern of TIFF slices: which files, in which order, and what is refused. */
#include <math.h>

#include "harness.h"
#include "tiff_tools.h"
#include "volume/slices/names.h"

enum { HEIGHT = 5, WIDTH = 6, VOXELS = HEIGHT * WIDTH };

static char folder[512];

static void empty_folder(void)
{
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; open_folder != NULL && (entry = readdir(open_folder)) != NULL;) {
        char name[1024];
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(name) != 0) (void)rmdir(name);
    }
    if (open_folder != NULL) closedir(open_folder);
    (void)rmdir(folder);
}

static void new_folder(void)
{
    snprintf(folder, sizeof folder, "%s", scratch("slices"));
    empty_folder();
    if (mkdir(folder, 0777) != 0) perror(folder);
}

static const char *inside(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* A slice whose voxels are all `value`. */
static bool put_slice(const char *name, int value, tiff_spec spec)
{
    unsigned char voxels[4 * VOXELS];
    memset(voxels, value, sizeof voxels);
    if (spec.shape[0] == 0) spec.shape[0] = 1;
    if (spec.shape[1] == 0) spec.shape[1] = HEIGHT;
    if (spec.shape[2] == 0) spec.shape[2] = WIDTH;
    spec.photometric = 1;
    return tools_make_tiff(inside(name), &spec, voxels);
}

/* Do the slices hold first, first + 1, ... in that order? */
static bool holds(const char *path, int64_t count, int first)
{
    crd_volume *volume = NULL;
    unsigned char voxels[VOXELS];
    bool good = tools_open(path, &volume) == CRD_OK && crd_volume_describe(volume)->shape[0] == count;
    for (int64_t z = count - 1; good && z >= 0; z--) { /* downwards: every file is turned to anew */
        const crd_box box = {.origin = {z, 0, 0}, .size = {1, HEIGHT, WIDTH}};
        good = crd_volume_read(volume, &box, CRD_U8, voxels) == CRD_OK;
        for (int i = 0; good && i < VOXELS; i++) good = voxels[i] == first + z;
    }
    if (!good) printf("%s\n", crd_last_error()->message);
    crd_volume_close(&volume);
    return good;
}

static void test_names_in_natural_order(void)
{
    CHECK(crd_slices_compare("slice2.tif", "slice10.tif") < 0);
    CHECK(crd_slices_compare("slice010.tif", "slice9.tif") > 0);
    CHECK(crd_slices_compare("a1b20", "a1b3") > 0);
    CHECK(crd_slices_compare("a", "b") < 0 && crd_slices_compare("b", "a") > 0 && crd_slices_compare("a", "a") == 0);
    CHECK(crd_slices_compare("a", "a1") < 0 && crd_slices_compare("0", "00") != 0);
    CHECK(crd_slices_compare("99999999999999999999999998", "99999999999999999999999999") < 0);
    CHECK(crd_slices_compare("x000", "x0") == -crd_slices_compare("x0", "x000"));
}

static void test_a_folder_and_a_pattern(void)
{
    new_folder();
    for (int i = 1; i <= 12; i++) {
        char name[64];
        snprintf(name, sizeof name, "slice%d.tif", i);
        CHECK(put_slice(name, i,
                        (tiff_spec){.mode = i % 2 ? "w" : "wb", /* each file in its own way */
                                    .compression = i % 3 == 0 ? COMPRESSION_LZW : COMPRESSION_NONE,
                                    .rows_per_strip = (uint32_t)(1 + i % 5)}));
    }
    CHECK(holds(folder, 12, 1));
    CHECK(strstr(tools_said, "ignored") == NULL);
    CHECK(tools_save(inside("notes.txt"), "x", 1, 0) && tools_save(inside(".hidden.tif"), "x", 1, 0));
    CHECK(mkdir(inside("deeper.tif"), 0777) == 0);
    CHECK(holds(folder, 12, 1));
    CHECK(strstr(tools_said, "info: ignored 3 other files") != NULL && strstr(tools_said, ".hidden.tif") != NULL);
    char slashed[600];
    snprintf(slashed, sizeof slashed, "%s/", folder);
    CHECK(holds(slashed, 12, 1));
    CHECK(holds(inside("slice*.tif"), 12, 1));
    CHECK(holds(inside("slice[1-5].tif"), 5, 1));
    CHECK(holds(inside("slice1?.tif"), 3, 10));
    CHECK(strstr(tools_said, "steps of") == NULL);
    CHECK_FAILS(tools_try(inside("nothing*.tif")), CRD_ERR_ARGUMENT, "no file matches");
    CHECK(holds(inside("slice7.tif"), 1, 7));
    CHECK(holds(inside("slice7*.tif"), 1, 7));
}

static void test_gaps_are_refused_by_name(void)
{
    new_folder();
    for (int i = 1; i <= 9; i++) {
        char name[64];
        snprintf(name, sizeof name, "scan_%04d.tif", i);
        if (i != 6) CHECK(put_slice(name, i, (tiff_spec){0}));
    }
    CHECK_FAILS(tools_try(folder), CRD_ERR_ARGUMENT,
                "scan_0006.tif is missing between scan_0005.tif and scan_0007.tif");
    CHECK(holds(inside("scan_000[1-5].tif"), 5, 1));
    CHECK_OK(tools_try(inside("scan_000[13].tif")));
    CHECK(strstr(tools_said, "warning: ") != NULL && strstr(tools_said, "steps of 2") != NULL);
    CHECK_FAILS(tools_try(inside("scan_000[1359].tif")), CRD_ERR_ARGUMENT, "scan_0007.tif is missing");
    CHECK(put_slice("scan_6.tif", 6, (tiff_spec){0}));
    CHECK(holds(folder, 9, 1)); /* another number of digits is no gap */
    CHECK(put_slice("scan_06.tif", 6, (tiff_spec){0}));
    CHECK_FAILS(tools_try(folder), CRD_ERR_ARGUMENT, "two slices of the same number, scan_06.tif and scan_6.tif");
    CHECK_FAILS(tools_try(inside("scan_*6.tif")), CRD_ERR_ARGUMENT, "two slices of the same number");
}

static void test_sequences_that_mix(void)
{
    new_folder();
    CHECK(put_slice("mask_001.tif", 1, (tiff_spec){0}) && put_slice("scan_001.tif", 1, (tiff_spec){0}));
    CHECK_FAILS(tools_try(folder), CRD_ERR_ARGUMENT, "such as mask_001.tif and scan_001.tif");
    new_folder();
    CHECK(put_slice("z1_c1.tif", 1, (tiff_spec){0}) && put_slice("z1_c2.tif", 1, (tiff_spec){0}));
    CHECK(put_slice("z2_c1.tif", 1, (tiff_spec){0}) && put_slice("z2_c2.tif", 1, (tiff_spec){0}));
    CHECK_FAILS(tools_try(folder), CRD_ERR_ARGUMENT, "more than one number");
    CHECK_OK(tools_try(inside("z*_c2.tif")));
    new_folder(); /* a counter and a clock */
    CHECK(put_slice("s1_103059.tif", 1, (tiff_spec){0}) && put_slice("s2_103104.tif", 2, (tiff_spec){0}));
    CHECK(put_slice("s3_103110.tif", 3, (tiff_spec){0}));
    CHECK(holds(folder, 3, 1));
    new_folder();
    CHECK(put_slice("bottom.tif", 1, (tiff_spec){0}) && put_slice("top.TIFF", 2, (tiff_spec){0}));
    CHECK(holds(folder, 2, 1));
    CHECK(strstr(tools_said, "warning: ") != NULL && strstr(tools_said, "bottom.tif first") != NULL);
}

static void test_slices_that_differ(void)
{
    new_folder();
    CHECK(put_slice("a1.tif", 1, (tiff_spec){0}) && put_slice("a2.tif", 2, (tiff_spec){.shape = {1, WIDTH, HEIGHT}}));
    CHECK_FAILS(tools_try(folder), CRD_ERR_MISMATCH, "a2.tif has 6 x 5");
    CHECK(strstr(crd_last_error()->message, "a1.tif has 5 x 6") != NULL);
    CHECK(put_slice("a2.tif", 2, (tiff_spec){.type = CRD_I16}));
    CHECK_FAILS(tools_try(folder), CRD_ERR_MISMATCH, "of type i16");
    CHECK(put_slice("a2.tif", 2, (tiff_spec){.shape = {3, HEIGHT, WIDTH}}));
    CHECK_FAILS(tools_try(folder), CRD_ERR_UNSUPPORTED, "a2.tif has more than one page");
    CHECK(put_slice("a1.tif", 2, (tiff_spec){.description = "ImageJ=1.53t\nimages=2\nslices=2\n"}));
    CHECK(put_slice("a2.tif", 2, (tiff_spec){0}));
    CHECK_FAILS(tools_try(folder), CRD_ERR_UNSUPPORTED, "a1.tif is a stack of 2 slices");
    CHECK(put_slice("a1.tif", 1, (tiff_spec){0}) && tools_save(inside("a2.tif"), "no image", 8, 0));
    CHECK_FAILS(tools_try(folder), CRD_ERR_FORMAT, "a2.tif is no TIFF file");
    CHECK(unlink(inside("a2.tif")) == 0 && mkfifo(inside("a2.tif"), 0666) == 0);
    CHECK(holds(folder, 1, 1)); /* a pipe is no file */
    (void)unlink(inside("a2.tif"));
}

static void test_a_slice_that_vanishes(void)
{
    new_folder();
    crd_volume *volume = NULL;
    unsigned char voxels[VOXELS];
    const crd_box second = {.origin = {1, 0, 0}, .size = {1, HEIGHT, WIDTH}};
    CHECK(put_slice("a1.tif", 1, (tiff_spec){0}) && put_slice("a2.tif", 2, (tiff_spec){0}));
    CHECK(put_slice("a3.tif", 3, (tiff_spec){0}));
    CHECK_OK(tools_open(folder, &volume));
    CHECK(unlink(inside("a2.tif")) == 0);
    CHECK_FAILS(crd_volume_read(volume, &second, CRD_U8, voxels), CRD_ERR_SYSTEM, "a2.tif");
    CHECK(put_slice("a2.tif", 2, (tiff_spec){0}));
    CHECK_OK(crd_volume_read(volume, &second, CRD_U8, voxels)); /* it is back */
    CHECK(voxels[7] == 2);
    crd_volume_close(&volume);
    empty_folder();
}

/* The second slice lies where the first file would go on. */
static void test_slices_are_not_one_piece(void)
{
    new_folder();
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "s%d.tif", i);
        const uint64_t data = 8 + 16 * (uint64_t)i;
        maker m = make_header(false, data + 16);
        memset(m.bytes + data, 100 + i, 16);
        m.used = data + 16;
        make_page(&m,
                  &(page_spec){
                      .width = 4, .height = 4, .bits = 8, .compression = 1, .strip_offset = data, .strip_bytes = 16});
        CHECK(tools_save(inside(name), m.bytes, m.used, 0));
    }
    crd_volume *volume = NULL;
    unsigned char voxels[32];
    const crd_box all = {.size = {2, 4, 4}};
    CHECK_OK(tools_open(folder, &volume));
    CHECK_OK(crd_volume_read(volume, &all, CRD_U8, voxels));
    CHECK(voxels[0] == 100 && voxels[15] == 100 && voxels[16] == 101 && voxels[31] == 101);
    crd_volume_close(&volume);
}

static void test_many_slices_are_found_fast(void)
{
    new_folder();
    for (int i = 0; i < 2000; i++) {
        char name[64];
        snprintf(name, sizeof name, "s%06d.tif", i);
        maker m = make_header(false, 24);
        memset(m.bytes + 8, i % 256, 16);
        m.used = 24;
        make_page(&m, &(page_spec){
                          .width = 4, .height = 4, .bits = 8, .compression = 1, .strip_offset = 8, .strip_bytes = 16});
        CHECK(tools_save(inside(name), m.bytes, m.used, 0));
    }
    crd_volume *volume = NULL;
    static unsigned char voxels[2000 * 16];
    CHECK_OK(tools_open(folder, &volume));
    const crd_box all = {.size = {2000, 4, 4}};
    CHECK_OK(crd_volume_read(volume, &all, CRD_U8, voxels));
    for (int i = 0; i < 2000 * 16; i++) CHECK(voxels[i] == i / 16 % 256);
    crd_volume_close(&volume);
    empty_folder();
}

TEST_MAIN(TEST(test_names_in_natural_order), TEST(test_a_folder_and_a_pattern), TEST(test_gaps_are_refused_by_name),
          TEST(test_sequences_that_mix), TEST(test_slices_that_differ), TEST(test_a_slice_that_vanishes),
          TEST(test_slices_are_not_one_piece), TEST(test_many_slices_are_found_fast))
