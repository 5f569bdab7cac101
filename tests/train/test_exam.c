/* The exam against crd_predict and plain counting; baselines and figures against their definitions. */
#include <math.h>
#include <sys/stat.h>

#include "backend/choose.h"
#include "base/memory.h"
#include "base/random/philox.h"
#include "compare.h"
#include "credence/predict.h"
#include "harness.h"
#include "predict/request.h"
#include "train/heldout/exam.h"
#include "volume_tools.h"

enum { Z = 36, Y = 44, X = 50, COUNT = Z * Y * X };

static uint8_t scan_voxels[COUNT], label_voxels[COUNT];

static crd_status save(const char *name, const uint8_t *voxels)
{
    const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U8, .scale = 1.0};
    const crd_box whole = {.size = {Z, Y, X}};
    crd_volume *volume = NULL;
    crd_status status = crd_volume_create(scratch(name), &info, NULL, &volume);
    if (status == CRD_OK) status = crd_volume_write(volume, &whole, voxels);
    if (status == CRD_OK) status = crd_volume_commit(volume);
    crd_volume_close(&volume);
    return status;
}

/* Balls in noise, with a core of their own where there are three classes; labelled but for every 11th voxel. */
static crd_status make_data(int classes, crd_dataset **out)
{
    static const double ignored = 9.0;
    const crd_dataset_options options = {
        .chunk = {16, 16, 16},
        .step = 2,
        .label = {.classes_most = CRD_CLASSES_MAX, .ignore = &ignored, .ignore_count = 1},
        .seed = 3,
        .held_back = 0.2};
    const crd_stream noise = {.seed = 8, .purpose = CRD_PURPOSE_PHANTOM};
    for (int i = 0; i < COUNT; i++) {
        const int dz = i / X / Y % 12 - 6, dy = i / X % Y % 13 - 6, dx = i % X % 12 - 6;
        const int far = dz * dz + dy * dy + dx * dx, class = far >= 26 ? 0 : far >= 12 || classes == 2 ? 1 : 2;
        scan_voxels[i] = (uint8_t)(90.0 + 50.0 * class + 20.0 * crd_random_normal(&noise, (uint64_t)i));
        label_voxels[i] = (uint8_t)(i % 11 == 0 ? 9 : class);
    }
    CRD_PASS(save("scan.npy", scan_voxels));
    CRD_PASS(save("label.npy", label_voxels));
    CRD_PASS(crd_dataset_create(&options, out));
    CRD_PASS(crd_dataset_add(*out, scratch("scan.npy"), scratch("label.npy"), NULL, NULL));
    return crd_dataset_settle(out, 1, NULL);
}

/* A network whose answers are neither all 0 nor all 1. */
static crd_status make_model(const crd_dataset *data, int classes, crd_model **model)
{
    const crd_model_info info = {.kind = CRD_BCNN,
                                 .filters = sparse(2, "8 filters") == 1 ? 8 : 4,
                                 .groups = 4,
                                 .classes = classes,
                                 .class_values = {0, 1, 2},
                                 .chunk = {16, 16, 16},
                                 .calibration = 0.02};
    crd_pieces pieces;
    CRD_PASS(crd_model_create(&info, classes == 2 ? 3 : 9, model));
    for (int i = 0; i < (*model)->net.model.count; i++) {
        const crd_parameter *p = &(*model)->net.model.parameters[i];
        float *values = (*model)->parameters + p->offset;
        for (int64_t k = 0; k < p->count; k++) {
            if (p->role == CRD_ROLE_GAMMA) values[k] = 1.0f + 0.3f * (float)((k * 7 + i) % 5 - 2) / 2.0f;
            if (p->role == CRD_ROLE_BETA) values[k] = 0.2f * (float)((k * 3 + i) % 7 - 3) / 3.0f;
        }
    }
    CRD_PASS(crd_dataset_pieces(data, 8, &pieces));
    crd_model_take_pieces(*model, &pieces);
    return crd_model_save(*model, scratch("model.h5"));
}

