/* What the phantom tests share: a whole small phantom in memory. */
#ifndef CRD_TESTS_PHANTOM_TOOLS_H
#define CRD_TESTS_PHANTOM_TOOLS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "phantom/generator.h"

typedef struct phantom {
    int64_t shape[3], voxels;
    void *scan;
    uint8_t *label, *truth;
} phantom;

static inline void phantom_free(phantom *p)
{
    free(p->scan);
    free(p->label);
    free(p->truth);
    memset(p, 0, sizeof *p);
}

/* Makes the phantom in slabs of `slices` by `threads` threads, the slabs in falling order if `backwards`. */
static inline crd_status phantom_make(crd_phantom_kind kind, const crd_phantom_options *options, int64_t slices,
                                      int threads, int backwards, phantom *out)
{
    crd_pool *pool = NULL;
    crd_generator *generator = NULL;
    crd_type type;
    memset(out, 0, sizeof *out);
    crd_status status = crd_type_parse(options->type, &type, NULL);
    if (status == CRD_OK) status = crd_pool_create(threads, &pool);
    if (status == CRD_OK) status = crd_generator_create(kind, options, slices, pool, &generator);
    if (status == CRD_OK) {
        const int64_t slice = options->shape[1] * options->shape[2], depth = options->shape[0];
        const int64_t most = crd_generator_slices(generator), slabs = (depth + most - 1) / most;
        memcpy(out->shape, options->shape, sizeof out->shape);
        out->voxels = depth * slice;
        out->scan = malloc((size_t)out->voxels * crd_type_size(type));
        out->label = malloc((size_t)out->voxels);
        out->truth = malloc((size_t)out->voxels);
        for (int64_t i = 0; i < slabs && status == CRD_OK; i++) {
            const int64_t z = (backwards ? slabs - 1 - i : i) * most, count = depth - z < most ? depth - z : most;
            status =
                crd_generator_slab(generator, z, count, (char *)out->scan + (size_t)(z * slice) * crd_type_size(type),
                                   out->label + z * slice, out->truth + z * slice);
        }
    }
    crd_generator_free(&generator);
    crd_pool_free(&pool);
    return status;
}

/* The kind's defaults in a small shape; free with phantom_options_free. */
static inline crd_phantom_options phantom_options(crd_phantom_kind kind, int64_t z, int64_t y, int64_t x)
{
    crd_phantom_options options;
    memset(&options, 0, sizeof options);
    if (crd_settings_default(crd_phantom_settings(kind), &options) != CRD_OK) abort();
    options.shape[0] = z;
    options.shape[1] = y;
    options.shape[2] = x;
    return options;
}

static inline void phantom_options_type(crd_phantom_kind kind, crd_phantom_options *options, const char *type)
{
    if (crd_settings_set(crd_phantom_settings(kind), options, "type", type) != CRD_OK) abort();
}

static inline void phantom_options_free(crd_phantom_kind kind, crd_phantom_options *options)
{
    crd_settings_clear(crd_phantom_settings(kind), options);
}

/* Everything that makes the scan differ from its two grey levels, switched off. */
static inline void phantom_options_clean(crd_phantom_options *options)
{
    options->texture = options->blur = options->noise = options->noise_correlated = options->rings = 0.0;
    options->cupping = options->drift = options->grain_grey = 0.0;
}

#endif
