/* NRRD and MetaImage: headers of other programs, headers that lie, and names that lead elsewhere. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"
#include "volume/header/metaimage_header.h"
#include "volume/header/nrrd_header.h"
#include "volume_tools.h"

static crd_volume *volume; /* stays NULL through every failure */
static char said[1024];

static void keep_words(void *context, crd_level level, const char *text)
{
    (void)context;
    (void)level;
    const size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%s\n", text);
}

static const crd_monitor monitor = {.message = keep_words};

static void write_text(const char *path, const char *text, size_t zeros)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fputs(text, file) < 0) exit(1);
    for (size_t i = 0; i < zeros; i++) fputc((int)i, file);
    if (fclose(file) != 0) exit(1);
}

static crd_status open_text(const char *name, const char *text, size_t zeros)
{
    said[0] = '\0';
    write_text(scratch(name), text, zeros);
    return crd_volume_open(scratch(name), NULL, &monitor, &volume);
}

#define NRRD  "NRRD0005\n# a comment\n"
#define SIZES "dimension: 3\nsizes: 4 3 2\n"

static void test_nrrd_of_others(void)
{
    uint8_t voxels[24];
    /* As ITK and Slicer write it. */
    CHECK_OK(open_text("itk.nrrd",
                       "NRRD0004\n# Complete NRRD file format specification at:\ntype: short\ndimension: 3\n"
                       "space: left-posterior-superior\nsizes: 4 3 2\n"
                       "space directions: (0.5,0,0) (0,0.25,0) (0,0,2)\nkinds: domain domain domain\nendian: little\n"
                       "encoding: raw\nspace origin: (-1.5,0,3)\nmeasurement frame: (1,0,0) (0,1,0) (0,0,1)\n"
                       "a key:=a value: with = and :\n\n",
                       48));
    const crd_volume_info *info = crd_volume_describe(volume);
    CHECK(info->type == CRD_I16 && info->shape[0] == 2 && info->shape[2] == 4);
    CHECK(info->spacing[0] == 2.0 && info->spacing[1] == 0.25 && info->spacing[2] == 0.5 && said[0] == '\0');
    crd_volume_close(&volume);
    /* DOS line ends, one channel, spacings with a hole, units per axis, types in words. */
    CHECK_OK(
        open_text("dos.nrrd",
                  "NRRD0001\r\nTYPE: unsigned char\r\ndimension: 4\r\nsizes: 1 4 3 2\r\n"
                  "spacings: nan 1.5 2.5 3.5\r\nunits: \"\" \"micron\" \"micron\" \"micron\"\r\nencoding: RAW\r\n\r\n",
                  24));
    info = crd_volume_describe(volume);
    CHECK(info->type == CRD_U8 && info->shape[1] == 3 && info->spacing[0] == 3.5 && info->spacing[2] == 1.5);
    CHECK(strcmp(info->unit, "um") == 0);
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U8, voxels));
    for (int i = 0; i < 24; i++) CHECK(voxels[i] == i);
    crd_volume_close(&volume);
    /* Turned in space, lines and bytes to skip, the voxels at the end. */
    CHECK_OK(open_text("turned.nrrd",
                       NRRD "type: uchar\n" SIZES "encoding: raw\nspace dimension: 3\nline skip: 2\nbyte skip: 3\n"
                            "space directions: (0.6,0.8,0) (-0.8,0.6,0) (0,0,1)\n\nfirst line\nsecond line\n",
                       27));
    CHECK(strstr(said, "turned or mirrored in its space") != NULL);
    CHECK_NEAR(crd_volume_describe(volume)->spacing[2], 1.0, 1e-15);
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U8, voxels));
    CHECK(voxels[0] == 3 && voxels[23] == 26);
    crd_volume_close(&volume);
    CHECK_OK(open_text("end.nrrd", NRRD "type: uchar\n" SIZES "encoding: raw\nbyte skip: -1\n\nanything", 30));
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {1, 1, 1}}, CRD_U8, voxels));
    CHECK(voxels[0] == 6);
    crd_volume_close(&volume);
    /* Each axis in a unit of its own: lengths are compared. */
    CHECK_OK(open_text("units.nrrd",
                       NRRD "type: uchar\n" SIZES "encoding: raw\nspacings: 1 2 3\nunits: \"um\" \"um\" \"mm\"\n\n",
                       24));
    info = crd_volume_describe(volume);
    CHECK(strcmp(info->unit, "um") == 0 && info->spacing[0] == 3000.0 && info->spacing[1] == 2.0 && said[0] == '\0');
    crd_volume_close(&volume);
    CHECK_OK(open_text("units.nrrd",
                       NRRD "type: uchar\n" SIZES "encoding: raw\nspace dimension: 3\n"
                            "space directions: (1,0,0) (0,2,0) (0,0,3)\nspace units: \"um\" \"um\" \"s\"\n\n",
                       24));
    info = crd_volume_describe(volume);
    CHECK(info->unit[0] == '\0' && info->spacing[0] == 0.0 && strstr(said, "different units") != NULL);
    crd_volume_close(&volume);
    /* Units that aren't said for every axis are those of the others; slices that were joined have no direction. */
    static const char *const some[] = {
        "spacings: 1 2 3\nunits: \"mm\"", "spacings: 1 2 3\nunits: \"\" \"mm\" \"\"",
        "space dimension: 3\nspace directions: (1,0,0) (0,2,0) (0,0,3)\nspace units: \"mm\""};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, NRRD "type: uchar\n" SIZES "encoding: raw\n%s\n\n", some[i]);
        CHECK_OK(open_text("some.nrrd", text, 24));
        info = crd_volume_describe(volume);
        CHECK(strcmp(info->unit, "mm") == 0 && info->spacing[0] == 3.0 && info->spacing[2] == 1.0 && said[0] == '\0');
        crd_volume_close(&volume);
    }
    CHECK_OK(open_text("joined.nrrd",
                       NRRD "type: uchar\n" SIZES "encoding: raw\nspace dimension: 2\n"
                            "space directions: (0.5,0) (0,0.5) none\nkinds: space space ???\n\n",
                       24));
    crd_volume_close(&volume);
    CHECK_OK(open_text(
        "stub.nrrd", NRRD "type: uchar\ndimension: 3\nsizes: 4 6 1\nencoding: raw\nkinds: domain domain stub\n\n", 24));
    crd_volume_close(&volume);
    CHECK_OK(open_text("nowhere.nrrd", NRRD "type: uchar\n" SIZES "encoding: raw\nspace directions: none none none\n\n",
                       24));
    CHECK(crd_volume_describe(volume)->spacing[0] == 0.0);
    crd_volume_close(&volume);
    /* Mirrored, and with its axes in another order: said. A name that merely begins like LIST is a name. */
    CHECK_OK(open_text("turned.nrrd",
                       NRRD "type: uchar\n" SIZES
                            "encoding: raw\nspace dimension: 3\nspace directions: (0,0,1) (0,1,0) (1,0,0)\n\n",
                       24));
    CHECK(strstr(said, "turned or mirrored in its space") != NULL);
    crd_volume_close(&volume);
    write_text(scratch("listeria.raw"), "", 24);
    CHECK_OK(open_text("list.nhdr", NRRD "type: uchar\n" SIZES "encoding: raw\ndata file: listeria.raw\n", 0));
    crd_volume_close(&volume);
}

