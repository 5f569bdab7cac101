/* Jobs without a server: wishes, commands as a shell takes them, estimates, processes, job.json. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "credence/predict.h"
#include "credence/train.h"
#include "harness.h"
#include "view/jobs/estimate.h"
#include "view/jobs/job.h"
#include "volume_tools.h"

static crd_status read_wishes(const char *what, const char *json, crd_wishes *out)
{
    cJSON *options = json != NULL ? cJSON_Parse(json) : NULL;
    const crd_status status = crd_wishes_read(what, options, out);
    cJSON_Delete(options);
    return status;
}

/* The words with spaces between them. */
static const char *joined(const crd_text_list *words)
{
    static char text[2000];
    text[0] = '\0';
    for (int64_t i = 0; i < words->count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "", words->items[i]);
    }
    return text;
}

static void test_wishes(void)
{
    crd_wishes wishes;
    CHECK_OK(read_wishes("train",
                         "{\"max-steps\":600,\"lr\":0.001,\"no-intervals\":true,\"preset\":\"small\",\"iteration\":3}",
                         &wishes));
    CHECK(strcmp(joined(&wishes.words), "--max-steps 600 --lr 0.001 --no-intervals --preset small") == 0);
    CHECK(wishes.kind == CRD_JOB_TRAIN && wishes.iteration == 3);
    crd_wishes_free(&wishes);
    CHECK_OK(read_wishes("predict", "{\"preview\":false,\"bbox\":\"0:4,0:5,0:6\"}", &wishes));
    CHECK(strcmp(joined(&wishes.words), "--bbox 0:4,0:5,0:6") == 0 && wishes.iteration == -1);
    crd_wishes_free(&wishes);
    CHECK_OK(read_wishes("predict", NULL, &wishes));
    CHECK(wishes.words.count == 0);
    crd_wishes_free(&wishes);
    static const char *const wrong[][2] = {{"train", "{\"output\":\"x\"}"},
                                           {"train", "{\"log\":\"x\"}"},
                                           {"train", "{\"mask\":\"x\"}"},
                                           {"train", "{\"norm\":\"x\"}"},
                                           {"train", "{\"resume\":true}"},
                                           {"predict", "{\"output\":\"x\"}"},
                                           {"predict", "{\"repeats\":\"x\"}"},
                                           {"predict", "{\"format\":\"tif\"}"},
                                           {"predict", "{\"samples\":-1}"},
                                           {"predict", "{\"samples\":1.5}"},
                                           {"predict", "{\"samples\":null}"},
                                           {"predict", "{\"samples\":{}}"},
                                           {"train", "{\"config\":\"x\"}"},
                                           {"train", "{\"\":1}"},
                                           {"train", "[1]"},
                                           {"measure", "{}"},
                                           {"", "{}"},
                                           {"train", "{\"seed\":\"1 --output x\"}"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(read_wishes(wrong[i][0], wrong[i][1], &wishes) == CRD_ERR_ARGUMENT && wishes.words.count == 0);
    }
}

/* Every option that the page may set is one of the command's that neither names a file nor has the word for one. */
static void test_no_paths(void)
{
    static const char *const tables[] = {"train", "predict"};
    static const char *const paths[] = {"/etc/passwd", "../x", "x.h5", "a/b"};
    const crd_settings *settings[] = {&crd_train_settings, &crd_predict_settings};
    for (int t = 0; t < 2; t++) {
        for (size_t i = 0; i < settings[t]->count; i++) {
            for (size_t p = 0; p < sizeof paths / sizeof paths[0]; p++) {
                crd_wishes wishes;
                char json[200];
                snprintf(json, sizeof json, "{\"%s\":\"%s\"}", settings[t]->rows[i].name, paths[p]);
                if (read_wishes(tables[t], json, &wishes) == CRD_OK) {
                    crd_wishes_free(&wishes);
                    CHECK_FAILED("%s --%s takes %s", tables[t], settings[t]->rows[i].name, paths[p]);
                }
            }
        }
    }
}

static void test_shell(void)
{
    static const char *const given[] = {"/usr/bin/credence", "train",    "--scan",
                                        "/a b/it's.tif",     "--output", "@/iterations/001/model.h5",
                                        "--progress",        "json",     "--json"};
    crd_text_list words = {0};
    crd_text text = {0};
    char *line = NULL;
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) CHECK_OK(crd_words_add(&words, given[i]));
    crd_words_shell("my project", &words, &text);
    CHECK_OK(crd_text_finish(&text, &line));
    CHECK(strcmp(line, "credence train --scan '/a b/it'\\''s.tif' --output 'my project/iterations/001/model.h5'") == 0);
    crd_free(&line);
    crd_words_free(&words);
}

