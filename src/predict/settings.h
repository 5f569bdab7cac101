/* The library's side of crd_predict_settings. */
#ifndef CRD_PREDICT_SETTINGS_H
#define CRD_PREDICT_SETTINGS_H

#include <cjson/cJSON.h>

#include "credence/predict.h"

/* The settings up to a scope as a JSON object, which the caller deletes; of those of the two modes only the run's own,
 * so that they choose the same mode again. A run that is no preview says nothing of it: its record is that of versions
 * that didn't keep the word. */
crd_status crd_predict_record(const crd_predict_options *options, bool seamless, crd_setting_scope widest, cJSON **out);

#endif
