#include "phantom/scene.h"

#include <string.h>

#include "base/portable_math.h"

/* The tangent of an angle in [0, 80] degrees, by the first terms of sine and cosine (better than 1e-9). */
static double tangent(double degrees)
{
    const double a = degrees * 0.017453292519943295, q = a * a;
    double sine = 1.0, cosine = 1.0;
    for (int n = 14; n >= 2; n -= 2) {
        sine = 1.0 - q * sine / (double)(n * (n + 1));
        cosine = 1.0 - q * cosine / (double)(n * (n - 1));
    }
    return a * sine / cosine;
}

static double cube_root(double v)
{
    return crd_exp(crd_log(v) / 3.0);
}

static int64_t spacing_of(double length)
{
    if (!(length > (double)CRD_FIELD_MIN_SPACING)) return CRD_FIELD_MIN_SPACING;
    return length < (double)CRD_FIELD_MAX_SPACING ? (int64_t)(length + 0.5) : CRD_FIELD_MAX_SPACING;
}

static crd_field field_of(uint64_t seed, uint32_t layer, int64_t along_z, int64_t in_plane)
{
    return (crd_field){.seed = seed, .layer = layer, .spacing = {along_z, in_plane, in_plane}};
}

static bool has_grains(crd_phantom_kind kind)
{
    return kind == CRD_PHANTOM_GRAPHITE || kind == CRD_PHANTOM_ELECTRODE;
}

/* Up to this distance the second grain counts for the film between two. */
static double film_reach(const crd_phantom_options *o)
{
    return 1.0 + 2.0 * o->grain_film;
}

/* Distances are wanted as far out as roughness, growth and a wavering label can move a boundary. */
static float far_limit_of(crd_phantom_kind kind, const crd_phantom_options *o)
{
    const double moved = 1.5 + CRD_GROWTH_LIMIT + 3.0 * o->roughness + 3.0 * (o->label_waver + 0.5 * o->label_jitter);
    const double film = has_grains(kind) ? film_reach(o) : 0.0;
    const double binder = kind == CRD_PHANTOM_ELECTRODE ? 1.0 + 0.6 * o->grain_size : 0.0;
    const double between = film > binder ? film : binder;
    return (float)(moved > between ? moved : between);
}

static void make_grains(crd_scene *s)
{
    const crd_phantom_options *o = &s->options;
    s->populations[0] = (crd_population){
        .seed = s->seed,
        .layer = CRD_LAYER_OBJECTS,
        .scatter = 0.7,
        .size = o->grain_size,
        .spread = o->grain_spread,
        .flatness = o->grain_flatness,
        .flatness_spread = 0.25,
        .slope = tangent(o->grain_tilt),
        .boxiness = 0.8,
        .facets = 0.45,
    };
    /* Fines between the grains: a real powder is never of one size. */
    s->populations[1] = s->populations[0];
    s->populations[1].layer = CRD_LAYER_FINES;
    s->populations[1].scatter = 1.0;
    s->populations[1].size = 0.5 * o->grain_size;
    s->populations[1].slope = 2.0 * s->populations[0].slope;
    s->populations[1].small = s->populations[1].size;
    s->populations[1].miss = o->label_miss;
    s->population_count = 2;
    s->share[0] = 0.88;
    s->share[1] = 0.12;
}

static void make_voids(crd_scene *s)
{
    const crd_phantom_options *o = &s->options;
    crd_weld_make(o, s->seed, CRD_LAYER_SURFACES, &s->weld);
    s->populations[0] = (crd_population){
        .seed = s->seed,
        .layer = CRD_LAYER_OBJECTS,
        .scatter = 1.0,
        .size = o->void_size,
        .spread = o->void_spread,
        .flatness = o->void_flatness,
        .flatness_spread = 0.2,
        .slope = -1.0,
        .boxiness = 0.0,
        .facets = 0.0,
        .small = 0.85 * o->void_size,
        .miss = o->label_miss,
        .accept = crd_weld_accepts,
        .scene = &s->weld,
    };
    s->population_count = 1;
    s->share[0] = 1.0;
}

void crd_scene_prepare(crd_phantom_kind kind, const crd_phantom_options *options, crd_scene *s)
{
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->options = *options;
    s->options.output = s->options.format = s->options.type = s->options.spacing = NULL; /* the caller's */
    s->options.truth = NULL;
    s->options.greys = (crd_real_list){0};
    s->seed = (uint64_t)options->seed;
    s->far_limit = far_limit_of(kind, options);
    if (has_grains(kind))
        make_grains(s);
    else if (kind == CRD_PHANTOM_WELD)
        make_voids(s);
    const double size = s->populations[0].size;
    const int64_t coarse = spacing_of(0.7 * size), fine = spacing_of(0.25 * size);
    s->rough[0] = field_of(s->seed, CRD_LAYER_ROUGH_COARSE, coarse, coarse);
    s->rough[1] = field_of(s->seed, CRD_LAYER_ROUGH_FINE, fine, fine);
    s->rough_scale[0] = (float)(0.85 * options->roughness);
    s->rough_scale[1] = (float)(0.53 * options->roughness);
    s->texture = field_of(s->seed, CRD_LAYER_TEXTURE, 4, 4);
    s->waver = field_of(s->seed, CRD_LAYER_WAVER, 7, 9);
    s->jitter = field_of(s->seed, CRD_LAYER_JITTER, 0, 6);
    s->binder = field_of(s->seed, CRD_LAYER_BINDER, fine, fine);
    s->binder_waver = field_of(s->seed, CRD_LAYER_BINDER_WAVER, 7, 9);
}

