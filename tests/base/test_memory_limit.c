/* Limits of control groups, in a made-up tree of both versions. */
#include <sys/stat.h>

#include "base/memory.h"
#include "base/memory_limit.h"
#include "harness.h"
#include "volume_tools.h"

static void write_text(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s", scratch(name));
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int64_t left(const char *groups, const char *mount)
{
    char where[512];
    write_text("groups", groups);
    snprintf(where, sizeof where, "%s", scratch(mount));
    return crd_memory_left_by_groups(scratch("groups"), where);
}

/* As Slurm nests them: the job has a limit, the step in it none. */
static void test_newer(void)
{
    write_text("new/slurm/job_7/memory.max", "16000\n");
    write_text("new/slurm/job_7/memory.current", "9000\n");
    write_text("new/slurm/job_7/memory.stat", "anon 3000\ninactive_file 4000\nactive_file 1000\n");
    write_text("new/slurm/job_7/step_0/memory.max", "max\n");
    CHECK(left("0::/slurm/job_7/step_0\n", "new") == 16000 - (9000 - 5000));
    CHECK(left("0::/slurm/job_7\n", "new") == 12000);
    CHECK(left("0::/slurm\n", "new") == INT64_MAX);
    write_text("new/slurm/job_7/step_0/memory.max", "5000\n");
    write_text("new/slurm/job_7/step_0/memory.current", "6000\n");
    CHECK(left("0::/slurm/job_7/step_0\n", "new") == 0);
    /* A container that sees its own group as the top, by whatever name the host has for it. */
    write_text("inside/memory.max", "700\n");
    CHECK(left("0::/docker/0123\n", "inside") == 700 && left("0::/\n", "inside") == 700);
}

static void test_older(void)
{
    write_text("old/memory/a/memory.limit_in_bytes", "5000\n");
    write_text("old/memory/a/memory.usage_in_bytes", "2000\n");
    write_text("old/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 600\ntotal_active_file 400\n");
    write_text("old/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(left("11:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n", "old") == 4000);
    CHECK(left("4:hugetlb,memory:/a\n", "old") == 4000);
    CHECK(left("4:memoryless:/a\n1:name=systemd:/a\n", "old") == INT64_MAX);
    write_text("old/unified/c/memory.max", "300\n");
    CHECK(left("4:memory:/a\n0::/c\n", "old") == 300);
}

static void test_odd(void)
{
    CHECK(crd_memory_left_by_groups(scratch("absent"), scratch("new")) == INT64_MAX);
    CHECK(left("", "new") == INT64_MAX && left("nonsense\n:\n::\n", "new") == INT64_MAX);
    CHECK(crd_available_memory() > 0);
}

TEST_MAIN(TEST(test_newer), TEST(test_older), TEST(test_odd))
