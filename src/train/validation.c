#include "train/validation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/portable_math.h"
#include "train/shared_step.h"

enum { BLOCK = 1 << 14 /* values that a thread takes at a time */, KEPT_BYTES = 1 << 27 };

static crd_status take_room(const crd_checker *checker, crd_checked_chunk *out)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    CRD_PASS(crd_alloc(voxels, sizeof(float), "a chunk to check on", &out->input));
    return crd_alloc(voxels, 1, "a chunk to check on", &out->label);
}

static void drop_room(crd_checked_chunk *room)
{
    crd_free(&room->input);
    crd_free(&room->label);
}

crd_status crd_checker_open(crd_trainer *trainer, crd_dataset *dataset, crd_dist *dist, const crd_monitor *monitor,
                            crd_checker *out)
{
    const int64_t voxels = crd_trainer_chunk_voxels(trainer), planes = crd_trainer_planes(trainer),
                  chunks = crd_dataset_count(dataset);
    *out = (crd_checker){.trainer = trainer, .dataset = dataset, .dist = dist, .monitor = monitor};
    if (chunks == 0) return CRD_OK;
    CRD_PASS(crd_alloc(chunks, sizeof *out->kept, "the chunks to check on", &out->kept));
    for (int i = 0; i < 2; i++) CRD_PASS(take_room(out, &out->room[i]));
    CRD_PASS(crd_alloc(planes * voxels, sizeof(float), "a chunk to check on", &out->probability));
    CRD_PASS(crd_alloc(planes * voxels, sizeof(float), "a chunk to check on", &out->mean));
    CRD_PASS(crd_alloc(voxels, sizeof(double), "a chunk to check on", &out->logs));
    CRD_PASS(crd_alloc(voxels, 1, "a chunk to check on", &out->chosen));
    return crd_pool_create(crd_trainer_threads(trainer), &out->pool);
}

void crd_checker_close(crd_checker *checker)
{
    for (int64_t i = 0; checker->kept != NULL && i < crd_dataset_count(checker->dataset); i++)
        drop_room(&checker->kept[i]);
    crd_free(&checker->kept);
    for (int i = 0; i < 2; i++) drop_room(&checker->room[i]);
    crd_free(&checker->probability);
    crd_free(&checker->mean);
    crd_free(&checker->logs);
    crd_free(&checker->chosen);
    crd_pool_free(&checker->pool);
}

crd_status crd_checker_chunk(crd_checker *checker, int64_t i, crd_checked_chunk *out)
{
    const int64_t bytes = crd_trainer_chunk_voxels(checker->trainer) * 5;
    crd_checked_chunk *kept = &checker->kept[i];
    int64_t labelled;
    *out = kept->label != NULL ? *kept : checker->room[i % 2];
    if (kept->label != NULL) return CRD_OK;
    CRD_PASS(crd_dataset_read(checker->dataset, i, 0, out->input, out->label, &labelled));
    if (checker->kept_bytes + bytes > KEPT_BYTES) return CRD_OK;
    checker->kept_bytes += bytes;
    *kept = *out; /* and new room for others */
    checker->room[i % 2] = (crd_checked_chunk){NULL, NULL};
    return take_room(checker, &checker->room[i % 2]);
}

/* The mean probability of the voxel's class, and the one that the network chose: the first of the largest of several,
 * or of two the foreground above one half. */
static double answer(const crd_checker *checker, int64_t v, int64_t samples, int *chosen)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    const int planes = crd_trainer_planes(checker->trainer), class = checker->label[v];
    const float *mean = checker->mean + v;
    if (planes == 1) {
        const double p = crd_clipped((double)*mean / (double)samples);
        *chosen = p > 0.5;
        return class == 1 ? p : 1.0 - p;
    }
    int best = 0;
    for (int c = 1; c < planes; c++)
        if (mean[c * voxels] > mean[best * voxels]) best = c;
    *chosen = best;
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
        int chosen;
        if (checker->label[v] == CRD_LABEL_NONE) continue;
        checker->logs[v] = crd_log(answer(checker, v, s->samples, &chosen));
        checker->chosen[v] = (uint8_t)chosen;
    }
}

