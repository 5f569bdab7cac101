/* How much there is to compute in tiles: against the boxes of every single tile, and that the tiles chosen for a scan
 * hardly compute a voxel twice. */
#include "harness.h"
#include "predict/work.h"

enum { HALO = 40, STEP = 8, SAMPLES = 16 };

/* The layers' boxes of every tile, one after the other. */
static double add_up(const crd_net *net, const crd_plan *plan)
{
    double all = 0.0;
    for (int64_t i = 0; i < plan->count; i++) {
        crd_box window, keep;
        crd_crop crop;
        crd_plan_chunk(plan, i, &window, &keep);
        for (int axis = 0; axis < 3; axis++) keep.origin[axis] -= window.origin[axis];
        crd_crop_make(net, window.size, &keep, &crop);
        const crd_cost cost = crd_crop_cost(net, &crop);
        all += cost.encoder + SAMPLES * cost.decoder;
    }
    return all;
}

static void test_every_tile(void)
{
    static const struct {
        int64_t shape[3], tile[3], halo;
    } cases[] = {{{50, 70, 90}, {24, 32, 40}, 16},
                 {{200, 123, 64}, {40, 48, 64}, 40},
                 {{9, 300, 31}, {16, 64, 32}, 0},
                 {{176, 352, 352}, {176, 176, 176}, 40}};
    crd_net net;
    crd_tile_work work;
    CHECK_OK(crd_net_describe(CRD_BCNN, 16, 4, &net));
    crd_tiles_work(&net, SAMPLES, &work);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_plan plan;
        CHECK_OK(crd_plan_tiles(cases[i].shape, cases[i].tile, cases[i].halo, STEP, &plan));
        const double expected = add_up(&net, &plan);
        CHECK_NEAR(crd_plan_work(&plan, &work), expected, 1e-9 * expected);
    }
}

static void test_overhead(void)
{
    static const struct {
        int64_t shape[3], most;
        double times; /* the work without any halo, at most */
    } cases[] = {{{176, 352, 352}, 9000000, 1.07},
                 {{742, 1100, 1100}, CRD_GPU_TILE_VOXELS, 1.17},
                 {{2000, 2000, 2000}, CRD_GPU_TILE_VOXELS, 1.18},
                 {{64, 64, 64}, 9000000, 1.0}};
    crd_net net;
    crd_tile_work work;
    CHECK_OK(crd_net_describe(CRD_BCNN, 16, 4, &net));
    crd_tiles_work(&net, CRD_USUAL_SAMPLES, &work);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t tile[3], whole[3];
        double seen = 1.0;
        crd_plan plan;
        CHECK_OK(crd_plan_best_tile(cases[i].shape, HALO, STEP, cases[i].most, &work, tile));
        CHECK_OK(crd_plan_tiles(cases[i].shape, tile, HALO, STEP, &plan));
        for (int axis = 0; axis < 3; axis++) {
            seen *= (double)plan.axes[axis].window;
            whole[axis] = plan.axes[axis].extent;
        }
        const double once = crd_chunk_work(&net, whole, CRD_USUAL_SAMPLES), all = crd_plan_work(&plan, &work);
        const double before = seen * (double)plan.count / ((double)whole[0] * (double)whole[1] * (double)whole[2]);
        printf("       %lldx%lldx%lld: %lld tiles of %lld,%lld,%lld, %.3f times the work (all that is seen: %.3f)\n",
               (long long)cases[i].shape[0], (long long)cases[i].shape[1], (long long)cases[i].shape[2],
               (long long)plan.count, (long long)tile[0], (long long)tile[1], (long long)tile[2], all / once, before);
        CHECK(seen <= (double)cases[i].most && all <= cases[i].times * once);
    }
}

TEST_MAIN(TEST(test_every_tile), TEST(test_overhead))