static void test_nrrd_that_lie(void)
{
    /* The header's own text must not be taken for voxels. */
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\n" SIZES "encoding: raw\nbyte skip: -1\n\n", 23), CRD_ERR_FORMAT,
                "too short");
    static const char *const axes[] = {"kinds: RGB-color domain domain", "kinds: domain domain time",
                                       "kinds: domain 3-vector domain",
                                       "space dimension: 2\nspace directions: none (1,0) (0,1)"};
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        char text[300];
        snprintf(text, sizeof text, NRRD "type: uchar\n" SIZES "encoding: raw\n%s\n\n", axes[i]);
        CHECK_FAILS(open_text("a.nrrd", text, 24), CRD_ERR_UNSUPPORTED, "colours, channels or times");
    }
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\n" SIZES "encoding: raw\n\n", 23), CRD_ERR_FORMAT, "too short");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\n" SIZES "encoding: raw\n", 0), CRD_ERR_FORMAT, "empty line");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: short\n" SIZES "encoding: raw\n\n", 48), CRD_ERR_FORMAT, "endian");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: block\n" SIZES "encoding: raw\n\n", 48), CRD_ERR_UNSUPPORTED,
                "'block'");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\n" SIZES "encoding: bzip2\n\n", 48), CRD_ERR_UNSUPPORTED,
                "bzip2");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\ndimension: 3\nsizes: 4 3\nencoding: raw\n\n", 48),
                CRD_ERR_FORMAT, "don't agree");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\ndimension: 4\nsizes: 3 4 3 2\nencoding: raw\n\n", 99),
                CRD_ERR_UNSUPPORTED, "4 dimensions");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\ndimension: 3\nsizes: 4 -3 2\nencoding: raw\n\n", 99),
                CRD_ERR_FORMAT, "can't hold");
    CHECK_FAILS(open_text("a.nrrd",
                          NRRD
                          "type: double\nendian: big\ndimension: 3\nsizes: 4611686018427387904 9 9\nencoding: raw\n\n",
                          99),
                CRD_ERR_FORMAT, "can't hold");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\n" SIZES "encoding: raw\nbyte skip: 9223372036854775807\n\n", 99),
                CRD_ERR_FORMAT, "skips beyond");
    CHECK_FAILS(open_text("a.nrrd", NRRD "type: uchar\n" SIZES "encoding: raw\nline skip: 1000000000000\n\n", 99),
                CRD_ERR_FORMAT, "fewer lines");
    uint8_t voxels[24];
    CHECK_OK(open_text("a.nrrd", NRRD "type: uchar\n" SIZES "encoding: gzip\n\nthis is no gzip", 99));
    CHECK_FAILS(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U8, voxels), CRD_ERR_FORMAT,
                "doesn't begin like it");
    crd_volume_close(&volume);
}

