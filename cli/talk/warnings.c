#include "talk/warnings.h"

#include <stdlib.h>
#include <string.h>

static void note(cli_warnings *warnings, const char *text)
{
    if (warnings->count == warnings->room) {
        const size_t room = warnings->room > 0 ? 2 * warnings->room : 8;
        char **larger = realloc(warnings->texts, room * sizeof *larger);
        if (larger == NULL) return; /* it was shown */
        warnings->texts = larger;
        warnings->room = room;
    }
    char *copy = strdup(text);
    if (copy != NULL) warnings->texts[warnings->count++] = copy;
}

static void pass_message(void *context, crd_level level, const char *text)
{
    cli_warnings *warnings = context;
    const crd_monitor *shown = warnings->shown;
    if (shown != NULL && shown->message != NULL) shown->message(shown->context, level, text);
    if (level == CRD_LEVEL_WARNING) note(warnings, text);
}

static bool pass_progress(void *context, const crd_progress *progress)
{
    const crd_monitor *shown = ((const cli_warnings *)context)->shown;
    return shown == NULL || shown->progress == NULL || shown->progress(shown->context, progress);
}

void cli_warnings_begin(cli_warnings *warnings, const crd_monitor *shown)
{
    *warnings = (cli_warnings){.shown = shown};
    warnings->monitor = (crd_monitor){warnings, pass_message, pass_progress};
}

void cli_warnings_json(const cli_warnings *warnings, cli_json *json)
{
    cli_json_open(json, "warnings", '[');
    for (size_t i = 0; i < warnings->count; i++) cli_json_text(json, NULL, warnings->texts[i]);
    cli_json_close(json);
}

void cli_warnings_end(cli_warnings *warnings)
{
    for (size_t i = 0; i < warnings->count; i++) free(warnings->texts[i]);
    free(warnings->texts);
}