/* Runs crd_predict with as many samples, and reads the probabilities. */
static void predict(const char *mode, int64_t samples, float *probability)
{
    char number[32], folder[512];
    crd_predict_options options;
    crd_volume *volume = NULL;
    const crd_box whole = {.size = {Z, Y, X}};
    snprintf(folder, sizeof folder, "%s", scratch(mode));
    snprintf(number, sizeof number, "%d", (int)samples);
    CHECK_OK(crd_settings_default(&crd_predict_settings, &options));
    CHECK_OK(crd_settings_set(&crd_predict_settings, &options, "model", scratch("model.h5")));
    CHECK_OK(crd_settings_set(&crd_predict_settings, &options, "scan", scratch("scan.npy")));
    CHECK_OK(crd_settings_set(&crd_predict_settings, &options, "output", folder));
    CHECK_OK(crd_settings_set(&crd_predict_settings, &options, "samples", number));
    CHECK_OK(crd_settings_set(&crd_predict_settings, &options, "mode", mode));
    CHECK_OK(crd_settings_set(&crd_predict_settings, &options, "device", "cpu"));
    CHECK_OK(crd_predict(&options, NULL, NULL));
    crd_settings_clear(&crd_predict_settings, &options);
    strcat(folder, "/scan_prob.npy");
    CHECK_OK(crd_volume_open(folder, NULL, NULL, &volume));
    CHECK_OK(crd_volume_read(volume, &whole, CRD_F32, probability));
    crd_volume_close(&volume);
    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", scratch(mode));
    CHECK(system(command) == 0);
}

static crd_status hold(const crd_dataset *data, crd_model *model, const char *mode, double work, crd_baseline *baseline,
                       crd_exam *exam)
{
    const crd_device_choice choice = {.device = "cpu"};
    const crd_backend *backend;
    crd_device_settings device;
    CRD_PASS(crd_backend_choose(&choice, &backend, &device));
    const crd_exam_plan plan = {.data = data,
                                .model = model,
                                .backend = backend,
                                .device = &device,
                                .baseline = baseline,
                                .dist = crd_dist_current(),
                                .mode = mode,
                                .work = work};
    return crd_exam_hold(&plan, exam);
}

/* All windows, and fewer samples than usual: what the exam counts is what a prediction has in these voxels. */
static void test_same_as_prediction(void)
{
    static const struct {
        const char *mode;
        double work;
    } cases[] = {{"overlap", 1.2e6}, {"seamless", 1.05e6}};
    static float probability[COUNT];
    static crd_exam exam;
    crd_dataset *data = NULL;
    crd_model *model = NULL;
    crd_baseline *baseline = NULL;
    CHECK_OK(make_data(2, &data));
    CHECK_OK(make_model(data, 2, &model));
    CHECK_OK(crd_baseline_learn(data, 2, (int64_t[]){16, 16, 16}, &baseline));
    const crd_held_blocks *blocks = crd_dataset_blocks(data);
    CHECK(blocks->count >= 8);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c += (size_t)sparse(2, "seamless")) {
        CHECK_OK(hold(data, model, cases[c].mode, cases[c].work, baseline, &exam));
        CHECK(exam.count == blocks->count / 2 && !exam.broken);
        CHECK(exam.samples >= CRD_EXAM_SAMPLES_LEAST && exam.samples < 48);
        predict(cases[c].mode, exam.samples, probability);
        int64_t number = 0;
        double least = 1.0, most = 0.0;
        for (int64_t i = 0; i < blocks->count; i++) {
            const crd_held_block *block = &blocks->blocks[i];
            int64_t network[2][2] = {{0}}, threshold[2][2] = {{0}};
            double nll = 0.0;
            if (!block->exam) continue;
            for (int64_t v = 0; v < block->box.size[0] * block->box.size[1] * block->box.size[2]; v++) {
                const int64_t z = block->box.origin[0] + v / block->box.size[2] / block->box.size[1];
                const int64_t y = block->box.origin[1] + v / block->box.size[2] % block->box.size[1];
                const int64_t at = (z * Y + y) * X + block->box.origin[2] + v % block->box.size[2];
                const int label = label_voxels[at];
                const double p = probability[at];
                if (label == 9) continue;
                network[label][p > 0.5]++;
                const double right = label ? p : 1.0 - p;
                nll -= log(right < 1e-7 ? 1e-7 : right);
                double mean, std;
                crd_scan_normalisation(crd_dataset_scan(data, 0), &mean, &std);
                threshold[label][crd_baseline_answer(baseline, (float)(((double)scan_voxels[at] - mean) / std))]++;
                least = p < least ? p : least;
                most = p > most ? p : most;
            }
            const crd_block_answers *found = &exam.blocks[number++];
            for (int k = 0; k < 4; k++) {
                CHECK(found->network[k / 2][k % 2] == network[k / 2][k % 2]);
                CHECK(found->threshold[k / 2][k % 2] == threshold[k / 2][k % 2]);
            }
            CHECK_NEAR(found->nll, nll, 1e-4 * nll);
        }
        CHECK(most - least > 0.02);
    }
    /* With hardly any time it gives figures all the same. */
    const size_t quick = sparse(2, "in hardly any time") == 1 ? sizeof cases / sizeof cases[0] : 0;
    for (size_t c = 0; c < quick; c++) {
        CHECK_OK(hold(data, model, cases[c].mode, 1.0, baseline, &exam));
        CHECK(exam.samples == CRD_EXAM_SAMPLES_LEAST && exam.count == blocks->count / 2);
        crd_heldout figures = {0};
        crd_heldout_figures(exam.blocks, exam.count, 2, crd_baseline_majority(baseline), &figures);
        int64_t counts[CRD_CLASSES_MAX];
        CHECK(figures.exam_voxels == crd_blocks_counts(blocks, true, counts));
    }
    crd_baseline_free(&baseline);
    crd_model_free(&model);
    crd_dataset_close(&data);
}

