/* What a tomograph does to the ideal scan: blur, rings, cupping, drift, correlated and white noise. */
#ifndef CRD_PHANTOM_CAMERA_H
#define CRD_PHANTOM_CAMERA_H

#include "credence/phantom.h"
#include "credence/volume.h"
#include "phantom/field.h"

enum { CRD_KERNEL_RADIUS = 15 }; /* the largest: three deviations of 5 voxels */

typedef struct crd_kernel { /* symmetric: weight[radius + k] for k in [-radius, radius] */
    int radius;
    float weight[2 * CRD_KERNEL_RADIUS + 1];
} crd_kernel;

/* A sampled Gaussian. Its sum is 1, or, for noise, the sum of its squares. A deviation of 0 gives one weight of 1. */
void crd_kernel_gaussian(double deviation, int of_squares, crd_kernel *out);

/* Filters a window's values along x and y. `in` has `radius` more rows and columns on every side than `out`, which is
 * rows * columns with the given stride between rows. `scratch` holds (rows + 2 * radius) * columns floats. */
void crd_kernel_plane(const crd_kernel *kernel, const float *in, int64_t rows, int64_t columns, float *scratch,
                      float *out, int64_t stride);

/* out[i] = sum over k of weight[k] * lines[k][i]. */
void crd_kernel_lines(const crd_kernel *kernel, const float *const *lines, int64_t count, float *out);

typedef struct crd_camera {
    crd_kernel blur, noise;
    int64_t shape[3];
    uint64_t seed;
    float noise_scale, correlated_scale, rings_scale, cupping, drift_scale;
    crd_field drift, rings;
    int64_t radii; /* entries of a slice's table of rings */
} crd_camera;

void crd_camera_make(const crd_phantom_options *options, crd_camera *out);

/* White noise to be filtered by camera->noise: uniform, of variance 1. */
void crd_camera_raw_noise(const crd_camera *camera, const crd_window *window, uint32_t *scratch, float *out);

/* Rings of slice z by radius: camera->radii values. Needs crd_field_scratch(1, radii) floats. */
void crd_camera_rings(const crd_camera *camera, int64_t z, float *scratch, float *out);

/* Floats of scratch for crd_camera_finish at windows of up to `rows` whole rows. */
int64_t crd_camera_scratch(const crd_camera *camera, int64_t rows);

/* Whole rows [y0, y0 + rows) of slice z: adds everything to the blurred values and writes voxels of `type` (u8, u16 or
 * f32). `noise` is the filtered noise, NULL without; `rings` comes from crd_camera_rings. */
void crd_camera_finish(const crd_camera *camera, const crd_window *window, const float *noise, const float *rings,
                       float *scratch, float *values, crd_type type, void *out);

#endif
