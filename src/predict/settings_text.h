/* Reads settings of a prediction whose text has a form of its own: pairs of percentiles,
 * 33-67,20-80, and edges of chunks. */
#ifndef CRD_PREDICT_SETTINGS_TEXT_H
#define CRD_PREDICT_SETTINGS_TEXT_H

#include <stdint.h>

#include "base/error.h"
#include "credence/settings.h"

/* Pairs of percentiles, low before high, none twice, `most` of them at most. `text` is what they were read from, for
 * the sentence, or NULL. */
crd_status crd_pairs_check(const char *name, const char *text, const crd_pair_list *pairs, int64_t most);

/* The same as checks of settings. */
/* Whole numbers, of which each is a multiple of what the network's poolings need. */
crd_status crd_check_eights(const char *name, const char *text);
crd_status crd_check_pair(const char *name, const char *text);
crd_status crd_check_pairs(const char *name, const char *text);

#endif