/* Sums of the three classes' probabilities over all windows of a prediction, which crd_predict doesn't make of them. */
static crd_status predict_three(const crd_dataset *data, crd_model *model, const char *mode, int64_t samples,
                                uint64_t (*sum)[COUNT], uint32_t *seen)
{
    static float input[1 << 18];
    crd_status status = CRD_OK;
    const crd_device_choice choice = {.device = "cpu"};
    crd_predict_options options;
    crd_request r = {.options = &options, .model = model, .scan = *crd_scan_info(crd_dataset_scan(data, 0))};
    crd_predictor_plan plan;
    crd_predictor *predictor = NULL;
    crd_moments *moments = NULL;
    crd_scan *scan = NULL;
    CRD_PASS(crd_settings_default(&crd_predict_settings, &options));
    CRD_TRY(crd_settings_set(&crd_predict_settings, &options, "mode", mode));
    CRD_TRY(crd_backend_choose(&choice, &r.backend, &r.device));
    CRD_TRY(crd_norm_parse(crd_model_describe(model)->norm, &r.norm));
    CRD_TRY(crd_request_settle(&r, NULL));
    r.samples = samples;
    crd_request_predictor(&r, &plan);
    memset(plan.keep, 0, sizeof plan.keep);
    plan.any_order = 0;
    CRD_TRY(crd_scan_reopen(crd_dataset_scan(data, 0), &scan));
    if (r.seamless) {
        const crd_axis_plan *axes = r.plan.axes;
        CRD_TRY(crd_scan_extend(scan, (int64_t[]){axes[0].extent, axes[1].extent, axes[2].extent}));
        CRD_TRY(crd_alloc(samples * crd_net_moments(&model->net), sizeof *moments, "moments", &moments));
        CRD_TRY(r.backend->measure_norms(&r.device, &plan, &model->pieces, NULL, moments));
        plan.moments = moments;
    }
    CRD_TRY(r.backend->predictor_create(&r.device, &plan, &predictor));
    for (int64_t i = 0; i < r.plan.count; i++) {
        crd_box window, keep;
        crd_chunk_result result;
        crd_plan_chunk(&r.plan, i, &window, &keep);
        const int64_t voxels = window.size[0] * window.size[1] * window.size[2];
        if (voxels > (int64_t)(sizeof input / sizeof input[0])) CRD_FAIL(CRD_ERR_MEMORY, "too large a window");
        CRD_TRY(crd_scan_read(scan, &window, input));
        CRD_TRY(r.backend->predictor_submit(predictor, i, input, NULL, 0));
        CRD_TRY(r.backend->predictor_collect(predictor, &result));
        for (int64_t v = 0; v < voxels; v++) {
            const int64_t z = window.origin[0] + v / window.size[2] / window.size[1];
            const int64_t y = window.origin[1] + v / window.size[2] % window.size[1];
            const int64_t x = window.origin[2] + v % window.size[2], at = (z * Y + y) * X + x;
            if (z < keep.origin[0] || z >= keep.origin[0] + keep.size[0] || z >= Z) continue;
            if (y < keep.origin[1] || y >= keep.origin[1] + keep.size[1] || y >= Y) continue;
            if (x < keep.origin[2] || x >= keep.origin[2] + keep.size[2] || x >= X) continue;
            for (int k = 0; k < 3; k++) sum[k][at] += result.mean[k * voxels + v];
            seen[at]++;
        }
    }
done:
    if (r.backend != NULL) r.backend->predictor_free(&predictor);
    crd_scan_close(&scan);
    crd_free(&moments);
    crd_settings_clear(&crd_predict_settings, &options);
    return status;
}

