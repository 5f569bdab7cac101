#include "view/jobs/job.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

enum { FILE_BYTES = 1 << 20, LOG_BYTES = 64 << 10 };

static const char *const states[] = {[CRD_JOB_RUNNING] = "running",
                                     [CRD_JOB_DONE] = "done",
                                     [CRD_JOB_FAILED] = "failed",
                                     [CRD_JOB_CANCELLED] = "cancelled",
                                     [CRD_JOB_INTERRUPTED] = "interrupted"};

void crd_job_free(crd_job *job)
{
    crd_words_free(&job->words);
    crd_words_free(&job->wishes);
    crd_words_free(&job->parts);
    crd_words_free(&job->exam);
}

crd_status crd_job_path(const char *project, const crd_job *job, const char *name, char **out)
{
    crd_status status = CRD_OK;
    char *folder = NULL;
    CRD_TRY(crd_join_path(project, job->folder, "", &folder));
    CRD_TRY(crd_join_path(folder, name, "", out));
done:
    crd_free(&folder);
    return status;
}

static double wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- job.json ---- */

static bool add_words(cJSON *document, const char *name, const crd_text_list *words)
{
    cJSON *list = cJSON_AddArrayToObject(document, name);
    for (int64_t i = 0; list != NULL && i < words->count; i++) {
        if (!cJSON_AddItemToArray(list, cJSON_CreateString(words->items[i]))) return false;
    }
    return list != NULL;
}

crd_status crd_job_write(const char *project, const crd_job *job)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL;
    cJSON *document = cJSON_CreateObject(), *process = cJSON_AddObjectToObject(document, "process");
    const bool fine = cJSON_AddNumberToObject(document, "number", (double)job->number) != NULL &&
                      cJSON_AddStringToObject(document, "do", crd_job_kinds[job->kind]) != NULL &&
                      cJSON_AddNumberToObject(document, "iteration", (double)job->iteration) != NULL &&
                      cJSON_AddStringToObject(document, "state", states[job->state]) != NULL &&
                      cJSON_AddNumberToObject(document, "began", job->began) != NULL &&
                      cJSON_AddNumberToObject(document, "ended", job->ended) != NULL &&
                      cJSON_AddStringToObject(document, "error", job->error) != NULL &&
                      cJSON_AddNumberToObject(document, "log_from", (double)job->log_from) != NULL &&
                      cJSON_AddBoolToObject(document, "cancelling", job->kill_at > 0.0) != NULL &&
                      cJSON_AddNumberToObject(process, "number", (double)job->process.number) != NULL &&
                      cJSON_AddNumberToObject(process, "began", (double)job->process.began) != NULL &&
                      cJSON_AddStringToObject(process, "boot", job->process.boot) != NULL &&
                      add_words(document, "words", &job->words) && add_words(document, "wishes", &job->wishes) &&
                      add_words(document, "parts", &job->parts) && add_words(document, "exam", &job->exam) &&
                      cJSON_AddNumberToObject(document, "step", (double)job->step) != NULL &&
                      cJSON_AddStringToObject(document, "model", job->model) != NULL &&
                      cJSON_AddBoolToObject(document, "warm", job->warm) != NULL &&
                      cJSON_AddNumberToObject(document, "from", (double)job->from) != NULL &&
                      cJSON_AddNumberToObject(document, "loop", (double)job->loop) != NULL &&
                      cJSON_AddNumberToObject(document, "learnt", (double)job->learnt) != NULL &&
                      cJSON_AddNumberToObject(document, "boxes", (double)job->boxes) != NULL &&
                      cJSON_AddBoolToObject(document, "examine", job->examine) != NULL;
    if (!fine) CRD_FAIL(CRD_ERR_MEMORY, "there is no memory for the job");
    CRD_TRY(crd_json_print(document, false, &text));
    CRD_TRY(crd_job_path(project, job, "job.json", &path));
    CRD_TRY(crd_write_file(path, text, strlen(text)));
done:
    cJSON_Delete(document);
    crd_free(&text);
    crd_free(&path);
    return status;
}

static crd_status read_words(const cJSON *document, const char *name, crd_text_list *out)
{
    for (const cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItem(document, name), 0); item != NULL;
         item = item->next) {
        if (!cJSON_IsString(item)) return crd_fail(CRD_ERR_FORMAT, "words of a job must be texts");
        CRD_PASS(crd_words_add(out, item->valuestring));
    }
    return CRD_OK;
}

