/* The course of a training as a picture. */
#ifndef CRD_TRAIN_PICTURE_H
#define CRD_TRAIN_PICTURE_H

#include <stdbool.h>

#include "train/history.h"

/* Whether this build can write pictures. */
bool crd_course_possible(void);

/* Replaces `path` with a PNG: losses, validation accuracy, KL weight and mean sigma against steps. */
crd_status crd_course_write(const char *path, const crd_history *history);

#endif
