/* The number that softens or sharpens all probabilities: fitted to voxels that nothing was learnt from. */
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/portable_math.h"
#include "train/validation.h"

/* Voxels whose samples are computed, in CHUNKS_LEAST chunks at least, and those that take part in the search. Places
 * differ far more than neighbours do (one may hold an object that the label forgot), so few chunks say little, however
 * large they are: all blocks to check on take part. VOXELS_AT_ONCE: what a thread takes. */
enum { VOXELS_DECODED = 1 << 17, CHUNKS_LEAST = 24, VOXELS_MOST = 20000, SEARCH_STEPS = 40, VOXELS_AT_ONCE = 256 };
/* What is fitted to all parts but one is judged on that one. With two parts a number would be judged that fits half of
 * the blocks, and such numbers are refused too often. */
enum { PARTS = 4, ALL_PARTS = (1 << PARTS) - 1 };

typedef struct evidence { /* logits of every sample at some voxels, and the voxels' classes */
    int64_t samples;
    int64_t planes; /* of one voxel and sample: the foreground's, or one for each class */
    float *logits;  /* [voxels][samples][planes] */
    uint8_t *classes;
    uint8_t *parts;        /* of the blocks, that a voxel is of: 1, 2, 4 or 8 */
    double *logs;          /* of the probability of a voxel's class */
    int64_t *places;       /* in its chunk */
    int64_t voxels, first; /* first: of the chunk at work */
    crd_pool *pool;
} evidence;

/* Of class `class` with the logits divided. */
static double softened(const float *logits, int64_t planes, int class, double calibration)
{
    if (planes == 1) return crd_sigmoid(logits[0] / calibration);
    double largest = logits[0], sum = 0.0;
    for (int64_t c = 1; c < planes; c++) largest = logits[c] > largest ? logits[c] : largest;
    for (int64_t c = 0; c < planes; c++) sum += crd_exp((logits[c] - largest) / calibration);
    return crd_exp((logits[class] - largest) / calibration) / sum;
}

typedef struct trial { /* of a calibration, on the voxels in some parts */
    const evidence *e;
    int parts;
    double calibration;
} trial;

static void try_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const trial *t = context;
    const evidence *e = t->e;
    const int64_t end = (item + 1) * VOXELS_AT_ONCE < e->voxels ? (item + 1) * VOXELS_AT_ONCE : e->voxels;
    for (int64_t v = item * VOXELS_AT_ONCE; v < end; v++) {
        const float *logits = e->logits + v * e->samples * e->planes;
        const int class = e->classes[v];
        double mean = 0.0;
        if ((e->parts[v] & t->parts) == 0) continue;
        for (int64_t s = 0; s < e->samples; s++)
            mean += softened(logits + s * e->planes, e->planes, class, t->calibration) / (double)e->samples;
        mean = crd_clipped(mean);
        e->logs[v] = crd_log(class != 0 || e->planes > 1 ? mean : 1.0 - mean);
    }
}

static double negative_log_likelihood(const evidence *e, int parts, double calibration)
{
    double total = 0.0;
    trial t = {e, parts, calibration};
    crd_pool_run(e->pool, (e->voxels + VOXELS_AT_ONCE - 1) / VOXELS_AT_ONCE, try_block, &t);
    for (int64_t v = 0; v < e->voxels; v++)
        if ((e->parts[v] & parts) != 0) total -= e->logs[v]; /* in one order */
    return total;
}

/* Up to a number that all classes share, which no softmax sees. */
static double to_logit(float probability, int64_t planes)
{
    const double p = crd_clipped(probability);
    return planes == 1 ? crd_log(p / (1.0 - p)) : crd_log(p);
}

/* Every `stride`-th labelled voxel of the chunk joins the evidence, as long as there is room. */
static void choose_voxels(evidence *e, const uint8_t *label, int64_t voxels, int part, int64_t stride)
{
    int64_t seen = 0;
    e->first = e->voxels;
    for (int64_t v = 0; v < voxels && e->voxels < VOXELS_MOST; v++) {
        if (label[v] == CRD_LABEL_NONE || seen++ % stride != 0) continue;
        e->places[e->voxels] = v;
        e->parts[e->voxels] = (uint8_t)part;
        e->classes[e->voxels++] = label[v];
    }
}

