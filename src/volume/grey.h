/* Grey values of colours. */
#ifndef CRD_VOLUME_GREY_H
#define CRD_VOLUME_GREY_H

#include <stdint.h>

#include "credence/volume.h"

/* Of `count` pixels from `first` on, of which each is `samples` values of u8 or u16: red, green, blue, and what isn't
 * looked at. The weights are those of ITU-R BT.601, and of most programs: .299, .587, .114. */
void crd_grey(crd_type type, const void *pixels, int64_t samples, int64_t first, int64_t count, void *out);

#endif
