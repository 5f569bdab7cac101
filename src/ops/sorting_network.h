/* Batcher's odd-even merge sort as a sorting network: a fixed list of exchanges of rows i < j that sorts any values. */
#ifndef CRD_OPS_SORTING_NETWORK_H
#define CRD_OPS_SORTING_NETWORK_H

#include <stdint.h>

enum {
    CRD_NETWORK_ROWS = 128,       /* at most */
    CRD_NETWORK_EXCHANGES = 1471, /* that so many rows take */
};

typedef struct crd_network {
    int count;
    uint8_t pair[CRD_NETWORK_EXCHANGES][2];
} crd_network;

/* For `rows` rows, less the exchanges that none of the wanted percentiles depends on. */
void crd_network_make(int64_t rows, const double *percentiles, int64_t percentile_count, crd_network *out);

/* The same order for any number of rows: a loop around a statement that exchanges rows i and j. */
#define CRD_FOR_EACH_EXCHANGE(rows, i, j)                                                                              \
    for (int64_t p_ = 1; p_ < (rows); p_ *= 2)                                                                         \
        for (int64_t k_ = p_; k_ >= 1; k_ /= 2)                                                                        \
            for (int64_t first_ = k_ % p_; first_ + k_ < (rows); first_ += 2 * k_)                                     \
                for (int64_t i = first_, j = first_ + k_; i < first_ + k_ && j < (rows); i++, j++)                     \
                    if (((i ^ j) & ~(2 * p_ - 1)) == 0)

/* Percentile 0..100 of `rows` ordered values lies between *below and *above, `part` of the way (linear interpolation,
 * numpy's default). */
double crd_percentile_place(double percentile, int64_t rows, int64_t *below, int64_t *above);

#endif
