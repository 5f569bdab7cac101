/* NIfTI headers that lie, in every byte; slope and intercept; names. */
#include "build_config.h"
#include "harness.h"
#include "volume_tools.h"

#if CRD_HAVE_NIFTI
#include "volume/header/nifti_header.h"

static crd_volume *volume; /* stays NULL through every failure */
static char said[1024];

static void keep_words(void *context, crd_level level, const char *text)
{
    (void)context;
    (void)level;
    snprintf(said, sizeof said, "%s", text);
}

static const crd_monitor monitor = {.message = keep_words};
static const crd_volume_info sample = {
    .shape = {2, 3, 4}, .type = CRD_U16, .spacing = {1, 2, 3}, .unit = "mm", .scale = 1};

/* The bytes of a file that we write, in `file`; gives back how many. */
static size_t make(unsigned char *file, size_t room)
{
    uint16_t voxels[24];
    crd_volume *out = NULL;
    for (int i = 0; i < 24; i++) voxels[i] = (uint16_t)i;
    if (crd_volume_create(scratch("made.nii"), &sample, NULL, &out) != CRD_OK ||
        crd_volume_write(out, &(crd_box){.size = {2, 3, 4}}, voxels) != CRD_OK || crd_volume_commit(out) != CRD_OK) {
        printf("%s\n", crd_last_error()->message);
        exit(1);
    }
    crd_volume_close(&out);
    FILE *in = fopen(scratch("made.nii"), "rb");
    const size_t bytes = in != NULL ? fread(file, 1, room, in) : 0;
    if (in != NULL) fclose(in);
    return bytes;
}

static crd_status open_bytes(const unsigned char *file, size_t bytes)
{
    FILE *out = fopen(scratch("bytes.nii"), "wb");
    if (out == NULL || fwrite(file, 1, bytes, out) != bytes || fclose(out) != 0) exit(1);
    said[0] = '\0';
    return crd_volume_open(scratch("bytes.nii"), NULL, &monitor, &volume);
}

static void put_short(unsigned char *file, size_t at, int16_t value)
{
    memcpy(file + at, &value, sizeof value);
}

static void put_float(unsigned char *file, size_t at, float value)
{
    memcpy(file + at, &value, sizeof value);
}

enum { DIM = 40, TYPE = 70, PIXDIM = 76, OFFSET = 108, SLOPE = 112, INTERCEPT = 116 };

static void test_headers_that_lie(void)
{
    unsigned char good[1024], file[1024];
    const size_t bytes = make(good, sizeof good);
    CHECK(bytes == 352 + 48);
#define LIE(CHANGE, STATUS, WORDS)                                                                                     \
    memcpy(file, good, sizeof file);                                                                                   \
    CHANGE;                                                                                                            \
    CHECK_FAILS(open_bytes(file, bytes), STATUS, WORDS)
    LIE(put_short(file, DIM, 2), CRD_ERR_UNSUPPORTED, "2 dimensions");
    LIE(put_short(file, DIM, 8), CRD_ERR_UNSUPPORTED, "8 dimensions");
    LIE((put_short(file, DIM, 4), put_short(file, DIM + 8, 2)), CRD_ERR_UNSUPPORTED, "4 dimensions");
    LIE(put_short(file, DIM + 2, 0), CRD_ERR_FORMAT, "can't hold");
    LIE(put_short(file, DIM + 4, -3), CRD_ERR_FORMAT, "can't hold");
    LIE(put_short(file, DIM + 6, 32767), CRD_ERR_FORMAT, "too short");
    LIE(put_short(file, TYPE, 128), CRD_ERR_UNSUPPORTED, "type 128");
    LIE(put_short(file, TYPE, 0), CRD_ERR_UNSUPPORTED, "type 0");
    LIE(put_float(file, OFFSET, 1e30f), CRD_ERR_FORMAT, "begin at byte");
    LIE(put_float(file, OFFSET, -1.0f), CRD_ERR_FORMAT, "begin at byte");
    LIE(put_float(file, OFFSET, NAN), CRD_ERR_FORMAT, "begin at byte");
    LIE(put_float(file, OFFSET, 1e9f), CRD_ERR_FORMAT, ""); /* behind the end */
    for (size_t i = 0; i < bytes; i++) CHECK(open_bytes(good, i == 0 ? 1 : i) != CRD_OK && volume == NULL);
    /* Whatever a byte of the header becomes, it is opened or refused; libnifti sees only what was checked. */
    for (size_t at = 0; at < 352; at++) {
        for (int value = 0; value < 256; value += 51) {
            memcpy(file, good, sizeof file);
            file[at] = (unsigned char)value;
            (void)open_bytes(file, bytes);
            crd_volume_close(&volume);
        }
    }
}

static void test_slope_and_space(void)
{
    unsigned char file[1024];
    const size_t bytes = make(file, sizeof file);
    put_float(file, SLOPE, 0.1f);
    CHECK_OK(open_bytes(file, bytes));
    CHECK(crd_volume_describe(volume)->scale == 0.1 && said[0] == '\0');
    crd_volume_close(&volume);
    put_float(file, INTERCEPT, 5.0f);
    CHECK_OK(open_bytes(file, bytes));
    CHECK(strstr(said, "5 added") != NULL);
    crd_volume_close(&volume);
    put_float(file, SLOPE, 0.0f); /* neither counts then */
    CHECK_OK(open_bytes(file, bytes));
    CHECK(crd_volume_describe(volume)->scale == 1.0 && said[0] == '\0');
    crd_volume_close(&volume);
    put_float(file, PIXDIM + 4, -0.65f);
    CHECK_OK(open_bytes(file, bytes));
    CHECK(crd_volume_describe(volume)->spacing[2] == 0.65); /* the float stands for a decimal number */
    crd_volume_close(&volume);
    put_float(file, 256, 0.5f); /* quatern_b */
    CHECK_OK(open_bytes(file, bytes));
    CHECK(strstr(said, "turned") != NULL);
    crd_volume_close(&volume);
}

static void test_names(void)
{
    CHECK_FAILS(crd_volume_create(scratch("x.hdr"), &sample, NULL, &volume), CRD_ERR_UNSUPPORTED, ".nii.gz");
    CHECK_FAILS(crd_volume_create(scratch("x.nii"), &sample, &(crd_volume_options){.compress = 1}, &volume),
                CRD_ERR_ARGUMENT, ".nii.gz");
    CHECK(scratch_count("x.") == 0);
    CHECK_OK(crd_volume_create(scratch("x.nii.gz"), &sample, NULL, &volume));
    uint16_t voxels[24] = {0};
    CHECK_FAILS(crd_volume_write(volume, &(crd_box){{1, 0, 0}, {1, 3, 4}}, voxels), CRD_ERR_ARGUMENT, "rising z");
    crd_volume_close(&volume);
    CHECK(scratch_count("x.") == 0);
    CHECK_OK(crd_volume_create(scratch("x.nii.gz"), &sample, NULL, &volume));
    CHECK_OK(crd_volume_commit(volume)); /* never written: zeros */
    crd_volume_close(&volume);
    CHECK_OK(crd_volume_open(scratch("x.nii.gz"), NULL, NULL, &volume));
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U16, voxels));
    crd_volume_close(&volume);
}

TEST_MAIN(TEST(test_headers_that_lie), TEST(test_slope_and_space), TEST(test_names))
#else
static void test_headers_that_lie(void)
{
    SKIP("built without libnifti");
}
TEST_MAIN(TEST(test_headers_that_lie))
#endif