void crd_scene_crowd(crd_scene *s, double crowding)
{
    for (int i = 0; i < s->population_count; i++) {
        crd_population *p = &s->populations[i];
        const double edge = cube_root(crd_population_volume(p) / (crowding * s->share[i]));
        const double stretch = cube_root(p->slope < 0.0 ? 1.0 : p->flatness);
        p->cell[0] = edge / (stretch * stretch);
        p->cell[1] = p->cell[2] = edge * stretch;
    }
}

/* Two grains that touch keep a film of matrix between them. It thins out where they overlap deeply: those are one grain
 * of a less simple shape. */
static void part_grains(const crd_scene *s, const crd_distances *d, int64_t count)
{
    const float film = (float)s->options.grain_film, depth = (float)(0.25 * s->options.grain_size);
    const float reach = (float)film_reach(&s->options); /* fixed, so that the result doesn't hang on the far limit */
    for (int64_t i = 0; i < count; i++) {
        const float nearest = d->nearest[i], second = d->second[i] < reach ? d->second[i] : reach;
        const float shallow = 1.0f + second / depth, share = shallow < 1.0f ? shallow : 1.0f;
        const float between = 0.5f * (nearest - second + film * share);
        d->nearest[i] = between > nearest ? between : nearest;
    }
}

/* All objects but those that are missing from the label. Only the last population has such. */
static void draw_kept(const crd_scene *s, const crd_window *w, const crd_distances *d)
{
    const int64_t count = w->rows * w->columns;
    crd_distances_clear(d, count, s->far_limit);
    for (int i = 0; i < s->population_count; i++) {
        crd_population_draw(&s->populations[i], w, false, s->far_limit, d);
        if (i == 0 && has_grains(s->kind) && s->options.grain_film > 0.0) part_grains(s, d, count);
    }
}

static void draw_missed(const crd_scene *s, const crd_window *w, const crd_distances *d)
{
    crd_population_draw(&s->populations[s->population_count - 1], w, true, s->far_limit, d);
}

static float clamp01(float v)
{
    return v < 0.0f ? 0.0f : v > 1.0f ? 1.0f : v;
}

/* A voxel that a particle fills in part has binder and pore in the rest. */
static void shade_electrode(const crd_scene *s, const float *particle, const float *binder, const float *own,
                            const float *texture, int64_t count, float *restrict grey)
{
    const crd_phantom_options *o = &s->options;
    const float dark = (float)(o->brightness - 0.5 * o->contrast), step = (float)o->contrast;
    const float middle = (float)(o->contrast * o->binder_grey), vary = (float)o->grain_grey, amount = (float)o->texture;
    for (int64_t i = 0; i < count; i++) {
        const float inside = clamp01(0.5f - particle[i]), rest = (1.0f - inside) * clamp01(0.5f - binder[i]);
        grey[i] = dark + inside * (step + vary * own[i]) + rest * middle + amount * texture[i];
    }
}

static void shade(const crd_scene *s, const float *distance, const float *metal, const float *own, const float *texture,
                  int64_t count, float *restrict grey)
{
    const crd_phantom_options *o = &s->options;
    const float dark = (float)(o->brightness - 0.5 * o->contrast), light = (float)(o->brightness + 0.5 * o->contrast);
    const float step = light - dark, amount = (float)o->texture;
    if (s->kind == CRD_PHANTOM_GRAPHITE) {
        const float vary = (float)o->grain_grey;
        for (int64_t i = 0; i < count; i++) {
            const float grain = clamp01(0.5f - distance[i]);
            grey[i] = light + grain * (vary * own[i] - step) + amount * texture[i];
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            const float air = clamp01(0.5f + metal[i]), pore = clamp01(0.5f - distance[i]);
            const float empty = air > pore ? air : pore;
            grey[i] = dark + empty * step + amount * texture[i];
        }
    }
}

/* distance = max(objects + roughness - growth, metal + skin): a void ends where the metal that covers it begins. */
static void join_distance(const crd_scene *s, const float *objects, const float *rough, const float *metal,
                          int64_t count, float *restrict distance)
{
    const float growth = s->growth, skin = (float)s->weld.skin;
    if (has_grains(s->kind)) {
        for (int64_t i = 0; i < count; i++) distance[i] = objects[i] + rough[i] - growth;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        const float inside = objects[i] + rough[i] - growth, cover = metal[i] + skin;
        distance[i] = inside > cover ? inside : cover;
    }
}

