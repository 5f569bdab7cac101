/* Boxes to label next, on made-up maps; and how an exam is judged. */
#include <math.h>

#include "base/file.h"
#include "base/memory.h"
#include "harness.h"
#include "view/loop/proposals.h"
#include "view/loop/score.h"
#include "volume_tools.h"

enum { N = 64 };
static const int64_t shape[3] = {N, N, N}, size[3] = {16, 16, 16};

static void make(crd_candidates *c)
{
    crd_candidates_grid(shape, size, c);
    c->items = calloc((size_t)c->count, sizeof *c->items);
    for (int64_t i = 0; i < c->count; i++) {
        c->items[i].inside = true;
        c->items[i].edges = (double)(i % 8) / 16.0;
        c->items[i].uncertainty = 0.0625 + 0.5 * c->items[i].edges; /* exactly on a line */
        c->items[i].features[0] = (double)(i % 5);
        c->items[i].features[3] = c->items[i].edges;
    }
}

static void test_grid(void)
{
    crd_candidates c;
    crd_box box;
    make(&c);
    CHECK(c.counts[0] == 7 && c.count == 343 && c.step[2] == 8);
    crd_candidates_box(&c, 342, &box);
    CHECK(box.origin[0] == 48 && box.origin[2] == 48 && box.size[1] == 16);
    crd_candidates_free(&c);
    static const int64_t flat[3] = {1, 9, 5}, large[3] = {16, 64, 64};
    crd_candidates_grid(flat, large, &c); /* a scan smaller than a box: the box is the scan */
    CHECK(c.count == 1 && c.size[0] == 1 && c.size[1] == 9 && c.size[2] == 5);
    static const int64_t odd[3] = {33, 20, 70}, odd_size[3] = {9, 13, 17};
    crd_candidates_grid(odd, odd_size, &c);
    for (int64_t i = 0; i < c.count; i++) {
        crd_candidates_box(&c, i, &box);
        for (int k = 0; k < 3; k++) CHECK(box.origin[k] >= 0 && box.origin[k] + box.size[k] <= odd[k]);
    }
}

static void test_excess(void)
{
    static uint8_t states[343];
    crd_candidates c;
    crd_proposal chosen[CRD_PROPOSALS];
    double a, b;
    int count;
    make(&c);
    CHECK_OK(crd_propose(&c, states, CRD_PROPOSE_EXCESS, 8, chosen, &count, &a, &b));
    CHECK_NEAR(a, 0.0625, 1e-9);
    CHECK_NEAR(b, 0.5, 1e-9);
    c.items[100].uncertainty += 0.15; /* unsure beyond its edges */
    c.items[100].edges = 0.0;
    c.items[7].uncertainty = 0.6; /* the highest, at edges throughout */
    c.items[7].edges = 0.9;
    CHECK_OK(crd_propose(&c, states, CRD_PROPOSE_EXCESS, 8, chosen, &count, &a, &b));
    CHECK(count == 8 && chosen[0].candidate == 100 && chosen[0].excess > 0.1);
    CHECK_OK(crd_propose(&c, states, CRD_PROPOSE_MEAN, 8, chosen, &count, &a, &b));
    CHECK(count == 8 && chosen[0].candidate == 7);
    states[7] = CRD_CANDIDATE_NOT;
    c.items[100].inside = false;
    CHECK_OK(crd_propose(&c, states, CRD_PROPOSE_MEAN, 8, chosen, &count, &a, &b));
    for (int i = 0; i < count; i++) CHECK(chosen[i].candidate != 7 && chosen[i].candidate != 100);
    for (int i = 0; i < count; i++) { /* none overlaps another */
        for (int k = 0; k < i; k++) {
            crd_box one, other;
            crd_candidates_box(&c, chosen[i].candidate, &one);
            crd_candidates_box(&c, chosen[k].candidate, &other);
            bool apart = false;
            for (int d = 0; d < 3; d++) apart = apart || llabs(one.origin[d] - other.origin[d]) >= 16;
            CHECK(apart);
        }
    }
    memset(states, CRD_CANDIDATE_NOT, sizeof states);
    CHECK_OK(crd_propose(&c, states, CRD_PROPOSE_EXCESS, 8, chosen, &count, &a, &b));
    CHECK(count == 0);
    crd_candidates_free(&c);
}

