#include "base/memory_limit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The two versions keep the same figures under other names. */
typedef struct version {
    const char *folder; /* below the mount */
    const char *limit, *used, *inactive, *active;
} version;

/* `unified`: where a system has both. */
static const version newer = {"", "memory.max", "memory.current", "inactive_file ", "active_file "};
static const version both = {"/unified", "memory.max", "memory.current", "inactive_file ", "active_file "};
static const version older = {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ",
                              "total_active_file "};

int64_t crd_system_number(const char *path, const char *key)
{
    char line[256];
    int64_t found = -1;
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    while (found < 0 && fgets(line, sizeof line, file) != NULL) {
        long long number;
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%lld", &number) == 1) found = number;
    }
    (void)fclose(file);
    return found;
}

static int64_t figure(const char *folder, const char *name, const char *key)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int64_t number = crd_system_number(path, key);
    return number > 0 ? number : 0;
}

/* Pages of files count as used, but are given up when memory is short. */
static int64_t left_in(const char *folder, const version *v)
{
    const int64_t limit = figure(folder, v->limit, ""); /* "max" is no number */
    if (limit == 0) return INT64_MAX;
    const int64_t used = figure(folder, v->used, ""),
                  files = figure(folder, "memory.stat", v->inactive) + figure(folder, "memory.stat", v->active);
    const int64_t held = used > files ? used - files : 0;
    return limit > held ? limit - held : 0;
}

/* A group's own limit and those of all above it hold. In a container the path may be that of the host, which can't be
 * seen from inside; the top of what can be is its own group then. */
static int64_t least_left(const char *mount, const version *v, const char *group)
{
    char folder[PATH_MAX];
    int64_t least = INT64_MAX;
    const int top = snprintf(folder, sizeof folder, "%s%s", mount, v->folder);
    if (top < 0 || (size_t)top + strlen(group) >= sizeof folder) return INT64_MAX;
    memcpy(folder + top, group, strlen(group) + 1);
    for (;;) {
        const int64_t left = left_in(folder, v);
        if (left < least) least = left;
        char *slash = strrchr(folder + top, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

/* Is "memory" among names that commas divide? */
static bool names_memory(const char *names, size_t length)
{
    static const char memory[] = "memory";
    while (length > 0) {
        const char *comma = memchr(names, ',', length);
        const size_t one = comma != NULL ? (size_t)(comma - names) : length;
        if (one == strlen(memory) && memcmp(names, memory, one) == 0) return true;
        names += comma != NULL ? one + 1 : one;
        length -= comma != NULL ? one + 1 : one;
    }
    return false;
}

/* Lines are number:controllers:group; those of the newer version name no controllers. */
int64_t crd_memory_left_by_groups(const char *groups, const char *mount)
{
    char line[PATH_MAX + 256];
    int64_t least = INT64_MAX;
    FILE *file = fopen(groups, "r");
    if (file == NULL) return INT64_MAX;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *names = strchr(line, ':');
        const char *group = names != NULL ? strchr(names + 1, ':') : NULL;
        if (group == NULL) continue;
        group++;
        const size_t length = (size_t)(group - names) - 2;
        const version *const which[2] = {length == 0                       ? &newer
                                         : names_memory(names + 1, length) ? &older
                                                                           : NULL,
                                         length == 0 ? &both : NULL};
        for (int i = 0; i < 2; i++) {
            const int64_t left = which[i] != NULL ? least_left(mount, which[i], group) : INT64_MAX;
            if (left < least) least = left;
        }
    }
    (void)fclose(file);
    return least;
}