typedef struct parts { /* how the scratch is divided */
    crd_distances objects;
    float *kept, *kept_second, *rough, *texture, *metal, *rest;
} parts;

enum { PARTS = 8 };

static parts divide(float *scratch, int64_t count)
{
    return (parts){
        .objects = {scratch, scratch + count, scratch + 2 * count},
        .kept = scratch + 3 * count,
        .rough = scratch + 4 * count,
        .texture = scratch + 5 * count,
        .metal = scratch + 6 * count,
        .kept_second = scratch + 7 * count,
        .rest = scratch + PARTS * count,
    };
}

int64_t crd_scene_scratch(int64_t rows, int64_t columns)
{
    return PARTS * rows * columns + 2 * columns + crd_field_scratch(rows, columns);
}

static void add_roughness(const crd_scene *s, const crd_window *w, const parts *p)
{
    memset(p->rough, 0, (size_t)(w->rows * w->columns) * sizeof *p->rough);
    for (int i = 0; i < 2; i++) {
        if (s->rough_scale[i] > 0.0f) crd_field_add(&s->rough[i], w, s->rough_scale[i], p->rest, p->rough);
    }
}

void crd_scene_raw(const crd_scene *s, const crd_window *w, float *scratch, float *raw)
{
    const int64_t count = w->rows * w->columns;
    const parts p = divide(scratch, count);
    draw_kept(s, w, &p.objects);
    draw_missed(s, w, &p.objects);
    add_roughness(s, w, &p);
    for (int64_t i = 0; i < count; i++) raw[i] = p.objects.nearest[i] + p.rough[i];
    if (s->kind != CRD_PHANTOM_WELD) return;
    crd_weld_metal(&s->weld, w, p.rest, p.metal);
    for (int64_t i = 0; i < count; i++) {
        if (!(p.metal[i] + (float)s->weld.skin < 0.0f)) raw[i] = s->far_limit;
    }
}

/* Binder gathers where two particles are close: what lies within its growth, half-way between the distances to both. */
static void join_binder(const crd_scene *s, const crd_window *w, const float *nearest, const float *second, float *rest,
                        float *restrict out)
{
    const int64_t count = w->rows * w->columns;
    for (int64_t i = 0; i < count; i++) out[i] = 0.5f * (nearest[i] + second[i]) - s->binder_growth;
    if (s->options.binder_scatter > 0.0) {
        crd_field_add(&s->binder, w, (float)s->options.binder_scatter, rest, out);
    }
}

void crd_scene_raw_binder(const crd_scene *s, const crd_window *w, float *scratch, float *raw)
{
    const int64_t count = w->rows * w->columns;
    const parts p = divide(scratch, count);
    draw_kept(s, w, &p.objects);
    draw_missed(s, w, &p.objects);
    add_roughness(s, w, &p);
    join_binder(s, w, p.objects.nearest, p.objects.second, p.rest, raw);
    for (int64_t i = 0; i < count; i++) {
        if (p.objects.nearest[i] + p.rough[i] - s->growth < 0.0f) raw[i] = 2.0f * s->far_limit + 1e6f;
    }
}

static void waver(const crd_scene *s, const crd_window *w, const crd_field *smooth, float *rest, float *label)
{
    if (s->options.label_waver > 0.0) crd_field_add(smooth, w, (float)s->options.label_waver, rest, label);
    if (s->options.label_jitter > 0.0) crd_field_add(&s->jitter, w, (float)s->options.label_jitter, rest, label);
}

void crd_scene_look(const crd_scene *s, const crd_window *w, float *scratch, const crd_view *out)
{
    const int64_t count = w->rows * w->columns;
    const size_t bytes = (size_t)count * sizeof(float);
    const parts p = divide(scratch, count);

    draw_kept(s, w, &p.objects);
    memcpy(p.kept, p.objects.nearest, bytes);
    memcpy(p.kept_second, p.objects.second, bytes);
    draw_missed(s, w, &p.objects);
    add_roughness(s, w, &p);
    if (s->kind == CRD_PHANTOM_WELD) crd_weld_metal(&s->weld, w, p.rest, p.metal);
    join_distance(s, p.objects.nearest, p.rough, p.metal, count, out->truth[0]);
    join_distance(s, p.kept, p.rough, p.metal, count, out->label[0]);
    waver(s, w, &s->waver, p.rest, out->label[0]);

    memset(p.texture, 0, bytes);
    if (s->options.texture > 0.0) crd_field_add(&s->texture, w, 1.0f, p.rest, p.texture);
    if (s->kind != CRD_PHANTOM_ELECTRODE) {
        shade(s, out->truth[0], p.metal, p.objects.grey, p.texture, count, out->grey);
        return;
    }
    join_binder(s, w, p.objects.nearest, p.objects.second, p.rest, out->truth[1]);
    join_binder(s, w, p.kept, p.kept_second, p.rest, out->label[1]);
    waver(s, w, &s->binder_waver, p.rest, out->label[1]);
    shade_electrode(s, out->truth[0], out->truth[1], p.objects.grey, p.texture, count, out->grey);
}
