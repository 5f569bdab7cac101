/* Other grey values of the same object, at random: what another scan of it, noisier, blurrier, brighter, would show.
 *
 * A change is drawn from the seed for (epoch, piece) and has no memory, so that readers, ranks and resumed runs see the
 * same floats. Grey values are normalised ones; `deviation` is the scan's standard deviation among them. In this order:
 *
 *   blur     convolution with a Gaussian; the piece goes on beyond its faces as in a mirror
 *   sharpen  v + amount * (v - v blurred by SHARPEN_WIDTH)
 *   bend     a curve through -1 and 1 that lifts or lowers what lies between: v + bend * (1 - v^2), straight outside
 *   gain     gain * v + offset
 *   drift    a wave along each axis, longer than half of it
 *   noise    Gaussian, white or, where grain > 0, smoothed by a Gaussian of that width and scaled up again */
#ifndef CRD_TRAIN_DATA_GREY_H
#define CRD_TRAIN_DATA_GREY_H

#include <stdint.h>

typedef struct crd_grey_wave {
    double height, length, phase; /* height * cos(2 pi * (i / length + phase)) at voxel i of the axis */
} crd_grey_wave;

typedef struct crd_grey_change {
    double blur;    /* widths are standard deviations in voxels; 0: none */
    double sharpen; /* amount */
    double bend;
    double gain, offset;
    crd_grey_wave drift[3];
    double noise; /* standard deviation */
    double grain; /* width */
} crd_grey_change;

#define CRD_SHARPEN_WIDTH 1.0
enum { CRD_GREY_REACH = 4 }; /* a Gaussian is cut off so many voxels from its centre, at the most */

/* Leaves every grey value as it is. */
#define CRD_GREY_SAME ((crd_grey_change){.gain = 1.0})

crd_grey_change crd_grey_draw(uint64_t seed, int64_t epoch, int64_t piece, const int64_t size[3], double deviation);

/* Weights of a Gaussian at distance 0, 1, ..; all of it sums to 1. Gives back the largest distance. */
int crd_grey_kernel(double width, float weights[CRD_GREY_REACH + 1]);

/* Floats of room that crd_grey_apply needs. */
int64_t crd_grey_room(const int64_t size[3]);
/* The noise is that of (seed, epoch, piece), voxel by voxel. */
void crd_grey_apply(const crd_grey_change *change, uint64_t seed, int64_t epoch, int64_t piece, const int64_t size[3],
                    float *voxels, float *room);

#endif
