#include "train/validation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/portable_math.h"
#include "train/shared_step.h"

/* Calibration: voxels whose samples are computed, in CHUNKS_LEAST chunks at least, and those that take part in the
 * search. Places differ far more than neighbours do (one may hold an object that the label forgot), so few chunks say
 * little, however large they are: all blocks to check on take part. */
enum { VOXELS_DECODED = 1 << 17, CHUNKS_LEAST = 24, VOXELS_MOST = 20000, SEARCH_STEPS = 40 };
/* What is fitted to all parts but one is judged on that one. With two parts a number would be judged that fits half of
 * the blocks, and such numbers are refused too often. */
enum { PARTS = 4, ALL_PARTS = (1 << PARTS) - 1 };
static const double NEAREST = 1e-7; /* probabilities stay this far from 0 and 1 */

static double clipped(double p)
{
    return p < NEAREST ? NEAREST : p > 1.0 - NEAREST ? 1.0 - NEAREST : p;
}

crd_status crd_checker_open(crd_trainer *trainer, crd_dataset *dataset, crd_dist *dist, const crd_monitor *monitor,
                            crd_checker *out)
{
    const int64_t voxels = crd_trainer_chunk_voxels(trainer), planes = crd_trainer_planes(trainer);
    *out = (crd_checker){.trainer = trainer, .dataset = dataset, .dist = dist, .monitor = monitor};
    if (crd_dataset_count(dataset) == 0) return CRD_OK;
    CRD_PASS(crd_alloc(voxels, sizeof(float), "a chunk to check on", &out->input));
    CRD_PASS(crd_alloc(planes * voxels, sizeof(float), "a chunk to check on", &out->probability));
    CRD_PASS(crd_alloc(planes * voxels, sizeof(float), "a chunk to check on", &out->mean));
    return crd_alloc(voxels, 1, "a chunk to check on", &out->label);
}

void crd_checker_close(crd_checker *checker)
{
    crd_free(&checker->input);
    crd_free(&checker->probability);
    crd_free(&checker->mean);
    crd_free(&checker->label);
}

/* The mean probability of the voxel's class, and the one that the network chose: the first of the largest of several,
 * or of two the foreground above one half. */
static double answer(const crd_checker *checker, int64_t v, int64_t samples, int *chosen)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    const int planes = crd_trainer_planes(checker->trainer), class = checker->label[v];
    const float *mean = checker->mean + v;
    if (planes == 1) {
        const double p = clipped((double)*mean / (double)samples);
        *chosen = p > 0.5;
        return class == 1 ? p : 1.0 - p;
    }
    int best = 0;
    for (int c = 1; c < planes; c++)
        if (mean[c * voxels] > mean[best * voxels]) best = c;
    *chosen = best;
    return clipped((double)mean[class * voxels] / (double)samples);
}

static crd_status check_with_samples(crd_checker *checker, int64_t samples, crd_loss *loss)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    const int64_t values = voxels * crd_trainer_planes(checker->trainer);
    memset(checker->mean, 0, (size_t)values * sizeof *checker->mean);
    CRD_PASS(crd_trainer_encode(checker->trainer, checker->input));
    for (int64_t s = 0; s < samples; s++) {
        crd_trainer_decode(checker->trainer, s, checker->probability);
        for (int64_t i = 0; i < values; i++) checker->mean[i] += checker->probability[i];
    }
    for (int64_t v = 0; v < voxels; v++) {
        if (checker->label[v] == CRD_LABEL_NONE) continue;
        int chosen;
        const int class = checker->label[v];
        loss->bce_sum -= crd_log(answer(checker, v, samples, &chosen));
        loss->correct += chosen == class;
        loss->labelled++;
        checker->classes[class].labelled++;
        checker->classes[chosen].chosen++;
        checker->classes[class].both += chosen == class;
    }
    return CRD_OK;
}

static crd_status start_part(crd_checker *checker, int64_t samples, crd_loss *losses)
{
    const int64_t chunks = crd_dataset_count(checker->dataset);
    int64_t begin, end;
    crd_dist_part(chunks, crd_dist_size(checker->dist), crd_dist_rank(checker->dist), &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t labelled;
        char note[64];
        snprintf(note, sizeof note, "checking, chunk %" PRId64 " of %" PRId64, i - begin + 1, end - begin);
        CRD_PASS(crd_advance(checker->monitor, "training", "steps", checker->done, checker->total, note));
        CRD_PASS(crd_dist_check(checker->dist));
        if (samples > 0 || !crd_trainer_keeps(checker->trainer, i)) {
            CRD_PASS(crd_dataset_read(checker->dataset, i, 0, checker->input, checker->label, &labelled));
        }
        CRD_PASS(samples > 0 ? check_with_samples(checker, samples, &losses[i])
                             : crd_trainer_check(checker->trainer, i, checker->input, checker->label, &losses[i]));
    }
    return CRD_OK;
}

/* This process's part of the chunks. A request to stop ends it; the others hear of it when they are done with theirs.
 * What was begun is waited for in any case: its losses are the caller's. */
static crd_status check_part(crd_checker *checker, int64_t samples, crd_loss *losses)
{
    const crd_status status = start_part(checker, samples, losses);
    const crd_status waited = crd_trainer_checked(checker->trainer);
    return status != CRD_OK ? status : waited;
}

