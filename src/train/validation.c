#include "train/validation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/portable_math.h"
#include "train/shared_step.h"

enum { BLOCK = 1 << 14 }; /* values that a thread takes at a time */

crd_status crd_checker_open(crd_trainer *trainer, crd_dataset *dataset, crd_dist *dist, const crd_monitor *monitor,
                            crd_checker *out)
{
    const int64_t voxels = crd_trainer_chunk_voxels(trainer), planes = crd_trainer_planes(trainer);
    *out = (crd_checker){.trainer = trainer, .dataset = dataset, .dist = dist, .monitor = monitor};
    if (crd_dataset_count(dataset) == 0) return CRD_OK;
    CRD_PASS(crd_alloc(voxels, sizeof(float), "a chunk to check on", &out->input));
    CRD_PASS(crd_alloc(planes * voxels, sizeof(float), "a chunk to check on", &out->probability));
    CRD_PASS(crd_alloc(planes * voxels, sizeof(float), "a chunk to check on", &out->mean));
    CRD_PASS(crd_alloc(voxels, sizeof(double), "a chunk to check on", &out->logs));
    CRD_PASS(crd_alloc(voxels, 1, "a chunk to check on", &out->label));
    CRD_PASS(crd_alloc(voxels, 1, "a chunk to check on", &out->right));
    return crd_pool_create(crd_trainer_threads(trainer), &out->pool);
}

void crd_checker_close(crd_checker *checker)
{
    crd_free(&checker->input);
    crd_free(&checker->probability);
    crd_free(&checker->mean);
    crd_free(&checker->logs);
    crd_free(&checker->label);
    crd_free(&checker->right);
    crd_pool_free(&checker->pool);
}

/* The mean probability of the voxel's class, and whether it is the one that the network chose: the first of the largest
 * of several, or of two the foreground above one half. */
static double answer(const crd_checker *checker, int64_t v, int64_t samples, bool *right)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    const int planes = crd_trainer_planes(checker->trainer), class = checker->label[v];
    const float *mean = checker->mean + v;
    if (planes == 1) {
        const double p = crd_clipped((double)*mean / (double)samples);
        *right = (p > 0.5) == (class == 1);
        return class == 1 ? p : 1.0 - p;
    }
    int best = 0;
    for (int c = 1; c < planes; c++)
        if (mean[c * voxels] > mean[best * voxels]) best = c;
    *right = best == class;
    return crd_clipped((double)mean[class * voxels] / (double)samples);
}

typedef struct share { /* of a chunk's samples, block by block */
    const crd_checker *checker;
    const float *probability; /* of the sample that is added */
    int64_t samples, count;   /* count: of values, or of voxels */
} share;

static int64_t end_of_block(const share *s, int64_t item)
{
    return (item + 1) * BLOCK < s->count ? (item + 1) * BLOCK : s->count;
}

static void add_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const share *s = context;
    for (int64_t i = item * BLOCK; i < end_of_block(s, item); i++) s->checker->mean[i] += s->probability[i];
}

static void judge_block(void *context, int64_t item, int worker)
{
    (void)worker;
    const share *s = context;
    const crd_checker *checker = s->checker;
    for (int64_t v = item * BLOCK; v < end_of_block(s, item); v++) {
        bool right;
        if (checker->label[v] == CRD_LABEL_NONE) continue;
        checker->logs[v] = crd_log(answer(checker, v, s->samples, &right));
        checker->right[v] = right;
    }
}

static crd_status check_with_samples(crd_checker *checker, int64_t samples, crd_loss *loss)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    const int64_t values = voxels * crd_trainer_planes(checker->trainer);
    share s = {.checker = checker, .samples = samples, .count = values};
    memset(checker->mean, 0, (size_t)values * sizeof *checker->mean);
    CRD_PASS(crd_trainer_encode(checker->trainer, checker->input));
    for (int64_t sample = 0; sample < samples; sample++) {
        s.probability = crd_trainer_decoded(checker->trainer, sample, checker->probability);
        crd_pool_run(checker->pool, (values + BLOCK - 1) / BLOCK, add_block, &s);
    }
    s.count = voxels;
    crd_pool_run(checker->pool, (voxels + BLOCK - 1) / BLOCK, judge_block, &s);
    for (int64_t v = 0; v < voxels; v++) { /* in one order */
        if (checker->label[v] == CRD_LABEL_NONE) continue;
        loss->bce_sum -= checker->logs[v];
        loss->correct += checker->right[v];
        loss->labelled++;
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
    *out = (crd_check_result){.labelled = total.labelled};
    if (total.labelled == 0) goto done;
    out->bce = total.bce_sum / (double)total.labelled;
    out->accuracy = (double)total.correct / (double)total.labelled;
done:
    crd_free(&losses);
    return status;
}

crd_status crd_check_mean(crd_checker *checker, crd_check_result *out)
{
    return check_all(checker, 0, out);
}

crd_status crd_check_samples(crd_checker *checker, int64_t samples, crd_check_result *out)
{
    CRD_PASS(crd_trainer_draw_samples(checker->trainer, samples));
    return check_all(checker, samples, out);
}
