/* Small help with model files. */
#ifndef CRD_TESTS_MODEL_TOOLS_H
#define CRD_TESTS_MODEL_TOOLS_H

#include <hdf5.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

enum { FILE_LIMIT = 1 << 24 };

static inline bool same_files(const char *a, const char *b)
{
    char *x = NULL, *y = NULL;
    size_t m = 0, n = 1;
    const bool read = crd_read_file(a, FILE_LIMIT, &x, &m) == CRD_OK && crd_read_file(b, FILE_LIMIT, &y, &n) == CRD_OK;
    const bool same = read && m == n && memcmp(x, y, m) == 0;
    crd_free(&x);
    crd_free(&y);
    return same;
}

static inline void put_number(hid_t file, const char *name, int64_t value)
{
    (void)H5Adelete(file, name);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(file, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);
    (void)H5Awrite(attribute, H5T_NATIVE_INT64, &value);
    (void)H5Aclose(attribute);
    (void)H5Sclose(space);
}

#endif