static void test_nrrd_version(void)
{
    CHECK_FAILS(open_text("v.nrrd", "NRRD0009\ntype: uchar\n\n", 9), CRD_ERR_UNSUPPORTED, "version 9");
}

#define META "ObjectType = Image\nNDims = 3\nBinaryData = True\n"
#define REST "DimSize = 4 3 2\nElementType = MET_UCHAR\nElementDataFile = "

static void test_metaimage_of_others(void)
{
    uint8_t voxels[24];
    CHECK_OK(open_text("itk.mha",
                       META "BinaryDataByteOrderMSB = False\nCompressedData = False\n"
                            "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = -1 2 3\nCenterOfRotation = 0 0 0\n"
                            "AnatomicalOrientation = RAI\nElementSpacing = 0.5 0.25 2\n" REST "LOCAL\n",
                       24));
    const crd_volume_info *info = crd_volume_describe(volume);
    CHECK(info->shape[0] == 2 && info->spacing[0] == 2.0 && info->spacing[2] == 0.5 && said[0] == '\0');
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U8, voxels));
    for (int i = 0; i < 24; i++) CHECK(voxels[i] == i);
    crd_volume_close(&volume);
    CHECK_OK(
        open_text("turned.mha", META "TransformMatrix = 0 1 0 -1 0 0 0 0 1\nElementSize = 1 2 3\n" REST "LOCAL\n", 24));
    CHECK(strstr(said, "turned") != NULL && crd_volume_describe(volume)->spacing[0] == 3.0);
    crd_volume_close(&volume);
    write_text(scratch("voxels.bin"), "header", 24);
    CHECK_OK(open_text("skip.mhd", META "HeaderSize = 6\nDistanceUnits = mm\n" REST "voxels.bin\n", 0));
    CHECK(strcmp(crd_volume_describe(volume)->unit, "mm") == 0);
    crd_volume_close(&volume);
    CHECK_OK(open_text("end.mhd", META "HeaderSize = -1\n" REST "./voxels.bin", 0));
    CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U8, voxels));
    CHECK(voxels[5] == 5);
    crd_volume_close(&volume);
    CHECK_FAILS(open_text("a.mha", META REST "LOCAL\n", 23), CRD_ERR_FORMAT, "too short");
    /* HeaderSize counts behind the header, too. */
    static const char *const skips[] = {"HeaderSize = 160\n", "HeaderSize = -1\n"};
    for (int i = 0; i < 2; i++) {
        char text[161];
        snprintf(text, sizeof text, META "%s" REST "LOCAL\n", skips[i]);
        memset(text + strlen(text), '.', 160 - strlen(text));
        text[160] = '\0';
        CHECK_OK(open_text("skip.mha", text, 24));
        CHECK_OK(crd_volume_read(volume, &(crd_box){.size = {2, 3, 4}}, CRD_U8, voxels));
        CHECK(voxels[0] == 0 && voxels[5] == 5 && said[0] == '\0');
        crd_volume_close(&volume);
    }
    CHECK_FAILS(open_text("a.mha", META "HeaderSize = 5\n" REST "LOCAL\n", 24), CRD_ERR_FORMAT, "HeaderSize of 5");
    CHECK_FAILS(open_text("a.mha", META "HeaderSize = -1\n" REST "LOCAL\n", 23), CRD_ERR_FORMAT, "too short");
    CHECK_OK(open_text(
        "slope.mha",
        META "ElementToIntensityFunctionSlope = 2.5\nElementToIntensityFunctionOffset = -1000\n" REST "LOCAL\n", 24));
    CHECK(crd_volume_describe(volume)->scale == 2.5 && strstr(said, "-1000 added") != NULL);
    crd_volume_close(&volume);
