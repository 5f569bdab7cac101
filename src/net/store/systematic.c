#include "net/store/systematic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char group[] = "intervals", offsets_name[] = "intervals/offsets";
enum { NAMES_TEXT = CRD_SHIFTS_MOST * CRD_SHIFT_NAME_TEXT };

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void crd_systematic_conclude(int classes, crd_systematic *s)
{
    const int64_t middle = s->shifts / 2;
    for (int c = 0; c < classes && s->shifts > 0; c++) {
        double sizes[CRD_SHIFTS_MOST];
        for (int64_t i = 0; i < s->shifts; i++) sizes[i] = fabs(s->offsets[i][c]);
        qsort(sizes, (size_t)s->shifts, sizeof *sizes, by_size);
        s->median[c] = s->shifts % 2 != 0 ? sizes[middle] : (sizes[middle - 1] + sizes[middle]) / 2.0;
    }
}

/* "none; noise 0.6; blur 1" */
static void join_names(const crd_systematic *s, char text[NAMES_TEXT])
{
    int used = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < s->shifts; i++) {
        used += snprintf(text + used, (size_t)(NAMES_TEXT - used), "%s%s", i > 0 ? ";" : "", s->names[i]);
    }
}

/* False where there aren't as many as shifts, or one is too long. */
static bool part_names(const char *text, crd_systematic *s)
{
    for (int64_t i = 0; i < s->shifts; i++) {
        const size_t length = strcspn(text, ";");
        if (length >= CRD_SHIFT_NAME_TEXT || (text[length] == '\0') != (i == s->shifts - 1)) return false;
        memcpy(s->names[i], text, length);
        s->names[i][length] = '\0';
        text += length + 1;
    }
    return true;
}

crd_status crd_systematic_write(crd_store *store, int classes, const crd_systematic *s)
{
    const int64_t shape[2] = {s->shifts, classes};
    double offsets[CRD_SHIFTS_MOST * CRD_CLASSES_MAX];
    char names[NAMES_TEXT];
    if (s->shifts == 0) return CRD_OK;
    for (int64_t i = 0; i < s->shifts; i++) {
        for (int c = 0; c < classes; c++) offsets[i * classes + c] = s->offsets[i][c];
    }
    join_names(s, names);
    CRD_PASS(crd_store_put_doubles(store, offsets_name, 2, shape, offsets));
    CRD_PASS(crd_store_put_reals(store, group, "median", classes, s->median));
    CRD_PASS(crd_store_put_numbers(store, group, "voxels", 1, &s->voxels));
    CRD_PASS(crd_store_put_numbers(store, group, "samples", 1, &s->samples));
    return crd_store_put_text(store, group, "names", names);
}

static crd_status broken(const crd_store *store, const char *why)
{
    return crd_fail(CRD_ERR_FORMAT,
                    "what the model %s says about intervals can't be (%s): the file is damaged; a program that takes "
                    "the group 'intervals' away leaves those of the samples",
                    crd_store_path(store), why);
}

crd_status crd_systematic_read(crd_store *store, int classes, crd_systematic *s)
{
    crd_status status = CRD_OK;
    int64_t shape[2];
    double offsets[CRD_SHIFTS_MOST * CRD_CLASSES_MAX], median[CRD_CLASSES_MAX];
    char *names = NULL;
    memset(s, 0, sizeof *s);
    if (!crd_store_has(store, group)) return CRD_OK;
    if (!crd_store_has(store, offsets_name)) return broken(store, "it lacks 'offsets'");
    CRD_TRY(crd_store_get_shape(store, offsets_name, 2, shape));
    if (shape[0] < 1 || shape[0] > CRD_SHIFTS_MOST || shape[1] != classes) {
        CRD_TRY(broken(store, "its shifts are none or too many, or its classes aren't the network's"));
    }
    CRD_TRY(crd_store_get_doubles(store, offsets_name, 2, shape, "a model with intervals", offsets));
    CRD_TRY(crd_store_get_reals(store, group, "median", classes, median));
    CRD_TRY(crd_store_get_numbers(store, group, "voxels", 1, &s->voxels));
    CRD_TRY(crd_store_get_numbers(store, group, "samples", 1, &s->samples));
    CRD_TRY(crd_store_get_text(store, group, "names", &names));
    s->shifts = shape[0];
    if (!part_names(names, s)) CRD_TRY(broken(store, "it names other shifts than it has"));
    for (int64_t i = 0; i < s->shifts; i++) {
        for (int c = 0; c < classes; c++) s->offsets[i][c] = offsets[i * classes + c];
    }
    crd_systematic_conclude(classes, s);
    for (int c = 0; c < classes; c++) {
        if (!isfinite(s->median[c]) || s->median[c] != median[c]) {
            CRD_TRY(broken(store, "the median isn't that of the offsets"));
        }
    }
done:
    crd_free(&names);
    return status;
}