static int64_t count_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    const bool fine = cJSON_IsNumber(item) && item->valuedouble >= 0.0 && item->valuedouble < 0x1p53;
    return fine ? (int64_t)item->valuedouble : 0;
}

static void copy_text(const cJSON *object, const char *name, char *out, size_t room)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    snprintf(out, room, "%s", text != NULL ? text : "");
}

static double time_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0.0;
}

crd_status crd_job_read(const char *project, const char *folder, crd_job *out)
{
    crd_status status = CRD_OK;
    char *path = NULL, *text = NULL, state[32], what[32];
    cJSON *document = NULL;
    memset(out, 0, sizeof *out);
    snprintf(out->folder, sizeof out->folder, "%s", folder);
    CRD_TRY(crd_job_path(project, out, "job.json", &path));
    CRD_TRY(crd_read_file(path, FILE_BYTES, &text, NULL));
    document = cJSON_Parse(text);
    const cJSON *process = cJSON_GetObjectItem(document, "process");
    out->number = count_of(document, "number");
    out->iteration = count_of(document, "iteration");
    out->process.number = count_of(process, "number");
    out->process.began = count_of(process, "began");
    out->began = time_of(document, "began");
    out->ended = time_of(document, "ended");
    copy_text(process, "boot", out->process.boot, sizeof out->process.boot);
    copy_text(document, "error", out->error, sizeof out->error);
    copy_text(document, "state", state, sizeof state);
    copy_text(document, "do", what, sizeof what);
    out->kind = crd_job_kind_of(what);
    copy_text(document, "model", out->model, sizeof out->model);
    out->warm = cJSON_IsTrue(cJSON_GetObjectItem(document, "warm"));
    out->from = count_of(document, "from");
    out->loop = count_of(document, "loop");
    out->learnt = count_of(document, "learnt");
    out->boxes = count_of(document, "boxes");
    out->examine = cJSON_IsTrue(cJSON_GetObjectItem(document, "examine"));
    out->step = count_of(document, "step");
    out->log_from = out->seen = count_of(document, "log_from");
    if (cJSON_IsTrue(cJSON_GetObjectItem(document, "cancelling"))) out->kill_at = crd_seconds() + CRD_JOB_PATIENCE;
    out->state = CRD_JOB_INTERRUPTED;
    for (int i = 0; i < (int)(sizeof states / sizeof states[0]); i++) {
        if (strcmp(state, states[i]) == 0) out->state = (crd_job_state)i;
    }
    CRD_TRY(read_words(document, "words", &out->words));
    CRD_TRY(read_words(document, "wishes", &out->wishes));
    CRD_TRY(read_words(document, "parts", &out->parts));
    CRD_TRY(read_words(document, "exam", &out->exam));
    if (out->number < 1 || out->kind == CRD_JOB_KINDS || out->words.count < 2)
        CRD_FAIL(CRD_ERR_FORMAT, "%s isn't a job of credence view", path);
done:
    if (status != CRD_OK) crd_job_free(out);
    cJSON_Delete(document);
    crd_free(&text);
    crd_free(&path);
    return status;
}

/* ---- its process ---- */

/* A word as it is started: what lies in the project by its whole path. */
static crd_status add_started(const char *project, const char *word, crd_text_list *out)
{
    crd_status status = CRD_OK;
    char *path = NULL, *whole = NULL;
    if (word[0] != '@' || word[1] != '/') return crd_words_add(out, word);
    CRD_TRY(crd_join_path(project, word + 2, "", &path));
    CRD_TRY(crd_absolute_path(path, &whole));
    CRD_TRY(crd_words_add(out, whole));
done:
    crd_free(&path);
    crd_free(&whole);
    return status;
}

crd_status crd_job_words(const char *project, const crd_job *job, bool resume, crd_text_list *out)
{
    crd_status status = CRD_OK;
    char *program = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_process_program(&program));
    CRD_TRY(crd_words_add(out, program));
    for (int64_t i = 1; i < job->words.count; i++) CRD_TRY(add_started(project, job->words.items[i], out));
    const bool again = strcmp(job->words.items[1], "validate") == 0; /* which is done anew */
    if (resume && !again) CRD_TRY(crd_words_add(out, "--resume"));
done:
    crd_free(&program);
    if (status != CRD_OK) crd_words_free(out);
    return status;
}

/* A list that ends in NULL, borrowed from the words. */
static crd_status vector_of(const crd_text_list *words, char ***out)
{
    CRD_PASS(crd_alloc(words->count + 1, sizeof **out, "the words of a command", out));
    for (int64_t i = 0; i < words->count; i++) (*out)[i] = words->items[i];
    return CRD_OK;
}

