/* What descriptions and resolution tags say about spacing, unit and number of slices. */
#include <math.h>
#include <unistd.h>

#include "harness.h"
#include "tiff_tools.h"
#include "volume/tiff/tiff.h"

typedef struct said {
    const char *text;
    double per_x, per_y; /* resolution tags, 0: none */
    int unit;
    double spacing[3];
    const char *name;
    int64_t slices;
} said;

static crd_status read_text(const said *s, bool slice, crd_tiff_metadata *out)
{
    crd_tiff_resolution resolution = {.per_x = s->per_x, .per_y = s->per_y, .unit = (uint64_t)s->unit};
    if (s->per_x > 0.0) resolution.x = 1.0 / s->per_x;
    if (s->per_y > 0.0) resolution.y = 1.0 / s->per_y;
    tools_said[0] = '\0';
    return crd_tiff_read_metadata("file.tif", s->text, &resolution, slice, &tools_monitor, out);
}

#define OME_HEAD "<?xml version=\"1.0\"?><!-- <Pixels SizeC=\"9\"> --><OME xmlns=\"http://x\"><Image ID=\"Image:0\">"
#define OME_TAIL "</Image></OME>"

static void test_spacing(void)
{
    static const said rows[] = {
        {NULL, 0, 0, RESUNIT_INCH, {0, 0, 0}, "", 0},
        {"ImageJ=1.53t\nimages=12\nslices=12\nunit=micron\nspacing=0.5\nloop=false\n",
         4,
         2,
         RESUNIT_NONE,
         {0.5, 0.5, 0.25},
         "um",
         12},
        {"ImageJ=1.53t\nimages=12\nunit=\\u00B5m\nspacing=0.5\n", 4, 4, RESUNIT_NONE, {0.5, 0.25, 0.25}, "um", 12},
        {"ImageJ=1.53t\r\nimages=12\r\nunit=um\r\nspacing=-0.5\r\n", 4, 4, RESUNIT_NONE, {0.5, 0.25, 0.25}, "um", 12},
        {"ImageJ=1.53t\nimages=2\nunit=mm\n", 10, 10, RESUNIT_NONE, {1, 0.1, 0.1}, "mm", 2}, /* ImageJ's default depth
                                                                                              */
        {"ImageJ=1.53t\nimages=2\n", 1, 1, RESUNIT_NONE, {0, 0, 0}, "", 2},
        {"ImageJ=1.53t\nimages=2\nunit=pixel\n", 1, 1, RESUNIT_NONE, {0, 0, 0}, "", 2},
        {"ImageJ=1.53t\nimages=2\nspacing=3.0\n", 1, 1, RESUNIT_NONE, {3, 1, 1}, "", 2},
        {"ImageJ=1.53t\nimages=2\nunit=um\nspacing=2\n", 5000, 5000, RESUNIT_CENTIMETER, {2, 2, 2}, "um", 2},
        {"ImageJ=1.53t\nimages=2\nunit=mm\nzunit=um\nspacing=50\n", 20, 20, RESUNIT_NONE, {0.05, 0.05, 0.05}, "mm", 2},
        {"ImageJ=1.53t\nimages=2\n", 72, 72, RESUNIT_INCH, {0, 0, 0}, "", 2},
        {"ImageJ=1.53t\nimages=2\nunit=um\nspacing=x\n", 0, 0, RESUNIT_NONE, {0, 0, 0}, "", 2},
        {OME_HEAD "<Pixels SizeX=\"5\" SizeY='6' SizeZ=\"7\" SizeC=\"1\" SizeT=\"1\" PhysicalSizeX=\"0.25\" "
                  "PhysicalSizeY=\"0.5\" PhysicalSizeZ=\"1.5\"><TiffData/></Pixels>" OME_TAIL,
         1,
         1,
         RESUNIT_NONE,
         {1.5, 0.5, 0.25},
         "um",
         7},
        {OME_HEAD "<Pixels SizeZ=\"7\" PhysicalSizeX=\"250\" PhysicalSizeXUnit=\"nm\" PhysicalSizeY=\"250\" "
                  "PhysicalSizeYUnit=\"nm\" PhysicalSizeZ=\"1\" PhysicalSizeZUnit=\"&#181;m\"/>" OME_TAIL,
         1,
         1,
         RESUNIT_NONE,
         {1000, 250, 250},
         "nm",
         7},
        {OME_HEAD "<Description>1 &lt; 2 <![CDATA[<Pixels SizeC=\"3\"/>]]></Description><ome:Pixels\n SizeZ=\"2\"\n "
                  "PhysicalSizeX=\"1\" PhysicalSizeY=\"1\" PhysicalSizeZ=\"1\" PhysicalSizeXUnit=\"mm\" "
                  "PhysicalSizeYUnit=\"mm\" PhysicalSizeZUnit=\"mm\"><TiffData FirstZ=\"0\" IFD=\"0\"><UUID "
                  "FileName=\"a.tif\">x</UUID></TiffData><TiffData FirstZ=\"1\" IFD=\"1\"><UUID FileName=\"a.tif\"/>"
                  "</TiffData></ome:Pixels>" OME_TAIL,
         0,
         0,
         RESUNIT_NONE,
         {1, 1, 1},
         "mm",
         2},
        {"{\"shape\": [4, 5, 6], \"spacing\": 0.5, \"unit\": \"um\"}", 4, 4, RESUNIT_NONE, {0.5, 0.25, 0.25}, "um", 0},
        {"{\"shape\": [4, 5, 6], \"truncated\": true}", 1, 1, RESUNIT_NONE, {0, 0, 0}, "", 4},
        {"{\"shape\": [4, 5, 6]}", 1, 1, RESUNIT_NONE, {0, 0, 0}, "", 0},
        {"{\"exposure\": 3}", 1, 1, RESUNIT_NONE, {0, 0, 0}, "", 0},
        {"{ broken", 1, 1, RESUNIT_NONE, {0, 0, 0}, "", 0},
        {"made by a scanner", 300, 300, RESUNIT_INCH, {0, 0, 0}, "", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        crd_tiff_metadata m;
        CHECK_OK(read_text(&rows[i], false, &m));
        for (int k = 0; k < 3; k++) CHECK_NEAR(m.spacing[k], rows[i].spacing[k], 1e-12 * rows[i].spacing[k]);
        CHECK(strcmp(m.unit, rows[i].name) == 0);
        CHECK(m.slices == rows[i].slices && m.scale == 1.0);
    }
}

static void test_what_is_no_volume_is_refused(void)
{
    static const struct row {
        const char *text, *words;
    } rows[] = {
        {"ImageJ=1.53t\nimages=12\nchannels=3\nslices=4\nhyperstack=true\n", "hyperstack with 3 channels"},
        {"ImageJ=1.53t\nimages=12\nframes=12\n", "12 frames"},
        {OME_HEAD "<Pixels SizeZ=\"7\" SizeC=\"2\" SizeT=\"1\"/>" OME_TAIL, "2 channels"},
        {OME_HEAD "<Pixels SizeZ=\"1\" SizeC=\"1\" SizeT=\"7\"/>" OME_TAIL, "7 time points"},
        {OME_HEAD "<Pixels SizeZ=\"2\"/></Image><Image><Pixels/></Image></OME>", "2 images"},
        {OME_HEAD "<Pixels SizeZ=\"2\"><TiffData FirstZ=\"0\" IFD=\"1\"/></Pixels>" OME_TAIL, "aren't in the order"},
        {OME_HEAD "<Pixels SizeZ=\"2\"><TiffData><UUID FileName=\"a\"/></TiffData><TiffData FirstZ=\"0\"><UUID "
                  "FileName='b'/></TiffData></Pixels>" OME_TAIL,
         "one of several files"},
        {"<OME><BinaryOnly MetadataFile=\"x\"/></OME>", "one of several files"},
        {"{\"shape\": [2, 3, 4, 5]}", "4 axes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        crd_tiff_metadata m;
        const said s = {.text = rows[i].text, .unit = RESUNIT_NONE};
        CHECK_FAILS(read_text(&s, false, &m), CRD_ERR_UNSUPPORTED, rows[i].words);
    }
}

/* As many axes of 1 as a description can hold: the time must not grow with their square. */
static void test_a_long_list_of_axes(void)
{
    enum { AXES = 300000 };
    static char text[2 * AXES + 64] = "{\"truncated\": true, \"shape\": [7, 1";
    size_t used = strlen(text);
    for (int i = 0; i < AXES; i++, used += 2) memcpy(text + used, ",1", 2);
    memcpy(text + used, "]}", 3);
    crd_tiff_metadata m;
    const said s = {.text = text, .unit = RESUNIT_NONE};
    alarm(60);
    CHECK_OK(read_text(&s, false, &m));
    alarm(0);
    CHECK(m.slices == 7 && m.one_piece);
}

static void test_broken_xml_is_passed_over(void)
{
    static const char *const texts[] = {"<OME",
                                        "<OME><",
                                        "<OME><Pixels",
                                        "<OME><Pixels SizeZ",
                                        "<OME><Pixels SizeZ=",
                                        "<OME><Pixels SizeZ=\"4",
                                        "<OME><!--",
                                        "<OME><![CDATA[",
                                        "<OME>&#",
                                        "<OME x='>' y=>",
                                        "<OME><Pixels =\"\" ==>",
                                        "<OME><Pixels SizeZ=\"&#99999999999999;&#x;&\">"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        crd_tiff_metadata m;
        const said s = {.text = texts[i], .unit = RESUNIT_NONE};
        CHECK_OK(read_text(&s, false, &m));
        CHECK(m.slices == 0 && m.spacing[0] == 0.0);
    }
}

static void test_half_a_spacing_is_said(void)
{
    crd_tiff_metadata m;
    const said scanner = {.text = NULL, .per_x = 5080, .per_y = 5080, .unit = RESUNIT_INCH};
    CHECK_OK(read_text(&scanner, false, &m));
    CHECK(m.spacing[0] == 0.0 && m.spacing[1] == 0.0 && m.spacing[2] == 0.0);
    CHECK(strstr(tools_said, "pixels are 5 x 5 um (y, x)") != NULL && strstr(tools_said, "--spacing") != NULL);
    const said slice = {.text = "ImageJ=1.53t\nunit=mm\n", .per_x = 10, .per_y = 10, .unit = RESUNIT_NONE};
    CHECK_OK(read_text(&slice, true, &m));
    CHECK(m.spacing[0] == 0.0 && strstr(tools_said, "pixels are 0.1 x 0.1 mm") != NULL);
    const said calibrated = {.text = "ImageJ=1.53t\ncf=0\nc0=-32768\nc1=1\n", .unit = RESUNIT_NONE};
    CHECK_OK(read_text(&calibrated, false, &m));
    CHECK(strstr(tools_said, "calibration") != NULL);
}

static void test_our_own_lines(void)
{
    crd_tiff_metadata m;
    said s = {.text = "ImageJ=1.53t\nunit=mm\ncredence_spacing=1,2,3\ncredence_origin=-4,5,6\ncredence_scale=0.25\n",
              .unit = RESUNIT_NONE};
    CHECK_OK(read_text(&s, false, &m));
    CHECK(m.spacing[0] == 1 && m.spacing[1] == 2 && m.spacing[2] == 3 && strcmp(m.unit, "mm") == 0);
    CHECK(m.origin[0] == -4 && m.origin[1] == 5 && m.origin[2] == 6 && m.scale == 0.25);
    s.text = "ImageJ=1.53t\ncredence_spacing=1,2\ncredence_origin=1,2,3,4\ncredence_scale=-1\n";
    CHECK_OK(read_text(&s, false, &m));
    CHECK(m.spacing[0] == 0 && m.origin[0] == 0 && m.scale == 1.0);
}

/* From tags in a file, with what doesn't fit the pages. */
static void test_in_files(void)
{
    unsigned char voxels[3 * 4 * 5] = {0};
    crd_volume *volume = NULL;
    tiff_spec spec = {.shape = {3, 4, 5},
                      .photometric = 1,
                      .x_resolution = 8,
                      .y_resolution = 4,
                      .resolution_unit = RESUNIT_NONE,
                      .description = "ImageJ=1.53t\nimages=3\nslices=3\nunit=micron\nspacing=2.5\n"};
    CHECK(tools_make_tiff(scratch("meta.tif"), &spec, voxels));
    CHECK_OK(tools_open(scratch("meta.tif"), &volume));
    const double *spacing = crd_volume_describe(volume)->spacing;
    CHECK(spacing[0] == 2.5 && spacing[1] == 0.25 && spacing[2] == 0.125);
    crd_volume_close(&volume);
    spec.description = "ImageJ=1.53t\nimages=5\nslices=5\n";
    CHECK(tools_make_tiff(scratch("meta.tif"), &spec, voxels));
    CHECK_OK(tools_try(scratch("meta.tif")));
    CHECK(strstr(tools_said, "3 pages, although its description says 5") != NULL);
    spec.description = OME_HEAD "<Pixels SizeZ=\"5\"/>" OME_TAIL;
    CHECK(tools_make_tiff(scratch("meta.tif"), &spec, voxels));
    CHECK_FAILS(tools_try(scratch("meta.tif")), CRD_ERR_MISMATCH, "3 pages, but its description says 5");
    spec.shape[0] = 1;
    spec.compression = COMPRESSION_LZW;
    spec.description = "ImageJ=1.53t\nimages=5\nslices=5\n";
    CHECK(tools_make_tiff(scratch("meta.tif"), &spec, voxels));
    CHECK_FAILS(tools_try(scratch("meta.tif")), CRD_ERR_FORMAT, "one page, but its description says 5");
}

TEST_MAIN(TEST(test_spacing), TEST(test_what_is_no_volume_is_refused), TEST(test_a_long_list_of_axes),
          TEST(test_broken_xml_is_passed_over), TEST(test_half_a_spacing_is_said), TEST(test_our_own_lines),
          TEST(test_in_files))
