/* The library's side of crd_predict_settings. */
#ifndef CRD_PREDICT_SETTINGS_H
#define CRD_PREDICT_SETTINGS_H

#include "credence/predict.h"

/* The rows that shape the volumes, over the same struct: what a manifest records, and what a resumed run must share. */
extern const crd_settings crd_predict_recorded;

#endif