crd_status crd_job_start(const char *project, crd_job *job, bool resume)
{
    crd_status status = CRD_OK;
    crd_text_list words = {0};
    struct stat about;
    char **vector = NULL, *result = NULL, *log = NULL;
    CRD_TRY(crd_job_words(project, job, resume, &words));
    CRD_TRY(vector_of(&words, &vector));
    CRD_TRY(crd_job_path(project, job, "result.json", &result));
    CRD_TRY(crd_job_path(project, job, "log.txt", &log));
    job->log_from = stat(log, &about) == 0 ? (int64_t)about.st_size : 0;
    CRD_TRY(crd_process_start(vector, result, log, &job->process));
    job->seen = job->log_from;
    job->kill_at = 0.0;
    job->state = CRD_JOB_RUNNING;
    job->began = resume && job->began > 0.0 ? job->began : wall_clock();
    job->ended = 0.0;
    job->error[0] = '\0';
    job->total = 0;
    status = crd_job_write(project, job);
    if (status != CRD_OK) { /* what no server could find again doesn't go on */
        const crd_error error = *crd_last_error();
        crd_process_signal(&job->process, SIGTERM);
        status = crd_error_adopt(&error);
    }
done:
    crd_free(&vector);
    crd_words_free(&words);
    crd_free(&result);
    crd_free(&log);
    return status;
}

/* ---- what it says ---- */

static void take_line(crd_job *job, const char *line, size_t length, bool *progressed)
{
    cJSON *said = cJSON_ParseWithLength(line, length);
    const char *event = cJSON_GetStringValue(cJSON_GetObjectItem(said, "event"));
    if (event != NULL && strcmp(event, "progress") == 0) {
        copy_text(said, "stage", job->stage, sizeof job->stage);
        copy_text(said, "unit", job->unit, sizeof job->unit);
        copy_text(said, "note", job->note, sizeof job->note);
        job->done = count_of(said, "done");
        job->total = count_of(said, "total");
        const cJSON *left = cJSON_GetObjectItem(said, "left");
        job->left = cJSON_IsNumber(left) ? left->valuedouble : NAN;
        *progressed = true;
    } else if (event != NULL && strcmp(event, "message") == 0) {
        const char *level = cJSON_GetStringValue(cJSON_GetObjectItem(said, "level"));
        if (level != NULL && strcmp(level, "error") == 0) copy_text(said, "text", job->error, sizeof job->error);
    } else if (said == NULL && length > 0) { /* what a library or the kernel said, as it is */
        snprintf(job->error, sizeof job->error, "%.*s", (int)(length < 500 ? length : 500), line);
    }
    cJSON_Delete(said);
}

void crd_job_follow(const char *project, crd_job *job, bool *progressed)
{
    char *path = NULL, *bytes = NULL;
    int fd = -1;
    *progressed = false;
    if (crd_job_path(project, job, "log.txt", &path) != CRD_OK) return;
    fd = crd_open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || crd_alloc(LOG_BYTES, 1, "a log", &bytes) != CRD_OK) goto done;
    for (;;) { /* whole lines; one that is longer than all this isn't ours and is passed over */
        const ssize_t got = pread(fd, bytes, LOG_BYTES, (off_t)job->seen);
        if (got <= 0) break;
        size_t begin = 0;
        for (size_t i = 0; i < (size_t)got; i++) {
            if (bytes[i] != '\n') continue;
            take_line(job, bytes + begin, i - begin, progressed);
            begin = i + 1;
        }
        if (begin == 0 && got < LOG_BYTES) break;
        job->seen += begin > 0 ? (int64_t)begin : (int64_t)got;
    }
done:
    if (fd >= 0) (void)close(fd);
    crd_free(&bytes);
    crd_free(&path);
}

/* The JSON object that it printed; NULL: none, or half of one. */
static cJSON *read_result(const char *project, const crd_job *job)
{
    char *path = NULL, *text = NULL;
    cJSON *result = NULL;
    if (crd_job_path(project, job, "result.json", &path) == CRD_OK && access(path, F_OK) == 0 &&
        crd_read_file(path, FILE_BYTES, &text, NULL) == CRD_OK) {
        result = cJSON_Parse(text);
    }
    crd_free(&text);
    crd_free(&path);
    return result;
}