/* One sample of the voxels chosen last. */
static void take_sample(evidence *e, int64_t voxels, int64_t sample, const float *probability)
{
    for (int64_t at = e->first; at < e->voxels; at++)
        for (int64_t c = 0; c < e->planes; c++)
            e->logits[(at * e->samples + sample) * e->planes + c] =
                (float)to_logit(probability[c * voxels + e->places[at]], e->planes);
}

/* Golden section on log c: the likelihood has one maximum there in practice, and a local one will do. */
static double search(const evidence *e, int parts)
{
    const double ratio = 0.6180339887498949;
    double low = crd_log(CRD_CALIBRATION_LOW), high = crd_log(CRD_CALIBRATION_HIGH);
    double a = high - ratio * (high - low), b = low + ratio * (high - low);
    double at_a = negative_log_likelihood(e, parts, crd_exp(a)), at_b = negative_log_likelihood(e, parts, crd_exp(b));
    for (int i = 0; i < SEARCH_STEPS && high - low > 1e-4; i++) {
        if (at_a < at_b) {
            high = b;
            b = a;
            at_b = at_a;
            a = high - ratio * (high - low);
            at_a = negative_log_likelihood(e, parts, crd_exp(a));
        } else {
            low = a;
            a = b;
            at_a = at_b;
            b = low + ratio * (high - low);
            at_b = negative_log_likelihood(e, parts, crd_exp(b));
        }
    }
    return crd_exp(0.5 * (low + high));
}

/* Which part chunk `i` of the `used` ones belongs to: they take turns block by block. */
static int part_of(const crd_dataset *dataset, int64_t used, int64_t i)
{
    const int64_t chunks = crd_dataset_count(dataset);
    int64_t changes = 0;
    for (int64_t k = 1; k <= i; k++) {
        changes +=
            crd_dataset_block_of(dataset, k * chunks / used) != crd_dataset_block_of(dataset, (k - 1) * chunks / used);
    }
    return 1 << changes % PARTS;
}

/* This process's part of the `used` chunks. */
static crd_status take_part(crd_checker *checker, int64_t used, evidence *e)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    const int64_t chunks = crd_dataset_count(checker->dataset);
    int64_t begin, end;
    crd_dist_part(used, crd_dist_size(checker->dist), crd_dist_rank(checker->dist), &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        crd_checked_chunk chunk;
        int64_t labelled = 0;
        CRD_PASS(crd_checker_chunk(checker, i * chunks / used, &chunk));
        for (int64_t v = 0; v < voxels; v++) labelled += chunk.label[v] != CRD_LABEL_NONE;
        const int64_t stride = (labelled * used + VOXELS_MOST - 1) / VOXELS_MOST;
        choose_voxels(e, chunk.label, voxels, part_of(checker->dataset, used, i), stride > 0 ? stride : 1);
        CRD_PASS(crd_trainer_encode(checker->trainer, chunk.input));
        for (int64_t s = 0; s < e->samples; s++)
            take_sample(e, voxels, s, crd_trainer_decoded(checker->trainer, s, checker->probability));
        CRD_PASS(crd_advance(checker->monitor, "calibrating", "chunks", i - begin + 1, end - begin, NULL));
    }
    return CRD_OK;
}

/* Everybody's evidence to everybody, in the order of the chunks and as much as one process would have taken. A row of
 * the vector is a voxel: its class and part, then its logits. */