/* With so many samples; 0: with the kernels at their means. */
static crd_status check_all(crd_checker *checker, int64_t samples, crd_check_result *out)
{
    crd_status status = CRD_OK;
    const int64_t chunks = crd_dataset_count(checker->dataset);
    crd_loss total = {0}, *losses = NULL;
    bool stopped;
    CRD_TRY(crd_alloc(chunks, sizeof *losses, "the losses", &losses));
    status = check_part(checker, samples, losses);
    if (status != CRD_OK && status != CRD_ERR_CANCELLED) goto done;
    CRD_TRY(crd_dist_any(checker->dist, status != CRD_OK, &stopped));
    if (stopped) CRD_FAIL(CRD_ERR_CANCELLED, "stopped while checking");
    if (crd_dist_size(checker->dist) > 1) CRD_TRY(crd_shared_step_losses(checker->dist, chunks, losses));
    for (int64_t i = 0; i < chunks; i++) { /* in their order, whoever computed them */
        total.bce_sum += losses[i].bce_sum;
        total.labelled += losses[i].labelled;
        total.correct += losses[i].correct;
    }
    *out = (crd_check_result){.labelled = total.labelled, .dice = (double)NAN};
    if (total.labelled == 0) goto done;
    out->bce = total.bce_sum / (double)total.labelled;
    out->accuracy = (double)total.correct / (double)total.labelled;
done:
    crd_free(&losses);
    return status;
}

/* Of what all processes counted: the foreground's, or the mean over more classes. A class that nobody labelled or chose
 * has none. */
static crd_status dice_of(const crd_checker *checker, double *dice)
{
    crd_status status = CRD_OK;
    const int planes = crd_trainer_planes(checker->trainer), first = planes == 1 ? 1 : 0;
    const int end = planes == 1 ? 2 : planes, size = crd_dist_size(checker->dist);
    int there = 0;
    double sum = 0.0;
    crd_class_counts(*all)[CRD_CLASSES_MAX] = NULL;
    CRD_TRY(crd_alloc(size, sizeof *all, "the counts", &all));
    CRD_TRY(crd_dist_share(checker->dist, checker->classes, (int64_t)sizeof checker->classes, all));
    for (int c = first; c < end; c++) {
        int64_t both = 0, either = 0;
        for (int rank = 0; rank < size; rank++) {
            both += all[rank][c].both;
            either += all[rank][c].labelled + all[rank][c].chosen;
        }
        if (either == 0) continue;
        sum += 2.0 * (double)both / (double)either;
        there++;
    }
    if (there > 0) *dice = sum / there;
done:
    crd_free(&all);
    return status;
}

crd_status crd_check_mean(crd_checker *checker, crd_check_result *out)
{
    return check_all(checker, 0, out);
}

crd_status crd_check_samples(crd_checker *checker, int64_t samples, crd_check_result *out)
{
    memset(checker->classes, 0, sizeof checker->classes);
    CRD_PASS(crd_trainer_draw_samples(checker->trainer, samples));
    CRD_PASS(check_all(checker, samples, out));
    return dice_of(checker, &out->dice);
}

typedef struct evidence { /* logits of every sample at some voxels, and the voxels' classes */
    int64_t samples;
    int64_t planes; /* of one voxel and sample: the foreground's, or one for each class */
    float *logits;  /* [voxels][samples][planes] */
    uint8_t *classes;
    uint8_t *parts; /* of the blocks, that a voxel is of: 1, 2, 4 or 8 */
    int64_t voxels;
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

/* Of the voxels in these parts. */
static double negative_log_likelihood(const evidence *e, int parts, double calibration)
{
    double total = 0.0;
    for (int64_t v = 0; v < e->voxels; v++) {
        const float *logits = e->logits + v * e->samples * e->planes;
        const int class = e->classes[v];
        double mean = 0.0;
        if ((e->parts[v] & parts) == 0) continue;
        for (int64_t s = 0; s < e->samples; s++)
            mean += softened(logits + s * e->planes, e->planes, class, calibration) / (double)e->samples;
        mean = clipped(mean);
        total -= crd_log(class != 0 || e->planes > 1 ? mean : 1.0 - mean);
    }
    return total;
}

/* Up to a number that all classes share, which no softmax sees. */
static double to_logit(float probability, int64_t planes)
{
    const double p = clipped(probability);
    return planes == 1 ? crd_log(p / (1.0 - p)) : crd_log(p);
}

/* Notes one sample of the voxels taken: every `stride`-th labelled one of the chunk, from `first` on in the list. */
static int64_t take_voxels(evidence *e, const crd_checker *checker, int part, int64_t sample, int64_t first,
                           int64_t stride)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    int64_t seen = 0, at = first;
    for (int64_t v = 0; v < voxels && at < VOXELS_MOST; v++) {
        if (checker->label[v] == CRD_LABEL_NONE || seen++ % stride != 0) continue;
        for (int64_t c = 0; c < e->planes; c++)
            e->logits[(at * e->samples + sample) * e->planes + c] =
                (float)to_logit(checker->probability[c * voxels + v], e->planes);
        e->parts[at] = (uint8_t)part;
        e->classes[at++] = checker->label[v];
    }
    return at;
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
    const int64_t chunks = crd_dataset_count(checker->dataset);
    int64_t begin, end;
    crd_dist_part(used, crd_dist_size(checker->dist), crd_dist_rank(checker->dist), &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t labelled, taken = e->voxels;
        CRD_PASS(crd_dataset_read(checker->dataset, i * chunks / used, 0, checker->input, checker->label, &labelled));
        const int64_t stride = (labelled * used + VOXELS_MOST - 1) / VOXELS_MOST;
        CRD_PASS(crd_trainer_encode(checker->trainer, checker->input));
        for (int64_t s = 0; s < e->samples; s++) {
            crd_trainer_decode(checker->trainer, s, checker->probability);
            taken = take_voxels(e, checker, part_of(checker->dataset, used, i), s, e->voxels, stride > 0 ? stride : 1);
        }
        e->voxels = taken;
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
    evidence e = {.samples = samples, .planes = crd_trainer_planes(checker->trainer)};
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
    return status;
}
