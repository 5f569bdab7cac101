#include "view/labels/exporter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "view/labels/seed.h"
#include "view/view.h"
#include "volume/views/view.h"
#include "volume/zarr/zarr.h"

enum { NAME_BYTES = 100 };

struct crd_exporter {
    crd_view *view;
    pthread_t thread;
    bool started; /* there is a thread to be joined */
    atomic_bool busy, stop;
    char name[NAME_BYTES + 1];
    char *path, *snapshot;
    crd_box box;
    bool boxed;
};

static bool go_on(void *context, const crd_progress *progress)
{
    (void)progress;
    return !atomic_load(&((crd_exporter *)context)->stop);
}

/* Classes as values of the file that the labels came from. */
typedef struct values {
    crd_volume *labels;
    uint16_t of[256];
} values;

static bool is_used(const values *v, int count, int value)
{
    for (int k = 0; k < count; k++) {
        if (v->of[k] == value) return true;
    }
    return false;
}

/* Classes that came later get numbers that no other has; what has no label the highest that is free. */
static bool choose_values(crd_exporter *e, values *v, crd_type *type)
{
    double given[CRD_PAINT_CLASSES];
    int count = 0, highest = 0, none;
    if (!crd_label_seed_values(e->view->project, given, &count)) return false;
    for (int k = 0; k < count; k++) {
        if (!(given[k] >= 0.0 && given[k] <= 65535.0) || given[k] != (double)(int)given[k]) return false;
        v->of[k] = (uint16_t)given[k];
        if (v->of[k] > highest) highest = v->of[k];
    }
    *type = highest <= 255 ? CRD_U8 : CRD_U16;
    for (int k = count; k < CRD_PAINT_CLASSES; k++) {
        int value = k;
        while (is_used(v, k, value)) value++;
        v->of[k] = (uint16_t)value;
    }
    for (none = *type == CRD_U8 ? 255 : 65535; is_used(v, CRD_PAINT_CLASSES, none);) none--;
    for (int k = CRD_PAINT_CLASSES; k < 256; k++) v->of[k] = (uint16_t)none;
    return true;
}

static crd_status read_values(void *context, const crd_box *box, void *voxels)
{
    const values *v = context;
    const int64_t count = box->size[0] * box->size[1] * box->size[2];
    uint8_t *narrow = voxels;
    uint16_t *wide = voxels;
    CRD_PASS(crd_volume_read(v->labels, box, CRD_U8, voxels));
    if (crd_volume_describe(v->labels)->type != CRD_U8) return crd_fail(CRD_ERR_INTERNAL, "labels are bytes");
    if (v->of[255] <= 255) {
        for (int64_t i = 0; i < count; i++) narrow[i] = (uint8_t)v->of[narrow[i]];
    } else {
        for (int64_t i = count - 1; i >= 0; i--) wide[i] = v->of[narrow[i]]; /* from behind: it grows in place */
    }
    return CRD_OK;
}

static crd_status map_values(crd_exporter *e, values *v, crd_volume **out)
{
    const crd_volume_source source = {.size = sizeof source, .read = read_values, .context = v};
    crd_volume_info info = *crd_volume_describe(v->labels);
    if (!choose_values(e, v, &info.type)) return CRD_OK;
    return crd_volume_from_callback(&source, &info, NULL, out);
}

static crd_status write_file(crd_exporter *e)
{
    crd_status status = CRD_OK;
    const crd_monitor monitor = {.progress = go_on, .context = e};
    crd_volume *volume = NULL, *part = NULL, *mapped = NULL;
    values as_given;
    CRD_TRY(crd_volume_open(e->snapshot, NULL, NULL, &volume));
    as_given.labels = volume;
    CRD_TRY(map_values(e, &as_given, &mapped));
    crd_volume *whole = mapped != NULL ? mapped : volume;
    if (e->boxed) CRD_TRY(crd_view_box(whole, &e->box, &part));
    crd_volume *from = part != NULL ? part : whole;
    CRD_TRY(crd_volume_convert(from, e->path, crd_volume_describe(from), NULL, &monitor));
done:
    crd_volume_close(&part);
    crd_volume_close(&mapped);
    crd_volume_close(&volume);
    return status;
}

