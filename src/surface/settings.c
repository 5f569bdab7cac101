#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "credence/surface.h"
#include "surface/inputs.h"
#include "volume/setting_rows.h"

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
    CRD_BBOX_ROW(crd_surface_options, "this box of the volume only"),
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
    CRD_RAW_ROWS(crd_surface_options, CRD_SCOPE_INPUT, 1, "What the file doesn't say"),
    CRD_SPACING_ROW(crd_surface_options, CRD_SCOPE_RESULT, "in the file"),
    CRD_THREADS_ROW(crd_surface_options, 4096, "Running", "threads; 0: one per core. The mesh doesn't depend on it"),
};

const crd_settings crd_surface_settings = {
    .title = "surface", .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(crd_surface_options)};
