#include "train/data/feeder.h"

#include <stdatomic.h>
#include <time.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/queue.h"
#include "dist/dist.h"
#include "train/schedule.h"

/* A batch on its way: examples are dealt out to readers in order, and finished in any. */
typedef struct slot {
    crd_batch batch;
    float *inputs;
    uint8_t *labels;
    int64_t begin; /* the number of its first example among all that this run reads */
} slot;

typedef struct example {
    int64_t number, epoch;
    float *input;
    uint8_t *label;
    int64_t labelled; /* its reader sets it */
} example;

typedef struct reader {
    crd_dataset *dataset;   /* its own; only unpacked blocks of the files are shared */
    _Atomic double seconds; /* of its own processor time */
} reader;

struct crd_feeder {
    crd_feeder_plan plan;
    int64_t chunks, batches; /* of an epoch */
    int64_t most;            /* examples of a batch that are here */
    int64_t depth;           /* slots: batch n of this run lies in slot n modulo this */
    slot *slots;
    example *examples; /* [depth * most]: example i of this run is number i modulo this */
    reader *readers;
    crd_queue *queue; /* of examples */
    int64_t *order;   /* of the chunks in the epoch that is dealt out */
    int64_t epoch;
    int64_t dealt, taken;   /* batches since the start: those that were dealt out, and those that were handed on */
    int64_t examples_dealt; /* of them */
};

int64_t crd_feeder_batches(int64_t chunks, int64_t batch)
{
    return (chunks + batch - 1) / batch;
}

static void set_order(crd_feeder *feeder, int64_t epoch)
{
    if (feeder->epoch == epoch) return;
    feeder->epoch = epoch;
    if (feeder->plan.shuffle) {
        crd_shuffle(feeder->plan.seed, epoch, feeder->chunks, feeder->order);
    } else {
        for (int64_t i = 0; i < feeder->chunks; i++) feeder->order[i] = i;
    }
}

static example *example_of(const crd_feeder *feeder, int64_t index)
{
    return &feeder->examples[index % (feeder->depth * feeder->most)];
}

static void deal_batch(crd_feeder *feeder)
{
    const crd_feeder_plan *plan = &feeder->plan;
    const int64_t step = plan->first_step + feeder->dealt, first = step % feeder->batches * plan->batch;
    slot *into = &feeder->slots[feeder->dealt++ % feeder->depth];
    crd_batch *batch = &into->batch;
    *batch = (crd_batch){.step = step, .inputs = into->inputs, .labels = into->labels};
    batch->count = first + plan->batch < feeder->chunks ? plan->batch : feeder->chunks - first;
    crd_dist_part(batch->count, plan->size > 0 ? plan->size : 1, plan->rank, &batch->first, &batch->end);
    into->begin = feeder->examples_dealt;
    set_order(feeder, step / feeder->batches + 1);
    for (int64_t i = batch->first; i < batch->end; i++) {
        const int64_t at = (i - batch->first) * plan->chunk_voxels;
        *example_of(feeder, feeder->examples_dealt++) = (example){.number = feeder->order[first + i],
                                                                  .epoch = feeder->epoch,
                                                                  .input = into->inputs + at,
                                                                  .label = into->labels + at};
    }
}

/* Fills all slots: the caller has none in use. */
static void deal(crd_feeder *feeder)
{
    const int64_t all = feeder->plan.end_step - feeder->plan.first_step;
    while (feeder->dealt < all && feeder->dealt < feeder->taken + feeder->depth) deal_batch(feeder);
    crd_queue_allow(feeder->queue, feeder->examples_dealt);
}

static double thread_seconds(void)
{
    struct timespec now;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 ? (double)now.tv_sec + 1e-9 * (double)now.tv_nsec : 0.0;
}

static crd_status open_files(void *context, int thread)
{
    crd_feeder *feeder = context;
    CRD_PASS(crd_dataset_reopen(feeder->plan.dataset, &feeder->readers[thread].dataset));
    crd_dataset_augment_by(feeder->readers[thread].dataset, feeder->plan.seed);
    return CRD_OK;
}

static crd_status read_example(void *context, int64_t index, int thread)
{
    crd_feeder *feeder = context;
    reader *self = &feeder->readers[thread];
    example *e = example_of(feeder, index);
    const crd_status status = crd_dataset_read(self->dataset, e->number, e->epoch, e->input, e->label, &e->labelled);
    atomic_store(&self->seconds, thread_seconds());
    return status;
}

