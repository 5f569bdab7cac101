/* Included by net/reference_net.h, once per `real`. No include guard. */

/* The logit of every voxel of one chunk (sizes: crd_net_check_chunk). */
crd_status REF(net_forward)(const crd_net *net, const int64_t chunk[3], const real *weights, const real *masks,
                            const real *input, real *logit);

/* Forward and backward of one example: *bce_sum is the sum of the cross entropy over the labelled voxels, *labelled
 * their number, gradient (overwritten) that of scale * bce_sum. Labels are 0, 1 or CRD_NO_LABEL. */
crd_status REF(net_loss)(const crd_net *net, const int64_t chunk[3], const real *weights, const real *masks,
                         const real *input, const uint8_t *label, real scale, real *gradient, double *bce_sum,
                         int64_t *labelled);
