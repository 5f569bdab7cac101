/* Where to look first, on made-up maps: what edges explain comes last, what they don't comes first. */
#include <math.h>

#include "harness.h"
#include "view/project.h"
#include "view/survey.h"
#include "volume_tools.h"

enum { CELLS = 10, BLOCK = 8 };

static int64_t cell_at(int64_t z, int64_t y, int64_t x)
{
    return (z * CELLS + y) * CELLS + x;
}

static void test_excess(void)
{
    static const int64_t cells[3] = {CELLS, CELLS, CELLS}, shape[3] = {CELLS * BLOCK, CELLS * BLOCK, CELLS * BLOCK};
    static float means[CELLS * CELLS * CELLS], edges[CELLS * CELLS * CELLS];
    static crd_look_survey survey;
    for (int64_t i = 0; i < CELLS * CELLS * CELLS; i++) { /* exactly on a line */
        edges[i] = (float)(i % 8) / 16.0F;
        means[i] = 0.0625F + 0.5F * edges[i];
    }
    CHECK_OK(crd_look_survey_of(means, edges, NULL, cells, BLOCK, shape, &survey));
    CHECK_NEAR(survey.a, 0.0625, 1e-6);
    CHECK_NEAR(survey.b, 0.5, 1e-6);
    means[cell_at(4, 5, 6)] += 0.15F; /* unsure without an edge, and lower than at edges elsewhere */
    edges[cell_at(4, 5, 6)] = 0.0F;
    means[cell_at(8, 2, 2)] = 0.4F; /* the highest, and at an edge throughout */
    edges[cell_at(8, 2, 2)] = 0.7F;
    CHECK_OK(crd_look_survey_of(means, edges, NULL, cells, BLOCK, shape, &survey));
    const crd_look_region *first = &survey.regions[CRD_BY_EXCESS][0], *highest = &survey.regions[CRD_BY_MEAN][0];
    CHECK(first->place.low[0] <= 32 && first->place.high[0] >= 40 && first->place.low[2] <= 48 &&
          first->place.high[2] >= 56);
    CHECK(highest->place.low[0] <= 64 && highest->place.high[0] >= 72);
    CHECK(first->excess > 0.0 && survey.counts[CRD_BY_MEAN] > 0);
}

/* Volumes to blocks: means, edges, and a NaN that counts as nothing. */
static void test_volumes(void)
{
    static const int64_t size[3] = {16, 24, 40};
    static float unc[16 * 24 * 40];
    static uint8_t seg[16 * 24 * 40];
    const crd_volume_info unc_info = {.shape = {16, 24, 40}, .type = CRD_F32, .scale = 1.0};
    const crd_volume_info seg_info = {.shape = {16, 24, 40}, .type = CRD_U8, .scale = 1.0};
    const crd_box all = {.size = {16, 24, 40}};
    crd_volume *maps[2] = {NULL, NULL};
    char paths[2][512];
    for (int64_t i = 0; i < 16 * 24 * 40; i++) {
        const int64_t z = i / 40 / 24, y = i / 40 % 24, x = i % 40;
        seg[i] = x >= 20;
        unc[i] = x == 19 ? 0.5F : 0.0F; /* at the edge, everywhere alike */
        if (z >= 8 && y >= 16 && x >= 32) unc[i] = 0.25F;
    }
    unc[0] = NAN;
    for (int k = 0; k < 2; k++) {
        snprintf(paths[k], sizeof paths[k], "%s", scratch(k == 0 ? "unc.npy" : "seg.npy"));
        CHECK_OK(crd_volume_create(paths[k], k == 0 ? &unc_info : &seg_info, NULL, &maps[k]));
        CHECK_OK(crd_volume_write(maps[k], &all, k == 0 ? (void *)unc : (void *)seg));
        CHECK_OK(crd_volume_commit(maps[k]));
        crd_volume_close(&maps[k]);
        CHECK_OK(crd_volume_open(paths[k], NULL, NULL, &maps[k]));
    }
    static crd_look_survey survey;
    bool done = false;
    CHECK_OK(crd_look_survey_make(maps[0], 1.0, maps[1], NULL, NULL, &survey, &done));
    CHECK(done && survey.counts[CRD_BY_EXCESS] >= 1);
    const crd_look_region *first = &survey.regions[CRD_BY_EXCESS][0];
    CHECK(first->place.low[0] == 8 && first->place.low[1] == 16 && first->place.low[2] == 32);
    CHECK(first->place.high[0] == size[0] && first->place.high[1] == size[1] && first->place.high[2] == size[2]);
    CHECK_NEAR(first->mean, 0.25, 1e-6);
    CHECK(first->edges == 0.0);
    crd_volume_close(&maps[0]);
    crd_volume_close(&maps[1]);
}

static void test_project(void)
{
    const crd_box box = {.origin = {1, 2, 3}, .size = {4, 5, 6}}, other = {.origin = {1, 2, 3}, .size = {4, 5, 7}};
    crd_project *project = NULL;
    char folder[512], file[600];
    snprintf(folder, sizeof folder, "%s", scratch("scan.view"));
    CHECK_OK(crd_project_open(folder, false, &project));
    CHECK(access(folder, F_OK) != 0 && !crd_project_looked(project, "run", &box));
    CHECK_OK(crd_project_look(project, "run", &box, true));
    CHECK(crd_project_looked(project, "run", &box) && !crd_project_looked(project, "run", &other) &&
          !crd_project_looked(project, "another", &box));
    crd_project_close(&project);
    CHECK_OK(crd_project_open(folder, false, &project));
    CHECK(crd_project_looked(project, "run", &box));
    CHECK_OK(crd_project_look(project, "run", &box, false));
    CHECK(!crd_project_looked(project, "run", &box));
    crd_project_close(&project);
    snprintf(file, sizeof file, "%s/view.json", folder);
    FILE *broken = fopen(file, "w");
    CHECK(broken != NULL);
    fputs("{\"version\": 2}", broken);
    fclose(broken);
    CHECK_FAILS(crd_project_open(folder, false, &project), CRD_ERR_UNSUPPORTED, "later version");
    (void)unlink(file);
    snprintf(file, sizeof file, "%s/lock", folder);
    (void)unlink(file);
    (void)rmdir(folder);
}

TEST_MAIN(TEST(test_excess), TEST(test_volumes), TEST(test_project))
