/* What a format has no field for, as words that other programs ignore: credence_scale=0.5; credence_origin=4,5,6. */
#ifndef CRD_VOLUME_OWN_KEYS_H
#define CRD_VOLUME_OWN_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "credence/volume.h"

enum {
    CRD_OWN_SPACING = 1, /* where the format's own numbers are too short for it */
    CRD_OWN_UNIT = 2,
    CRD_OWN_SCALE = 4,
    CRD_OWN_ORIGIN = 8
};

/* Those of `wanted` that have something to say: the unit where there is one, a scale other than 1, an origin other than
 * 0. */
unsigned crd_own_keys_needed(const crd_volume_info *info, unsigned wanted);

/* Each as "credence_scale" + `equals` + value + `end`. */
void crd_own_keys_write(const crd_volume_info *info, unsigned which, const char *equals, const char *end,
                        crd_text *text);

/* One of them, if the key is one of ours and its value makes sense; adds what it is to *found. */
void crd_own_keys_take(const char *key, size_t key_length, const char *value, size_t length, crd_volume_info *info,
                       unsigned *found);
/* All of a text of "key=value" between semicolons or ends of lines. */
void crd_own_keys_read(const char *text, size_t length, crd_volume_info *info, unsigned *found);

#endif