static crd_text_list split(const char *text)
{
    crd_text_list words = {0};
    char copy[200], *rest = copy;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) (void)crd_words_add(&words, word);
    return words;
}

static double estimate(const char *before, const char *now)
{
    crd_text_list old = split(before), wanted = split(now);
    const double seconds = crd_estimate_of(&old, 60.0, 100.0, &wanted);
    crd_words_free(&old);
    crd_words_free(&wanted);
    return seconds;
}

static void test_estimate(void)
{
    CHECK(estimate("--max-steps 100", "--max-steps 200") == 120.0);
    CHECK(estimate("--max-steps 100 --batch 2", "--batch 2 --max-steps 50") == 30.0);
    CHECK(estimate("", "") == 60.0);
    CHECK(estimate("--seed 1", "--seed 2") == 60.0);
    CHECK(estimate("", "--max-steps 10") == 6.0);
    CHECK(isnan(estimate("--max-steps 100", ""))); /* how many the preset takes nobody knows */
    CHECK(isnan(estimate("--batch 2 --max-steps 100", "--batch 4 --max-steps 100")));
    CHECK(isnan(estimate("--max-steps 100", "--max-steps 100 --no-intervals")));
    CHECK(isnan(estimate("--no-intervals", "")));
}

static void wait_until_gone(const crd_process *process)
{
    const struct timespec time = {.tv_nsec = 10000000L};
    for (int i = 0; i < 1000 && crd_process_runs(process); i++) (void)nanosleep(&time, NULL);
}

static void test_processes(void)
{
    char shell[] = "/bin/sh", flag[] = "-c", words[] = "echo said; echo told >&2; exec sleep 100";
    char *const command[] = {shell, flag, words, NULL};
    char *text = NULL;
    char result[512], log[512];
    crd_process process, other;
    snprintf(result, sizeof result, "%s", scratch("result"));
    snprintf(log, sizeof log, "%s", scratch("log"));
    CHECK_OK(crd_process_start(command, result, log, &process));
    CHECK(process.number > 0 && crd_process_runs(&process));
    other = process;
    other.began++;
    CHECK(!crd_process_runs(&other)); /* the number alone isn't enough */
    other = process;
    snprintf(other.boot, sizeof other.boot, "another start of the machine");
    CHECK(!crd_process_runs(&other));
    CHECK(getpgid((pid_t)process.number) == (pid_t)process.number);
    for (int i = 0; i < 500 && (crd_read_file(log, 100, &text, NULL) != CRD_OK || text[0] == '\0'); i++) {
        const struct timespec time = {.tv_nsec = 10000000L};
        (void)nanosleep(&time, NULL);
        crd_free(&text);
    }
    CHECK(text != NULL && strcmp(text, "told\n") == 0);
    crd_free(&text);
    crd_process_signal(&process, SIGKILL);
    wait_until_gone(&process);
    CHECK(!crd_process_runs(&process));
    char none[] = "/nowhere/credence";
    char *const missing[] = {none, NULL};
    CHECK(crd_process_start(missing, result, log, &process) == CRD_ERR_SYSTEM);
    const crd_process nobody = {0};
    CHECK(!crd_process_runs(&nobody));

    char good[] = "printf '{\"a\":1}'", bad[] = "echo 'credence: it is so' >&2; exit 1", long_words[] = "sleep 100";
    char *const answers[] = {shell, flag, good, NULL};
    char *const fails[] = {shell, flag, bad, NULL};
    char *const lasts[] = {shell, flag, long_words, NULL};
    CHECK_OK(crd_process_ask(answers, 10.0, &text));
    CHECK(strcmp(text, "{\"a\":1}") == 0);
    crd_free(&text);
    CHECK(crd_process_ask(fails, 10.0, &text) == CRD_ERR_ARGUMENT &&
          strcmp(crd_last_error()->message, "it is so") == 0);
    CHECK(crd_process_ask(lasts, 0.2, &text) == CRD_ERR_BUSY);
}

static void write_text(const char *path, const char *text)
{
    CHECK_OK(crd_write_file(path, text, strlen(text)));
}