void crd_job_end(const char *project, crd_job *job)
{
    struct stat about;
    char *path = NULL;
    cJSON *result = read_result(project, job);
    const bool cancelled = job->kill_at > 0.0;
    job->state = cJSON_IsObject(result)  ? CRD_JOB_DONE
                 : cancelled             ? CRD_JOB_CANCELLED
                 : job->error[0] != '\0' ? CRD_JOB_FAILED
                                         : CRD_JOB_INTERRUPTED;
    job->kill_at = 0.0;
    job->ended = wall_clock();
    if (crd_job_path(project, job, "log.txt", &path) == CRD_OK && stat(path, &about) == 0) {
        job->ended = (double)about.st_mtim.tv_sec +
                     1e-9 * (double)about.st_mtim.tv_nsec; /* its last word: nobody may have watched */
    }
    crd_free(&path);
    cJSON_Delete(result);
}

/* ---- telling ---- */

static void add_shell_word(const char *word, crd_text *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+=@%-";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        crd_text_add(text, word);
        return;
    }
    crd_text_add(text, "'");
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            crd_text_add(text, "'\\''");
        } else {
            crd_text_add_bytes(text, word, 1);
        }
    }
    crd_text_add(text, "'");
}

/* Without what only the server needs: the output as JSON. */
void crd_words_shell(const char *project, const crd_text_list *words, crd_text *text)
{
    crd_text_add(text, "credence");
    for (int64_t i = 1; i < words->count; i++) {
        const char *word = words->items[i];
        if (strcmp(word, "--json") == 0) continue;
        if (strcmp(word, "--progress") == 0) {
            i++;
            continue;
        }
        crd_text_add(text, " ");
        char *path = NULL;
        const bool inside = word[0] == '@' && word[1] == '/';
        if (inside && crd_join_path(project, word + 2, "", &path) != CRD_OK) continue;
        add_shell_word(inside ? path : word, text);
        crd_free(&path);
    }
}

void crd_job_progress(const crd_job *job, crd_text *text)
{
    crd_text_print(text, "{\"number\":%lld,\"stage\":", (long long)job->number);
    crd_text_json(text, job->stage);
    crd_text_add(text, ",\"unit\":");
    crd_text_json(text, job->unit);
    crd_text_print(text, ",\"done\":%lld,\"total\":%lld,\"left\":", (long long)job->done, (long long)job->total);
    crd_text_real(text, job->left);
    crd_text_add(text, ",\"note\":");
    crd_text_json(text, job->note);
    crd_text_add(text, "}");
}

void crd_job_describe(const char *project, const crd_job *job, crd_text *text)
{
    crd_text command = {0};
    char *words = NULL, *result_text = NULL;
    crd_words_shell(project, &job->words, &command);
    cJSON *result = job->state == CRD_JOB_DONE ? read_result(project, job) : NULL;
    crd_text_print(text, "{\"number\":%lld,\"do\":\"%s\",\"iteration\":%lld,\"state\":\"%s\",\"folder\":",
                   (long long)job->number, crd_job_kinds[job->kind], (long long)job->iteration, states[job->state]);
    crd_text_json(text, job->folder);
    crd_text_add(text, ",\"command\":");
    if (crd_text_finish(&command, &words) == CRD_OK) crd_text_json(text, words);
    if (words == NULL) crd_text_add(text, "null");
    const int64_t parts = job->parts.count; /* a step for a person is a box: of an exam predicted and validated */
    const int64_t part = job->kind == CRD_JOB_SCORE ? job->step / 2 : job->step;
    if (parts > 0) crd_text_print(text, ",\"step\":%lld,\"steps\":%lld", (long long)part + 1, (long long)parts);
    crd_text_print(text, ",\"process\":%lld,\"began\":", (long long)job->process.number);
    crd_text_real(text, job->began);
    crd_text_add(text, ",\"ended\":");
    crd_text_real(text, job->ended > 0.0 ? job->ended : NAN);
    crd_text_add(text, ",\"error\":");
    crd_text_json(text, job->error[0] != '\0' ? job->error : NULL);
    crd_text_print(text, ",\"cancelling\":%s,\"exam\":%s,\"progress\":", job->kill_at > 0.0 ? "true" : "false",
                   job->examine ? "true" : "false");
    if (job->state == CRD_JOB_RUNNING && job->total > 0) {
        crd_job_progress(job, text);
    } else {
        crd_text_add(text, "null");
    }
    crd_text_add(text, ",\"result\":");
    const bool known = result != NULL && crd_json_print(result, true, &result_text) == CRD_OK;
    crd_text_add(text, known ? result_text : "null");
    crd_text_add(text, "}");
    cJSON_Delete(result);
    crd_free(&result_text);
    crd_free(&words);
}
