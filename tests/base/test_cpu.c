/* What base/cpu.h says of this processor, against what the system says of it. */
#include "base/cpu.h"

#include <pthread.h>

#include "base/thread.h"
#include "harness.h"

static const struct {
    crd_cpu level;
    const char *flags[5];
} wanted[] = {{CRD_CPU_AVX2, {" avx2", " fma"}},
              {CRD_CPU_AVX512, {" avx2", " avx512f", " avx512bw", " avx512dq", " avx512vl"}},
              {CRD_CPU_AVX512_BF16, {" avx512f", " avx512bw", " avx512dq", " avx512vl", " avx512_bf16"}}};

static void test_as_the_system_says(void)
{
    static char line[1 << 16];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) found = strncmp(line, "flags", 5) == 0;
    if (file != NULL) (void)fclose(file);
    if (!found) {
        skip_part("the system's list", "there is none of this processor's instructions");
        return;
    }
    if (emulated()) {
        skip_part("the system's list", "it is the machine's, and another one is emulated");
        return;
    }
    line[strcspn(line, "\n")] = ' '; /* each flag has a space on both sides */
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        bool all = true;
        for (int f = 0; f < 5 && wanted[i].flags[f] != NULL; f++) {
            char flag[32];
            snprintf(flag, sizeof flag, "%s ", wanted[i].flags[f]);
            all = all && strstr(line, flag) != NULL;
        }
        CHECK(crd_cpu_has(wanted[i].level) == all);
    }
    CHECK(crd_cpu_has_sha() == (strstr(line, " sha_ni ") != NULL && strstr(line, " sse4_1 ") != NULL));
}

static void test_levels_build_on_each_other(void)
{
    CHECK(crd_cpu_has(CRD_CPU_PORTABLE));
    for (int level = 1; level <= CRD_CPU_AVX512_BF16; level++) {
        CHECK(!crd_cpu_has((crd_cpu)level) || crd_cpu_has((crd_cpu)(level - 1)));
        CHECK(strcmp(crd_cpu_name((crd_cpu)level), crd_cpu_name((crd_cpu)(level - 1))) != 0);
    }
    CHECK(crd_cpu_path() < CRD_CPU_PATH_COUNT && crd_cpu_has((crd_cpu)crd_cpu_path()));
    CHECK(crd_cpu_path() == CRD_CPU_PATH_COUNT - 1 || !crd_cpu_has((crd_cpu)(crd_cpu_path() + 1)));
}

static void *ask(void *path)
{
    *(int *)path = crd_cpu_path();
    return NULL;
}

static void test_threads_may_ask(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    int paths[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(crd_thread_start(&threads[i], ask, &paths[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(paths[i] == crd_cpu_path());
    }
}

/* The first one finds nobody who has asked before. */
TEST_MAIN(TEST(test_threads_may_ask), TEST(test_as_the_system_says), TEST(test_levels_build_on_each_other))
