/* Scans that nobody made: what the training scans would look like from another scanner, on another day. They are
 * stronger than, and partly unlike, what training makes of its pieces, because a shift like those trained on is no
 * surprise.
 *
 * A list, not a draw: the same for every model, so that what is found on them can be compared. */
#ifndef CRD_TRAIN_INTERVALS_SHIFTS_H
#define CRD_TRAIN_INTERVALS_SHIFTS_H

#include "train/data/grey.h"

enum { CRD_SHIFTS = 16 };

/* In words: "noise 0.5, blur 0.9"; "none" for the scan as it is. */
void crd_shift_name(int number, char *text, int64_t room);

/* Shift `number` for window `place` of that size; `deviation` is the scan's among normalised grey values. Drift differs
 * from window to window, as that of a whole scan would. */
crd_grey_change crd_shift_of(int number, int64_t place, const int64_t size[3], double deviation);

#endif