#define ORDERS META "BinaryDataByteOrderMSB = True\nElementByteOrderMSB = False\nDimSize = 4 3 2\n"
    CHECK_FAILS(open_text("a.mha", ORDERS "ElementType = MET_SHORT\nElementDataFile = LOCAL\n", 48), CRD_ERR_FORMAT,
                "two different orders");
    CHECK_OK(open_text("a.mha", ORDERS "ElementType = MET_UCHAR\nElementDataFile = LOCAL\n", 24));
    crd_volume_close(&volume);
    CHECK_FAILS(open_text("a.mha", META "ElementNumberOfChannels = 3\n" REST "LOCAL\n", 72), CRD_ERR_UNSUPPORTED,
                "3 channels");
    CHECK_FAILS(open_text("a.mha", "ObjectType = Tube\nNDims = 3\n" REST "LOCAL\n", 72), CRD_ERR_FORMAT, "no image");
    CHECK_FAILS(open_text("a.mha", "NDims = 3\nBinaryData = False\n" REST "LOCAL\n", 72), CRD_ERR_UNSUPPORTED, "text");
    CHECK_FAILS(open_text("a.mha", META "DimSize = 4 3 2\nElementType = MET_UCHAR\n", 0), CRD_ERR_FORMAT,
                "ElementDataFile is missing");
    CHECK_FAILS(open_text("a.mha", META "nonsense\n" REST "LOCAL\n", 24), CRD_ERR_FORMAT, "without =");
    CHECK_FAILS(open_text("a.mhd", META REST "LIST\n1.raw\n2.raw\n", 0), CRD_ERR_UNSUPPORTED, "several files");
    CHECK_FAILS(open_text("a.mhd", META REST "slice%03d.raw 1 2 1\n", 0), CRD_ERR_UNSUPPORTED, "several files");
}

/* Headers that name files which aren't theirs. */
static void test_names_that_lead_elsewhere(void)
{
    static const char *const names[] = {"/etc/passwd", "../../../../etc/passwd", "a/../../b", "..", "~/x", "..\\x"};
    char text[600];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(text, sizeof text, META REST "%s\n", names[i]);
        CHECK_FAILS(open_text("out.mhd", text, 0), CRD_ERR_FORMAT, "isn't in its own folder");
        snprintf(text, sizeof text, NRRD "type: uchar\n" SIZES "encoding: raw\ndata file: %s\n", names[i]);
        CHECK_FAILS(open_text("out.nhdr", text, 0), CRD_ERR_FORMAT, "isn't in its own folder");
    }
    CHECK_FAILS(open_text("out.mhd", META REST "missing.raw\n", 0), CRD_ERR_SYSTEM, "missing.raw");
    CHECK_FAILS(open_text("out.mhd", META REST "\n", 0), CRD_ERR_FORMAT, "names no file");
    CHECK_FAILS(open_text("out.mhd", META REST ".\n", 0), CRD_ERR_ARGUMENT, "is a folder");
    /* A pipe would be waited for. */
    CHECK(mkfifo(scratch("pipe.raw"), 0600) == 0);
    CHECK_FAILS(open_text("out.mhd", META REST "pipe.raw\n", 0), CRD_ERR_ARGUMENT, "no plain file");
    /* A link is the user's own doing, and said. */
    char outside[] = "/tmp/credence-outside-XXXXXX";
    const int fd = mkstemp(outside);
    CHECK(fd >= 0 && write(fd, "abcdefghijklmnopqrstuvwxyz", 26) == 26 && close(fd) == 0);
    CHECK(symlink(outside, scratch("link.raw")) == 0);
    CHECK_OK(open_text("out.mhd", META REST "link.raw\n", 0));
    CHECK(unlink(outside) == 0);
    CHECK(strstr(said, "2 bytes behind") != NULL && strstr(said, "outside its folder") != NULL);
    crd_volume_close(&volume);
    CHECK(symlink("/dev/zero", scratch("zero.raw")) == 0);
    CHECK_FAILS(open_text("out.mhd", META REST "zero.raw\n", 0), CRD_ERR_ARGUMENT, "no plain file");
}

