/* Any bytes as JSON of an operation on a small volume, one a line: refused with a sentence, or done; and undoing all of
 * it restores what was there. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "view/labels/labels.h"

enum { Z = 9, Y = 70, X = 66, VOXELS = Z * Y * X };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const crd_volume_info info = {.shape = {Z, Y, X}, .type = CRD_U8, .spacing = {2.0, 1.0, 1.0}, .scale = 1.0};
static const crd_box whole = {.size = {Z, Y, X}};
static crd_project *project;
static crd_labels *labels;
static uint8_t before[VOXELS], after[VOXELS];

static void must(int good)
{
    if (!good) abort();
}

static crd_status read_grey(void *context, const crd_box *box, double *values)
{
    (void)context;
    for (int64_t i = 0; i < box->size[0] * box->size[1] * box->size[2]; i++) values[i] = (double)(i % 97);
    return CRD_OK;
}

static crd_status read_classes(void *context, const crd_box *box, uint8_t *classes)
{
    (void)context;
    for (int64_t i = 0; i < box->size[0] * box->size[1] * box->size[2]; i++)
        classes[i] = (uint8_t)(i % 5 == 4 ? 255 : i % 5);
    return CRD_OK;
}

static const crd_paint_sources sources = {.grey = read_grey, .classes = read_classes, .uncertainty = read_grey};

/* In memory, where the machine has such a folder: nothing is stored between inputs. */
static void open_labels(void)
{
    static char name[64];
    snprintf(name, sizeof name, "%s/credence-fuzz-paint-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    must(mkdtemp(name) != NULL);
    must(crd_project_open(name, false, &project) == CRD_OK);
    must(crd_labels_open(project, &info, 1 << 22, NULL, &labels) == CRD_OK);
    crd_labels_keep(labels, 1 << 20);
}

static void paint(const char *words, size_t length)
{
    crd_operation op;
    crd_label_change change = {.places = NULL};
    cJSON *json = cJSON_ParseWithLength(words, length);
    if (crd_operation_read(json, info.shape, &op) == CRD_OK) {
        op.id[0] = '\0'; /* the same input again is to do the same again */
        if (crd_labels_do(labels, &op, -1, &sources, &change) != CRD_OK) must(crd_last_error()->message[0] != '\0');
    } else {
        must(crd_last_error()->message[0] != '\0');
    }
    crd_label_change_free(&change);
    crd_operation_free(&op);
    cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (labels == NULL) open_labels();
    crd_labels_facts first, last;
    crd_label_change change;
    bool unfinished;
    crd_labels_describe(labels, &first);
    must(crd_labels_read(labels, &whole, before) == CRD_OK);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end - data) - at : size - at;
        paint((const char *)data + at, length);
        at += length + 1;
    }
    for (;;) {
        crd_labels_describe(labels, &last);
        if (last.undo <= first.undo) break;
        must(crd_labels_undo(labels, "", -1, &change) == CRD_OK && !change.nothing && change.voxels > 0);
        crd_label_change_free(&change);
    }
    must(last.undo == first.undo && memcmp(first.counts, last.counts, sizeof first.counts) == 0);
    must(crd_labels_read(labels, &whole, after) == CRD_OK && memcmp(before, after, VOXELS) == 0);
    if (last.revision % 4096 > 4000) must(crd_labels_store(labels, INT64_MAX, &unfinished) == CRD_OK);
    return 0;
}
