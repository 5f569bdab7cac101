#include "measure/settings.h"

#include <stddef.h>
#include <string.h>

#include "backend/choose.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/number.h"
#include "measure/properties.h"
#include "predict/settings_text.h"
#include "volume/setting_rows.h"

#define AT(FIELD) offsetof(crd_measure_options, FIELD)

crd_status crd_parse_properties(const char *name, const char *text, unsigned *wanted)
{
    static const struct {
        const char *word;
        unsigned wanted;
    } rows[] = {{"fast", CRD_WANT_FAST},
                {"all", CRD_WANT_ALL},
                {"fraction", CRD_WANT_FRACTION},
                {"surface", CRD_WANT_FRACTION | CRD_WANT_SURFACE},
                {"curvature", CRD_WANT_FRACTION | CRD_WANT_SURFACE},
                {"euler", CRD_WANT_FRACTION | CRD_WANT_SURFACE},
                {"components", CRD_WANT_FRACTION | CRD_WANT_COMPONENTS},
                {"chords", CRD_WANT_FRACTION | CRD_WANT_CHORDS},
                {"s2", CRD_WANT_FRACTION | CRD_WANT_S2},
                {"interfaces", CRD_WANT_FRACTION | CRD_WANT_INTERFACES},
                {"thickness", CRD_WANT_FRACTION | CRD_WANT_THICKNESS},
                {"transport", CRD_WANT_FRACTION | CRD_WANT_TRANSPORT}};
    const char *names[sizeof rows / sizeof rows[0]];
    *wanted = 0;
    for (const char *at = text; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        char word[32] = "";
        bool known = false;
        if (length < sizeof word) memcpy(word, at, length);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            names[i] = rows[i].word;
            if (strcmp(word, rows[i].word) != 0) continue;
            *wanted |= rows[i].wanted;
            known = true;
        }
        if (!known) {
            const char *nearest = crd_nearest_name(word, names, sizeof rows / sizeof rows[0]);
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s: '%.*s' is no group of properties; known are fast, all, fraction, surface, curvature, "
                            "euler, components, chords, s2, interfaces, thickness and transport%s%s%s",
                            name, (int)length, at, nearest != NULL ? "; did you mean " : "",
                            nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
        }
        at += length + (at[length] == ',');
    }
    return CRD_OK;
}

crd_status crd_parse_samples(const char *name, const char *text, int64_t *first, int64_t *count, bool *from_start)
{
    int64_t last = 0;
    const size_t length = strcspn(text, "-");
    *from_start = text[length] == '\0';
    if (*from_start && crd_parse_int(text, length, count) && *count > 0) return CRD_OK;
    if (!*from_start && crd_parse_int(text, length, first) && *first >= 0 &&
        crd_parse_int(text + length + 1, strlen(text + length + 1), &last) && last >= *first) {
        *count = last - *first + 1;
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_ARGUMENT,
                    "%s must be a range of numbers such as 0-15, or how many from the first: 16, not '%s'", name, text);
}

crd_status crd_parse_phases(const char *name, const char *text, crd_real_list *out)
{
    int64_t count = 1;
    *out = (crd_real_list){NULL, -1};
    if (strcmp(text, "all") == 0) return CRD_OK;
    for (const char *at = text; *at != '\0'; at++) count += *at == ',';
    CRD_PASS(crd_alloc(count, sizeof *out->items, "the phases", &out->items));
    out->count = 0;
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        if (!crd_parse_real(at, length, &out->items[out->count])) {
            crd_free(&out->items);
            return crd_fail(CRD_ERR_ARGUMENT, "%s must be values of phases such as 1 or 0,2, or all, not '%s'", name,
                            text);
        }
        out->count++;
        if (at[length] == '\0') return CRD_OK;
        at += length + 1;
    }
}

crd_status crd_parse_axes(const char *name, const char *text, bool axes[3])
{
    memset(axes, 0, 3 * sizeof *axes);
    for (const char *at = text; *at != '\0'; at++) {
        const int axis = *at == 'z' ? 0 : *at == 'y' ? 1 : *at == 'x' ? 2 : -1;
        if (axis < 0) return crd_fail(CRD_ERR_ARGUMENT, "%s must be some of z, y and x, not '%s'", name, text);
        axes[axis] = true;
    }
    return CRD_OK;
}

