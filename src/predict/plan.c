/* What a run would do and need, without doing it. */
#include <string.h>

#include "base/memory.h"
#include "base/settings/whole.h"
#include "predict/memory_plan.h"

struct crd_predict_plan {
    size_t given;                /* size of the caller's options */
    crd_predict_options options; /* the same, whole */
    crd_request request;
    crd_predict_needs needs;
};

static crd_status fill(crd_predict_plan *plan)
{
    const crd_request *request = &plan->request;
    crd_predict_needs *needs = &plan->needs;
    crd_memory_plan memory;
    CRD_PASS(crd_memory_plan_make(request, crd_dist_place(crd_dist_current()), &memory));
    for (int axis = 0; axis < 3; axis++) {
        needs->shape[axis] = request->scan.shape[axis];
        needs->origin[axis] = request->box.origin[axis];
        needs->size[axis] = request->box.size[axis];
        needs->chunk[axis] = request->plan.axes[axis].window;
        needs->tile[axis] = request->seamless ? request->plan.axes[axis].stride : 0;
    }
    needs->seamless = request->seamless;
    needs->halo = request->halo;
    needs->step = request->step;
    needs->trim = request->options->trim;
    needs->samples = request->samples;
    needs->chunks = request->chunks;
    crd_plan_coverage(&request->plan, &needs->min_coverage, &needs->max_coverage);
    needs->memory_bytes = memory.memory_bytes;
    needs->disk_bytes = memory.disk_bytes;
    needs->result_bytes = memory.result_bytes;
    needs->scratch_bytes = memory.scratch_bytes;
    return crd_memory_plan_eta(request, NULL, &needs->eta_seconds);
}

crd_status crd_predict_plan_make(const crd_predict_options *options, const crd_monitor *monitor, crd_predict_plan **out)
{
    crd_status status = CRD_OK;
    crd_predict_plan *plan = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *plan, "the plan", &plan));
    CRD_TRY(crd_settings_whole(&crd_predict_settings, options, &plan->options));
    plan->given = options->size;
    CRD_TRY(crd_request_make(&plan->options, monitor, &plan->request));
    CRD_TRY(fill(plan));
    *out = plan;
    plan = NULL;
done:
    crd_predict_plan_free(&plan);
    return status;
}

const crd_predict_needs *crd_predict_plan_needs(const crd_predict_plan *plan)
{
    return &plan->needs;
}

void crd_predict_plan_chunk(const crd_predict_plan *plan, int64_t index, int64_t origin[3], int64_t keep_begin[3],
                            int64_t keep_end[3])
{
    crd_box window, keep;
    crd_plan_chunk(&plan->request.plan, crd_request_chunk(&plan->request, index), &window, &keep);
    for (int axis = 0; axis < 3; axis++) {
        origin[axis] = window.origin[axis];
        keep_begin[axis] = keep.origin[axis];
        keep_end[axis] = keep.origin[axis] + keep.size[axis];
    }
}

void crd_predict_plan_free(crd_predict_plan **plan)
{
    if (*plan == NULL) return;
    crd_request_free(&(*plan)->request);
    if ((*plan)->given > 0) crd_settings_whole_free(&crd_predict_settings, &(*plan)->given, &(*plan)->options);
    crd_free(plan);
}
