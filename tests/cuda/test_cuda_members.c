/* Ensembles on a GPU: every sample has the bits that its member alone gives it, and members that are trained side by
 * side those of one after the other. */
#include "backend/choose.h"
#include "base/clock.h"
#include "gpu.h"
#include "members_tools.h"

enum { SAMPLES = 7, FIRST = 4 };

static const int64_t size[3] = {16, 24, 16};
enum { VOXELS = 16 * 24 * 16 };

static crd_predictor_plan plan_of(const crd_model *model)
{
    return (crd_predictor_plan){.net = &model->net,
                                .parameters = model->parameters,
                                .members = model->info.members,
                                .chunk = {size[0], size[1], size[2]},
                                .samples = SAMPLES,
                                .seed = 11,
                                .estimator = CRD_INDEPENDENT,
                                .inverse_temperature = 0.7f,
                                .keep_samples = true,
                                .first_sample = FIRST};
}

/* Two chunks, so that draws of a chunk's own differ; the samples of the second. */
static crd_status predict(const crd_backend *backend, const crd_device_settings *device, const crd_predictor_plan *plan,
                          const float *input, float *samples)
{
    crd_status status = CRD_OK;
    crd_predictor *predictor = NULL;
    crd_chunk_result result;
    const int64_t planes = crd_net_planes(plan->net);
    CRD_TRY(backend->predictor_create(device, plan, &predictor));
    for (int64_t chunk = 0; chunk < 3; chunk++) {
        CRD_TRY(backend->predictor_submit(predictor, chunk, input, NULL, 0));
        CRD_TRY(backend->predictor_collect(predictor, &result));
    }
    memcpy(samples, result.samples, (size_t)(plan->samples * planes * VOXELS) * sizeof *samples);
done:
    backend->predictor_free(&predictor);
    return status;
}

static void check_samples(const char *precision, const char *isa, crd_kind kind, int classes, bool frozen,
                          bool per_chunk)
{
    static float input[VOXELS], together[SAMPLES * 3 * VOXELS], alone[3 * VOXELS];
    const crd_device_choice choice = {.device = "cuda", .precision = precision, .isa = isa};
    const crd_backend *backend;
    crd_device_settings device;
    crd_model *model = NULL;
    crd_model_info info = {.kind = kind, .filters = 16, .members = MEMBERS, .classes = classes};
    for (int i = 0; i < classes; i++) info.class_values[i] = i;
    const crd_stream noise = {.seed = 3, .purpose = CRD_PURPOSE_PHANTOM};
    for (int i = 0; i < VOXELS; i++) input[i] = crd_random_normal(&noise, (uint64_t)i);
    if (crd_backend_choose(&choice, &backend, &device) != CRD_OK) {
        skip_part(isa, "this GPU lacks the instructions");
        return;
    }
    CHECK_OK(crd_model_create(&info, 5, &model));
    crd_predictor_plan plan = plan_of(model);
    plan.draws_per_chunk = per_chunk;
    const int64_t each = crd_net_moments(&model->net), planes = crd_net_planes(&model->net);
    crd_moments *moments = calloc((size_t)(SAMPLES * each), sizeof *moments), *own = calloc((size_t)each, sizeof *own);
    const crd_pieces pieces = {.count = 1, .size = {size[0], size[1], size[2]}, .voxels = input};
    if (moments == NULL || own == NULL) exit(1);
    if (frozen) CHECK_OK(backend->measure_norms(&device, &plan, &pieces, NULL, moments));
    plan.moments = frozen ? moments : NULL;
    CHECK_OK(predict(backend, &device, &plan, input, together));
    for (int s = 0; s < SAMPLES; s++) {
        crd_predictor_plan one = plan;
        one.parameters = crd_model_member(model, (FIRST + s) % MEMBERS);
        one.members = 1;
        one.first_sample = FIRST + s;
        one.samples = 1;
        if (frozen) CHECK_OK(backend->measure_norms(&device, &one, &pieces, NULL, own));
        one.moments = frozen ? own : NULL;
        if (frozen) CHECK(memcmp(own, moments + s * each, (size_t)each * sizeof *own) == 0);
        CHECK_OK(predict(backend, &device, &one, input, alone));
        CHECK(memcmp(alone, together + s * planes * VOXELS, (size_t)(planes * VOXELS) * sizeof *alone) == 0);
    }
    free(own);
    free(moments);
    crd_model_free(&model);
}

static void test_samples(void)
{
    if (!have_gpu()) SKIP("there is no GPU");
    check_samples("f32", NULL, CRD_BCNN, 2, false, false);
    check_samples("f32", NULL, CRD_MCDN, 2, true, false);
    check_samples("fp16", "sm80", CRD_BCNN, 2, true, false);
    check_samples("fp16", "sm80", CRD_BCNN, 2, false, true);
    check_samples("bf16", "sm80", CRD_MCDN, 2, false, false);
    check_samples("fp16", "sm90", CRD_BCNN, 2, true, false);
    check_samples("fp16", "sm90", CRD_MCDN, 2, false, false);
    check_samples("fp16", "sm80", CRD_BCNN, 3, false, false);
}

static void test_side_by_side(void)
{
    static const char *const kinds[] = {"bcnn", "mcdn"};
    if (!have_gpu()) SKIP("there is no GPU");
    for (int kind = 0; kind < 2; kind++) {
        float *in_turn = NULL, *together = NULL;
        int64_t count, other;
        pool_case c = {.output = "turn.h5",
                       .kind = kinds[kind],
                       .device = "cuda",
                       .precision = "bf16",
                       .filters = "16",
                       .at_once = 1};
        CHECK_OK(save_scan());
        const double begin = crd_seconds();
        CHECK_OK(train_pool(&c, &in_turn, &count));
        c.output = "together.h5";
        c.at_once = MEMBERS;
        const double middle = crd_seconds();
        CHECK_OK(train_pool(&c, &together, &other));
        printf("%s: one after the other %.2f s, side by side %.2f s\n", kinds[kind], middle - begin,
               crd_seconds() - middle);
        CHECK(count == other && memcmp(in_turn, together, (size_t)count * sizeof *in_turn) == 0);
        free(in_turn);
        free(together);
    }
}

TEST_MAIN(TEST(test_samples), TEST(test_side_by_side))