crd_status crd_parse_conductivity(const char *name, const char *text, crd_pair_list *out)
{
    int64_t count = 1;
    *out = (crd_pair_list){NULL, 0};
    for (const char *at = text; *at != '\0'; at++) count += *at == ',';
    CRD_PASS(crd_alloc(count, sizeof *out->items, "the conductivities", &out->items));
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ","), phase = strcspn(at, "=,");
        crd_pair *pair = &out->items[out->count];
        if (phase == length || !crd_parse_real(at, phase, &pair->low) ||
            !crd_parse_real(at + phase + 1, length - phase - 1, &pair->high) || !(pair->high >= 0.0)) {
            crd_free(&out->items);
            return crd_fail(CRD_ERR_ARGUMENT,
                            "%s must be phases and what they conduct, from 0 on, such as 1=1,2=0.3, not '%s'", name,
                            text);
        }
        for (int64_t i = 0; i < out->count; i++) {
            if (out->items[i].low != pair->low) continue;
            const double twice = pair->low;
            crd_free(&out->items);
            return crd_fail(CRD_ERR_ARGUMENT, "%s names phase %g twice in '%s'", name, twice, text);
        }
        out->count++;
        if (at[length] == '\0') return CRD_OK;
        at += length + 1;
    }
}

static crd_status check_conductivity(const char *name, const char *text)
{
    crd_pair_list pairs;
    const crd_status status = crd_parse_conductivity(name, text, &pairs);
    crd_free(&pairs.items);
    return status;
}

static crd_status check_axes(const char *name, const char *text)
{
    bool axes[3];
    return crd_parse_axes(name, text, axes);
}

static crd_status check_transport(const char *name, const char *text)
{
    if (strcmp(text, "exact") == 0 || strcmp(text, "fast") == 0) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be exact or fast, not '%s'", name, text);
}

static crd_status check_properties(const char *name, const char *text)
{
    unsigned wanted;
    return crd_parse_properties(name, text, &wanted);
}

static crd_status check_samples(const char *name, const char *text)
{
    int64_t first, count;
    bool from_start;
    return crd_parse_samples(name, text, &first, &count, &from_start);
}

static crd_status check_phases(const char *name, const char *text)
{
    crd_real_list list;
    const crd_status status = crd_parse_phases(name, text, &list);
    crd_free(&list.items);
    return status;
}

