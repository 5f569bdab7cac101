/* Settings of a prediction whose text has a form of its own: 0:64,10:20,0:99 and 33-67,20-80. */
#ifndef CRD_PREDICT_VALUES_H
#define CRD_PREDICT_VALUES_H

#include <stdint.h>

#include "base/error.h"

typedef struct crd_percent_pair {
    double low, high;
} crd_percent_pair;

/* z0, z1, y0, y1, x0, x1; whether the scan has such voxels is another question. `name` is the setting's, for the
 * sentence. */
crd_status crd_parse_bbox(const char *name, const char *text, int64_t limits[6]);
/* How many pairs a text can hold at most. */
int64_t crd_pairs_room(const char *text);
/* Fills at most `room` pairs; more are an error. */
crd_status crd_parse_pairs(const char *name, const char *text, int64_t room, crd_percent_pair *pairs, int64_t *count);

/* The same as checks of settings. */
crd_status crd_check_bbox(const char *name, const char *text);
crd_status crd_check_pair(const char *name, const char *text);
crd_status crd_check_pairs(const char *name, const char *text);

#endif
