#include "view/jobs/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { RESULT_BYTES = 1 << 20 };

/* Options that change how many steps there are, or nothing. */
static bool is_length(const char *flag)
{
    return strcmp(flag, "--max-steps") == 0 || strcmp(flag, "--seed") == 0 || strcmp(flag, "--keep") == 0;
}

static const char *value_of(const crd_text_list *words, const char *flag)
{
    for (int64_t i = 0; i + 1 < words->count; i++) {
        if (strcmp(words->items[i], flag) == 0) return words->items[i + 1];
    }
    return NULL;
}

/* Are all options of `a` in `b` with the same values? Words come as "--flag", "value", or as "--flag" alone. */
static bool within(const crd_text_list *a, const crd_text_list *b)
{
    for (int64_t i = 0; i < a->count; i++) {
        const char *flag = a->items[i];
        const bool lone = i + 1 == a->count || strncmp(a->items[i + 1], "--", 2) == 0;
        if (!is_length(flag)) {
            int64_t at = 0;
            while (at < b->count && strcmp(b->items[at], flag) != 0) at++;
            if (at == b->count) return false;
            if (!lone && (at + 1 == b->count || strcmp(a->items[i + 1], b->items[at + 1]) != 0)) return false;
        }
        i += !lone;
    }
    return true;
}

double crd_estimate_of(const crd_text_list *before, double took, double steps, const crd_text_list *now)
{
    const char *old = value_of(before, "--max-steps"), *wanted = value_of(now, "--max-steps");
    if (!within(before, now) || !within(now, before) || !(took > 0.0) || !(steps > 0.0)) return NAN;
    if (wanted != NULL && strtod(wanted, NULL) > 0.0) return took / steps * strtod(wanted, NULL);
    return old == NULL ? took : NAN; /* the same length as before, or one that nobody knows */
}

double crd_estimate_training(const char *project, const crd_job *const *jobs, int count, const crd_job *job)
{
    for (int i = count - 1; i >= 0; i--) {
        char *path = NULL, *text = NULL;
        double seconds = NAN;
        if (jobs[i]->kind != CRD_JOB_TRAIN || jobs[i]->state != CRD_JOB_DONE) continue;
        if (crd_job_path(project, jobs[i], "result.json", &path) == CRD_OK && access(path, F_OK) == 0 &&
            crd_read_file(path, RESULT_BYTES, &text, NULL) == CRD_OK) {
            cJSON *result = cJSON_Parse(text);
            const cJSON *took = cJSON_GetObjectItem(result, "seconds"), *steps = cJSON_GetObjectItem(result, "steps");
            if (cJSON_IsNumber(took) && cJSON_IsNumber(steps)) {
                seconds = crd_estimate_of(&jobs[i]->wishes, took->valuedouble, steps->valuedouble, &job->wishes);
            }
            cJSON_Delete(result);
        }
        crd_free(&path);
        crd_free(&text);
        if (isfinite(seconds)) return seconds;
    }
    return NAN;
}