/* Of the chunk that the trainer has computed. */
static crd_status judge_samples(crd_checker *checker, int64_t samples, const uint8_t *label, crd_loss *loss)
{
    const int64_t voxels = crd_trainer_chunk_voxels(checker->trainer);
    const int64_t values = voxels * crd_trainer_planes(checker->trainer);
    share s = {.checker = checker, .samples = samples, .count = values};
    checker->label = label;
    memset(checker->mean, 0, (size_t)values * sizeof *checker->mean);
    for (int64_t sample = 0; sample < samples; sample++) {
        s.probability = crd_trainer_decoded(checker->trainer, sample, checker->probability);
        crd_pool_run(checker->pool, (values + BLOCK - 1) / BLOCK, add_block, &s);
    }
    s.count = voxels;
    crd_pool_run(checker->pool, (voxels + BLOCK - 1) / BLOCK, judge_block, &s);
    for (int64_t v = 0; v < voxels; v++) { /* in one order */
        if (label[v] == CRD_LABEL_NONE) continue;
        const int class = label[v], chosen = checker->chosen[v];
        loss->bce_sum -= checker->logs[v];
        loss->correct += chosen == class;
        loss->labelled++;
        checker->classes[class].labelled++;
        checker->classes[chosen].chosen++;
        checker->classes[class].both += chosen == class;
    }
    return CRD_OK;
}

static crd_status say_chunk(const crd_checker *checker, int64_t number, int64_t count)
{
    char note[64];
    snprintf(note, sizeof note, "checking, chunk %" PRId64 " of %" PRId64, number, count);
    CRD_PASS(crd_advance(checker->monitor, "training", "steps", checker->done, checker->total, note));
    return crd_dist_check(checker->dist);
}

/* Where the device computes beside this thread, the next chunk is with it while this one is judged. */
static crd_status check_with_samples(crd_checker *checker, int64_t begin, int64_t end, int64_t samples,
                                     crd_loss *losses)
{
    const int64_t ahead = crd_trainer_takes_ahead(checker->trainer) ? 1 : 0;
    crd_checked_chunk chunks[2];
    for (int64_t i = begin, sent = begin; i < end; i++) {
        CRD_PASS(say_chunk(checker, i - begin + 1, end - begin));
        for (; sent < end && sent <= i + ahead; sent++) {
            CRD_PASS(crd_checker_chunk(checker, sent, &chunks[sent % 2]));
            CRD_PASS(crd_trainer_send(checker->trainer, chunks[sent % 2].input));
        }
        CRD_PASS(crd_trainer_receive(checker->trainer));
        CRD_PASS(judge_samples(checker, samples, chunks[i % 2].label, &losses[i]));
    }
    return CRD_OK;
}

static crd_status check_with_means(crd_checker *checker, int64_t begin, int64_t end, crd_loss *losses)
{
    for (int64_t i = begin; i < end; i++) {
        crd_checked_chunk chunk = {NULL, NULL};
        CRD_PASS(say_chunk(checker, i - begin + 1, end - begin));
        if (!crd_trainer_keeps(checker->trainer, i)) CRD_PASS(crd_checker_chunk(checker, i, &chunk));
        CRD_PASS(crd_trainer_check(checker->trainer, i, chunk.input, chunk.label, &losses[i]));
    }
    return CRD_OK;
}

/* This process's part of the chunks. A request to stop ends it; the others hear of it when they are done with theirs.
 * What was begun is waited for in any case: its losses are the caller's. */
static crd_status check_part(crd_checker *checker, int64_t samples, crd_loss *losses)
{
    int64_t begin, end;
    crd_dist_part(crd_dataset_count(checker->dataset), crd_dist_size(checker->dist), crd_dist_rank(checker->dist),
                  &begin, &end);
    const crd_status status = samples > 0 ? check_with_samples(checker, begin, end, samples, losses)
                                          : check_with_means(checker, begin, end, losses);
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
