/* Masks of a training's scans: one for all of them, or one for each. */
#ifndef CRD_TRAIN_MASKS_H
#define CRD_TRAIN_MASKS_H

#include <cjson/cJSON.h>

#include "base/error.h"
#include "credence/train.h"

/* A volume's name, as against a word or nothing. */
bool crd_mask_is_file(const char *mask);
/* That of a scan by its number, as crd_scan_options has it. */
const char *crd_train_mask(const crd_text_list *masks, int64_t scan);
/* Those of the scans to check on. */
const crd_text_list *crd_train_valid_masks(const crd_train_options *options);
/* There must be none, one, or as many as scans. */
crd_status crd_train_check_masks(const crd_train_options *options);
/* In place of the lists in recorded settings: words; files have no names there. Where there is one mask at most it is a
 * text or null, as it was when there could be no more. False where memory is short. */
bool crd_train_record_masks(const crd_train_options *options, cJSON *settings);

#endif