static crd_status join_evidence(crd_dist *dist, evidence *e)
{
    enum { CLASSES = 256 };
    const int64_t logits = e->samples * e->planes, row = logits + 1;
    crd_status status = CRD_OK;
    const int size = crd_dist_size(dist), rank = crd_dist_rank(dist);
    int64_t *counts = NULL, *bounds = NULL;
    crd_shared_vector *vector = NULL;
    if (size == 1) return CRD_OK;
    CRD_TRY(crd_alloc(size, sizeof *counts, "the calibration", &counts));
    CRD_TRY(crd_alloc(size + 1, sizeof *bounds, "the calibration", &bounds));
    CRD_TRY(crd_shared_vector_create(dist, VOXELS_MOST * row, &vector));
    CRD_TRY(crd_dist_share(dist, &e->voxels, (int64_t)sizeof e->voxels, counts));
    for (int other = 0; other < size; other++) {
        bounds[other + 1] = bounds[other] + counts[other] * row;
        if (bounds[other + 1] > VOXELS_MOST * row) bounds[other + 1] = VOXELS_MOST * row;
    }
    float *rows = crd_shared_vector_values(vector);
    const int64_t first = bounds[rank] / row;
    for (int64_t v = first; v < bounds[rank + 1] / row; v++) {
        rows[v * row] = (float)(e->classes[v - first] + CLASSES * e->parts[v - first]);
        memcpy(rows + v * row + 1, e->logits + (v - first) * logits, (size_t)logits * sizeof *rows);
    }
    CRD_TRY(crd_shared_vector_share(vector, bounds));
    e->voxels = bounds[size] / row;
    for (int64_t v = 0; v < e->voxels; v++) {
        e->classes[v] = (uint8_t)((int)rows[v * row] % CLASSES);
        e->parts[v] = (uint8_t)((int)rows[v * row] / CLASSES);
        memcpy(e->logits + v * logits, rows + v * row + 1, (size_t)logits * sizeof *rows);
    }
done:
    crd_shared_vector_free(&vector);
    crd_free(&bounds);
    crd_free(&counts);
    return status;
}

/* The number that fits all of the evidence, if those that fit all parts but one help in that one; else 1. */
static double judge(const evidence *e)
{
    int there = 0;
    double with = 0.0;
    for (int64_t v = 0; v < e->voxels; v++) there |= e->parts[v];
    if ((there & (there - 1)) == 0) return 1.0; /* one at most */
    for (int part = 1; part < ALL_PARTS; part *= 2) {
        if ((there & part) != 0) with += negative_log_likelihood(e, part, search(e, ALL_PARTS & ~part));
    }
    return with < negative_log_likelihood(e, ALL_PARTS, 1.0) ? search(e, ALL_PARTS) : 1.0;
}

crd_status crd_calibrate(crd_checker *checker, int64_t samples, double *calibration)
{
    crd_status status = CRD_OK;
    evidence e = {.samples = samples, .planes = crd_trainer_planes(checker->trainer), .pool = checker->pool};
    crd_trainer *trainer = checker->trainer;
    const int64_t chunks = crd_dataset_count(checker->dataset);
    int64_t used = (VOXELS_DECODED + crd_trainer_chunk_voxels(trainer) - 1) / crd_trainer_chunk_voxels(trainer);
    bool stopped;
    used = used < CHUNKS_LEAST ? CHUNKS_LEAST : used;
    used = used < chunks ? used : chunks;
    *calibration = 1.0;
    if (chunks == 0) return CRD_OK;
    CRD_TRY(crd_alloc(VOXELS_MOST * samples * e.planes, sizeof *e.logits, "the calibration", &e.logits));
    CRD_TRY(crd_alloc(VOXELS_MOST, 1, "the calibration", &e.classes));
    CRD_TRY(crd_alloc(VOXELS_MOST, 1, "the calibration", &e.parts));
    CRD_TRY(crd_alloc(VOXELS_MOST, sizeof *e.logs, "the calibration", &e.logs));
    CRD_TRY(crd_alloc(VOXELS_MOST, sizeof *e.places, "the calibration", &e.places));
    CRD_TRY(crd_trainer_draw_samples(trainer, samples));
    status = take_part(checker, used, &e);
    if (status != CRD_OK && status != CRD_ERR_CANCELLED) goto done;
    CRD_TRY(crd_dist_any(checker->dist, status != CRD_OK, &stopped));
    if (stopped) CRD_FAIL(CRD_ERR_CANCELLED, "stopped while calibrating");
    CRD_TRY(join_evidence(checker->dist, &e));
    *calibration = judge(&e);
done:
    crd_free(&e.logits);
    crd_free(&e.classes);
    crd_free(&e.parts);
    crd_free(&e.logs);
    crd_free(&e.places);
    return status;
}
