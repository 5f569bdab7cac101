/* Offsets against plain sums over samples, and against crd_predict; the list of shifts; what a model's file says of
 * them. */
#include "backend/choose.h"
#include "base/random/philox.h"
#include "credence/predict.h"
#include "harness.h"
#include "net/model.h"
#include "net/store/systematic.h"
#include "train/intervals/shifts.h"
#include "train/intervals/tries.h"
#include "train/intervals/windows.h"
#include "volume_tools.h"

enum { VOXELS = 500, SAMPLES = 70, PLANES = 3, WORDS = 2 };

typedef struct made_up {
    double p[SAMPLES][PLANES][VOXELS];
    uint32_t mean[PLANES * VOXELS], deviation[PLANES * VOXELS];
    uint64_t above[WORDS * PLANES * VOXELS];
    uint8_t label[VOXELS];
} made_up;

/* Probabilities of `samples` samples, and what a backend makes of them. Of one plane it is the foreground's. */
static void make_up(uint64_t seed, int planes, int samples, made_up *m)
{
    const crd_stream stream = {.seed = seed, .purpose = CRD_PURPOSE_AUGMENT};
    uint64_t at = 0;
    memset(m, 0, sizeof *m);
    for (int v = 0; v < VOXELS; v++) {
        const double u = crd_random_uniform(&stream, at++);
        m->label[v] = (uint8_t)(u < 0.2 ? CRD_LABEL_NONE : (int)(u * 97.0) % (planes > 1 ? 3 : 2));
        for (int s = 0; s < samples; s++) {
            double sum = 0.0;
            int best = 0;
            for (int c = 0; c < planes; c++) sum += m->p[s][c][v] = crd_random_uniform(&stream, at++);
            for (int c = 0; c < planes && planes > 1; c++) m->p[s][c][v] /= sum;
            for (int c = 1; c < planes; c++) best = m->p[s][c][v] > m->p[s][best][v] ? c : best;
            const bool above = planes > 1 || m->p[s][0][v] > 0.5;
            if (above) m->above[(s / 64 * planes + best) * VOXELS + v] |= UINT64_C(1) << s % 64;
        }
        for (int c = 0; c < planes; c++) {
            double mean = 0.0, square = 0.0;
            for (int s = 0; s < samples; s++) mean += m->p[s][c][v] / samples;
            for (int s = 0; s < samples; s++) square += pow(m->p[s][c][v] - mean, 2.0) / samples;
            m->mean[c * VOXELS + v] = (uint32_t)lrint(mean * 0x1p24);
            m->deviation[c * VOXELS + v] = (uint32_t)lrint(sqrt(square) * 0x1p24);
        }
    }
}

/* By the definition: (share of the label - mean share of the cut samples) / mean of p (1 - p), with p (1 - p) of the
 * limit of many samples, whose expectation is the mean of p_s (1 - p_t) over pairs of different samples. */
static double plain_offset(const made_up *m, int planes, int samples, int class)
{
    const int plane = planes > 1 ? class : 0;
    double error = 0.0, doubt = 0.0;
    int labelled = 0;
    for (int v = 0; v < VOXELS; v++) {
        if (m->label[v] == CRD_LABEL_NONE) continue;
        labelled++;
        error += m->label[v] == class;
        for (int s = 0; s < samples; s++) {
            bool chosen = m->p[s][plane][v] > 0.5;
            if (planes == 1 && class == 0) chosen = !chosen;
            for (int c = 0; c < planes && planes > 1; c++) {
                if (c == 0) chosen = true;
                if (m->p[s][c][v] > m->p[s][plane][v]) chosen = false;
            }
            error -= chosen ? 1.0 / samples : 0.0;
            for (int t = 0; t < samples; t++) {
                if (t != s) doubt += m->p[s][plane][v] * (1.0 - m->p[t][plane][v]) / samples / (samples - 1);
                if (samples == 1) doubt += m->p[s][plane][v] * (1.0 - m->p[t][plane][v]);
            }
        }
    }
    return (error / labelled) / (doubt / labelled);
}

