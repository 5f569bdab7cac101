/* What the network says about one example, against its labels. */
#ifndef CRD_NET_LOSS_H
#define CRD_NET_LOSS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crd_loss {
    double bce_sum; /* of the cross entropy over labelled voxels, of any number of classes */
    int64_t labelled;
    int64_t correct; /* (logit > 0) == label; with more classes, the first of the largest logits is the label's */
    bool head_dead;  /* the head's ReLU gave zero everywhere, in all its channels */
} crd_loss;

#endif
