/* credence view: a page in the browser. */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "credence/view.h"
#include "json.h"
#include "signals.h"
#include "talk/progress.h"

static void say(const cli_context *context, const crd_view *view, bool opened)
{
    const crd_view_options *options = context->options;
    if (context->common->json) {
        cli_json json = {.out = stdout};
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "address", crd_view_address(view));
        cli_json_text(&json, "tunnel", crd_view_tunnel(view));
        cli_json_close(&json);
    } else {
        printf("%s\n\n  %s\n\n", crd_view_title(view), crd_view_address(view));
        if (!context->common->quiet) {
            printf("From another machine: %s, then open the address there.\n", crd_view_tunnel(view));
            printf("%s Ctrl-C ends the viewer.\n",
                   opened ? "The page opens in your browser." : "Open the address in a browser.");
        }
    }
    if (options->listen != NULL && !context->common->quiet) {
        fprintf(stderr, "credence: nothing is encrypted on the way to %s, and whoever has the key sees the scan\n",
                options->listen);
    }
    (void)fflush(stdout);
}

/* A job goes on; for a moment another Ctrl-C ends it as well. */
static void leave_job(crd_view *view)
{
    char text[400];
    const char *job = crd_view_job(view);
    if (job == NULL) return;
    if (cli_signals_received() != SIGINT) {
        cli_progress_line(CLI_HINT, job);
        return;
    }
    snprintf(text, sizeof text, "%s; Ctrl-C once more within 5 s ends it, too", job);
    cli_progress_line(CLI_HINT, text);
    cli_signals_forget();
    for (int i = 0; i < 50; i++) {
        const struct timespec time = {.tv_sec = 0, .tv_nsec = 100000000L};
        (void)nanosleep(&time, NULL);
        if (cli_signals_received() == 0) continue;
        cli_progress_line(CLI_HINT, "ending it in good order");
        if (crd_view_end_job(view) != CRD_OK) (void)cli_library_failed();
        return;
    }
}

static int run(cli_context *context)
{
    crd_view_options *options = context->options;
    crd_view *view = NULL;
    bool opened = false;
    if (context->argument_count > 0) {
        if (cli_given(context, "input")) return cli_usage(context->command, "what to look at was given twice");
        if (crd_settings_set(&crd_view_settings, options, "input", context->arguments[0]) != CRD_OK) {
            return cli_library_failed();
        }
    }
    if (options->input == NULL) return cli_usage(context->command, "say what to look at: a scan, or a run folder");
    if (options->socket != NULL && options->listen != NULL) {
        return cli_usage(context->command, "--socket and --listen are two different places; give one of them");
    }
    if (options->listen != NULL && options->host.count == 0) {
        return cli_usage(context->command,
                         "--listen needs --host: the name that people will reach the page by; nothing is "
                         "encrypted on the way, and a tunnel (ssh -L) is the better one");
    }
    if (crd_view_start(options, context->monitor, &view) != CRD_OK) return cli_library_failed();
    if (!options->no_browser && !context->common->json && crd_view_browse(view, &opened) != CRD_OK) opened = false;
    say(context, view, opened);
    const crd_status status = crd_view_wait(view, context->monitor);
    leave_job(view);
    crd_view_stop(&view);
    return status == CRD_OK ? CLI_DONE : cli_library_failed();
}

const cli_command cli_view = {
    .name = "view",
    .summary = "a page in the browser: look at a scan and at what credence made of it, in three planes",
    .arguments = "FILE|DIR",
    .least = 0,
    .most = 1,
    .settings = &crd_view_settings,
    .options_size = sizeof(crd_view_options),
    .uses = CLI_USES_THREADS | CLI_USES_JSON,
    .details =
        "FILE is a scan, DIR a run folder of credence predict, whose scan is found by its manifest. The program serves "
        "the page itself, to this machine only, and connects to nothing; the address has a key, without which nobody "
        "sees anything. Volumes are only read. Scans of any size are shown: what is seen is read as it is needed, and "
        "coarser levels are made in the background and kept in your cache folder.\n"
        "On another machine, open a tunnel with the printed ssh command, and the address there.",
    .examples = "credence view scan.tif\n"
                "credence view run\n"
                "credence view scan.tif --run run --label label.tif\n"
                "# on a machine that others use, too: a socket that only you can open\n"
                "credence view scan.tif --socket ~/view.socket",
    .run = run,
};