/* One batch in the caller's hands, and as many ahead that the readers work on two at least and none has to wait for
 * another that has the last example of its batch. */
static crd_status make_slots(crd_feeder *feeder)
{
    const crd_feeder_plan *plan = &feeder->plan;
    int64_t first, end;
    crd_dist_part(plan->batch, plan->size > 0 ? plan->size : 1, 0, &first, &end); /* nobody has more than rank 0 */
    feeder->most = end - first;
    feeder->depth = 2 + (plan->readers + feeder->most - 1) / feeder->most;
    const char *what = "chunks read ahead";
    CRD_PASS(crd_alloc(feeder->depth * feeder->most, sizeof *feeder->examples, what, &feeder->examples));
    CRD_PASS(crd_alloc(feeder->depth, sizeof *feeder->slots, what, &feeder->slots));
    for (int64_t i = 0; i < feeder->depth; i++) {
        slot *s = &feeder->slots[i];
        CRD_PASS(crd_alloc(feeder->most * plan->chunk_voxels, sizeof(float), what, &s->inputs));
        CRD_PASS(crd_alloc(feeder->most * plan->chunk_voxels, 1, what, &s->labels));
    }
    return CRD_OK;
}

crd_status crd_feeder_start(const crd_feeder_plan *plan, crd_feeder **out)
{
    crd_status status = CRD_OK;
    crd_feeder *feeder = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *feeder, "the reader of chunks", &feeder));
    feeder->plan = *plan;
    if (plan->readers < 1) feeder->plan.readers = 1;
    feeder->chunks = crd_dataset_count(plan->dataset);
    feeder->batches = crd_feeder_batches(feeder->chunks, plan->batch);
    CRD_TRY(crd_alloc(feeder->chunks, sizeof *feeder->order, "the order of chunks", &feeder->order));
    CRD_TRY(make_slots(feeder));
    CRD_TRY(crd_alloc(feeder->plan.readers, sizeof *feeder->readers, "the readers of chunks", &feeder->readers));
    /* Each reader opens the files for itself, all at the same time: a folder of slices on a slow disk takes its time.
     */
    const crd_queue_plan queue = {.what = "reads chunks",
                                  .threads = (int)feeder->plan.readers,
                                  .context = feeder,
                                  .begin = open_files,
                                  .work = read_example};
    CRD_TRY(crd_queue_open(&queue, &feeder->queue));
    deal(feeder);
    *out = feeder;
    feeder = NULL;
done:
    crd_feeder_stop(&feeder);
    return status;
}

crd_status crd_feeder_next(crd_feeder *feeder, crd_batch *batch, double *waited)
{
    const double begin = crd_seconds();
    const slot *next = &feeder->slots[feeder->taken % feeder->depth];
    deal(feeder);
    CRD_ASSERT(feeder->taken < feeder->dealt);
    const int64_t end = next->begin + next->batch.end - next->batch.first;
    const crd_status status = crd_queue_wait(feeder->queue, end);
    if (waited != NULL) *waited = crd_seconds() - begin;
    if (status != CRD_OK) return status;
    *batch = next->batch;
    for (int64_t i = next->begin; i < end; i++) batch->labelled += example_of(feeder, i)->labelled;
    feeder->taken++;
    return CRD_OK;
}

double crd_feeder_seconds(crd_feeder *feeder)
{
    double seconds = 0.0;
    for (int64_t i = 0; i < feeder->plan.readers; i++) seconds += atomic_load(&feeder->readers[i].seconds);
    return seconds;
}

void crd_feeder_stop(crd_feeder **pointer)
{
    crd_feeder *feeder = *pointer;
    if (feeder == NULL) return;
    crd_queue_close(&feeder->queue);
    for (int64_t i = 0; feeder->readers != NULL && i < feeder->plan.readers; i++) {
        crd_dataset_close(&feeder->readers[i].dataset);
    }
    for (int64_t i = 0; feeder->slots != NULL && i < feeder->depth; i++) {
        crd_free(&feeder->slots[i].inputs);
        crd_free(&feeder->slots[i].labels);
    }
    crd_free(&feeder->readers);
    crd_free(&feeder->slots);
    crd_free(&feeder->examples);
    crd_free(&feeder->order);
    crd_free(pointer);
}
