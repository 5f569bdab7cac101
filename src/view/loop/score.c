#include "view/loop/score.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "train/heldout/jackknife.h"

enum { FILE_BYTES = 4 << 20 };

/* ---- pooling ---- */

static crd_exam_box pool(const crd_exam_box *boxes, int64_t count, int64_t without)
{
    crd_exam_box all = {.voxels = 0};
    for (int64_t i = 0; i < count; i++) {
        if (i == without) continue;
        all.voxels += boxes[i].voxels;
        all.wrong += boxes[i].wrong;
        all.nll += boxes[i].nll;
        all.inaccurate += boxes[i].inaccurate;
        all.warned += boxes[i].warned;
    }
    return all;
}

static double share(double part, int64_t whole)
{
    return whole > 0 ? part / (double)whole : (double)NAN;
}

static double error_of(const crd_exam_box *box)
{
    return share((double)box->wrong, box->voxels);
}

static double nll_of(const crd_exam_box *box)
{
    return share(box->nll, box->voxels);
}

static double uncertain_of(const crd_exam_box *box)
{
    return share((double)box->warned, box->inaccurate);
}

static int64_t voxels_of(const crd_exam_box *box)
{
    return box->voxels;
}

static int64_t inaccurate_of(const crd_exam_box *box)
{
    return box->inaccurate;
}

/* A figure of all boxes, with its interval over those that have what it is a share of. */
static double judge(const crd_exam_box *boxes, int64_t count, double (*get)(const crd_exam_box *),
                    int64_t (*whole)(const crd_exam_box *), bool is_share, double interval[2])
{
    const crd_exam_box all = pool(boxes, count, -1);
    crd_jackknife jackknife;
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) used += whole(&boxes[i]) > 0;
    crd_jackknife_begin(&jackknife, get(&all), used, (double)whole(&all), is_share);
    for (int64_t i = 0; i < count; i++) {
        if (whole(&boxes[i]) == 0) continue;
        const crd_exam_box rest = pool(boxes, count, i);
        crd_jackknife_without(&jackknife, get(&rest));
    }
    crd_jackknife_interval(&jackknife, interval);
    return get(&all);
}

void crd_score_of(const crd_exam_box *boxes, int64_t count, crd_score *out)
{
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < count; i++) {
        out->boxes += boxes[i].voxels > 0;
        out->voxels += boxes[i].voxels;
    }
    out->error = judge(boxes, count, error_of, voxels_of, true, out->error_interval);
    out->nll = judge(boxes, count, nll_of, voxels_of, false, out->nll_interval);
    out->uncertain = judge(boxes, count, uncertain_of, inaccurate_of, true, out->uncertain_interval);
}

bool crd_score_rises(const double *errors, const bool *warm, int64_t count)
{
    return count >= 3 && warm[count - 1] && warm[count - 2] && errors[count - 1] > errors[count - 2] &&
           errors[count - 2] > errors[count - 3];
}

/* ---- files ---- */

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

crd_status crd_exam_box_read(const char *path, crd_exam_box *out)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    cJSON *document = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_read_file(path, FILE_BYTES, &text, NULL));
    document = cJSON_Parse(text);
    const cJSON *cubes = cJSON_GetObjectItem(document, "pavpu");
    double right = 0.0, all = 0.0;
    int64_t k = 0;
    for (const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(document, "confusion"), 0); row != NULL;
         row = row->next, k++) {
        for (int a = 0; a < cJSON_GetArraySize(row); a++) {
            const cJSON *item = cJSON_GetArrayItem(row, a);
            const double voxels = cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
            all += voxels;
            right += a == k ? voxels : 0.0;
        }
    }
    const double nll = number_of(cJSON_GetObjectItem(document, "calibration"), "nll");
    const double iu = number_of(cubes, "n_iu"), ic = number_of(cubes, "n_ic");
    if (k == 0 || !(all >= 0.0 && all < 0x1p53) || !(iu + ic >= 0.0 && iu + ic < 0x1p53)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s has no figures of a validation", path);
    }
    out->voxels = (int64_t)all;
    out->wrong = (int64_t)(all - right);
    out->nll = all > 0.0 ? nll * all : 0.0;
    out->inaccurate = (int64_t)(iu + ic);
    out->warned = (int64_t)iu;
    out->seen = cJSON_IsTrue(cJSON_GetObjectItem(document, "seen_in_training"));
done:
    cJSON_Delete(document);
    crd_free(&text);
    return status;
}

static void add_figure(crd_text *text, const char *name, double figure, const double interval[2])
{
    crd_text_print(text, ",\"%s\":", name);
    crd_text_real(text, figure);
    crd_text_print(text, ",\"%s_interval\":", name);
    if (!isfinite(interval[0]) || !isfinite(interval[1])) {
        crd_text_add(text, "null");
        return;
    }
    crd_text_add(text, "[");
    crd_text_real(text, interval[0]);
    crd_text_add(text, ",");
    crd_text_real(text, interval[1]);
    crd_text_add(text, "]");
}

crd_status crd_score_write(const char *path, const crd_score *score)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *words = NULL;
    crd_text_print(&text, "{\"boxes\":%lld,\"voxels\":%lld,\"enough\":%s", (long long)score->boxes,
                   (long long)score->voxels, score->boxes >= CRD_SCORE_ENOUGH ? "true" : "false");
    add_figure(&text, "error", score->error, score->error_interval);
    add_figure(&text, "nll", score->nll, score->nll_interval);
    add_figure(&text, "uncertain", score->uncertain, score->uncertain_interval);
    crd_text_add(&text, "}\n");
    CRD_TRY(crd_text_finish(&text, &words));
    CRD_TRY(crd_write_file(path, words, strlen(words)));
done:
    crd_free(&words);
    return status;
}