static void test_offsets(void)
{
    static made_up m;
    static const int counts[] = {1, 2, 4, 64, 70};
    for (int planes = 1; planes <= PLANES; planes += 2) {
        const int classes = planes > 1 ? planes : 2;
        for (int i = 0; i < 5; i++) {
            crd_try_sums sums = {0};
            const int samples = counts[i];
            make_up((uint64_t)(10 * planes + i), planes, samples, &m);
            const crd_chunk_result result = {.mean = m.mean, .deviation = m.deviation, .above = m.above};
            crd_try_add(&result, m.label, VOXELS, classes, samples, &sums);
            for (int c = 0; c < classes; c++) {
                CHECK_NEAR(crd_try_offset(&sums, c, samples), plain_offset(&m, planes, samples, c), 1e-4);
            }
            crd_try_add(&result, m.label, VOXELS, classes, samples, &sums); /* twice the same: the same offset */
            CHECK_NEAR(crd_try_offset(&sums, 1, samples), plain_offset(&m, planes, samples, 1), 1e-4);
        }
    }
}

/* A network that is sure everywhere, and wrong somewhere, has a large offset, but one. */
static void test_certain(void)
{
    const crd_try_sums right = {.labelled = 10, .label = {5, 5}, .above = {20, 20}};
    const crd_try_sums wrong = {.labelled = 10, .label = {5, 5}, .above = {16, 24}};
    CHECK(crd_try_offset(&right, 1, 4) == 0.0);
    CHECK(isfinite(crd_try_offset(&wrong, 1, 4)) && crd_try_offset(&wrong, 1, 4) < -1e5);
}

static void test_shifts(void)
{
    static const int64_t size[3] = {8, 8, 8};
    char name[CRD_SHIFT_NAME_TEXT], other[CRD_SHIFT_NAME_TEXT];
    const crd_grey_change none = crd_shift_of(0, 0, size, 1.0);
    crd_shift_name(0, name, sizeof name);
    CHECK(strcmp(name, "none") == 0);
    CHECK(none.blur == 0.0 && none.sharpen == 0.0 && none.bend == 0.0 && none.noise == 0.0 && none.gain == 1.0);
    CHECK(none.drift[0].height == 0.0 && none.offset == 0.0);
    for (int i = 1; i < CRD_SHIFTS; i++) {
        const crd_grey_change a = crd_shift_of(i, 0, size, 1.0), b = crd_shift_of(i, 0, size, 2.0);
        crd_shift_name(i, name, sizeof name);
        CHECK(strlen(name) > 0 && strlen(name) < sizeof name - 1 && strchr(name, ';') == NULL);
        for (int k = 0; k < i; k++) {
            crd_shift_name(k, other, sizeof other);
            CHECK(strcmp(name, other) != 0);
        }
        CHECK((strstr(name, "noise") != NULL) == (a.noise > 0.0) && (strstr(name, "blur") != NULL) == (a.blur > 0.0));
        CHECK((strstr(name, "drift") != NULL) == (a.drift[2].height > 0.0));
        CHECK(b.noise == 2.0 * a.noise && b.drift[1].height == 2.0 * a.drift[1].height && b.bend == a.bend);
        CHECK(a.gain == 1.0 && a.offset == 0.0); /* normalisation would take them away again */
    }
}

static void test_outside(void)
{
    float voxels[16], changed[8];
    uint8_t inside[16];
    for (int i = 0; i < 16; i++) {
        voxels[i] = (float)i;
        inside[i] = i % 3 != 0;
        changed[i % 8] = 100.0f;
    }
    const crd_try_windows w = {.count = 2, .size = {2, 2, 2}, .voxels = voxels, .inside = inside};
    crd_try_window_keep_outside(&w, 1, changed);
    for (int i = 0; i < 8; i++) CHECK((double)changed[i] == ((8 + i) % 3 != 0 ? 100.0 : 8.0 + i));
}

static void fill(int classes, crd_systematic *s)
{
    *s = (crd_systematic){.shifts = 5, .voxels = 1234, .samples = 4};
    for (int i = 0; i < 5; i++) {
        snprintf(s->names[i], sizeof s->names[i], "noise %d, blur 0.%d", i, i);
        for (int c = 0; c < classes; c++) s->offsets[i][c] = (i % 2 == 0 ? 0.1 : -0.1) * ((i * 3 + c) % 5);
    }
    crd_systematic_conclude(classes, s);
}

static void test_medians(void)
{
    crd_systematic s = {.shifts = 4, .offsets = {{-3.0, 0.0}, {1.0, 0.0}, {2.0, 0.0}, {-10.0, 0.0}}};
    crd_systematic_conclude(2, &s);
    CHECK(s.median[0] == 2.5 && s.median[1] == 0.0);
    s.shifts = 3;
    crd_systematic_conclude(2, &s);
    CHECK(s.median[0] == 2.0);
}

