/* Included by net/reference_net.h, once per `real`. No include guard. */

/* The logits of every voxel of one chunk (sizes: crd_net_check_chunk): crd_net_planes of them. */
crd_status REF(net_forward)(const crd_net *net, const int64_t chunk[3], const real *weights, const real *masks,
                            const real *input, real *logit);
/* The same with norms frozen at `moments`: crd_net_moments(net) pairs, the mean of values and of their squares. */
crd_status REF(net_frozen)(const crd_net *net, const int64_t chunk[3], const real *weights, const real *masks,
                           const double *moments, const real *input, real *logit);
/* Those moments over `count` chunks together, one after the other in `inputs`; of each norm under those of the norms
 * before it. */
crd_status REF(net_measure)(const crd_net *net, const int64_t chunk[3], const real *weights, const real *masks,
                            int64_t count, const real *inputs, double *moments);

/* Forward and backward of one example: *bce_sum is the sum of the cross entropy over the labelled voxels, *labelled
 * their number, gradient (overwritten) that of scale * bce_sum. Labels are classes or CRD_NO_LABEL. */
crd_status REF(net_loss)(const crd_net *net, const int64_t chunk[3], const real *weights, const real *masks,
                         const real *input, const uint8_t *label, real scale, real *gradient, double *bce_sum,
                         int64_t *labelled);
