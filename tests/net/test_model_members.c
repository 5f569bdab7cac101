/* Ensembles in model files. */
#include <unistd.h>

#include "harness.h"
#include "model_tools.h"
#include "net/model.h"

/* An ensemble: the members' parameters apart, each with its own seed; what a file may lack and what it may not. */
static void test_members(void)
{
    static const struct {
        const char *what; /* is deleted, or gets the number */
        int64_t number;
        crd_status status;
        const char *words;
    } damages[] = {{"member/1/head/spatial/bias", 0, CRD_ERR_MISMATCH, "member/1/head/spatial/bias"},
                   {"member/2", 0, CRD_ERR_MISMATCH, "member/2/"},
                   {"members", 65, CRD_ERR_FORMAT, "must be 1 to 64"},
                   {"members", 4, CRD_ERR_MISMATCH, "member/3/"},
                   {"members", -1, CRD_ERR_FORMAT, "'members'"}};
    crd_model *model = NULL, *read = NULL, *first = NULL;
    crd_model_info info = {.kind = CRD_BCNN, .filters = 4, .members = 3, .config = "{\"estimator\": \"mean\"}"};
    char text[128];
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    CHECK_OK(crd_model_create(&info, 3, &model));
    const size_t bytes = (size_t)model->net.model.total * sizeof(float);
    for (int m = 0; m < 3; m++) {
        model->info.member[m] = (crd_member_info){.seed = 100 + m, .epoch = 7 - m, .check_nll = 0.25 * m};
        CHECK(m == 0 || memcmp(crd_model_member(model, m), crd_model_member(model, m - 1), bytes) != 0);
    }
    crd_model_summary(model, text, sizeof text);
    CHECK(strncmp(text, "3 members, each a bcnn, 4 filters", 33) == 0 && crd_model_at_means(model));
    CHECK_OK(crd_model_save(model, "members.h5"));
    CHECK_OK(crd_model_load("members.h5", &read));
    CHECK(read->info.members == 3 && memcmp(read->parameters, model->parameters, 3 * bytes) == 0);
    CHECK(memcmp(read->info.member, model->info.member, 3 * sizeof(crd_member_info)) == 0);
    CHECK_OK(crd_model_save(read, "again.h5"));
    CHECK(same_files("members.h5", "again.h5"));
    info.members = 1;
    CHECK_OK(crd_model_create(&info, 3, &first));
    CHECK(memcmp(first->parameters, model->parameters, bytes) == 0 && !crd_model_at_means(first));
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        crd_model *damaged = NULL;
        CHECK_OK(crd_model_save(model, "damaged.h5"));
        const hid_t file = H5Fopen("damaged.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        if (damages[i].number == 0) {
            (void)H5Ldelete(file, damages[i].what, H5P_DEFAULT);
        } else {
            put_number(file, damages[i].what, damages[i].number);
        }
        (void)H5Fclose(file);
        CHECK_FAILS(crd_model_load("damaged.h5", &damaged), damages[i].status, damages[i].words);
    }
    crd_model_member(model, 2)[5] = NAN;
    CHECK_FAILS(crd_model_save(model, "again.h5"), CRD_ERR_NUMERIC, "member/2/encoder");
    info.members = 65;
    crd_model_free(&first);
    CHECK_FAILS(crd_model_create(&info, 3, &first), CRD_ERR_ARGUMENT, "1 to 64 members");
    CHECK(crd_member_seed(5, 0) == 5 && crd_member_seed(5, 1) != crd_member_seed(6, 1));
    crd_model_free(&read);
    crd_model_free(&model);
    unlink("members.h5");
    unlink("again.h5");
    unlink("damaged.h5");
}

TEST_MAIN(TEST(test_members))
