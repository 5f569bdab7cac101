#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "credence/surface.h"
#include "predict/settings_text.h"
#include "surface/inputs.h"
#include "volume/setting_checks.h"

#define AT(FIELD) offsetof(crd_surface_options, FIELD)

static crd_status check_level(const char *name, const char *text)
{
    crd_surface_level level;
    return crd_surface_level_parse(name, text, &level);
}

static crd_status check_number(const char *name, const char *text)
{
    double value;
    if (crd_parse_real(text, strlen(text), &value)) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be a number, not '%s'", name, text);
}

static crd_status check_count(const char *name, const char *text)
{
    int64_t value;
    if (crd_parse_int(text, strlen(text), &value) && value >= 0) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be a whole number from 0 on, not '%s'", name, text);
}

static crd_status check_data(const char *name, const char *text)
{
    bool wanted[CRD_DATUM_KINDS];
    return crd_surface_data_parse(name, text, wanted);
}

static const crd_setting rows[] = {
    {.name = "input",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(input),
     .argument = "DIR|FILE",
     .help = "a run folder or a volume, as the argument without a flag gives it",
     .group = "Surface"},
    {.name = "output",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_PLACE,
     .offset = AT(output),
     .argument = "FILE",
     .short_name = 'o',
     .help = "the mesh: .ply, .stl (no vertex data) or .vtp"},
    {.name = "level",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(level),
     .check = check_level,
     .argument = "V|pN",
     .help =
         "inside is what lies above this value (0.5 unless given); p5, p95: where that percentile of a run's samples "
         "is above one half"},
    {.name = "sample",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(sample),
     .check = check_count,
     .argument = "I",
     .help = "the surface of this realisation of a run, from 0 on"},
    {.name = "phase",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(phase),
     .check = check_number,
     .argument = "V",
     .help = "a label volume: inside are voxels of this value; without it, of two values the larger"},
    {.name = "bbox",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(bbox),
     .check = crd_check_bbox,
     .argument = "z0:z1,y0:y1,x0:x1",
     .help = "this box of the volume only"},
    {.name = "open",
     .kind = CRD_SETTING_FLAG,
     .offset = AT(open),
     .help = "end the surface where the volume ends; without it a lid half a voxel further out closes it"},
    {.name = "decimate",
     .kind = CRD_SETTING_REAL,
     .offset = AT(decimate),
     .initial = "1",
     .low = 0.001,
     .high = 1,
     .argument = "SHARE",
     .help = "keep this share of the triangles, more where the surface bends: 0.1"},
    {.name = "data",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(data),
     .check = check_data,
     .initial = "all",
     .argument = "NAME,...",
     .help =
         "what each vertex tells of a run: probability, uncertainty, displacement (the distance between the surfaces "
         "of two percentiles), all or none"},
    {.name = "shape",
     .kind = CRD_SETTING_TRIPLE,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(shape),
     .low = 1,
     .high = 9007199254740991.0,
     .argument = "z,y,x",
     .help = "raw data: voxels along z, y and x",
     .group = "What the file doesn't say"},
    {.name = "type",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(type),
     .check = crd_check_type,
     .argument = "TYPE",
     .help = "raw data: u8, i8, u16, i16, u32, i32, f32 or f64, with le or be for the byte order: u16le"},
    {.name = "offset",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(offset),
     .initial = "0",
     .low = 0,
     .high = 9007199254740991.0,
     .argument = "BYTES",
     .help = "raw data: bytes to skip at the start of the file"},
    {.name = "spacing",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(spacing),
     .check = crd_check_spacing,
     .argument = "z,y,x,UNIT",
     .help = "edges of a voxel, in place of those in the file: 0.65,0.65,0.65,um"},
    {.name = "threads",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_PROCESS,
     .offset = AT(threads),
     .initial = "0",
     .low = 0,
     .high = 4096,
     .argument = "N",
     .help = "threads; 0: one per core. The mesh doesn't depend on it",
     .group = "Running"},
};

const crd_settings crd_surface_settings = {
    .title = "surface", .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(crd_surface_options)};
