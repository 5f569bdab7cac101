/* How many objects, and how large exactly, so that the asked share of the voxels is foreground. Overlaps, films, facets
 * and roughness leave no formula for it, so it is measured: on all voxels of a small volume, on a sample of a large
 * one. First the number of objects is corrected a few times, then all surfaces move by the same fraction of a voxel.
 * The binder of an electrode follows when its particles are settled, by its growth alone. */
#include "base/memory.h"
#include "base/portable_math.h"
#include "base/random/philox.h"
#include "phantom/scene.h"

enum {
    EDGE = 64,          /* of the windows, in y and x */
    MOST_WINDOWS = 768, /* about 3 million voxels */
    BINS_PER_VOXEL = 256,
    BINS = 2 * CRD_GROWTH_LIMIT * BINS_PER_VOXEL,
    ROUNDS = 4
};

typedef struct measurement {
    const crd_scene *scene;
    void (*raw)(const crd_scene *scene, const crd_window *window, float *scratch, float *raw);
    float lowest, per_voxel; /* growth of the first bin; bins of a voxel of growth */
    int64_t tiles[2];
    bool sampled;
    int64_t windows;
    int64_t scratch_floats;
    float *scratch;  /* per worker */
    int64_t *counts; /* per worker */
} measurement;

/* A worker's counts: voxels that are foreground at any growth; those that become so in each bin; those that never do;
 * all voxels. */
enum { ALWAYS = 0, FIRST_BIN = 1, NEVER = FIRST_BIN + BINS, VOXELS = NEVER + 1, COUNTS = VOXELS + 1 };

static void clip(int64_t origin, int64_t edge, int64_t limit, int64_t *first, int64_t *count)
{
    const int64_t end = origin + edge < limit ? origin + edge : limit;
    *first = origin < 0 ? 0 : origin;
    *count = end - *first;
}

/* Where window `item` lies. Samples may start outside the volume and are then cut, so that every voxel is as likely to
 * be seen as any other. */
static crd_window window_of(const measurement *m, int64_t item)
{
    const int64_t *shape = m->scene->options.shape;
    int64_t z, y, x;
    if (m->sampled) {
        const crd_stream stream = {
            .seed = m->scene->seed, .layer = CRD_LAYER_CALIBRATION, .purpose = CRD_PURPOSE_PHANTOM};
        const uint64_t first = (uint64_t)item * 4;
        z = (int64_t)(((double)item + crd_random_uniform(&stream, first)) * (double)shape[0] / (double)m->windows);
        y = (int64_t)(crd_random_uniform(&stream, first + 1) * (double)(shape[1] + EDGE - 1)) - (EDGE - 1);
        x = (int64_t)(crd_random_uniform(&stream, first + 2) * (double)(shape[2] + EDGE - 1)) - (EDGE - 1);
    } else {
        z = item / (m->tiles[0] * m->tiles[1]);
        y = item / m->tiles[1] % m->tiles[0] * EDGE;
        x = item % m->tiles[1] * EDGE;
    }
    crd_window w = {.z = z};
    clip(y, EDGE, shape[1], &w.y0, &w.rows);
    clip(x, EDGE, shape[2], &w.x0, &w.columns);
    return w;
}

static void count_window(void *context, int64_t item, int worker)
{
    const measurement *m = context;
    const crd_window w = window_of(m, item);
    const int64_t count = w.rows * w.columns;
    float *raw = m->scratch + (int64_t)worker * m->scratch_floats, *scratch = raw + EDGE * EDGE;
    int64_t *counts = m->counts + (int64_t)worker * COUNTS;
    m->raw(m->scene, &w, scratch, raw);
    for (int64_t i = 0; i < count; i++) {
        const float place = (raw[i] - m->lowest) * m->per_voxel;
        counts[place < 0.0f ? ALWAYS : place >= (float)BINS ? NEVER : FIRST_BIN + (int)place]++;
    }
    counts[VOXELS] += count;
}

