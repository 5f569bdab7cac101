/* libhdf5 crashes on some broken files (see docs/SECURITY.md), and those are not ours to find here. So each input first
 * runs in a child: where that dies inside libhdf5 the input is put aside, into the folder $FUZZ_ASIDE if that is set;
 * where it dies in our code, or lives, it runs in this process as usual. */
#include <errno.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/wait.h>

#include "common.h"

/* libFuzzer and the sanitizers call these by name. libhdf5 loses memory on broken files, and asks for as much as a
 * broken size says; it copes with not getting it. */
const char *__lsan_default_suppressions(void);
const char *__asan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1:max_allocation_size_mb=1024:print_suppressions=0:quarantine_size_mb=4";
}

static void read_input(void)
{
    fuzz_read(fuzz_path("input.h5"), &(crd_volume_options){.cache_bytes = 1 << 20});
}

/* Does the innermost frame that is neither the C library's nor the sanitizer's belong to libhdf5? */
static int blames_libhdf5(const char *report)
{
    for (const char *line = strstr(report, "    #"); line != NULL; line = strstr(line + 1, "    #")) {
        const size_t length = strcspn(line, "\n");
        char frame[512];
        snprintf(frame, sizeof frame, "%.*s", (int)(length < 511 ? length : 511), line);
        if (strstr(frame, "libhdf5") != NULL) return 1;
        if (strstr(frame, "/src/volume/") != NULL || strstr(frame, "/src/base/") != NULL) return 0;
    }
    return 0;
}

static int dies_inside_libhdf5(void)
{
    static char report[1 << 16];
    int status = 0;
    const int log = open(fuzz_path("report"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const pid_t child = log < 0 ? -1 : fork();
    if (child < 0) {
        perror("fork");
        exit(1);
    }
    if (child == 0) {
        (void)dup2(log, STDERR_FILENO);
        __sanitizer_set_death_callback(NULL); /* libFuzzer would keep the input as its own find */
        alarm(10);
        read_input();
        _exit(0);
    }
    while (waitpid(child, &status, 0) != child) {
        if (errno != EINTR) exit(1);
    }
    const ssize_t count = pread(log, report, sizeof report - 1, 0);
    report[count > 0 ? count : 0] = '\0';
    (void)close(log);
    if (status == 0) return 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return 0; /* the timeout of libFuzzer tells whose it is */
    return blames_libhdf5(report);
}

static void put_aside(const uint8_t *data, size_t size)
{
    char path[512];
    uint32_t hash = 2166136261u;
    const char *folder = getenv("FUZZ_ASIDE");
    if (folder == NULL) return;
    for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 16777619u;
    snprintf(path, sizeof path, "%s/%08x.h5", folder, hash);
    fuzz_write(path, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 65536) return 0; /* libhdf5 is slow here, and all that matters fits */
    fuzz_write(fuzz_path("input.h5"), data, size);
    if (dies_inside_libhdf5()) {
        put_aside(data, size);
        return 0;
    }
    read_input();
    return 0;
}
