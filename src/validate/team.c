/* How a pass is divided among threads. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/monitor.h"
#include "validate/sweep.h"

typedef struct member {
    crd_input_reader reader;
    crd_tally *tally;
    void *room;
    bool ready;
} member;

struct crd_team {
    const crd_sweep *sweep;
    const crd_team_work *work;
    int64_t bands;
    member *members;
    atomic_bool stop;
    atomic_llong done;
    pthread_mutex_t mutex; /* of the error */
    crd_error error;
};

static crd_sweep_part part_of(const crd_team *team, int64_t item)
{
    const crd_sweep *sweep = team->sweep;
    const int64_t height = sweep->inputs->shape[1], slab = item / team->bands, band = item % team->bands;
    crd_sweep_part part = {.z_begin = sweep->first + slab * team->work->slab, .y_begin = band * team->work->band};
    part.z_end = part.z_begin + team->work->slab < sweep->last ? part.z_begin + team->work->slab : sweep->last;
    part.y_end = part.y_begin + team->work->band < height ? part.y_begin + team->work->band : height;
    return part;
}

static crd_status do_part(crd_team *team, int64_t item, int worker)
{
    const crd_sweep *sweep = team->sweep;
    member *m = &team->members[worker];
    const crd_sweep_part part = part_of(team, item);
    if (!m->ready) {
        m->ready = true; /* whatever was opened is closed at the end, even if the rest failed */
        CRD_PASS(crd_input_reader_open(sweep->inputs, &m->reader));
        CRD_PASS(
            crd_tally_create(sweep->inputs->shape[0], sweep->threshold_count, sweep->inputs->class_count, &m->tally));
        CRD_PASS(team->work->begin(sweep, &m->room));
    }
    CRD_PASS(team->work->part(sweep, &part, &m->reader, m->room, m->tally));
    const long long slices = part.z_end - part.z_begin, done = atomic_fetch_add(&team->done, slices) + slices;
    if (worker != 0) return CRD_OK;
    return crd_advance(sweep->monitor, team->work->stage, "slices", done / team->bands, sweep->last - sweep->first,
                       NULL);
}

static void work_item(void *context, int64_t item, int worker)
{
    crd_team *team = context;
    if (atomic_load(&team->stop)) return;
    if (do_part(team, item, worker) == CRD_OK) return;
    pthread_mutex_lock(&team->mutex);
    if (!atomic_exchange(&team->stop, true)) team->error = *crd_last_error();
    pthread_mutex_unlock(&team->mutex);
}

crd_status crd_team_run(const crd_sweep *sweep, const crd_team_work *work, crd_tally *tally)
{
    crd_status status = CRD_OK;
    const int threads = crd_pool_threads(sweep->pool);
    const int64_t slabs = (sweep->last - sweep->first + work->slab - 1) / work->slab;
    crd_team team = {.sweep = sweep, .work = work, .mutex = PTHREAD_MUTEX_INITIALIZER};
    team.bands = (sweep->inputs->shape[1] + work->band - 1) / work->band;
    CRD_TRY(crd_alloc(threads, sizeof *team.members, "the threads", &team.members));
    crd_pool_run(sweep->pool, slabs * team.bands, work_item, &team);
    if (atomic_load(&team.stop)) {
        status = crd_error_adopt(&team.error);
        goto done;
    }
    for (int i = 0; i < threads; i++) {
        if (team.members[i].tally != NULL) crd_tally_merge(tally, team.members[i].tally);
    }
    CRD_TRY(crd_advance(sweep->monitor, work->stage, "slices", sweep->last - sweep->first, sweep->last - sweep->first,
                        NULL));
done:
    for (int i = 0; team.members != NULL && i < threads; i++) {
        member *m = &team.members[i];
        if (!m->ready) continue;
        crd_input_reader_close(&m->reader);
        crd_tally_free(&m->tally);
        if (m->room != NULL) work->end(&m->room);
    }
    crd_free(&team.members);
    pthread_mutex_destroy(&team.mutex);
    return status;
}
