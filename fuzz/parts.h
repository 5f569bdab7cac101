/* Several files in one input of libFuzzer, between lines of three dashes. */
#ifndef CRD_FUZZ_PARTS_H
#define CRD_FUZZ_PARTS_H

#include <errno.h>

#include "common.h"

static const char fuzz_border[] = "\n---\n";

/* The part of [*at, end) up to the next border, or to the end. */
static inline const uint8_t *fuzz_next_part(const uint8_t **at, const uint8_t *end, size_t *size)
{
    const uint8_t *start = *at;
    const uint8_t *stop = memmem(start, (size_t)(end - start), fuzz_border, sizeof fuzz_border - 1);
    *size = (size_t)((stop != NULL ? stop : end) - start);
    *at = stop != NULL ? stop + sizeof fuzz_border - 1 : end;
    return start;
}

/* The file of that name, or none where it has no bytes. */
static inline void fuzz_put(const char *name, const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(name);
    if (size > 0) {
        fuzz_write(path, data, size);
    } else if (unlink(path) != 0 && errno != ENOENT) {
        exit(1);
    }
}

#endif