static void test_records(void)
{
    crd_job job = {.number = 7, .iteration = 3, .kind = CRD_JOB_TRAIN, .state = CRD_JOB_RUNNING, .began = 1.7e9 + 0.25};
    crd_job again;
    bool progressed;
    char project[512], folder[600], log[700], result[700], record[700];
    snprintf(project, sizeof project, "%s", scratch("project"));
    snprintf(folder, sizeof folder, "%s/iterations/003", project);
    snprintf(log, sizeof log, "%s/log.txt", folder);
    snprintf(result, sizeof result, "%s/result.json", folder);
    snprintf(record, sizeof record, "%s/job.json", folder);
    snprintf(job.folder, sizeof job.folder, "iterations/003");
    job.process = (crd_process){.number = 4711, .began = 123456789, .boot = "abc"};
    CHECK_OK(crd_words_add(&job.words, "credence"));
    CHECK_OK(crd_words_add(&job.words, "train"));
    CHECK_OK(crd_words_add(&job.wishes, "--batch"));
    CHECK_OK(crd_make_folders(folder));
    CHECK_OK(crd_job_write(project, &job));
    CHECK_OK(crd_job_read(project, "iterations/003", &again));
    CHECK(again.number == 7 && again.iteration == 3 && again.kind == CRD_JOB_TRAIN && again.state == CRD_JOB_RUNNING);
    CHECK(again.process.number == 4711 && again.process.began == 123456789 && strcmp(again.process.boot, "abc") == 0);
    CHECK(again.began == job.began && again.words.count == 2 && again.wishes.count == 1 && again.kill_at == 0.0);

    /* The log comes piece by piece: half a line waits for its other half. */
    write_text(log, "{\"event\": \"progress\", \"stage\": \"training\", \"unit\": \"steps\", \"do");
    crd_job_follow(project, &again, &progressed);
    CHECK(!progressed && again.seen == 0);
    write_text(
        log,
        "{\"event\": \"progress\", \"stage\": \"training\", \"unit\": \"steps\", \"done\": 3, \"total\": 9, "
        "\"seconds\": 1, \"left\": 2.5, \"note\": null}\n{\"event\": \"message\", \"level\": \"warning\", \"text\": "
        "\"careful\"}\n");
    crd_job_follow(project, &again, &progressed);
    CHECK(progressed && again.done == 3 && again.total == 9 && again.left == 2.5 && again.error[0] == '\0');
    crd_job_follow(project, &again, &progressed);
    CHECK(!progressed);
    const int64_t seen = again.seen;
    write_text(log, "{\"event\": \"message\", \"level\": \"error\", \"text\": \"no disk\"}\n");
    again.seen = 0;
    crd_job_follow(project, &again, &progressed);
    CHECK(strcmp(again.error, "no disk") == 0 && seen > 0);

    crd_job_end(project, &again);
    CHECK(again.state == CRD_JOB_FAILED);
    again.kill_at = 1.0;
    crd_job_end(project, &again);
    CHECK(again.state == CRD_JOB_CANCELLED);
    again.error[0] = '\0';
    crd_job_end(project, &again);
    CHECK(again.state == CRD_JOB_INTERRUPTED);
    write_text(result, "{\"steps\":");
    crd_job_end(project, &again);
    CHECK(again.state == CRD_JOB_INTERRUPTED); /* half a result is none */
    write_text(result, "{\"steps\": 9}");
    crd_job_end(project, &again);
    CHECK(again.state == CRD_JOB_DONE);
    crd_job_free(&again);

    static const char *const broken[] = {"",
                                         "[]",
                                         "{}",
                                         "{\"number\": 0}",
                                         "{\"number\": 1, \"words\": [1, 2, 3]}",
                                         "{\"number\": 1, \"words\": [\"credence\"]}"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        write_text(record, broken[i]);
        CHECK(crd_job_read(project, "iterations/003", &again) != CRD_OK);
    }
    crd_job_free(&job);
    (void)unlink(log);
    (void)unlink(result);
    (void)unlink(record);
    (void)rmdir(folder);
    folder[strlen(project) + strlen("/iterations")] = '\0';
    (void)rmdir(folder);
    (void)rmdir(project);
}

TEST_MAIN(TEST(test_wishes), TEST(test_no_paths), TEST(test_shell), TEST(test_estimate), TEST(test_processes),
          TEST(test_records))
