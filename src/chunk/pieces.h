/* Which pieces of scans stand for all of them: places by the seed, spread over the scans by their size, and inside
 * their masks as far as that is possible. */
#ifndef CRD_CHUNK_PIECES_H
#define CRD_CHUNK_PIECES_H

#include "chunk/scan.h"

enum { CRD_PIECES_WANTED = 4 };

/* The size of pieces that all these scans can give, of multiples of `step`: at most 48, 96, 96. False where an axis of
 * one is shorter than `step`. */
bool crd_pieces_size(crd_scan *const *scans, int64_t count, int64_t step, int64_t size[3]);
/* The same for one scan of that shape. */
bool crd_piece_size(const int64_t shape[3], int64_t step, int64_t size[3]);
/* Reads them, CRD_PIECES_WANTED * size[0] * size[1] * size[2] floats, rounded to half precision. */
crd_status crd_pieces_read(crd_scan *const *scans, int64_t count, uint64_t seed, const int64_t size[3], float *voxels);

#endif
