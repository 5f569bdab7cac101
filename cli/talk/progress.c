#include "talk/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "signals.h"
#include "talk/wrap.h"

/* Seconds between two drawings of the bar; between two lines at least, and at most while the share hardly moves. */
static const double bar_interval = 0.1, line_interval = 3, line_patience = 60;
static const double line_share = 0.05;
static const double json_interval = 0.2;
/* How much the bar's line says, from all of it to what always stays. */
typedef enum talk { TALK_ALL, TALK_NO_RATE, TALK_NO_NOTE, TALK_LEVELS } talk;
enum { WIDEST = 200, BAR_CELLS = 24, BAR_LEAST = 8, HANGING = 2 };

static struct {
    bool quiet, mute, json, terminal, colour;
    bool bar_drawn;
    char stage[64];
    double started, drawn; /* when the stage began, when something of it was last shown */
    int64_t first;         /* what was done already when it began: a resumed run */
    double shown_share;
    int cells, level; /* of the bar, which becomes narrower and says less within a stage, never more again */
} state;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void cli_progress_setup(bool quiet, bool json)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    state.quiet = quiet;
    state.json = json;
    state.terminal = isatty(STDERR_FILENO) != 0 && term != NULL && strcmp(term, "dumb") != 0;
    state.colour = state.terminal && (no_color == NULL || no_color[0] == '\0');
}

void cli_progress_mute(void)
{
    state.mute = true;
}

/* ---- --progress json ----
 *
 * {"event": "progress", "stage": "predicting", "unit": "slices", "done": 12, "total": 96, "seconds": 3.1, "left": 21.7,
 * "note": null} and {"event": "message", "level": "warning", "text": "..."}, a line each. */

/* The stage at hand, and what was last said of it. The note is a copy: it is gone when the call is over. */
static struct {
    char stage[64], unit[64], note[256];
    bool noted, waiting;
    int64_t first, done, total;
    double started, now, shown; /* when the stage began, of the latest state, of the last line */
} said;

/* In one piece: whoever follows the file never sees half a line of ours between two of others. */
static void json_line(void (*fill)(cli_json *json, const void *what), const void *what)
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

static void fill_progress(cli_json *json, const void *what)
{
    (void)what;
    const double elapsed = said.now - said.started;
    const int64_t moved = said.done - said.first;
    const double left = moved > 0 ? elapsed / (double)moved * (double)(said.total - said.done) : NAN;
    cli_json_text(json, "event", "progress");
    cli_json_text(json, "stage", said.stage);
    cli_json_text(json, "unit", said.unit);
    cli_json_int(json, "done", said.done);
    cli_json_int(json, "total", said.total);
    cli_json_real(json, "seconds", round(1e3 * elapsed) / 1e3);
    cli_json_real(json, "left", round(1e3 * left) / 1e3);
    cli_json_text(json, "note", said.noted ? said.note : NULL);
}

static void json_show(void)
{
    said.shown = said.now;
    said.waiting = false;
    json_line(fill_progress, NULL);
}

static void json_message(cli_line kind, const char *text)
{
    static const char *const levels[] = {
        [CLI_INFO] = "info", [CLI_HINT] = "hint", [CLI_WARNING] = "warning", [CLI_ERROR] = "error"};
    const message m = {levels[kind], text};
    if (kind == CLI_ERROR && said.waiting)
        json_show(); /* an error is the end, and what was before it comes before it */
    json_line(fill_message, &m);
}

static void json_progress(const crd_progress *progress)
{
    const double time = now();
    if (strncmp(said.stage, progress->stage, sizeof said.stage - 1) != 0 || progress->done < said.done) {
        snprintf(said.stage, sizeof said.stage, "%s", progress->stage);
        said.started = time;
        said.first = progress->done;
    }
    snprintf(said.unit, sizeof said.unit, "%s", progress->unit);
    snprintf(said.note, sizeof said.note, "%s", progress->note != NULL ? progress->note : "");
    said.noted = progress->note != NULL;
    said.done = progress->done;
    said.total = progress->total;
    said.now = time;
    said.waiting = true;
    if (said.shown == 0.0 || time - said.shown >= json_interval) json_show();
}

static void json_finish(void)
{
    if (said.waiting) json_show();
}

/* ---- a bar, or lines now and then ---- */

static void erase_bar(void)
{
    if (state.bar_drawn) fputs("\r\033[K", stderr);
    state.bar_drawn = false;
}

void cli_progress_line(cli_line kind, const char *text)
{
    static const char *const lead[] = {
        [CLI_INFO] = "", [CLI_HINT] = "", [CLI_WARNING] = "credence: warning: ", [CLI_ERROR] = "credence: "};
    static const char *const colours[] = {
        [CLI_INFO] = "", [CLI_HINT] = "", [CLI_WARNING] = "\033[33m", [CLI_ERROR] = "\033[31m"};
    if (state.mute || (state.quiet && kind == CLI_INFO)) return;
    if (state.json) {
        json_message(kind, text);
        return;
    }
    erase_bar();
    const char *on = state.colour ? colours[kind] : "", *off = on[0] != '\0' ? "\033[0m" : "";
    fprintf(stderr, "%s%s%s", on, lead[kind], off);
    cli_wrap(stderr, text, strlen(text), cli_terminal_width(STDERR_FILENO), HANGING, strlen(lead[kind]));
    fflush(stderr);
}

/* "0:07", "12:40", "3:05:00" */
static void format_time(double seconds, char *text, size_t bytes)
{
    const int64_t whole = seconds < 3.6e6 ? (int64_t)(seconds + 0.5) : 3600000;
    const int64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
    if (hours > 0) {
        snprintf(text, bytes, "%" PRId64 ":%02" PRId64 ":%02" PRId64, hours, minutes, rest);
    } else {
        snprintf(text, bytes, "%" PRId64 ":%02" PRId64, minutes, rest);
    }
}

