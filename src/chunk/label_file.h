/* What label.c and label_decide.c share. */
#ifndef CRD_CHUNK_LABEL_FILE_H
#define CRD_CHUNK_LABEL_FILE_H

#include <string.h>

#include "chunk/label.h"

enum { CRD_LABEL_VALUES_MAX = 256 }; /* a label with more values isn't one */

typedef struct crd_value_set {
    double values[CRD_LABEL_VALUES_MAX]; /* rising */
    int64_t count;
} crd_value_set;

struct crd_label {
    char *path;
    crd_volume *volume;
    crd_value_set met; /* in the file, those that are ignored among them */
    int64_t voxels[CRD_LABEL_VALUES_MAX];
    uint8_t classes[CRD_LABEL_VALUES_MAX];
    crd_label_classes meaning;
    int64_t counts[CRD_CLASSES_MAX], unlabelled;
    double *slice; /* room for reading */
    int64_t slice_voxels;
};

/* Where the value stands among those met, or where it belongs. */
static inline int64_t crd_value_place(const crd_value_set *met, double value)
{
    int64_t low = 0, high = met->count;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (met->values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A new value, at its place; there must be room. */
static inline void crd_value_insert(crd_value_set *met, int64_t at, double value)
{
    memmove(met->values + at + 1, met->values + at, (size_t)(met->count - at) * sizeof *met->values);
    met->values[at] = value;
    met->count++;
}

#endif