/* below[i]: share of the voxels that are foreground when everything grows by lowest + i / per_voxel. */
static void measure(measurement *m, crd_pool *pool, double below[BINS + 1])
{
    const int workers = crd_pool_threads(pool);
    for (int64_t i = 0; i < (int64_t)workers * COUNTS; i++) m->counts[i] = 0;
    crd_pool_run(pool, m->windows, count_window, m);
    int64_t total[COUNTS] = {0}, sum = 0;
    for (int w = 0; w < workers; w++) {
        for (int i = 0; i < COUNTS; i++) total[i] += m->counts[(int64_t)w * COUNTS + i];
    }
    for (int i = 0; i <= BINS; i++) {
        sum += total[i]; /* ALWAYS, then the bins that end below this growth */
        below[i] = (double)sum / (double)total[VOXELS];
    }
}

static double crowding_for(double fraction)
{
    const double limited = fraction < 0.98 ? fraction : 0.98;
    return -crd_log(1.0 - limited); /* overlapping objects at random: 1 - exp(-crowding) is covered */
}

static double clamp(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

/* The growth that comes closest to the asked share. */
static float growth_for(const measurement *m, const double below[BINS + 1], double fraction)
{
    int best = 0;
    while (best < BINS && below[best] < fraction) best++;
    if (best > 0 && fraction - below[best - 1] < below[best] - fraction) best--;
    return (float)((double)best / (double)m->per_voxel + (double)m->lowest);
}

/* Half-way between two particles the distance is never above the far limit, and seldom far below 0. */
static void grow_binder(measurement *m, crd_pool *pool, crd_scene *scene)
{
    double below[BINS + 1];
    m->raw = crd_scene_raw_binder;
    m->lowest = -4.0f;
    m->per_voxel = (float)BINS / (scene->far_limit + 8.0f);
    measure(m, pool, below);
    scene->binder_growth = growth_for(m, below, scene->options.binder_fraction);
}

crd_status crd_scene_make(crd_phantom_kind kind, const crd_phantom_options *options, crd_pool *pool, crd_scene *out)
{
    crd_status status = CRD_OK;
    const int64_t *shape = options->shape;
    measurement m = {.scene = out,
                     .raw = crd_scene_raw,
                     .lowest = -(float)CRD_GROWTH_LIMIT,
                     .per_voxel = (float)BINS_PER_VOXEL,
                     .tiles = {(shape[1] + EDGE - 1) / EDGE, (shape[2] + EDGE - 1) / EDGE}};
    double below[BINS + 1];
    crd_scene_prepare(kind, options, out);

    CRD_TRY(crd_product(shape[0], m.tiles[0], m.tiles[1], &m.windows));
    m.sampled = m.windows > MOST_WINDOWS;
    if (m.sampled) m.windows = MOST_WINDOWS;
    m.scratch_floats = EDGE * EDGE + crd_scene_scratch(EDGE, EDGE);
    CRD_TRY(crd_alloc((int64_t)crd_pool_threads(pool) * m.scratch_floats, sizeof *m.scratch, "a sample of the phantom",
                      &m.scratch));
    CRD_TRY(
        crd_alloc((int64_t)crd_pool_threads(pool) * COUNTS, sizeof *m.counts, "the phantom's histogram", &m.counts));

    const double wanted = crowding_for(options->fraction);
    double crowding = wanted;
    for (int round = 0; round < ROUNDS; round++) {
        crd_scene_crowd(out, crowding);
        measure(&m, pool, below);
        const double found = crowding_for(below[BINS / 2]);
        if (found > 0.98 * wanted && found < 1.02 * wanted) break;
        if (round < ROUNDS - 1)
            crowding = clamp(crowding * clamp(wanted / (found + 1e-3 * wanted), 0.25, 4.0), 1e-6, 8.0);
    }
    out->growth = growth_for(&m, below, options->fraction);
    if (kind == CRD_PHANTOM_ELECTRODE) grow_binder(&m, pool, out);
done:
    crd_free(&m.counts);
    crd_free(&m.scratch);
    return status;
}
