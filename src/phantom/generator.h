/* Slices of a phantom, slab by slab, in memory that depends on the slab and the slice and not on the depth. */
#ifndef CRD_PHANTOM_GENERATOR_H
#define CRD_PHANTOM_GENERATOR_H

#include "base/parallel.h"
#include "credence/phantom.h"
#include "credence/volume.h"

typedef struct crd_generator crd_generator;

/* Slabs of up to `slices` slices; 0: as many as keep the memory moderate. `pool` is borrowed until the generator is
 * freed; of `options` nothing is. */
crd_status crd_generator_create(crd_phantom_kind kind, const crd_phantom_options *options, int64_t slices,
                                crd_pool *pool, crd_generator **out);
void crd_generator_free(crd_generator **generator);

int64_t crd_generator_slices(const crd_generator *generator); /* most slices of one slab */
int64_t crd_generator_bytes(const crd_generator *generator);  /* memory it holds */

/* How many phases label and truth have, and the value of each in the files; truth and label below hold their numbers.
 */
int64_t crd_generator_phases(const crd_generator *generator, double values[CRD_PHANTOM_PHASES]);
/* Those phases from dark to light. */
void crd_generator_order(const crd_generator *generator, int order[CRD_PHANTOM_PHASES]);

/* Slices [z0, z0 + count) of the scan (type as options->type says), the label and the truth (u8). In rising order
 * nothing is computed twice; any order gives the same bytes. */
crd_status crd_generator_slab(crd_generator *generator, int64_t z0, int64_t count, void *scan, uint8_t *label,
                              uint8_t *truth);

#endif
