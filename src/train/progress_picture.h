/* The course of a training as a picture. */
#ifndef CRD_TRAIN_PROGRESS_PICTURE_H
#define CRD_TRAIN_PROGRESS_PICTURE_H

#include "train/history.h"

/* Replaces `path` with a PNG, where crd_png_possible: the losses against steps, and of validation accuracy, KL weight
 * and mean sigma those that move. */
crd_status crd_progress_picture(const char *path, const crd_history *history);

#endif
