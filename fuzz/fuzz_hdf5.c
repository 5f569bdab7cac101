/* libhdf5 crashes on some broken files (see docs/SECURITY.md), and those are not ours to find here. So a child tries
 * each input first: where it dies inside libhdf5 the input is put aside, into the folder $FUZZ_ASIDE if that is set;
 * where it dies in our code, or lives, the input runs in this process as usual. */
#include <errno.h>
#include <sanitizer/common_interface_defs.h>
#include <sys/wait.h>

#include "common.h"

static void read_input(void)
{
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    fuzz_read(fuzz_path("input.h5"), &options);
    fuzz_read(fuzz_path("input.h5:/x"), &options); /* by its name, which may be a link */
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

/* A child that tries inputs until one kills it; then another takes its place. */
static struct taster {
    pid_t pid; /* 0: none */
    int ask, answer, report;
} taster;

static void give_up(int number)
{
    (void)number;
    __sanitizer_print_stack_trace();
    _exit(1);
}

static void taste(int asked, int answers, int report)
{
    char word;
    __sanitizer_set_death_callback(NULL); /* libFuzzer would keep the input as its own find */
    (void)dup2(report, STDERR_FILENO);
    (void)signal(SIGALRM, give_up); /* libFuzzer's own handler waits longer */
    while (read(asked, &word, 1) == 1) {
        alarm(10);
        read_input();
        alarm(0);
        if (write(answers, &word, 1) != 1) break;
    }
    _exit(0);
}

static void start_taster(void)
{
    int there[2], back[2];
    taster.report = open(fuzz_path("report"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (taster.report < 0 || pipe2(there, O_CLOEXEC) != 0 || pipe2(back, O_CLOEXEC) != 0 || (taster.pid = fork()) < 0) {
        perror("a child for libhdf5");
        exit(1);
    }
    if (taster.pid == 0) {
        (void)close(there[1]);
        (void)close(back[0]);
        taste(there[0], back[1], taster.report);
    }
    (void)close(there[0]);
    (void)close(back[1]);
    taster.ask = there[1];
    taster.answer = back[0];
}

static int dies_inside_libhdf5(void)
{
    static char report[1 << 16];
    char word = 'x';
    ssize_t got;
    int status = 0;
    if (taster.pid == 0) start_taster();
    if (write(taster.ask, &word, 1) != 1) exit(1);
    do {
        got = read(taster.answer, &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got == 1) return 0;
    while (waitpid(taster.pid, &status, 0) != taster.pid) {
        if (errno != EINTR) exit(1);
    }
    const ssize_t count = pread(taster.report, report, sizeof report - 1, 0);
    report[count > 0 ? count : 0] = '\0';
    (void)close(taster.ask);
    (void)close(taster.answer);
    (void)close(taster.report);
    taster.pid = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return 0; /* libFuzzer's own timeout tells whose it is */
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
