/* Reads settings of a prediction whose text has a form of its own: boxes, 0:64,10:20,0:99, and pairs of percentiles,
 * 33-67,20-80. */
#ifndef CRD_PREDICT_SETTINGS_TEXT_H
#define CRD_PREDICT_SETTINGS_TEXT_H

#include <stdint.h>

#include "base/error.h"
#include "credence/settings.h"

/* z0, z1, y0, y1, x0, x1; whether the scan has such voxels is another question. `name` is the setting's, for the
 * sentence. */
crd_status crd_parse_bbox(const char *name, const char *text, int64_t limits[6]);
/* Pairs of percentiles, low before high, none twice, `most` of them at most. `text` is what they were read from, for
 * the sentence, or NULL. */
crd_status crd_pairs_check(const char *name, const char *text, const crd_pair_list *pairs, int64_t most);

/* The same as checks of settings. */
crd_status crd_check_bbox(const char *name, const char *text);
/* Whole numbers, of which each is a multiple of what the network's poolings need. */
crd_status crd_check_eights(const char *name, const char *text);
crd_status crd_check_pair(const char *name, const char *text);
crd_status crd_check_pairs(const char *name, const char *text);

#endif