static void test_three_classes(void)
{
    static const struct {
        const char *mode;
        double work;
    } cases[] = {{"seamless", 1.05e6}, {"overlap", 1.2e6}};
    static uint64_t sum[3][COUNT];
    static uint32_t seen[COUNT];
    static crd_exam exam;
    crd_dataset *data = NULL;
    crd_model *model = NULL;
    crd_baseline *baseline = NULL;
    CHECK_OK(make_data(3, &data));
    CHECK_OK(make_model(data, 3, &model));
    CHECK_OK(crd_baseline_learn(data, 3, (int64_t[]){16, 16, 16}, &baseline));
    const crd_held_blocks *blocks = crd_dataset_blocks(data);
    CHECK(blocks->count >= 8);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c += (size_t)sparse(2, "overlap")) {
        int64_t answers[3] = {0}, number = 0;
        memset(sum, 0, sizeof sum);
        memset(seen, 0, sizeof seen);
        CHECK_OK(hold(data, model, cases[c].mode, cases[c].work, baseline, &exam));
        CHECK(exam.count == blocks->count / 2 && !exam.broken);
        CHECK_OK(predict_three(data, model, cases[c].mode, exam.samples, sum, seen));
        for (int64_t i = 0; i < blocks->count; i++) {
            const crd_held_block *block = &blocks->blocks[i];
            int64_t network[3][3] = {{0}};
            double nll = 0.0;
            if (!block->exam) continue;
            for (int64_t v = 0; v < block->box.size[0] * block->box.size[1] * block->box.size[2]; v++) {
                const int64_t z = block->box.origin[0] + v / block->box.size[2] / block->box.size[1];
                const int64_t y = block->box.origin[1] + v / block->box.size[2] % block->box.size[1];
                const int64_t at = (z * Y + y) * X + block->box.origin[2] + v % block->box.size[2];
                const int label = label_voxels[at];
                int best = 0;
                if (label == 9) continue;
                for (int k = 1; k < 3; k++) best = sum[k][at] > sum[best][at] ? k : best;
                network[label][best]++;
                answers[best]++;
                const double right = ldexp((double)sum[label][at] / seen[at], -24);
                nll -= log(right < 1e-7 ? 1e-7 : right);
            }
            const crd_block_answers *found = &exam.blocks[number++];
            for (int k = 0; k < 9; k++) CHECK(found->network[k / 3][k % 3] == network[k / 3][k % 3]);
            CHECK_NEAR(found->nll, nll, 1e-9 * nll);
        }
        CHECK(answers[0] > 0 && answers[1] > 0 && answers[2] > 0);
    }
    crd_baseline_free(&baseline);
    crd_model_free(&model);
    crd_dataset_close(&data);
}

/* The threshold is the best there is, by trying all on the labels that aren't held back. */
static void test_baseline(void)
{
    crd_dataset *data = NULL;
    crd_baseline *baseline = NULL;
    double mean, std, grey[2], deviation[2];
    static uint8_t hidden[COUNT];
    CHECK_OK(make_data(2, &data));
    CHECK_OK(crd_baseline_learn(data, 2, (int64_t[]){16, 16, 16}, &baseline));
    CHECK(crd_baseline_majority(baseline) == 0);
    CHECK(crd_baseline_contrast(baseline) > 0.4 && !crd_baseline_contradicts(baseline));
    CHECK(crd_baseline_grey(baseline, 0, &grey[0], &deviation[0]) &&
          crd_baseline_grey(baseline, 1, &grey[1], &deviation[1]));
    CHECK(grey[1] > grey[0] && deviation[0] > 0.0);
    crd_scan_normalisation(crd_dataset_scan(data, 0), &mean, &std);
    for (int i = 0; i < COUNT; i++) hidden[i] = label_voxels[i] == 9 ? CRD_LABEL_NONE : label_voxels[i];
    crd_blocks_hide(crd_dataset_blocks(data), 0, &(crd_box){.size = {Z, Y, X}}, hidden);
    double best = 0.0, found = 0.0;
    for (int cut = -1; cut < 256; cut++) { /* -1: the baseline's */
        int64_t both = 0, sum = 0;
        for (int i = 0; i < COUNT; i++) {
            if (hidden[i] == CRD_LABEL_NONE) continue;
            const int answer =
                cut < 0 ? crd_baseline_answer(baseline, (float)((scan_voxels[i] - mean) / std)) : scan_voxels[i] >= cut;
            both += answer && hidden[i];
            sum += answer + hidden[i];
        }
        const double dice = 2.0 * (double)both / (double)sum;
        if (cut < 0) found = dice;
        best = dice > best ? dice : best;
    }
    CHECK_NEAR(found, best, 0.01); /* chunks overlap, so that it sees some voxels more often than others */
    crd_baseline_free(&baseline);
    crd_dataset_close(&data);
}

