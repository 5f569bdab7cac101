/* Several devices that share one queue of chunks: one predictor on each, driven by a thread of its own, which takes the
 * next chunk whenever its device has room. So a faster device computes more of them, and none waits for another, except
 * at the end of a row (crd_predictor_plan.any_order). Which device computes a chunk is left to chance, so all of them
 * must give the same bits: they are of one kind, or at least on one instruction path. Training: several_learner.h. */
#ifndef CRD_BACKEND_SEVERAL_H
#define CRD_BACKEND_SEVERAL_H

#include "backend/backend.h"

/* Its settings name the devices and the backend of each (backend.h). */
extern const crd_backend crd_backend_several;

/* Makes the settings of devices of `each`, which are in them, settings of them all. Where some of the devices have
 * instructions (sm90) that others lack, and the choice is left to us, none uses those. */
void crd_several_join(const crd_backend *each, crd_device_settings *settings);

/* Settings of one of the devices. Those that are named more than once share what memory they may take. */
crd_device_settings crd_several_settings_of(const crd_device_settings *settings, int index);

/* How many different devices are named: 2 workers on one GPU are 1. 0: none is, and one is used. */
int crd_several_distinct(const crd_device_settings *settings);

#endif
