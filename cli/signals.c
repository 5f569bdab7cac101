#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static atomic_int received;
static bool on_terminal;

/* The first signal is noted, the next one kills. Two may arrive at once on two threads of a library, hence the
 * exchange; the raised signal waits until this handler is over. */
static void note_signal(int number)
{
    static const char words[] = "\ncredence: stopping in good order; press Ctrl-C again to stop at once\n";
    const int cause = errno;
    if (atomic_exchange(&received, number) != 0) {
        (void)signal(number, SIG_DFL);
        (void)raise(number);
    } else if (number == SIGINT && on_terminal) {
        const ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
        (void)written;
    }
    errno = cause;
}

void cli_signals_install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGUSR1);
    on_terminal = isatty(STDERR_FILENO) != 0;
    static const int numbers[] = {SIGINT, SIGTERM, SIGUSR1}; /* the last is what mpirun passes on */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        /* A background job of a shell starts with SIGINT ignored, and it should stay so. */
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        (void)sigaction(numbers[i], &action, NULL);
    }
}

int cli_signals_received(void)
{
    return atomic_load(&received);
}

void cli_signals_forget(void)
{
    atomic_store(&received, 0);
}
