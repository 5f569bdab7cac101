/* Commands of the user's: their words, how they end, and the numbers in what they print. */
#include "base/file.h"
#include "harness.h"
#include "propagate/command.h"
#include "propagate/printed.h"
#include "volume_tools.h"

static double number_in(const char *text, const char *pattern)
{
    regex_t compiled;
    double value = 0;
    bool found = false;
    if (crd_write_file(scratch("printed"), text, strlen(text)) != CRD_OK) return 1e99;
    if (pattern != NULL && crd_pattern_compile("pattern", pattern, &compiled) != CRD_OK) return 1e98;
    if (crd_printed_number(scratch("printed"), pattern != NULL ? &compiled : NULL, &value, &found) != CRD_OK)
        return 1e97;
    if (pattern != NULL) regfree(&compiled);
    return found ? value : (double)NAN;
}

static void test_last_number(void)
{
    CHECK(number_in("1 2 3\n", NULL) == 3);
    CHECK(number_in("k = -1.5e-13 m^2\n", NULL) == 2); /* a power is a number, too: hence --pattern */
    CHECK(number_in("k = -1.5e-13\n", NULL) == -1.5e-13);
    CHECK(number_in("D_rel=0.25.\n", NULL) == 0.25);
    CHECK(number_in("0.25 mm3 by v3.1 in file_7.tif", NULL) == 0.25);
    CHECK(number_in("(.5)", NULL) == 0.5);
    CHECK(number_in("value: +7e2, done", NULL) == 700);
    CHECK(number_in("12e", NULL) != 12);
    CHECK(isnan(number_in("", NULL)));
    CHECK(isnan(number_in("nothing - here.", NULL)));
    CHECK(isnan(number_in("nan inf", NULL)));
    CHECK(isnan(number_in("1e999", NULL)));
    CHECK(isnan(number_in("step 500\nk_eff: nan\n", NULL))); /* and not 500 */
    CHECK(isnan(number_in("step 500, k = -inf.", NULL)) && isnan(number_in("7 (-NaN)", NULL)));
    CHECK(isnan(number_in("7 Infinity", NULL)) && isnan(number_in("7 then 1e999", NULL)));
    CHECK(number_in("nan until step 3, k = 0.5", NULL) == 0.5);
    CHECK(number_in("0.5 information by nano.py", NULL) == 0.5);
}

static void test_pattern(void)
{
    CHECK(number_in("k = 1\nstep 4\nk = 2.5 m2\nstep 5\n", "k = ([-+.0-9e]+)") == 2.5);
    CHECK(number_in("k = 1\nk = none\n", "^k = ([a-z0-9.]+)") == 1);
    CHECK(isnan(number_in("no such thing 3\n", "k = ([-+.0-9e]+)")));
    CHECK(number_in("3\n4", "^([0-9])$") == 4);
    CHECK(number_in("x", "(y*)") != 0); /* empty matches end */
    CHECK_FAILS(crd_check_pattern("pattern", "k = ("), CRD_ERR_ARGUMENT, "pattern is no regular expression");
    CHECK_FAILS(crd_check_pattern("pattern", "k = .*"), CRD_ERR_ARGUMENT, "group");
}

static void test_words(void)
{
    char *items[] = {"solve", "--in={}", "{sample}{sample}", "{other} $(touch x); 'y'", "{"};
    const crd_text_list words = {.items = items, .count = 5};
    const crd_placeholder placeholders[] = {{"{}", "a b;{sample}.tif"}, {"{sample}", "7"}};
    char **filled = NULL;
    CHECK_OK(crd_command_fill(&words, placeholders, 2, &filled));
    CHECK(strcmp(filled[0], "solve") == 0);
    CHECK(strcmp(filled[1], "--in=a b;{sample}.tif") == 0); /* what was put in isn't looked at again */
    CHECK(strcmp(filled[2], "77") == 0);
    CHECK(strcmp(filled[3], "{other} $(touch x); 'y'") == 0);
    CHECK(strcmp(filled[4], "{") == 0 && filled[5] == NULL);
    crd_command_free(&filled);
    CHECK(crd_command_has(&words, "{}") && !crd_command_has(&words, "{folder}"));
}

static crd_status wait_for(const char *const *words, double timeout, bool stopped, crd_command_result *result)
{
    char output[512], errors[512];
    atomic_bool stop;
    atomic_init(&stop, stopped);
    snprintf(output, sizeof output, "%s", scratch("out"));
    snprintf(errors, sizeof errors, "%s", scratch("err"));
    const crd_command_run run = {.words = (char *const *)(uintptr_t)words,
                                 .output = output,
                                 .errors = errors,
                                 .timeout = timeout,
                                 .stop = &stop};
    return crd_command_wait(&run, result);
}

#define WAIT_FOR(timeout, stopped, ...) wait_for((const char *const[]){__VA_ARGS__, NULL}, timeout, stopped, &result)

static void test_ends(void)
{
    crd_command_result result;
    char line[64];
    CHECK_OK(WAIT_FOR(0, false, "sh", "-c", "echo one; echo two >&2; exit 3"));
    CHECK(result.end == CRD_COMMAND_EXITED && result.code == 3);
    crd_printed_last_line(scratch("err"), line, sizeof line);
    CHECK(strcmp(line, "two") == 0);
    crd_printed_last_line(scratch("out"), line, 3);
    CHECK(strcmp(line, "on") == 0);
    CHECK_OK(WAIT_FOR(0, false, "sh", "-c", "kill -KILL $$"));
    CHECK(result.end == CRD_COMMAND_KILLED && result.code == 9);
    CHECK_OK(WAIT_FOR(0.1, false, "sleep", "30"));
    CHECK(result.end == CRD_COMMAND_TIMED_OUT && result.seconds < 20);
    CHECK_OK(WAIT_FOR(0, true, "sleep", "30"));
    CHECK(result.end == CRD_COMMAND_STOPPED && result.seconds < 20);
    /* One that doesn't listen, with a child of its own. */
    CHECK_OK(WAIT_FOR(0.1, false, "sh", "-c", "trap '' TERM; sleep 30 & wait; sleep 30"));
    CHECK(result.end == CRD_COMMAND_TIMED_OUT && result.seconds < 20);
    if (emulated()) {
        skip_part("a command that isn't there", "only with a real vfork is it known before it runs");
        return;
    }
    CHECK_FAILS(WAIT_FOR(0, false, "/no/such/program"), CRD_ERR_SYSTEM, "can't start the command /no/such/program");
}

TEST_MAIN(TEST(test_last_number), TEST(test_pattern), TEST(test_words), TEST(test_ends))
