#include "surface/slices.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/queue.h"

typedef struct one_source {
    crd_slice_source source;
    int64_t voxels; /* of a slice */
    int64_t depth;
    float *ring;
    double *doubles; /* one slice of a type that floats don't hold, */
    uint8_t *phases; /* of one realisation, */
    uint64_t *words; /* or of all of them, and then those of the phase */
    crd_pool *pool;  /* of one thread */
    crd_queue *queue;
} one_source;

struct crd_slices {
    int count;
    int64_t depth;
    one_source sources[CRD_SLICE_SOURCES];
};

/* Label values are compared as they are; floats hold those up to 2^24. */
static bool needs_doubles(const crd_slice_source *s)
{
    if (!s->is_phase) return false;
    const crd_type type = crd_volume_describe(s->volume)->type;
    return type == CRD_U32 || type == CRD_I32 || type == CRD_U64 || type == CRD_F64;
}

static float *slot(const one_source *s, int64_t z)
{
    return s->ring + z % s->depth * s->voxels;
}

static crd_status read_volume(const one_source *s, const crd_box *box, float *values)
{
    const float scale = (float)s->source.scale, phase = (float)s->source.phase;
    if (s->doubles != NULL) {
        CRD_PASS(crd_volume_read(s->source.volume, box, CRD_F64, s->doubles));
        for (int64_t i = 0; i < s->voxels; i++) values[i] = s->doubles[i] == s->source.phase ? 1.0f : 0.0f;
        return CRD_OK;
    }
    CRD_PASS(crd_volume_read(s->source.volume, box, CRD_F32, values));
    if (s->source.is_phase) {
        for (int64_t i = 0; i < s->voxels; i++) values[i] = values[i] == phase ? 1.0f : 0.0f;
    } else if (scale != 1.0f) {
        for (int64_t i = 0; i < s->voxels; i++) values[i] *= scale;
    }
    return CRD_OK;
}

static crd_status read_votes(const one_source *s, int64_t z, float *values)
{
    const crd_realisations_info *info = crd_realisations_describe(s->source.realisations);
    uint64_t *bits = s->words + info->planes * info->words * s->voxels;
    CRD_PASS(crd_realisations_read(s->source.realisations, s->pool, z, 1, s->words, info->masked ? s->phases : NULL));
    memset(values, 0, (size_t)s->voxels * sizeof *values);
    for (int64_t w = 0; w * CRD_WORD_BITS < info->samples; w++) {
        const int64_t left = info->samples - w * CRD_WORD_BITS;
        const uint64_t samples = left < CRD_WORD_BITS ? ((uint64_t)1 << left) - 1 : ~(uint64_t)0;
        crd_realisations_phases(info, 1u << s->source.phase_index, w, s->words, info->masked ? s->phases : NULL,
                                s->voxels, 0, s->voxels, bits);
        for (int64_t i = 0; i < s->voxels; i++) values[i] += (float)__builtin_popcountll(bits[i] & samples);
    }
    for (int64_t i = 0; i < s->voxels; i++) values[i] /= (float)info->samples;
    return CRD_OK;
}

static crd_status read_slice(void *context, int64_t z, int thread)
{
    const one_source *s = context;
    const crd_box box = {.origin = {z, 0, 0}, .size = {1, s->source.shape[1], s->source.shape[2]}};
    float *values = slot(s, z);
    (void)thread;
    if (s->source.volume != NULL) return read_volume(s, &box, values);
    if (s->source.votes) return read_votes(s, z, values);
    CRD_PASS(crd_realisations_read_one(s->source.realisations, s->source.bit, &box, s->phases));
    for (int64_t i = 0; i < s->voxels; i++) values[i] = s->phases[i] == s->source.phase_index ? 1.0f : 0.0f;
    return CRD_OK;
}

int64_t crd_slices_bytes(const int64_t shape[3], int count, int64_t depth)
{
    return shape[1] * shape[2] * (int64_t)sizeof(float) * depth * count;
}

static crd_status make_buffers(one_source *s)
{
    const crd_realisations *realisations = s->source.realisations;
    int64_t values;
    CRD_PASS(crd_product(s->voxels, s->depth, 1, &values));
    CRD_PASS(crd_alloc(values, sizeof *s->ring, "the slices", &s->ring));
    if (needs_doubles(&s->source)) CRD_PASS(crd_alloc(s->voxels, sizeof *s->doubles, "a slice", &s->doubles));
    if (realisations == NULL) return CRD_OK;
    CRD_PASS(crd_alloc(s->voxels, 1, "a slice", &s->phases));
    if (!s->source.votes) return CRD_OK;
    const crd_realisations_info *info = crd_realisations_describe(realisations);
    CRD_PASS(crd_alloc((info->planes * info->words + 1) * s->voxels, sizeof *s->words, "a slice", &s->words));
    return crd_pool_create(1, &s->pool);
}

static crd_status open_source(const crd_slice_source *source, int64_t depth, one_source *s)
{
    const crd_queue_plan plan = {.what = "reads slices", .threads = 1, .context = s, .work = read_slice};
    s->source = *source;
    s->voxels = source->shape[1] * source->shape[2];
    s->depth = depth;
    CRD_PASS(make_buffers(s));
    return crd_queue_open(&plan, &s->queue);
}

crd_status crd_slices_open(const crd_slice_source *sources, int count, int64_t depth, crd_slices **out)
{
    crd_status status = CRD_OK;
    CRD_ASSERT(count >= 1 && count <= CRD_SLICE_SOURCES && depth >= 1);
    CRD_PASS(crd_alloc(1, sizeof **out, "the slices", out));
    (*out)->depth = depth;
    for (int i = 0; i < count; i++) {
        (*out)->count = i + 1;
        CRD_TRY(open_source(&sources[i], depth, &(*out)->sources[i]));
    }
done:
    if (status != CRD_OK) crd_slices_close(out);
    return status;
}

void crd_slices_close(crd_slices **slices)
{
    for (int i = 0; *slices != NULL && i < (*slices)->count; i++) {
        one_source *s = &(*slices)->sources[i];
        crd_queue_close(&s->queue);
        crd_free(&s->ring);
        crd_free(&s->doubles);
        crd_free(&s->phases);
        crd_free(&s->words);
        crd_pool_free(&s->pool);
    }
    crd_free(slices);
}

crd_status crd_slices_move(crd_slices *slices, int64_t first, int64_t end)
{
    CRD_ASSERT(end - first <= slices->depth);
    for (int i = 0; i < slices->count; i++) {
        const one_source *s = &slices->sources[i];
        const int64_t room = first + s->depth;
        crd_queue_allow(s->queue, room < s->source.shape[0] ? room : s->source.shape[0]);
    }
    for (int i = 0; i < slices->count; i++) CRD_PASS(crd_queue_wait(slices->sources[i].queue, end));
    return CRD_OK;
}

const float *crd_slices_at(const crd_slices *slices, int source, int64_t z)
{
    return slot(&slices->sources[source], z);
}
