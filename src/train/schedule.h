/* What changes from epoch to epoch. Epochs count from 1. */
#ifndef CRD_TRAIN_SCHEDULE_H
#define CRD_TRAIN_SCHEDULE_H

#include <stdint.h>

/* k0 up to and including epoch `start`, then k1 more in each epoch, up to 1. */
double crd_kl_weight(int64_t epoch, double k0, double k1, int64_t start);

/* Constant, or lr * exp(-10 * lr * (epoch - 1 - start)) from epoch - 1 >= start on; start < 0: constant. */
double crd_learning_rate(int64_t epoch, double lr, int64_t start);

/* The order of `count` chunks in an epoch: order[i] is the number of the i-th. */
void crd_shuffle(uint64_t seed, int64_t epoch, int64_t count, int64_t *order);

#endif
