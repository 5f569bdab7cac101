/* Opening the user's browser. Other users of the machine see command lines, so the address with its key goes there by a
 * private file that leads on to it. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "view/http/key.h"
#include "view/view.h"

extern char **environ;

static bool has_display(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x != NULL && x[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

static crd_status write_redirect(const crd_view *view, const char *path)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *words = NULL;
    crd_text_add(&text, "<!doctype html><meta charset=\"utf-8\"><title>credence view</title>"
                        "<meta http-equiv=\"refresh\" content=\"0;url=");
    crd_text_html(&text, view->address);
    crd_text_add(&text, "\"><p>credence view opens.\n");
    CRD_TRY(crd_text_finish(&text, &words));
    (void)unlink(path);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        status = crd_fail_errno("can't write %s", path);
        goto done;
    }
    status = crd_write_at(fd, path, 0, words, strlen(words));
    (void)close(fd);
done:
    crd_text_free(&text);
    crd_free(&words);
    return status;
}

/* xdg-open hands the file on and ends; it isn't waited for long, and its words aren't ours. */
static bool open_file(char *path)
{
    static char program[] = "xdg-open";
    char *const words[] = {program, path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t child = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    sigemptyset(&none);
    const bool started =
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawnattr_setsigmask(&attributes, &none) == 0 &&
        posix_spawnattr_setpgroup(&attributes, 0) == 0 && /* Ctrl-C in the terminal isn't for the browser */
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP) == 0 &&
        posix_spawnp(&child, program, &actions, &attributes, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return started;
}

crd_status crd_view_browse(const crd_view *view, bool *opened)
{
    crd_status status = CRD_OK;
    char *folder = NULL, *path = NULL, name[32];
    *opened = false;
    if (!has_display() || view->socket_path != NULL) return CRD_OK;
    snprintf(name, sizeof name, "open-%d.html", view->sockets.port);
    CRD_TRY(crd_private_folder(&folder));
    CRD_TRY(crd_join_path(folder, name, "", &path));
    CRD_TRY(write_redirect(view, path));
    *opened = open_file(path);
done:
    crd_free(&folder);
    crd_free(&path);
    return status;
}
