/* How the library and a plug-in check that they belong together. They exchange structs, so both must be built from the
 * same source: each has a mark, and a plug-in returns its table only if the two marks are equal. */
#ifndef CRD_BASE_BUILD_MARK_H
#define CRD_BASE_BUILD_MARK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "build_config.h"

typedef struct crd_build_mark {
    uint32_t version;   /* bumped by hand where a meaning or this struct changes; first for ever, so that any two can
                           compare it */
    char release[20];   /* CRD_VERSION */
    uint32_t sizes[12]; /* of the structs that cross: a changed layout shows by itself */
} crd_build_mark;

static inline bool crd_same_build(const crd_build_mark *a, const crd_build_mark *b)
{
    return a->version == b->version && memcmp(a, b, sizeof *a) == 0;
}

#endif
