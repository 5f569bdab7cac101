/* A loop that isn't instrumented (base/sanitizers.h) is still stopped at the first row that reaches beyond its memory.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.h"
#include "harness.h"
#include "ops/portable_rows.h"

enum { VOXELS = 6, IN = 3, OUT = 4 };

/* A row with as many floats less in x, weights or y than it needs, in a process of its own: how that ended. */
static int gather(int64_t x_less, int64_t weights_less, int64_t y_less)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        float *x = calloc((size_t)(VOXELS * IN - x_less), sizeof *x);
        float *weights = calloc((size_t)(IN * OUT - weights_less), sizeof *weights);
        float *y = calloc((size_t)(VOXELS * OUT - y_less), sizeof *y);
        const crd_tap tap = {.x = x, .weights = weights, .channels = IN, .step = IN};
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(2); /* what the sanitizer says is expected */
        crd_gather_row(&tap, 1, VOXELS, OUT, y, OUT);
        free(x);
        free(weights);
        free(y);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return status;
}

/* The same for sums of products: out [IN][OUT] of a [VOXELS][IN] and b [VOXELS][OUT]. */
static int outer(int64_t a_less, int64_t b_less, int64_t out_less)
{
    int status = -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        float *a = calloc((size_t)(VOXELS * IN - a_less), sizeof *a);
        float *b = calloc((size_t)(VOXELS * OUT - b_less), sizeof *b);
        float *out = calloc((size_t)(IN * OUT - out_less), sizeof *out);
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(2);
        crd_outer_row(a, IN, IN, b, OUT, OUT, VOXELS, out, OUT);
        free(a);
        free(b);
        free(out);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return status;
}

static void test_rows_are_checked(void)
{
    CHECK(gather(0, 0, 0) == 0 && outer(0, 0, 0) == 0);
#ifdef __SANITIZE_ADDRESS__
    CHECK(gather(1, 0, 0) > 0);
    CHECK(gather(0, 1, 0) > 0);
    CHECK(gather(0, 0, 1) > 0);
    CHECK(outer(1, 0, 0) > 0);
    CHECK(outer(0, 1, 0) > 0);
    CHECK(outer(0, 0, 1) > 0);
#else
    skip_part("faults", "only the address sanitizer looks for them");
#endif
}

TEST_MAIN(TEST(test_rows_are_checked))
