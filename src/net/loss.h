/* What the network says about one example, against its labels. */
#ifndef CRD_NET_LOSS_H
#define CRD_NET_LOSS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crd_loss {
    double bce_sum;
    int64_t labelled;
    int64_t correct; /* (logit > 0) == label */
    bool head_dead;  /* the head's one-channel ReLU gave zero everywhere */
} crd_loss;

#endif
