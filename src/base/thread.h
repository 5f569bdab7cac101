/* The library's own threads. Signals are for the program's threads, so ours start with all signals blocked
 * except those that a thread's own actions cause. */
#ifndef CRD_BASE_THREAD_H
#define CRD_BASE_THREAD_H

#include <pthread.h>

/* As pthread_create: 0, or the cause for strerror. */
int crd_thread_start(pthread_t *thread, void *(*body)(void *), void *context);

#endif