/* "12/96 slices, 3.1 slices/s, 0:27 left, loss 0.231" */
static void format_state(const crd_progress *progress, double elapsed, talk level, char *text, size_t bytes)
{
    const char *note = level < TALK_NO_NOTE && progress->note != NULL ? progress->note : "";
    char rate[64] = "", left[48] = "", clock[24];
    const double moved = (double)(progress->done - state.first);
    if (moved > 0 && elapsed > 0) {
        const double per_second = moved / elapsed;
        if (level >= TALK_NO_RATE) {
            rate[0] = '\0';
        } else if (per_second >= 1) {
            snprintf(rate, sizeof rate, per_second < 999.5 ? ", %.3g %s/s" : ", %.0f %s/s", per_second, progress->unit);
        } else {
            snprintf(rate, sizeof rate, ", %.3g s each", 1 / per_second);
        }
        if (progress->done < progress->total) {
            format_time((double)(progress->total - progress->done) / per_second, clock, sizeof clock);
            snprintf(left, sizeof left, ", %s left", clock);
        }
    }
    if (progress->done >= progress->total) {
        format_time(elapsed, clock, sizeof clock);
        snprintf(left, sizeof left, ", took %s", clock);
    }
    snprintf(text, bytes, "%" PRId64 "/%" PRId64 " %s%s%s%s%s", progress->done, progress->total, progress->unit, rate,
             left, note[0] != '\0' ? ", " : "", note);
}

static size_t terminal_width(void)
{
    const size_t width = cli_terminal_width(STDERR_FILENO);
    return width == 0 ? 80 : width < WIDEST ? width : WIDEST;
}

/* The whole line at the widest that fits into `room` columns; at the narrowest it may be longer. */
static int format_bar(const crd_progress *progress, double share, double elapsed, size_t room, char *line, size_t bytes)
{
    for (;;) {
        char cells[BAR_CELLS + 1], about[WIDEST];
        const int filled = (int)(share * state.cells + 1e-9);
        for (int i = 0; i < state.cells; i++) cells[i] = i < filled ? '#' : '.';
        cells[state.cells] = '\0';
        format_state(progress, elapsed, (talk)state.level, about, sizeof about);
        const int used =
            snprintf(line, bytes, "%s [%s] %3d %%  %s", progress->stage, cells, (int)(share * 100 + 1e-9), about);
        if (used < 0 || (size_t)used <= room) return used;
        if (state.cells > BAR_LEAST) {
            state.cells -= BAR_LEAST;
        } else if (state.level + 1 < TALK_LEVELS) {
            state.level++;
            state.cells = BAR_CELLS;
        } else {
            return used;
        }
    }
}

static void draw_bar(const crd_progress *progress, double share, double elapsed)
{
    char line[WIDEST + 1];
    /* One column stays free: a full line would wrap, and the next bar would not cover it. */
    const size_t room = terminal_width() - 1;
    const int used = format_bar(progress, share, elapsed, room, line, sizeof line);
    if (used > 0 && (size_t)used > room) line[room] = '\0';
    fprintf(stderr, "\r%s\033[K", line);
    state.bar_drawn = true;
    if (progress->done >= progress->total) cli_progress_finish();
    fflush(stderr);
}

static void write_line(const crd_progress *progress, double share, double elapsed)
{
    char about[WIDEST];
    format_state(progress, elapsed, TALK_ALL, about, sizeof about);
    fprintf(stderr, "%s: %d %%, %s\n", progress->stage, (int)(share * 100 + 1e-9), about);
}

void cli_progress_finish(void)
{
    if (state.bar_drawn) fputc('\n', stderr);
    state.bar_drawn = false;
    if (state.json && !state.mute) json_finish();
}

static void begin_stage(const crd_progress *progress, double time)
{
    cli_progress_finish();
    snprintf(state.stage, sizeof state.stage, "%s", progress->stage);
    state.started = time;
    state.drawn = state.terminal ? time - bar_interval : time;
    state.first = progress->done;
    state.shown_share = 0;
    state.cells = BAR_CELLS;
    state.level = TALK_ALL;
}

static bool on_progress(void *context, const crd_progress *progress)
{
    (void)context;
    if (cli_signals_received() != 0) return false;
    if (state.mute || state.quiet || progress->total <= 0) return true;
    if (state.json) {
        json_progress(progress);
        return true;
    }
    const double time = now();
    const double share = (double)progress->done / (double)progress->total;
    if (strncmp(state.stage, progress->stage, sizeof state.stage - 1) != 0 || share < state.shown_share) {
        begin_stage(progress, time);
    }
    const double waited = time - state.drawn, elapsed = time - state.started;
    const bool complete = progress->done >= progress->total && state.shown_share < 1;
    if (state.terminal) {
        if (waited < bar_interval && !complete) return true;
        draw_bar(progress, share, elapsed);
    } else {
        /* What is over within moments needs no line at all. */
        const bool due = waited >= line_interval && share - state.shown_share >= line_share;
        if (!due && waited < line_patience && !(complete && elapsed >= line_interval)) return true;
        write_line(progress, share, elapsed);
    }
    state.drawn = time;
    state.shown_share = share;
    return true;
}

static void on_message(void *context, crd_level level, const char *text)
{
    (void)context;
    cli_progress_line(level == CRD_LEVEL_WARNING ? CLI_WARNING : CLI_INFO, text);
}

const crd_monitor *cli_progress_monitor(void)
{
    static const crd_monitor monitor = {.message = on_message, .progress = on_progress};
    return &monitor;
}