/* Figures of blocks made by hand; three classes; intervals that hold what made the blocks. */
static void test_figures(void)
{
    static crd_block_answers blocks[12];
    crd_heldout h = {0};
    memset(blocks, 0, sizeof blocks);
    blocks[0].network[1][1] = 30, blocks[0].network[1][0] = 10, blocks[0].network[0][0] = 60;
    blocks[1].network[1][1] = 50, blocks[1].network[0][1] = 20, blocks[1].network[0][0] = 30;
    for (int b = 0; b < 2; b++) {
        blocks[b].nll = 25.0;
        memcpy(blocks[b].threshold, blocks[b].network, sizeof blocks[b].threshold);
    }
    crd_heldout_figures(blocks, 2, 2, 0, &h);
    CHECK(h.exam_blocks == 2 && h.exam_voxels == 200);
    CHECK_NEAR(h.accuracy, 170.0 / 200.0, 1e-12);
    CHECK_NEAR(h.dice, 160.0 / 190.0, 1e-12);
    CHECK_NEAR(h.nll, 0.25, 1e-12);
    CHECK_NEAR(h.foreground_share, 0.45, 1e-12);
    CHECK_NEAR(h.majority_accuracy, 0.55, 1e-12);
    CHECK_NEAR(h.threshold_dice, h.dice, 1e-12);
    CHECK(h.dice_interval[0] < h.dice && h.dice < h.dice_interval[1] && h.dice_interval[1] < 1.0);
    CHECK(h.nll_interval[0] == h.nll_interval[1]); /* equal blocks */
    crd_heldout_figures(blocks, 1, 2, 0, &h);
    CHECK(isnan(h.dice_interval[0]) && !isnan(h.dice));

    /* Where all is right, the interval still holds that. */
    for (int b = 0; b < 2; b++) {
        memset(blocks[b].network, 0, sizeof blocks[b].network);
        blocks[b].network[1][1] = 40, blocks[b].network[0][0] = 60;
    }
    crd_heldout_figures(blocks, 2, 2, 0, &h);
    CHECK(h.accuracy == 1.0 && h.accuracy_interval[0] < 1.0 && h.accuracy_interval[1] == 1.0);
    CHECK(h.dice == 1.0 && h.dice_interval[1] == 1.0);

    const crd_confusion three = {{8, 1, 1}, {0, 5, 5}, {0, 0, 0}};
    CHECK_NEAR(crd_confusion_dice(three, 3), (16.0 / 18.0 + 10.0 / 16.0 + 0.0) / 3.0, 1e-12);
    const crd_confusion none = {{7, 0}, {0, 0}};
    CHECK(isnan(crd_confusion_dice(none, 2)));

    /* A thousand exams of twelve blocks whose accuracy varies around 0.9: the interval of nine in ten holds it. */
    const crd_stream noise = {.seed = 4, .purpose = CRD_PURPOSE_PHANTOM};
    int holds = 0;
    for (int trial = 0; trial < 1000; trial++) {
        for (int b = 0; b < 12; b++) {
            const double share = 0.9 + 0.05 * crd_random_normal(&noise, (uint64_t)(trial * 12 + b));
            const int64_t right = share < 1.0 ? (int64_t)(1000.0 * share + 0.5) : 1000;
            memset(&blocks[b], 0, sizeof blocks[b]);
            blocks[b].network[1][1] = right;
            blocks[b].network[0][1] = 1000 - right;
            blocks[b].nll = 300.0 + (double)b;
        }
        crd_heldout_figures(blocks, 12, 2, 0, &h);
        holds += h.accuracy_interval[0] <= 0.9 && 0.9 <= h.accuracy_interval[1];
    }
    CHECK(holds > 850 && holds < 950);
}

TEST_MAIN(TEST(test_same_as_prediction), TEST(test_three_classes), TEST(test_baseline), TEST(test_figures))
