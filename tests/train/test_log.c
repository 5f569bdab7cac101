/* The training log: what a training that goes on keeps of it, and that a kill can't leave it half. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "harness.h"
#include "train/log.h"
#include "volume_tools.h"

static void line(char *text, int member, int step)
{
    char one[128];
    snprintf(one, sizeof one, "{\"member\":%d,\"step\":%d,\"epoch\":1,\"bce\":0.5,\"seconds\":%d.000}\n", member, step,
             step);
    strcat(text, one);
}

static void check_content(const char *path, const char *wanted)
{
    char *text = NULL;
    CHECK_OK(crd_read_file(path, 1 << 20, &text, NULL));
    CHECK(strcmp(text, wanted) == 0);
    crd_free(&text);
}

/* Members that were trained side by side: lines between those that stay go, and a last one that was cut. */
static void test_keeps_lines_of_each_member(void)
{
    char path[600], before[600], text[2048] = "", wanted[2048] = "";
    const int64_t resumed_at[2] = {1, 3};
    double seconds;
    crd_train_log *log = NULL;
    for (int step = 1; step <= 4; step++) {
        for (int member = 0; member < 2; member++) {
            line(text, member, step);
            if (step <= resumed_at[member]) line(wanted, member, step);
        }
    }
    strcat(text, "{\"member\":0,\"st");
    snprintf(path, sizeof path, "%s", scratch("side.jsonl"));
    snprintf(before, sizeof before, "%s", scratch("before.jsonl"));
    CHECK_OK(crd_write_file(path, text, strlen(text)));
    CHECK(link(path, before) == 0);
    CHECK_OK(crd_log_open(path, 2, resumed_at, NULL, NULL, &log, &seconds));
    crd_log_close(&log);
    check_content(path, wanted);
    CHECK(seconds == 3.0);
    check_content(before, text); /* the new one took its place whole: a kill would have left one or the other */
}

/* What a power cut leaves of bytes that hadn't arrived. */
static void test_drops_zeros_at_the_end(void)
{
    char path[600], text[2048] = "", wanted[2048];
    const int64_t resumed_at = 2;
    double seconds;
    crd_train_log *log = NULL;
    line(text, 0, 1);
    line(text, 0, 2);
    memcpy(wanted, text, sizeof wanted);
    snprintf(path, sizeof path, "%s", scratch("zeros.jsonl"));
    CHECK_OK(crd_write_file(path, text, strlen(text) + 300));
    CHECK_OK(crd_log_open(path, 1, &resumed_at, NULL, NULL, &log, &seconds));
    CHECK_OK(crd_log_add(log, &(crd_log_step){.step = 3, .epoch = 1, .seconds = 3.5}, NULL, NULL, 0));
    CHECK_OK(crd_log_flush(log));
    crd_log_close(&log);
    strcat(wanted, "{\"step\":3,\"epoch\":1,\"bce\":0,\"kl\":0,\"kl_weight\":0,\"loss\":0,\"seconds\":3.500}\n");
    check_content(path, wanted);
}

TEST_MAIN(TEST(test_keeps_lines_of_each_member), TEST(test_drops_zeros_at_the_end))
