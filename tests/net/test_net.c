/* The network as data: counts, paths, offsets, and chunk sizes. */
#include "harness.h"
#include "net/net.h"

static const crd_parameter *find(const crd_layout *layout, const char *path)
{
    for (int i = 0; i < layout->count; i++)
        if (strcmp(layout->parameters[i].path, path) == 0) return &layout->parameters[i];
    return NULL;
}

static void test_parameter_counts(void)
{
    static const struct {
        crd_kind kind;
        int filters;
        int64_t parameters;
        int classes;
    } cases[] = {{CRD_BCNN, 16, 1924964, 2}, {CRD_MCDN, 16, 1403059, 2}, {CRD_BCNN, 8, 482292, 2},
                 {CRD_MCDN, 8, 351707, 2},   {CRD_BCNN, 8, 483176, 3},   {CRD_MCDN, 8, 352151, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crd_net net;
        CHECK_OK(crd_net_describe_classes(cases[i].kind, cases[i].filters, 4, cases[i].classes, &net));
        CHECK(net.classes == cases[i].classes && crd_net_planes(&net) == (net.classes == 2 ? 1 : net.classes));
        CHECK(net.model.total == cases[i].parameters);
    }
    crd_net bcnn, mcdn;
    CHECK_OK(crd_net_describe(CRD_BCNN, 16, 4, &bcnn));
    CHECK_OK(crd_net_describe(CRD_MCDN, 16, 4, &mcdn));
    CHECK(memcmp(&bcnn.point, &mcdn.point, sizeof bcnn.point) == 0);
    CHECK(memcmp(&mcdn.model, &mcdn.point, sizeof mcdn.model) == 0);
}

/* Every value of the flat buffer belongs to one parameter, and the tables by layer point at the same places. */
static void check_layout(const crd_net *net, const crd_layout *layout, bool bayesian)
{
    int64_t next = 0;
    for (int i = 0; i < layout->count; i++) {
        const crd_parameter *p = &layout->parameters[i];
        int64_t count = 1;
        for (int axis = 0; axis < p->rank; axis++) count *= p->shape[axis];
        CHECK(p->offset == next && p->count == count && count > 0);
        next += count;
        const int64_t *by_layer = p->role == CRD_ROLE_RHO     ? layout->rho
                                  : p->role == CRD_ROLE_BIAS  ? layout->bias
                                  : p->role == CRD_ROLE_GAMMA ? layout->gamma
                                  : p->role == CRD_ROLE_BETA  ? layout->beta
                                                              : layout->kernel;
        CHECK(by_layer[p->layer] == p->offset);
        for (int j = 0; j < i; j++) CHECK(strcmp(layout->parameters[j].path, p->path) != 0);
    }
    CHECK(next == layout->total);
    for (int i = 0; i < net->layer_count; i++) {
        CHECK(layout->kernel[i] >= 0 && layout->bias[i] >= 0);
        CHECK((layout->rho[i] >= 0) == (bayesian && net->layers[i].bayesian));
        CHECK((layout->gamma[i] >= 0) == net->layers[i].norm);
        CHECK((layout->beta[i] >= 0) == net->layers[i].norm);
    }
}

static void test_layouts(void)
{
    crd_net net;
    CHECK_OK(crd_net_describe(CRD_BCNN, 8, 4, &net));
    check_layout(&net, &net.model, true);
    check_layout(&net, &net.point, false);
}

static void test_paths_and_shapes(void)
{
    crd_net net;
    CHECK_OK(crd_net_describe(CRD_BCNN, 16, 4, &net));
    const crd_parameter *p = find(&net.model, "encoder/1/a/kernel");
    CHECK(p != NULL && p->rank == 5 && p->shape[0] == 3 && p->shape[3] == 1 && p->shape[4] == 16);
    p = find(&net.model, "decoder/3/up/kernel_loc");
    CHECK(p != NULL && p->layer == 8 && p->shape[0] == 2 && p->shape[3] == 128 && p->shape[4] == 64);
    p = find(&net.model, "decoder/3/merge/gamma");
    CHECK(p != NULL && p->layer == 19 && p->rank == 1 && p->shape[0] == 128);
    p = find(&net.model, "decoder/1/a/kernel_rho");
    CHECK(p != NULL && p->shape[3] == 32 && p->shape[4] == 16);
    p = find(&net.model, "head/point/kernel_loc");
    CHECK(p != NULL && p->count == 1 && p->shape[0] == 1);
    CHECK(find(&net.model, "head/spatial/gamma") == NULL);
    CHECK(find(&net.model, "decoder/3/up/kernel") == NULL);
    CHECK(find(&net.point, "decoder/3/up/kernel") != NULL);
    CHECK(net.mask_total == 16 * (8 + 4 + 2 + 1));
    CHECK(net.mask_offset[3] == 16 * (8 + 4 + 2));
}

static void test_bad_networks(void)
{
    crd_net net;
    CHECK_FAILS(crd_net_describe(CRD_BCNN, 10, 4, &net), CRD_ERR_ARGUMENT, "multiple of the groups");
    CHECK_FAILS(crd_net_describe(CRD_BCNN, 0, 4, &net), CRD_ERR_ARGUMENT, "0 base filters");
    CHECK_FAILS(crd_net_describe(CRD_BCNN, 16, 0, &net), CRD_ERR_ARGUMENT, "0 normalisation groups");
    CHECK_FAILS(crd_net_describe(CRD_BCNN, 2048, 4, &net), CRD_ERR_ARGUMENT, "at most 1024");
    CHECK_FAILS(crd_net_describe_classes(CRD_BCNN, 16, 4, 1, &net), CRD_ERR_ARGUMENT, "2 to 16");
    CHECK_FAILS(crd_net_describe_classes(CRD_BCNN, 16, 4, 17, &net), CRD_ERR_ARGUMENT, "2 to 16");
    CHECK_FAILS(crd_net_describe((crd_kind)7, 16, 4, &net), CRD_ERR_ARGUMENT, "bcnn or mcdn");
}

static void test_chunks(void)
{
    CHECK_OK(crd_net_check_chunk(NULL, (int64_t[]){88, 176, 176}));
    CHECK_OK(crd_net_check_chunk(NULL, (int64_t[]){8, 8, 8}));
    CHECK_FAILS(crd_net_check_chunk(NULL, (int64_t[]){88, 172, 172}), CRD_ERR_ARGUMENT, "use 88,168,168 or 88,176,176");
    CHECK_FAILS(crd_net_check_chunk(NULL, (int64_t[]){4, 16, 16}), CRD_ERR_ARGUMENT, "use 8,16,16");
    CHECK_FAILS(crd_net_check_chunk(NULL, (int64_t[]){-8, 16, 16}), CRD_ERR_ARGUMENT, "use 8,16,16");
    CHECK_FAILS(crd_net_check_chunk(NULL, (int64_t[]){INT64_MAX, 16, 16}), CRD_ERR_ARGUMENT, "use 1048576,16,16");
}

TEST_MAIN(TEST(test_parameter_counts), TEST(test_layouts), TEST(test_paths_and_shapes), TEST(test_bad_networks),
          TEST(test_chunks))