static void test_through_a_file(void)
{
    for (int classes = 2; classes <= 3; classes++) {
        const crd_model_info info = {
            .kind = CRD_MCDN, .filters = 4, .groups = 4, .classes = classes, .class_values = {0, 1, 2}};
        crd_model *model = NULL, *again = NULL;
        CHECK_OK(crd_model_create(&info, 1, &model));
        CHECK_OK(crd_model_save(model, scratch("without.h5")));
        CHECK_OK(crd_model_load(scratch("without.h5"), &again));
        CHECK(again->info.systematic.shifts == 0);
        crd_model_free(&again);
        fill(classes, &model->info.systematic);
        CHECK_OK(crd_model_save(model, scratch("m.h5")));
        CHECK_OK(crd_model_load(scratch("m.h5"), &again));
        CHECK(memcmp(&again->info.systematic, &model->info.systematic, sizeof(crd_systematic)) == 0);
        crd_model_free(&again);
        model->info.systematic.offsets[2][1] += 0.5; /* the median isn't theirs any more */
        CHECK_OK(crd_model_save(model, scratch("bad.h5")));
        CHECK_FAILS(crd_model_load(scratch("bad.h5"), &again), CRD_ERR_FORMAT, "damaged");
        fill(classes, &model->info.systematic);
        model->info.systematic.offsets[0][0] = model->info.systematic.median[0] = (double)NAN;
        CHECK_OK(crd_model_save(model, scratch("bad.h5")));
        CHECK_FAILS(crd_model_load(scratch("bad.h5"), &again), CRD_ERR_FORMAT, "damaged");
        fill(classes, &model->info.systematic);
        strcpy(model->info.systematic.names[1], "one; two"); /* six names of five */
        CHECK_OK(crd_model_save(model, scratch("bad.h5")));
        CHECK_FAILS(crd_model_load(scratch("bad.h5"), &again), CRD_ERR_FORMAT, "damaged");
        crd_model_free(&model);
    }
}

enum { Z = 32, Y = 64, X = 64, COUNT = Z * Y * X };

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

/* Balls in noise, labelled but for every 11th voxel. */
static crd_status make_data(crd_dataset **out)
{
    static const double ignored = 9.0;
    const crd_dataset_options options = {.chunk = {Z, Y, X},
                                         .step = 1,
                                         .norm = {.mode = CRD_NORM_LEVELS},
                                         .label = {.classes_most = 2, .ignore = &ignored, .ignore_count = 1},
                                         .seed = 3,
                                         .held_back = 0.2};
    const crd_stream noise = {.seed = 8, .purpose = CRD_PURPOSE_PHANTOM};
    for (int i = 0; i < COUNT; i++) {
        const int dz = i / X / Y % 12 - 6, dy = i / X % Y % 13 - 6, dx = i % X % 12 - 6;
        const int class = dz * dz + dy * dy + dx * dx < 26;
        scan_voxels[i] = (uint8_t)(90.0 + 50.0 * class + 20.0 * crd_random_normal(&noise, (uint64_t)i));
        label_voxels[i] = (uint8_t)(i % 11 == 0 ? 9 : class);
    }
    CRD_PASS(save("scan.npy", scan_voxels));
    CRD_PASS(save("label.npy", label_voxels));
    CRD_PASS(crd_dataset_create(&options, out));
    CRD_PASS(crd_dataset_add(*out, scratch("scan.npy"), scratch("label.npy"), NULL, NULL));
    return crd_dataset_settle(out, 1, NULL);
}