/* Of two that are equally unsure the one comes first that is unlike what is labelled. */
static void test_unlike(void)
{
    static uint8_t states[343];
    crd_candidates c;
    crd_proposal chosen[CRD_PROPOSALS];
    double a, b;
    int count;
    make(&c);
    for (int64_t i = 0; i < c.count; i++) {
        c.items[i].edges = 0.1;
        c.items[i].uncertainty = 0.1;
        c.items[i].features[3] = 0.1;
        c.items[i].features[0] = i < 170 ? 0.0 : 10.0;
    }
    c.items[0].uncertainty = c.items[340].uncertainty = 0.3;
    c.items[0].uncertainty += 0.001; /* a little more, and like the labelled one */
    states[20] = CRD_CANDIDATE_LABELLED;
    CHECK_OK(crd_propose(&c, states, CRD_PROPOSE_EXCESS, 2, chosen, &count, &a, &b));
    CHECK(count == 2 && chosen[0].candidate == 340);
    states[20] = CRD_CANDIDATE_FREE;
    CHECK_OK(crd_propose(&c, states, CRD_PROPOSE_EXCESS, 2, chosen, &count, &a, &b));
    CHECK(count == 2 && chosen[0].candidate == 0 && chosen[1].candidate == 340);
    crd_candidates_free(&c);
}

static crd_status every_third(void *context, int64_t candidate, bool *free)
{
    ++*(int *)context;
    *free = candidate % 3 == 0;
    return CRD_OK;
}

static void test_random(void)
{
    crd_candidates c;
    crd_proposal chosen[2][CRD_PROPOSALS];
    int count, asked = 0;
    crd_candidates_grid(shape, size, &c);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(crd_propose_random(&c, 5, 1, every_third, &asked, 8, chosen[round], &count));
        CHECK(count == 8);
        for (int i = 0; i < count; i++) CHECK(chosen[round][i].candidate % 3 == 0 && isnan(chosen[round][i].excess));
    }
    for (int i = 0; i < 8; i++) CHECK(chosen[0][i].candidate == chosen[1][i].candidate);
    CHECK(asked < 200);
    CHECK_OK(crd_propose_random(&c, 5, 2, every_third, &asked, 8, chosen[1], &count));
    CHECK(chosen[0][0].candidate != chosen[1][0].candidate || chosen[0][1].candidate != chosen[1][1].candidate);
}

/* Volumes to figures, against sums voxel by voxel. */
static uint16_t scan[N * N * N];
static float unc[N * N * N];
static uint8_t seg[N * N * N], inside[N * N * N];

static crd_status lend(const void *voxels, crd_type type, const char *name, crd_volume **out)
{
    const crd_volume_info described = {.shape = {N, N, N}, .type = type, .scale = 1.0};
    return crd_volume_from_memory(voxels, &described, NULL, false, name, out);
}

static void test_measure(void)
{
    crd_candidate_sources from = {.uncertainty_scale = 0.5, .probability_scale = 1.0};
    crd_candidates c;
    bool done;
    for (int64_t i = 0; i < N * N * N; i++) {
        const int64_t z = i / N / N, y = i / N % N, x = i % N;
        scan[i] = (uint16_t)(1000 + (z * 7 + y * 13 + x * x) % 500);
        unc[i] = (float)((z + 2 * y + 3 * x) % 17) / 16.0F;
        seg[i] = (z / 9 + y / 11 + x / 7) % 2 == 0;
        inside[i] = x < 40;
    }
    unc[5] = NAN;
    CHECK_OK(lend(scan, CRD_U16, "p-scan", &from.scan));
    CHECK_OK(lend(unc, CRD_F32, "p-unc", &from.uncertainty));
    CHECK_OK(lend(seg, CRD_U8, "p-seg", &from.segmentation));
    CHECK_OK(lend(inside, CRD_U8, "p-mask", &from.mask));
    crd_candidates_grid(shape, size, &c);
    CHECK_OK(crd_candidates_measure(&from, NULL, NULL, &c, &done));
    CHECK(done);
    for (int64_t k = 0; k < c.count; k += 13) {
        crd_box box;
        double sum = 0, grey = 0, squares = 0, edges = 0, gradient = 0, marked = 0;
        crd_candidates_box(&c, k, &box);
        for (int64_t v = 0; v < 4096; v++) {
            const int64_t z = box.origin[0] + v / 256, y = box.origin[1] + v / 16 % 16, x = box.origin[2] + v % 16;
            const int64_t i = (z * N + y) * N + x, right = x + 1 < N ? i + 1 : i, down = y + 1 < N ? i + N : i;
            const int64_t deep = z + 1 < N ? i + N * N : i;
            const double dx = scan[right] - scan[i], dy = scan[down] - scan[i], dz = scan[deep] - scan[i];
            sum += isnan(unc[i]) ? 0.0 : (double)unc[i];
            grey += scan[i];
            squares += (double)scan[i] * scan[i];
            gradient += sqrt(dx * dx + dy * dy + dz * dz);
            edges += seg[i] != seg[right] || seg[i] != seg[down] || seg[i] != seg[deep];
            marked += inside[i];
        }
        const crd_candidate *item = &c.items[k];
        const double mean = grey / 4096;
        CHECK_NEAR(item->uncertainty, 0.5 * sum / 4096, 1e-6);
        CHECK_NEAR(item->edges, edges / 4096, 1e-9);
        CHECK_NEAR(item->features[0], mean, 1e-3);
        CHECK_NEAR(item->features[1], sqrt(squares / 4096 - mean * mean), 0.05);
        CHECK_NEAR(item->features[4], gradient / 4096, 1e-3 * gradient / 4096);
        CHECK(item->inside == (marked >= 0.9 * 4096));
    }
    crd_candidates_free(&c);
    crd_volume_close(&from.scan);
    crd_volume_close(&from.uncertainty);
    crd_volume_close(&from.segmentation);
    crd_volume_close(&from.mask);
}