static void say_done(crd_exporter *e)
{
    char *json = NULL;
    crd_text text = {0};
    crd_text_add(&text, "{\"level\":\"info\",\"text\":");
    char sentence[600];
    snprintf(sentence, sizeof sentence, "The labels were written to %.400s.", e->path);
    crd_text_json(&text, sentence);
    crd_text_add(&text, "}");
    if (crd_text_finish(&text, &json) == CRD_OK) crd_events_add(e->view->events, "message", json);
    crd_free(&json);
    e->view->http->wake(e->view->server);
}

static void *body(void *context)
{
    crd_exporter *e = context;
    if (write_file(e) == CRD_OK) {
        say_done(e);
    } else if (!atomic_load(&e->stop)) {
        crd_view_complain(e->view);
    }
    (void)crd_zarr_remove(e->snapshot); /* what can't be removed now goes before the next one */
    atomic_store(&e->busy, false);
    return NULL;
}

crd_status crd_exporter_open(crd_view *view, crd_exporter **out)
{
    CRD_PASS(crd_alloc(1, sizeof **out, "an export", out));
    (*out)->view = view;
    return CRD_OK;
}

static void join(crd_exporter *e)
{
    if (e->started) (void)pthread_join(e->thread, NULL);
    e->started = false;
    crd_free(&e->path);
    crd_free(&e->snapshot);
}

void crd_exporter_close(crd_exporter **exporter)
{
    if (*exporter == NULL) return;
    atomic_store(&(*exporter)->stop, true);
    join(*exporter);
    crd_free(exporter);
}

bool crd_exporter_may_write(const char *name)
{
    static const char *const own[] = {"view.json", "labels.zarr", "labels.journal", "lock", "iterations", "cells.npy"};
    const size_t length = name != NULL ? strlen(name) : 0;
    if (length == 0 || length > NAME_BYTES || name[0] == '.') return false;
    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != length) return false;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(name, own[i]) == 0) return false;
    }
    return true;
}

/* A project may lie where its scan does: nothing that is looked at or worked with is written over. */
static crd_status check_own(const crd_view *view, const char *path)
{
    bool own = (view->model != NULL && crd_same_file(path, view->model)) ||
               (view->mask != NULL && crd_same_file(path, view->mask));
    for (int i = 0, count = view->layers.count; i < count && !own; i++) {
        own = crd_same_file(path, view->layers.items[i].source->file);
    }
    return own ? crd_fail(CRD_ERR_ARGUMENT, "%s is what the viewer shows or works with; choose another name", path)
               : CRD_OK;
}

crd_status crd_exporter_begin(crd_exporter *e, const char *name, const crd_box *box)
{
    crd_status status = CRD_OK;
    if (atomic_load(&e->busy)) return crd_fail(CRD_ERR_BUSY, "%s is still being written; wait for it", e->name);
    join(e);
    snprintf(e->name, sizeof e->name, "%s", name);
    e->boxed = box != NULL;
    if (box != NULL) e->box = *box;
    const char *folder = crd_project_folder(e->view->project);
    int known = 0;
    while (crd_formats[known] != NULL && !crd_format_has_suffix(crd_formats[known], name)) known++;
    if (crd_formats[known] == NULL) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s: say by its end what to write, such as label.tif", name);
    }
    CRD_TRY(crd_join_path(folder, name, "", &e->path));
    CRD_TRY(check_own(e->view, e->path));
    CRD_TRY(crd_join_path(folder, ".export.zarr", "", &e->snapshot));
    CRD_TRY(crd_zarr_remove(e->snapshot));
    CRD_TRY(crd_labels_snapshot(e->view->labels, e->snapshot));
    atomic_store(&e->busy, true);
    const int cause = crd_thread_start(&e->thread, body, e);
    if (cause != 0) {
        atomic_store(&e->busy, false);
        CRD_FAIL(CRD_ERR_SYSTEM, "can't start a thread: %s", strerror(cause));
    }
    e->started = true;
done:
    return status;
}
