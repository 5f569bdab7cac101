#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "talk/progress.h"

static void say(const char *format, va_list arguments)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, arguments);
    cli_progress_line(CLI_ERROR, text);
}

int cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    return CLI_FAILED;
}

int cli_usage(const cli_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    char hint[80];
    snprintf(hint, sizeof hint, "try 'credence %s%s--help'", command != NULL ? command->name : "",
             command != NULL ? " " : "");
    cli_progress_line(CLI_HINT, hint);
    return CLI_USAGE;
}

int cli_library_failed(void)
{
    return cli_fail("%s", crd_last_error()->message);
}

bool cli_given(const cli_context *context, const char *name)
{
    const crd_setting *row = crd_settings_find(context->table, name);
    return row != NULL && context->given[row - context->table->rows];
}

int cli_require(const cli_context *context, const char *name)
{
    if (cli_given(context, name)) return CLI_DONE;
    const crd_setting *row = crd_settings_find(context->table, name);
    const char *argument = row != NULL && row->argument != NULL ? row->argument : "VALUE";
    return cli_usage(context->command, "%s needs --%s %s", context->command->name, name, argument);
}

/* After a broken file libhdf5 complains about itself when the program ends; all that a user needs has been said. */
static void silence_libraries(void)
{
#if !defined(__SANITIZE_ADDRESS__)
    (void)fflush(stderr);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    (void)dup2(nowhere, STDERR_FILENO);
    (void)close(nowhere);
#endif
}

int cli_finish_output(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        code = cli_fail("can't write to standard output: %s", strerror(errno));
    }
    if (code == CLI_FAILED) silence_libraries();
    return code;
}
