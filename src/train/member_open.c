/* From a run to a member that can take its first step, new or resumed. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "base/parallel.h"
#include "train/member.h"
#include "train/run.h"

static crd_status make_trainer(crd_member *m)
{
    crd_train_run *r = m->run;
    const int64_t batch = r->options->batch;
    crd_trainer_plan plan = r->plan;
    plan.learner.seed = m->seed;
    CRD_PASS(crd_trainer_create(&plan, &m->trainer));
    crd_trainer_state *state = crd_trainer_state_of(m->trainer);
    memcpy(state->parameters, crd_model_member(r->model, m->number), (size_t)state->count * sizeof(float));
    m->identity = (crd_train_identity){.settings = r->settings,
                                       .isa = crd_trainer_isa(m->trainer),
                                       .init = r->init,
                                       .batches = r->batches,
                                       .data = crd_dataset_digest(r->training) ^
                                               (crd_dataset_digest(r->validation) * UINT64_C(0x9e3779b97f4a7c15))};
    CRD_PASS(crd_shared_step_create(r->dist, batch, m->trainer, &m->shared));
    for (int i = 0; i < 2; i++) CRD_PASS(crd_alloc(batch, sizeof(crd_loss), "the losses", &m->losses[i]));
    if (m->shared != NULL) {
        CRD_PASS(crd_alloc(crd_dist_size(r->dist), sizeof(double), "the ranks' speeds", &m->rank_speeds));
    }
    CRD_PASS(crd_dataset_reopen(r->validation, &m->validation));
    return crd_checker_open(m->trainer, m->validation, r->dist, &m->monitor, &m->checker);
}

static crd_status resume(crd_member *m)
{
    crd_train_run *r = m->run;
    crd_train_progress *p = &m->progress;
    const crd_model own = crd_member_model(m);
    CRD_PASS(crd_checkpoint_load(m->checkpoint_path, &m->identity, &own, crd_trainer_state_of(m->trainer), p));
    if (p->steps > r->end_step) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "%s is after step %" PRId64 " already, and --epochs and --max-steps ask for %" PRId64
                        "; ask for more, or start anew without --resume",
                        m->checkpoint_path, p->steps, r->end_step);
    }
    if (!isnan(p->best_valid_bce) && access(m->best_path, R_OK) != 0) {
        crd_warn(&m->monitor, "%s is gone: the best of the epochs to come takes its place", m->best_path);
        p->best_valid_bce = (double)NAN;
        p->best_epoch = 0;
    }
    crd_info(&m->monitor, "going on from %s after step %" PRId64, m->checkpoint_path, p->steps);
    return crd_dist_broadcast(r->dist, p, (int64_t)sizeof *p); /* all see the same best state, or all miss it */
}

/* A network on the host leaves no core to readers, and one of them is faster than it; a GPU takes what several bring.
 * Members side by side share the cores. */
static int64_t automatic_readers(const crd_train_run *r)
{
    enum { MOST = 8 };
    const int64_t threads = r->threads > 0 ? r->threads : crd_available_cores();
    if (r->plan.backend->on_host || threads < 4) return 1;
    const int64_t own = r->at_once > 1 ? threads / r->at_once - 1 : threads / 2; /* one each drives the GPU */
    return own < 1 ? 1 : own < MOST ? own : MOST;
}

static crd_status start_feeder(crd_member *m)
{
    const crd_train_run *r = m->run;
    const crd_train_options *o = r->options;
    const crd_feeder_plan plan = {.dataset = r->training,
                                  .readers = o->readers > 0 ? o->readers : automatic_readers(r),
                                  .batch = o->batch,
                                  .chunk_voxels = crd_trainer_chunk_voxels(m->trainer),
                                  .seed = m->seed,
                                  .shuffle = !o->no_shuffle,
                                  .first_step = m->progress.steps,
                                  .end_step = r->end_step,
                                  .rank = crd_dist_rank(r->dist),
                                  .size = crd_dist_size(r->dist)};
    return crd_feeder_start(&plan, &m->feeder);
}

static crd_status open_saver(crd_member *m)
{
    m->own = crd_member_model(m);
    const crd_saver_plan plan = {.model = &m->own,
                                 .best_path = m->best_path,
                                 .checkpoint_path = m->checkpoint_path,
                                 .identity = &m->identity,
                                 .log = m->run->log};
    return crd_train_first(m->run) ? crd_saver_open(&plan, &m->saver) : CRD_OK;
}

crd_status crd_member_open(crd_member *m)
{
    CRD_PASS(make_trainer(m));
    m->progress = (crd_train_progress){.first_valid_bce = (double)NAN,
                                       .best_valid_bce = (double)NAN,
                                       .last_valid_bce = (double)NAN,
                                       .last_valid_accuracy = (double)NAN};
    if (m->go_on) CRD_PASS(resume(m));
    CRD_PASS(crd_trainer_parameters_changed(m->trainer));
    CRD_PASS(open_saver(m));
    return start_feeder(m);
}

void crd_member_close(crd_member *m)
{
    crd_saver_close(&m->saver);
    crd_feeder_stop(&m->feeder);
    crd_checker_close(&m->checker);
    crd_shared_step_free(&m->shared);
    for (int i = 0; i < 2; i++) crd_free(&m->losses[i]);
    crd_free(&m->rank_speeds);
    crd_trainer_free(&m->trainer);
    crd_dataset_close(&m->validation);
}
