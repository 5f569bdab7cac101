#include "progress_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"

static const double interval = 0.2; /* seconds between two lines at least */

/* The stage at hand, and what was last said of it. The note is a copy: it is gone when the call is over. */
static struct {
    char stage[64], unit[64], note[256];
    bool noted, waiting;
    int64_t first, done, total;
    double started, now, shown; /* when the stage began, of the latest state, of the last line */
} state;

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* In one piece: whoever follows the file never sees half a line of ours between two of others. */
static void write_line(void (*fill)(cli_json *json, const void *what), const void *what)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *text = open_memstream(&line, &bytes);
    if (text == NULL) return;
    cli_json json = {.out = text, .one_line = true};
    cli_json_open(&json, NULL, '{');
    fill(&json, what);
    cli_json_close(&json);
    if (fclose(text) == 0) (void)fwrite(line, 1, bytes, stderr);
    (void)fflush(stderr);
    free(line);
}

typedef struct message {
    const char *level, *text;
} message;

static void fill_message(cli_json *json, const void *what)
{
    const message *m = what;
    cli_json_text(json, "event", "message");
    cli_json_text(json, "level", m->level);
    cli_json_text(json, "text", m->text);
}

void cli_progress_json_message(cli_line kind, const char *text)
{
    static const char *const levels[] = {
        [CLI_INFO] = "info", [CLI_HINT] = "hint", [CLI_WARNING] = "warning", [CLI_ERROR] = "error"};
    const message m = {levels[kind], text};
    write_line(fill_message, &m);
}

static void fill_progress(cli_json *json, const void *what)
{
    (void)what;
    const double elapsed = state.now - state.started;
    const int64_t moved = state.done - state.first;
    const double left = moved > 0 ? elapsed / (double)moved * (double)(state.total - state.done) : NAN;
    cli_json_text(json, "event", "progress");
    cli_json_text(json, "stage", state.stage);
    cli_json_text(json, "unit", state.unit);
    cli_json_int(json, "done", state.done);
    cli_json_int(json, "total", state.total);
    cli_json_real(json, "seconds", round(1e3 * elapsed) / 1e3);
    cli_json_real(json, "left", round(1e3 * left) / 1e3);
    cli_json_text(json, "note", state.noted ? state.note : NULL);
}

static void show(void)
{
    state.shown = state.now;
    state.waiting = false;
    write_line(fill_progress, NULL);
}

void cli_progress_json_show(const crd_progress *progress)
{
    const double now = seconds_now();
    if (strncmp(state.stage, progress->stage, sizeof state.stage - 1) != 0 || progress->done < state.done) {
        snprintf(state.stage, sizeof state.stage, "%s", progress->stage);
        state.started = now;
        state.first = progress->done;
    }
    snprintf(state.unit, sizeof state.unit, "%s", progress->unit);
    snprintf(state.note, sizeof state.note, "%s", progress->note != NULL ? progress->note : "");
    state.noted = progress->note != NULL;
    state.done = progress->done;
    state.total = progress->total;
    state.now = now;
    state.waiting = true;
    if (state.shown == 0.0 || now - state.shown >= interval) show();
}

void cli_progress_json_finish(void)
{
    if (state.waiting) show();
}
