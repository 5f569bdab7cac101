/* Jobs: planned, started, looked at, ended. */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "view/jobs/jobs.h"
#include "view/view.h"

enum { LOG_BYTES = 1 << 20 };

static void refuse(crd_response *response)
{
    const crd_status status = crd_last_error()->status;
    crd_response_failed(response);
    if (status == CRD_ERR_BUSY) response->status = 409;
}

/* ---- what is wanted ---- */

/* Options from a query: whatever isn't `do`. Their values are texts, as on a command line. */
static cJSON *options_of(const crd_request *request)
{
    cJSON *options = cJSON_CreateObject();
    for (int i = 0; i < request->query_count && options != NULL; i++) {
        const crd_query *query = &request->queries[i];
        int64_t number;
        if (strcmp(query->name, "do") == 0) continue;
        const bool whole = strcmp(query->name, "iteration") == 0 && crd_request_int(query->value, 0, 1000000, &number);
        const cJSON *added = whole ? cJSON_AddNumberToObject(options, query->name, (double)number)
                                   : cJSON_AddStringToObject(options, query->name, query->value);
        if (added != NULL) continue;
        cJSON_Delete(options);
        return NULL;
    }
    return options;
}

void crd_api_plan(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const char *what = crd_request_query(request, "do");
    cJSON *options = options_of(request);
    crd_wishes wishes = {0};
    crd_text text = {0};
    (void)reader;
    if (options == NULL) {
        crd_response_error(response, 500, "memory", "There is no memory for this.");
        return;
    }
    const bool fine = crd_wishes_read(what != NULL ? what : "", options, &wishes) == CRD_OK &&
                      crd_jobs_plan(view, &wishes, &text) == CRD_OK;
    cJSON_Delete(options);
    crd_wishes_free(&wishes);
    if (fine) {
        crd_response_json(response, 200, &text);
    } else {
        crd_text_free(&text);
        refuse(response);
        if (response->status == 409) { /* it took too long */
            response->status = 503;
            response->retry_after = 10;
        }
    }
}

/* The exam of a training: true or false, or the options of its score. */
static bool read_exam(const cJSON *exam, crd_wishes *out, crd_response *response)
{
    crd_wishes score;
    out->examine = cJSON_IsTrue(exam) || cJSON_IsObject(exam);
    if (!cJSON_IsObject(exam)) return true;
    if (crd_wishes_read("score", exam, &score) != CRD_OK) {
        refuse(response);
        return false;
    }
    out->exam = score.words;
    return true;
}

/* What the body of a request says; false: nothing that could be understood. */
static bool read_wish(const cJSON *body, crd_wishes *out, crd_response *response)
{
    const cJSON *exam = cJSON_GetObjectItem(body, "exam");
    const char *what = cJSON_GetStringValue(cJSON_GetObjectItem(body, "do"));
    if (what == NULL) {
        crd_response_error(response, 400, "malformed",
                           "The body must be {\"do\":\"train\",\"options\":{...}}, or \"predict\" or \"score\".");
        return false;
    }
    if (exam != NULL && ((!cJSON_IsBool(exam) && !cJSON_IsObject(exam)) || strcmp(what, "train") != 0)) {
        crd_response_error(response, 400, "malformed",
                           "exam must be true, false or the options of a score, and belongs to a training.");
        return false;
    }
    if (crd_wishes_read(what, cJSON_GetObjectItem(body, "options"), out) != CRD_OK) {
        refuse(response);
        return false;
    }
    return read_exam(exam, out, response);
}

void crd_api_jobs(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    cJSON *body = request->body != NULL ? cJSON_ParseWithLength(request->body, (size_t)request->body_bytes) : NULL;
    crd_wishes wishes = {0};
    crd_text text = {0};
    int64_t number = 0;
    (void)reader;
    if (read_wish(body, &wishes, response)) {
        if (crd_jobs_start(view, &wishes, &number) == CRD_OK) {
            crd_jobs_describe(view, number, &text);
            crd_response_json(response, 201, &text);
        } else {
            refuse(response);
        }
    }
    crd_wishes_free(&wishes);
    cJSON_Delete(body);
}

/* ---- one job ---- */

static bool named(crd_view *view, const crd_request *request, int64_t *number, crd_response *response)
{
    if (crd_request_int(request->parts[3], 1, INT64_MAX, number) && crd_jobs_known(view->jobs, *number)) return true;
    crd_response_error(response, 404, "not_found", "There is no job of that number.");
    return false;
}

static void describe(crd_view *view, int64_t number, crd_response *response)
{
    crd_text text = {0};
    crd_jobs_describe(view, number, &text);
    crd_response_json(response, 200, &text);
}

void crd_api_job(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    int64_t number;
    (void)reader;
    if (named(view, request, &number, response)) describe(view, number, response);
}

void crd_api_job_log(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    const char *word = crd_request_query(request, "from");
    int64_t number, from = 0, count;
    char *text = NULL;
    (void)reader;
    if (!named(view, request, &number, response)) return;
    if (word != NULL && !crd_request_int(word, 0, INT64_MAX / 2, &from)) {
        crd_response_error(response, 400, "from", "from must be the number of a byte.");
        return;
    }
    if (crd_jobs_log(view, number, from, LOG_BYTES, &text, &count) != CRD_OK) {
        crd_response_failed(response);
        return;
    }
    uint8_t *bytes = (uint8_t *)text;
    crd_response_bytes(response, "text/plain; charset=utf-8", &bytes, count);
}

void crd_api_job_cancel(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    int64_t number;
    (void)reader;
    if (!named(view, request, &number, response)) return;
    if (crd_jobs_cancel(view, number) != CRD_OK) {
        refuse(response);
        return;
    }
    describe(view, number, response);
}

void crd_api_job_resume(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    int64_t number;
    (void)reader;
    if (!named(view, request, &number, response)) return;
    if (crd_jobs_resume(view, number) != CRD_OK) {
        refuse(response);
        return;
    }
    describe(view, number, response);
}

void crd_api_job_show(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    int64_t number;
    (void)reader;
    if (!named(view, request, &number, response)) return;
    if (crd_jobs_show(view, number) != CRD_OK) {
        refuse(response);
        return;
    }
    describe(view, number, response);
}

void crd_api_iterations(crd_view *view, crd_reader *reader, const crd_request *request, crd_response *response)
{
    crd_text text = {0};
    (void)reader, (void)request;
    if (crd_jobs_iterations(view, &text) != CRD_OK) {
        crd_text_free(&text);
        crd_response_failed(response);
        return;
    }
    crd_response_json(response, 200, &text);
}