static void test_score(void)
{
    const crd_exam_box boxes[] = {{.voxels = 1000, .wrong = 50, .nll = 200.0, .inaccurate = 40, .warned = 30},
                                  {.voxels = 3000, .wrong = 30, .nll = 300.0},
                                  {.voxels = 1000, .wrong = 20, .nll = 100.0, .inaccurate = 10, .warned = 5},
                                  {.voxels = 0}};
    crd_score score;
    char *text = NULL;
    crd_score_of(boxes, 4, &score);
    CHECK(score.boxes == 3 && score.voxels == 5000);
    CHECK_NEAR(score.error, 0.02, 1e-12);
    CHECK_NEAR(score.nll, 0.12, 1e-12);
    CHECK_NEAR(score.uncertain, 0.7, 1e-12);
    CHECK(score.error_interval[0] < 0.02 && score.error_interval[1] > 0.02 && score.error_interval[0] > 0.0);
    CHECK(score.uncertain_interval[0] <= 0.7 && score.uncertain_interval[1] >= 0.7);
    CHECK_OK(crd_score_write(scratch("score.json"), &score));
    CHECK_OK(crd_read_file(scratch("score.json"), 1 << 16, &text, NULL));
    CHECK(strstr(text, "\"enough\":true") != NULL && strstr(text, "\"error\":0.02") != NULL);
    crd_free(&text);
    crd_score_of(boxes, 1, &score);
    CHECK_NEAR(score.error, 0.05, 1e-12);
    CHECK(isnan(score.error_interval[0]));
    CHECK_OK(crd_score_write(scratch("score.json"), &score));
    CHECK_OK(crd_read_file(scratch("score.json"), 1 << 16, &text, NULL));
    CHECK(strstr(text, "\"enough\":false") != NULL && strstr(text, "\"error_interval\":null") != NULL);
    crd_free(&text);
    crd_score_of(boxes, 0, &score);
    CHECK(isnan(score.error) && score.boxes == 0);
    CHECK(crd_write_file(scratch("v.json"), "{}", 2) == CRD_OK);
    crd_exam_box box;
    CHECK_FAILS(crd_exam_box_read(scratch("v.json"), &box), CRD_ERR_FORMAT, "no figures");
}

static void test_rises(void)
{
    const bool warm[] = {false, true, true, true}, anew[] = {false, true, true, false};
    CHECK(!crd_score_rises((const double[]){0.1, 0.2}, warm, 2));
    CHECK(crd_score_rises((const double[]){0.1, 0.2, 0.3}, warm, 3));
    CHECK(!crd_score_rises((const double[]){0.1, 0.2, 0.15}, warm, 3));
    CHECK(!crd_score_rises((const double[]){0.1, 0.3, 0.2, 0.3}, warm, 4));
    CHECK(!crd_score_rises((const double[]){0.1, 0.2, 0.3, 0.4}, anew, 4)); /* it was trained from scratch */
}

TEST_MAIN(TEST(test_grid), TEST(test_excess), TEST(test_unlike), TEST(test_random), TEST(test_measure),
          TEST(test_score), TEST(test_rises))
