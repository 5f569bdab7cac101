/* Messages and progress of threads that train side by side, for the one thread that may talk to the caller. */
#ifndef CRD_TRAIN_RELAY_H
#define CRD_TRAIN_RELAY_H

#include "credence/monitor.h"

typedef struct crd_relay crd_relay;

crd_status crd_relay_open(const crd_monitor *caller, crd_relay **out);
void crd_relay_close(crd_relay **relay);

/* For the threads. Once the caller, or crd_relay_stop, wants an end, its progress says so to all. */
const crd_monitor *crd_relay_monitor(const crd_relay *relay);
void crd_relay_stop(crd_relay *relay);

/* By the caller's thread, every now and then and at the end: tells what came in since the last time. */
void crd_relay_pass(crd_relay *relay);

#endif
