#include "base/thread.h"

#include <signal.h>

/* What a thread itself brings about: blocked, Linux kills without asking any handler, such as a sanitizer's. */
static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

int crd_thread_start(pthread_t *thread, void *(*body)(void *), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own_faults / sizeof own_faults[0]; i++) sigdelset(&all, own_faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int cause = pthread_create(thread, NULL, body, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return cause;
}
