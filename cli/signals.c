#include "signals.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t received;
static bool on_terminal;

/* The first signal is noted and the next one kills: its default action is restored here. */
static void note_signal(int number)
{
    static const char words[] = "\ncredence: stopping in good order; press Ctrl-C again to stop at once\n";
    received = number;
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (number == SIGINT && on_terminal) {
        const ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
        (void)written;
    }
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
    on_terminal = isatty(STDERR_FILENO) != 0;
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        /* A background job of a shell starts with SIGINT ignored, and it should stay so. */
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        (void)sigaction(numbers[i], &action, NULL);
    }
}

int cli_signals_received(void)
{
    return received;
}
