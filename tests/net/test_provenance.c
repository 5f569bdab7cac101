/* What a model learnt from, through its file; files that can't be. */
#include "harness.h"
#include "net/model.h"
#include "volume_tools.h"

static const int64_t shape[3] = {20, 33, 70};

static crd_status fill(crd_model *model)
{
    crd_learnt_scan *scan;
    const crd_learnt_block blocks[2] = {{.box = {{8, 16, 24}, {8, 8, 8}}, .margin = 4, .exam = true},
                                        {.box = {{0, 0, 56}, {16, 16, 8}}, .margin = 8}};
    CRD_PASS(crd_provenance_add(&model->provenance, "aa", shape, &scan));
    for (int64_t n = 0; n < 3 * 5 * 9; n += 7) crd_learnt_mark(scan->cells, n);
    CRD_PASS(crd_learnt_set_blocks(scan, blocks, 2));
    return crd_provenance_add(&model->provenance, "bb", shape, &scan);
}

static void test_through_a_file(void)
{
    const crd_model_info info = {.kind = CRD_MCDN, .filters = 4, .groups = 4};
    crd_model *model = NULL, *again = NULL;
    CHECK_OK(crd_model_create(&info, 1, &model));
    CHECK(!model->provenance.known);
    CHECK_OK(fill(model));
    CHECK_OK(crd_model_save(model, scratch("m.h5")));
    CHECK_OK(crd_model_load(scratch("m.h5"), &again));
    CHECK(again->provenance.known && again->provenance.count == 2);
    CHECK(crd_provenance_find(&again->provenance, "cc") == NULL);
    const crd_learnt_scan *scan = crd_provenance_find(&again->provenance, "aa");
    CHECK(scan != NULL && scan->block_count == 2 && scan->blocks[0].exam && !scan->blocks[1].exam);
    CHECK(scan->blocks[1].box.origin[2] == 56 && scan->blocks[1].margin == 8);
    for (int64_t z = 0; z < shape[0]; z++) {
        for (int64_t y = 0; y < shape[1]; y++) {
            for (int64_t x = 0; x < shape[2]; x++) {
                const bool learnt = ((z / 8 * 5 + y / 8) * 9 + x / 8) % 7 == 0;
                CHECK(crd_learnt_at(scan, z, y, x) == learnt);
                CHECK(crd_learnt_in(scan, &(crd_box){{z, y, x}, {1, 1, 1}}) == learnt);
            }
        }
    }
    CHECK(!crd_learnt_at(scan, -1, 0, 0) && !crd_learnt_at(scan, 0, 0, shape[2]));
    CHECK(crd_learnt_in(scan, &(crd_box){.size = {20, 33, 70}}));
    CHECK(!crd_learnt_in(&again->provenance.scans[1], &(crd_box){.size = {20, 33, 70}}));
    crd_model_free(&again);
    /* A block outside its scan. */
    model->provenance.scans[0].blocks[0].box.origin[0] = 13;
    CHECK_OK(crd_model_save(model, scratch("bad.h5")));
    CHECK_FAILS(crd_model_load(scratch("bad.h5"), &again), CRD_ERR_FORMAT, "damaged");
    crd_model_free(&model);
}

/* As damaged files may name it; sanitizers see what overflows. */
static void test_enormous_scan(void)
{
    const int64_t longest[3] = {INT64_MAX, 8, 1};
    int64_t cells[3], words;
    CHECK_OK(crd_learnt_size(longest, cells, &words));
    CHECK(cells[0] == INT64_C(1) << 60 && cells[1] == 1 && cells[2] == 1 && words == INT64_C(1) << 54);
}

TEST_MAIN(TEST(test_through_a_file), TEST(test_enormous_scan))
