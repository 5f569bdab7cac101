/* A surface from the options to the file. */
#include "credence/surface.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/monitor.h"
#include "base/parallel.h"
#include "base/settings/whole.h"
#include "surface/decimate.h"
#include "surface/inputs.h"
#include "surface/march.h"
#include "surface/mesh_file.h"

/* Triangles; they take some 400 MiB. */
enum { DECIMATED_AT_ONCE = 1 << 21 };

static crd_mesh_about describe(const crd_surface_inputs *in)
{
    crd_mesh_about about = {.unit = in->unit[0] != '\0' ? in->unit : "unknown",
                            .description = in->description,
                            .data_count = in->data.count};
    for (int i = 0; i < in->data.count; i++) about.data_names[i] = crd_datum_name(in->data.kinds[i]);
    /* At most 3 vertices for each sample, and 5 triangles, with 3 corners each, for each cell. */
    const double samples = (double)(in->shape[0] + 2) * (double)(in->shape[1] + 2) * (double)(in->shape[2] + 2);
    about.wide = 15 * samples > INT32_MAX;
    return about;
}

static crd_status write_part(void *file, const crd_mesh_part *part)
{
    return crd_mesh_file_add(file, part);
}

/* `decimator` is NULL where all triangles stay. */
static crd_status make_mesh(crd_march *march, crd_decimator *decimator, int64_t slices, const crd_monitor *monitor,
                            crd_mesh_file *file)
{
    crd_mesh_part part;
    bool more;
    for (;;) {
        CRD_PASS(crd_march_next(march, &part, &more));
        if (!more) return decimator != NULL ? crd_decimator_finish(decimator) : CRD_OK;
        CRD_PASS(decimator != NULL ? crd_decimator_add(decimator, &part) : crd_mesh_file_add(file, &part));
        CRD_PASS(crd_advance(monitor, "meshing", "slices", crd_march_slices_done(march), slices, NULL));
    }
}

static crd_status no_surface(const crd_surface_inputs *in)
{
    return crd_fail(CRD_ERR_ARGUMENT,
                    "there is no %s: the phase is empty, or fills the volume and --open leaves it without a lid",
                    in->description);
}

static void summarise(const crd_surface_options *options, const crd_surface_inputs *in, const crd_march *march,
                      const crd_decimator *decimator, crd_surface_summary *out)
{
    const crd_march_totals totals = crd_march_sum(march);
    size_t length = 0;
    memset(out, 0, sizeof *out);
    out->vertices = decimator != NULL ? crd_decimator_vertices(decimator) : totals.vertices;
    out->triangles = decimator != NULL ? crd_decimator_triangles(decimator) : totals.triangles;
    out->closed = !options->open;
    out->area = totals.area;
    out->volume = out->closed ? totals.volume : (double)NAN;
    out->euler_number = out->closed ? totals.vertices - totals.triangles / 2 : 0;
    memcpy(out->spacing, in->spacing, sizeof out->spacing);
    snprintf(out->unit, sizeof out->unit, "%s", in->unit);
    for (int i = 0; i < in->data.count; i++) {
        length += (size_t)snprintf(out->data + length, sizeof out->data - length, "%s%s", i > 0 ? "," : "",
                                   crd_datum_name(in->data.kinds[i]));
    }
}

static crd_status surface(const crd_surface_options *options, const crd_monitor *monitor, crd_surface_summary *out)
{
    crd_status status = CRD_OK;
    const crd_mesh_format *format = NULL;
    crd_surface_inputs in = {0};
    crd_pool *pool = NULL;
    crd_slices *slices = NULL;
    crd_march *march = NULL;
    crd_decimator *decimator = NULL;
    crd_mesh_file *file = NULL;
    if (options->input == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "input: a surface is that of a run folder or a volume; name one");
    }
    if (options->output == NULL) {
        return crd_fail(CRD_ERR_ARGUMENT, "output: say where the mesh goes (-o surface.ply)");
    }
    CRD_PASS(crd_mesh_format_of(options->output, &format));
    CRD_TRY(crd_surface_inputs_open(options, monitor, &in));
    CRD_TRY(crd_pool_create((int)options->threads, &pool));
    if (format == &crd_mesh_stl) in.data.count = 0;
    const crd_mesh_about about = describe(&in);
    CRD_TRY(crd_mesh_file_create(options->output, format, &about, pool, &file));
    CRD_TRY(crd_slices_open(in.sources, in.count, crd_march_depth(in.shape, crd_vertex_data_reach(&in.data)), &slices));
    in.data.slices = slices;
    const crd_march_plan plan = {.shape = {in.shape[0], in.shape[1], in.shape[2]},
                                 .slices = slices,
                                 .field = in.field,
                                 .level = (float)in.level,
                                 .closed = !options->open,
                                 .spacing = {in.spacing[0], in.spacing[1], in.spacing[2]},
                                 .origin = {in.origin[0], in.origin[1], in.origin[2]},
                                 .data = &in.data,
                                 .pool = pool};
    CRD_TRY(crd_march_open(&plan, &march));
    if (options->decimate > 0 && options->decimate < 1) {
        CRD_TRY(crd_decimator_open(options->decimate, DECIMATED_AT_ONCE, in.data.count, write_part, file, &decimator));
    }
    CRD_TRY(make_mesh(march, decimator, in.shape[0], monitor, file));
    if (crd_march_sum(march).triangles == 0) {
        status = no_surface(&in);
        goto done;
    }
    CRD_TRY(crd_mesh_file_commit(file));
    if (out != NULL) summarise(options, &in, march, decimator, out);
done:
    crd_decimator_close(&decimator);
    crd_mesh_file_close(&file);
    crd_march_close(&march);
    crd_slices_close(&slices);
    crd_pool_free(&pool);
    crd_surface_inputs_close(&in);
    return status;
}

crd_status crd_surface(const crd_surface_options *options, const crd_monitor *monitor, crd_surface_summary *out)
{
    crd_surface_options whole;
    CRD_PASS(crd_settings_whole(&crd_surface_settings, options, &whole));
    const crd_status status = surface(&whole, monitor, out);
    crd_settings_whole_free(&crd_surface_settings, options, &whole);
    return status;
}