static const crd_setting rows[] = {
    {.name = "input",
     .kind = CRD_SETTING_LIST,
     .scope = CRD_SCOPE_INPUT,
     .offset = AT(input),
     .argument = "DIR|FILE",
     .help = "a run folder, or a segmentation, as the arguments without a flag give them; several segmentations are "
             "realisations",
     .group = "What is measured"},
    {.name = "samples",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(samples),
     .check = check_samples,
     .argument = "A-B|N",
     .help = "which of a run's samples: from A to B, or the first N; without it all"},
    {.name = "phase",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(phase),
     .check = check_phases,
     .argument = "V,...|all",
     .help = "values of the phases; without it the larger of two, or all of more than two"},
    CRD_BBOX_ROW(crd_measure_options, "only this part, in voxels of the run's volumes"),
    CRD_COUNTED_ROW(crd_measure_options, "FILE|cylinder|none"),
    CRD_SPACING_ROW(crd_measure_options, CRD_SCOPE_RESULT, "in the files"),
    {.name = "properties",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(properties),
     .check = check_properties,
     .initial = "fast",
     .argument = "NAME,...",
     .help = "fast: all that one pass gives; all; or some of fraction, surface, curvature, euler, components, chords, "
             "s2, interfaces, thickness, transport (the last two take a pass for every realisation)",
     .group = "Properties"},
    {.name = "connectivity",
     .kind = CRD_SETTING_INT,
     .offset = AT(connectivity),
     .initial = "6",
     .low = 6,
     .high = 26,
     .argument = "6|26",
     .help = "neighbours that join the voxels of a component: those across faces, or across corners, too"},
    {.name = "lags",
     .kind = CRD_SETTING_INT,
     .offset = AT(lags),
     .initial = "0",
     .low = 0,
     .high = CRD_LAGS_MAX - 1,
     .argument = "N",
     .help = "distances of the two-point probability: 0 to N voxels; without it 0, 1, 2, 3, 4, 6, 8, 12 ... 64"},
    {.name = "interval",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(interval),
     .check = crd_check_pair,
     .initial = "5-95",
     .argument = "LOW-HIGH",
     .help = "percentiles over the realisations"},
    {.name = "label",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(label),
     .argument = "FILE",
     .help = "a label that all properties of the first pass are held against, over the labelled voxels alone"},
    CRD_FOREGROUND_ROW(
        crd_measure_options,
        "two phases: values of the label that mean the one that is looked for; without it the larger of two"),
    CRD_IGNORE_ROW(crd_measure_options),
    {.name = "rev",
     .kind = CRD_SETTING_FLAG,
     .offset = AT(rev),
     .help = "how the segmentation differs between blocks of 32, 64, 128 ... voxels, and which size stands for the "
             "whole"},
    {.name = "rev-transport",
     .kind = CRD_SETTING_FLAG,
     .offset = AT(rev_transport),
     .help = "the same, with transport in up to 27 windows of each size"},
    {.name = "slow-samples",
     .kind = CRD_SETTING_INT,
     .offset = AT(slow_samples),
     .initial = "0",
     .low = 0,
     .high = 1e9,
     .argument = "N",
     .help =
         "realisations of which slow properties (thickness, transport, --active) are computed: the first N; 0: all"},
    {.name = "axis",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(axis),
     .check = check_axes,
     .initial = "zyx",
     .argument = "zyx",
     .help = "axes along which transport, and --active, are computed"},
    {.name = "tolerance",
     .kind = CRD_SETTING_REAL,
     .offset = AT(tolerance),
     .initial = "1e-4",
     .low = 1e-9,
     .high = 0.1,
     .argument = "T",
     .help = "relative error of the effective diffusivity at which its solver stops"},
    {.name = "transport",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(transport),
     .check = check_transport,
     .initial = "exact",
     .argument = "exact|fast",
     .help = "exact: on voxels where they fit into memory; fast: on cells of 2x2x2 voxels, corrected by the ratio of "
             "both for the segmentation: an eighth of the time, tenths of a percent off"},
    {.name = "conductivity",
     .kind = CRD_SETTING_TEXT,
     .offset = AT(conductivity),
     .check = check_conductivity,
     .argument = "P=C,...",
     .help = "what several phases conduct together, relative to one that has 1, in place of each phase alone: "
             "1=1,2=0.3; phases that aren't named don't conduct"},
    {.name = "active",
     .kind = CRD_SETTING_FLAG,
     .offset = AT(active),
     .help = "also triple lines between parts of three phases that each join both end faces along --axis: the reaction "
             "sites that work (a pass for every realisation)"},
    {.name = "dry-run",
     .kind = CRD_SETTING_FLAG,
     .scope = CRD_SCOPE_PLACE,
     .offset = AT(dry_run),
     .help = "say which passes it would take, with how much memory and about how long, and measure nothing",
     .group = "Running"},
    {.name = "resume",
     .kind = CRD_SETTING_FLAG,
     .scope = CRD_SCOPE_PLACE,
     .offset = AT(resume),
     .help = "go on with a run's measurement that was interrupted; passes and realisations that were finished are kept "
             "in RUN/.measure until then, and the result is the same, bit for bit"},
    {.name = "plot",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_PLACE,
     .offset = AT(plot),
     .argument = "FILE.png",
     .help = "draw all distributions there, and the blocks of --rev"},
    {.name = "csv",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_PLACE,
     .offset = AT(csv),
     .argument = "FILE",
     .help = "write all values as a table there; without it measure.csv in a run folder"},
    CRD_MEMORY_ROW(
        crd_measure_options, CRD_SCOPE_PLACE, "4G",
        "memory that may be used: 4G, 900M; auto: three quarters of what is free. The result doesn't depend on it"),
    CRD_THREADS_ROW(crd_measure_options, 4096, NULL, "threads; 0: one per core"),
    {.name = "device",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_MACHINE,
     .offset = AT(device),
     .check = crd_check_device,
     .initial = "auto",
     .argument = "auto|cpu|cuda[:N]",
     .help = "where transport is computed; auto: on a GPU where there is one and the volume has more than two million "
             "voxels. Everything else is the CPU's"},
    {.name = "max-gpu-memory",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_PLACE,
     .offset = AT(max_gpu_memory),
     .check = crd_check_bytes,
     .initial = "auto",
     .argument = "SIZE",
     .help = "memory of the GPU that may be used: 20G; auto: nine tenths of what is free"},
    CRD_SHAPE_ROW(crd_measure_options, CRD_SCOPE_INPUT, 1, "What raw files don't say",
                  "raw segmentations: voxels along z, y and x"),
    CRD_TYPE_ROW(crd_measure_options, CRD_SCOPE_INPUT,
                 "raw segmentations: u8, i8, u16, i16, u32 or i32, with le or be for the byte order; without it u8"),
    CRD_OFFSET_ROW(crd_measure_options, CRD_SCOPE_INPUT, "raw segmentations: bytes to skip at the start of the file"),
};

const crd_settings crd_measure_settings = {
    .title = "measure", .rows = rows, .count = sizeof rows / sizeof rows[0], .size = sizeof(crd_measure_options)};
