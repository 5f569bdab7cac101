/* SHA-256 (FIPS 180-4): the fingerprint of models and scans in a manifest. */
#ifndef CRD_BASE_SHA256_H
#define CRD_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The inner loop, `count` blocks of 64 bytes, once for every kind of processor: the first in plain C, and the last that
 * this machine `has` is the one that is used. All give the same; the tests run all. */
typedef struct crd_sha256_path {
    const char *name;
    bool (*has)(void);
    void (*digest)(uint32_t state[8], const unsigned char *blocks, size_t count);
} crd_sha256_path;
extern const crd_sha256_path crd_sha256_paths[];
extern const int crd_sha256_path_count;

typedef struct crd_sha256 {
    const crd_sha256_path *path;
    uint32_t state[8];
    uint64_t bytes;
    unsigned char block[64]; /* the first bytes % 64 of it wait for the rest */
} crd_sha256;

enum { CRD_SHA256_TEXT = 65 }; /* 64 hexadecimal digits and the final zero */

void crd_sha256_begin(crd_sha256 *hash);
void crd_sha256_add(crd_sha256 *hash, const void *data, size_t bytes);
void crd_sha256_end(crd_sha256 *hash, char text[CRD_SHA256_TEXT]);

/* Of a whole file. */
crd_status crd_sha256_file(const char *path, char text[CRD_SHA256_TEXT]);

#endif
