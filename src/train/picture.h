/* The course of a training as a picture. */
#ifndef CRD_TRAIN_PICTURE_H
#define CRD_TRAIN_PICTURE_H

#include "train/history.h"

/* Replaces `path` with a PNG, where crd_png_possible: losses, validation accuracy, KL weight and mean sigma against
 * steps. */
crd_status crd_course_write(const char *path, const crd_history *history);

#endif