/* The voxels' file of a header that is being written must not replace somebody else's. */
static void test_a_raw_file_is_not_replaced(void)
{
    const crd_volume_info info = {.shape = {2, 3, 4}, .type = CRD_U8};
    write_text(scratch("mine.raw"), "precious", 0);
    CHECK_FAILS(crd_volume_create(scratch("mine.mhd"), &info, NULL, &volume), CRD_ERR_ARGUMENT, "mine.raw");
    CHECK_FAILS(crd_volume_create(scratch("mine.nhdr"), &info, NULL, &volume), CRD_ERR_ARGUMENT, "mine.raw");
    CHECK_OK(crd_volume_create(scratch("ours.mhd"), &info, NULL, &volume));
    CHECK(access(scratch("ours.raw"), F_OK) != 0 && scratch_count("ours") == 1);
    crd_volume_close(&volume);
    CHECK(scratch_count("ours") == 0);
    for (int i = 0; i < 2; i++) { /* the second time over the first */
        CHECK_OK(crd_volume_create(scratch("ours.mhd"), &info, NULL, &volume));
        CHECK_OK(crd_volume_commit(volume));
        crd_volume_close(&volume);
        CHECK(scratch_count("ours") == 2);
    }
}

/* Opens a file in a child that may have 64 MiB of data; 0 where that ended as it should. */
static int in_little_memory(const char *name)
{
    const pid_t child = fork();
    int status = 1;
    if (child == 0) {
        struct rlimit limit = {64 << 20, 64 << 20};
        uint8_t voxel[8];
        crd_volume *v = NULL;
        if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(2);
        alarm(60);
        const crd_volume_options options = {.cache_bytes = 8 << 20};
        crd_status result = crd_volume_open(scratch(name), &options, NULL, &v);
        if (result == CRD_OK) {
            const int64_t *shape = crd_volume_describe(v)->shape;
            const crd_box last = {{shape[0] - 1, shape[1] - 1, shape[2] - 1}, {1, 1, 1}};
            result = crd_volume_read(v, &last, CRD_F64, voxel);
        }
        crd_volume_close(&v);
        _exit(result == CRD_ERR_MEMORY ? 3 : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return 4;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}

/* Large claims and files that unpack to a thousand times their size: memory stays bounded. */
static void test_bombs(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    SKIP("sanitizers need memory of their own");
#endif
    const crd_volume_info info = {.shape = {400, 1000, 1000}, .type = CRD_U8};
    CHECK_OK(crd_volume_create(scratch("bomb.nrrd"), &info, &(crd_volume_options){.compress = 9}, &volume));
    CHECK_OK(crd_volume_commit(volume)); /* 400 MB of zeros in 400 KB */
    crd_volume_close(&volume);
    CHECK(in_little_memory("bomb.nrrd") == 0);
    write_text(scratch("claim.nrrd"),
               NRRD "type: uchar\ndimension: 3\nsizes: 100000 100000 100000\nencoding: gzip\n\n\x1f\x8b\x08", 90);
    CHECK(in_little_memory("claim.nrrd") == 0);
    write_text(scratch("claim.mha"), META "CompressedData = True\n" REST "LOCAL\n\x78\x9c", 90);
    CHECK(in_little_memory("claim.mha") == 0);
}

TEST_MAIN(TEST(test_nrrd_of_others), TEST(test_nrrd_that_lie), TEST(test_nrrd_version), TEST(test_metaimage_of_others),
          TEST(test_names_that_lead_elsewhere), TEST(test_a_raw_file_is_not_replaced), TEST(test_bombs))
