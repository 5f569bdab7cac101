#include "view/jobs/command.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/labels/learnt.h"
#include "view/labels/operation.h"
#include "view/view.h"

bool crd_command_trainable(crd_view *view)
{
    return view->seed.layer != NULL || !crd_labels_empty(view->labels);
}

static crd_status add_pair(crd_text_list *words, const char *flag, const char *value)
{
    CRD_PASS(crd_words_add(words, flag));
    return crd_words_add(words, value);
}

/* A file that the user named when the viewer was started, so that it is found from any folder. */
static crd_status add_file(crd_text_list *words, const char *flag, const char *path)
{
    crd_status status = CRD_OK;
    char *whole = NULL;
    CRD_TRY(crd_absolute_path(path, &whole));
    CRD_TRY(add_pair(words, flag, whole));
done:
    crd_free(&whole);
    return status;
}

static crd_status add_scan(const crd_view *view, crd_text_list *words)
{
    const crd_layers *layers = &view->layers;
    const int64_t *shape = layers->reading.shape;
    char text[96];
    CRD_PASS(add_file(words, "--scan", crd_volume_path(layers->items[0].source)));
    if (shape[0] > 0) {
        snprintf(text, sizeof text, "%lld,%lld,%lld", (long long)shape[0], (long long)shape[1], (long long)shape[2]);
        CRD_PASS(add_pair(words, "--shape", text));
    }
    if (layers->reading.type[0] != '\0') CRD_PASS(add_pair(words, "--type", layers->reading.type));
    if (layers->reading.offset > 0) {
        CRD_PASS(crd_words_add(words, "--offset"));
        CRD_PASS(crd_words_add_number(words, layers->reading.offset));
    }
    if (layers->reading.spacing[0] != '\0') CRD_PASS(add_pair(words, "--spacing", layers->reading.spacing));
    const char *mask = view->mask;
    if (mask == NULL) return CRD_OK;
    return strcmp(mask, "cylinder") == 0 ? add_pair(words, "--mask", mask) : add_file(words, "--mask", mask);
}

static crd_status add_chosen(crd_job *job)
{
    for (int64_t i = 0; i < job->wishes.count; i++) CRD_PASS(crd_words_add(&job->words, job->wishes.items[i]));
    return CRD_OK;
}

/* A file in the job's folder, as a word. */
static crd_status add_own(crd_job *job, const char *flag, const char *name)
{
    char word[CRD_JOB_FOLDER + 40];
    snprintf(word, sizeof word, "@/%s/%.30s", job->folder, name);
    return add_pair(&job->words, flag, word);
}

static crd_status add_model(const crd_view *view, crd_job *job, const char *flag)
{
    return job->model[0] != '\0' ? add_pair(&job->words, flag, job->model) : add_file(&job->words, flag, view->model);
}

static crd_status begin(const char *command, crd_job *job)
{
    if (job->folder[0] == '\0') return crd_fail(CRD_ERR_INTERNAL, "a job without a folder");
    CRD_PASS(crd_words_add(&job->words, "credence"));
    return crd_words_add(&job->words, command);
}

static crd_status end(crd_job *job)
{
    CRD_PASS(add_pair(&job->words, "--progress", "json"));
    return crd_words_add(&job->words, "--json");
}

crd_status crd_command_train(crd_view *view, crd_job *job)
{
    if (!crd_command_trainable(view)) return crd_fail(CRD_ERR_ARGUMENT, "there are no labels to learn from yet");
    CRD_PASS(begin("train", job));
    CRD_PASS(add_scan(view, &job->words));
    CRD_PASS(add_own(job, "--label", "label.zarr"));
    CRD_PASS(add_pair(&job->words, "--ignore", "255"));
    if (job->check) {
        CRD_PASS(add_file(&job->words, "--valid-scan", crd_volume_path(view->layers.items[0].source)));
        CRD_PASS(add_own(job, "--valid-label", "check.zarr"));
    }
    if (job->warm) CRD_PASS(add_model(view, job, "--init"));
    CRD_PASS(add_chosen(job));
    CRD_PASS(add_own(job, "--output", "model.h5"));
    return end(job);
}

crd_status crd_command_predict(crd_view *view, crd_job *job)
{
    CRD_PASS(begin("predict", job));
    CRD_PASS(add_model(view, job, "--model"));
    CRD_PASS(add_scan(view, &job->words));
    CRD_PASS(add_chosen(job));
    CRD_PASS(add_pair(&job->words, "--format", "zarr"));
    CRD_PASS(add_own(job, "--output", "run"));
    return end(job);
}

crd_status crd_command_box(crd_view *view, crd_job *job, const char *box, const char *format, const char *run)
{
    CRD_PASS(begin("predict", job));
    CRD_PASS(add_model(view, job, "--model"));
    CRD_PASS(add_scan(view, &job->words));
    CRD_PASS(add_chosen(job));
    CRD_PASS(add_pair(&job->words, "--bbox", box));
    CRD_PASS(add_pair(&job->words, "--format", format));
    CRD_PASS(add_own(job, "--output", run));
    return end(job);
}

/* Of two classes that were learnt the larger is what is looked for, also where an exam has but one of them. */
static crd_status add_foreground(const crd_view *view, crd_job *job)
{
    crd_status status = CRD_OK;
    char name[64], *image = NULL;
    bool met[256] = {false};
    int count = 0, largest = 0;
    snprintf(name, sizeof name, "iterations/%03lld/label.zarr", (long long)job->iteration);
    CRD_TRY(crd_join_path(crd_project_folder(view->project), name, "", &image));
    CRD_TRY(crd_labels_met(image, met));
    for (int k = 0; k < CRD_PAINT_CLASSES; k++) {
        count += met[k];
        largest = met[k] ? k : largest;
    }
    if (count != 2) goto done;
    CRD_TRY(crd_words_add(&job->words, "--foreground"));
    CRD_TRY(crd_words_add_number(&job->words, largest));
done:
    crd_free(&image);
    return status;
}

crd_status crd_command_validate(const crd_view *view, crd_job *job, const char *run)
{
    CRD_PASS(begin("validate", job));
    CRD_PASS(add_own(job, "--run", run));
    CRD_PASS(add_own(job, "--label", "exam.zarr"));
    CRD_PASS(add_pair(&job->words, "--ignore", "255"));
    CRD_PASS(add_foreground(view, job));
    return end(job);
}
