/* A manifest in short, for those who use the library. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "credence/run.h"
#include "run/paths.h"
#include "run/read.h"

bool crd_run_recognise(const char *path)
{
    char *text = NULL;
    const bool found = crd_run_text(path, CRD_RUN_MANIFEST, &text) == CRD_OK && text != NULL;
    crd_free(&text);
    return found;
}

static void copy(char *out, size_t room, const char *text)
{
    snprintf(out, room, "%s", text != NULL ? text : "");
}

crd_status crd_run_summarise(const char *path, crd_run_summary *out)
{
    crd_manifest run;
    memset(out, 0, sizeof *out);
    CRD_PASS(crd_run_read(path, &run));
    copy(out->kind, sizeof out->kind, run.model.kind);
    copy(out->model, sizeof out->model, run.model.path);
    copy(out->scan, sizeof out->scan, run.scan.path);
    copy(out->mode, sizeof out->mode, run.mode);
    copy(out->interval, sizeof out->interval, run.uncertainty.text);
    memcpy(out->shape, run.plan.shape, sizeof out->shape);
    out->samples = run.plan.samples;
    out->mean_uncertainty = run.uncertainty.mean;
    out->warnings = run.warnings.count;
    for (int64_t k = 0; k < run.class_count && k < CRD_CLASSES_MAX; k++) {
        const crd_run_class *c = &run.classes[k];
        crd_class_share *to = &out->classes[out->class_count++];
        copy(to->name, sizeof to->name, c->name);
        to->value = c->value;
        to->segmentation = c->segmentation;
        to->mean = c->mean;
        memcpy(to->interval90, c->interval90, sizeof to->interval90);
        to->systematic = c->systematic;
    }
    crd_manifest_free(&run);
    return CRD_OK;
}