/* Neither all 0 nor all 1, and from chunks large enough for tiles. */
static crd_status make_model(const crd_dataset *data, crd_model **model)
{
    const crd_model_info info = {
        .kind = CRD_BCNN, .filters = 8, .groups = 4, .chunk = {Z, Y, X}, .calibration = 0.02, .norm = "levels"};
    crd_pieces pieces;
    CRD_PASS(crd_model_create(&info, 3, model));
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

/* Of the samples of a prediction: shares above one half, and p (1 - p) of the limit of many. */
static crd_status predict_sums(const uint8_t *label, double *above, double *doubt)
{
    static float p[CRD_TRY_SAMPLES][COUNT];
    const crd_box whole = {.size = {Z, Y, X}};
    crd_predict_options options;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch("run"));
    CRD_PASS(crd_settings_default(&crd_predict_settings, &options));
    CRD_PASS(crd_settings_set(&crd_predict_settings, &options, "model", scratch("model.h5")));
    CRD_PASS(crd_settings_set(&crd_predict_settings, &options, "scan", scratch("scan.npy")));
    CRD_PASS(crd_settings_set(&crd_predict_settings, &options, "output", folder));
    CRD_PASS(crd_settings_set(&crd_predict_settings, &options, "samples", "4"));
    CRD_PASS(crd_settings_set(&crd_predict_settings, &options, "mode", "seamless"));
    CRD_PASS(crd_settings_set(&crd_predict_settings, &options, "save-samples", "f32"));
    CRD_PASS(crd_settings_set(&crd_predict_settings, &options, "device", "cpu"));
    CRD_PASS(crd_predict(&options, NULL, NULL));
    crd_settings_clear(&crd_predict_settings, &options);
    for (int s = 0; s < CRD_TRY_SAMPLES; s++) {
        crd_volume *volume = NULL;
        char path[600];
        snprintf(path, sizeof path, "%s/scan_sample_%d.npy", folder, s);
        CRD_PASS(crd_volume_open(path, NULL, NULL, &volume));
        CRD_PASS(crd_volume_read(volume, &whole, CRD_F32, p[s]));
        crd_volume_close(&volume);
    }
    for (int v = 0; v < COUNT; v++) {
        double mean = 0.0, square = 0.0;
        if (label[v] == CRD_LABEL_NONE) continue;
        for (int s = 0; s < CRD_TRY_SAMPLES; s++) {
            *above += (double)(p[s][v] > 0.5f) / CRD_TRY_SAMPLES;
            mean += (double)p[s][v] / CRD_TRY_SAMPLES;
        }
        for (int s = 0; s < CRD_TRY_SAMPLES; s++) square += pow((double)p[s][v] - mean, 2.0) / CRD_TRY_SAMPLES;
        *doubt += mean * (1.0 - mean) + square / (CRD_TRY_SAMPLES - 1);
    }
    return CRD_OK;
}

/* The scan as it is: what crd_predict finds in it, over the labels that aren't held back. */
static void test_same_as_prediction(void)
{
    static uint8_t label[COUNT];
    crd_dataset *data = NULL;
    crd_model *model = NULL;
    const crd_device_choice choice = {.device = "cpu"};
    const crd_box whole = {.size = {Z, Y, X}};
    const double paid = COUNT * (double)CRD_SHIFTS * (CRD_TRY_SAMPLES + 1);
    crd_device_settings device;
    crd_tries_outcome outcome;
    crd_systematic found;
    double above = 0.0, doubt = 0.0, foreground = 0.0;
    CHECK_OK(make_data(&data));
    CHECK_OK(make_model(data, &model));
    crd_tries_plan plan = {.data = data, .model = model, .device = &device, .dist = crd_dist_current(), .seed = 3};
    CHECK_OK(crd_backend_choose(&choice, &plan.backend, &device));
    plan.work = 0.99 * paid;
    CHECK_OK(crd_tries_make(&plan, &found, &outcome));
    CHECK(outcome == CRD_TRIES_TOO_DEAR && found.shifts == 0);
    if (sparse(2, "offsets that are paid for") > 1) goto done;
    plan.work = paid;
    CHECK_OK(crd_tries_make(&plan, &found, &outcome));
    CHECK(outcome == CRD_TRIES_DONE && found.shifts == CRD_SHIFTS && found.samples == CRD_TRY_SAMPLES);
    for (int v = 0; v < COUNT; v++) label[v] = label_voxels[v] == 9 ? CRD_LABEL_NONE : label_voxels[v];
    CHECK(crd_dataset_blocks(data)->count > 0);
    crd_dataset_hide(data, 0, &whole, label);
    CHECK(found.voxels == crd_label_count(label, COUNT));
    CHECK_OK(predict_sums(label, &above, &doubt));
    for (int v = 0; v < COUNT; v++) foreground += label[v] == 1;
    CHECK_NEAR(found.offsets[0][1], (foreground - above) / doubt, 1e-4 * fabs(foreground - above) / doubt);
    CHECK(found.offsets[0][0] == -found.offsets[0][1]);
    for (int i = 1; i < CRD_SHIFTS; i++) CHECK(found.offsets[i][1] != found.offsets[0][1]); /* they change something */
done:
    crd_model_free(&model);
    crd_dataset_close(&data);
}

TEST_MAIN(TEST(test_same_as_prediction), TEST(test_offsets), TEST(test_certain), TEST(test_shifts), TEST(test_outside),
          TEST(test_medians), TEST(test_through_a_file))
