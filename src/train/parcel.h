/* What processes that share the parameters tell each other about their parts, as flat floats. */
#ifndef CRD_TRAIN_PARCEL_H
#define CRD_TRAIN_PARCEL_H

#include "train/trainer.h"

typedef enum crd_parcel {
    CRD_PARCEL_STEP,       /* what the next step's draws need, and the KL before the last: no rho, but sigma */
    CRD_PARCEL_PARAMETERS, /* all of them */
    CRD_PARCEL_M,          /* Adam's moments */
    CRD_PARCEL_V,
    CRD_PARCEL_COUNT
} crd_parcel;

int64_t crd_parcel_values(crd_parcel parcel, const crd_part *part);
void crd_parcel_pack(crd_parcel parcel, const crd_part *part, const crd_posterior *posterior,
                     const crd_trainer_state *state, float *values);
void crd_parcel_unpack(crd_parcel parcel, const crd_part *part, const float *values, crd_posterior *posterior,
                       crd_trainer_state *state);

#endif
