/* The library's own threads. Signals belong to those of the program, so ours start with all of them blocked
 * that don't come from what the thread itself does. */
#ifndef CRD_BASE_THREAD_H
#define CRD_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create: 0, or the cause for strerror. */
int crd_thread_start(pthread_t *thread, void *(*body)(void *), void *context);

#endif
