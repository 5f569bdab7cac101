/* The header of a NumPy file: magic, version, length, and a Python dictionary as text. */
#ifndef CRD_VOLUME_NPY_HEADER_H
#define CRD_VOLUME_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/volume.h"

enum {
    CRD_NPY_PREFIX = 12,            /* bytes that say how long the header is, in the longest version */
    CRD_NPY_HEADER_LIMIT = 1 << 20, /* of the dictionary: ours are below 128 bytes, numpy's own limit is 10,000 */
    CRD_NPY_DIMS = 8
};

typedef struct crd_npy_header {
    int stored; /* a crd_type or crd_stored */
    bool swap;
    bool fortran;
    int64_t dims[CRD_NPY_DIMS];
    int dim_count;
} crd_npy_header;

bool crd_npy_is(const unsigned char *head, size_t count);

/* Where the dictionary begins and how long it is, from the first CRD_NPY_PREFIX bytes. */
crd_status crd_npy_prefix(const char *path, const unsigned char *prefix, size_t count, size_t *start, size_t *length);

/* `text` is the dictionary and need not end in a zero byte. */
crd_status crd_npy_parse(const char *path, const char *text, size_t length, crd_npy_header *out);

/* The whole header, prefix included, a multiple of 64 bytes long. */
/* "<u2", "|b1", ...: what NumPy and zarr call a type of plain numbers that we read; false if it is another. */
bool crd_npy_type(const char *text, int *stored, bool *swap);
/* The name of a type as we write it, in the machine's byte order. */
void crd_npy_type_name(crd_type type, char out[4]);

size_t crd_npy_write(const crd_volume_info *info, char *out, size_t room);

#endif
