#include "plan.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 };

typedef struct fault {
    int family; /* FAMILIES: all */
    char path[PATH_MAX];
    int64_t first, times, every; /* times < 0: for ever */
    effect effect;
    int error;
    int64_t met;
} fault;

static fault faults[MOST];
static int fault_count;

static const struct {
    const char *name;
    int error;
} errors[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EINTR", EINTR}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}};

static bool read_what(const char *word, fault *f)
{
    f->effect = strcmp(word, "SHORT") == 0 ? SHORTEN : strcmp(word, "STOP") == 0 ? STOP : FAIL;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (strcmp(word, errors[i].name) == 0) f->error = errors[i].error;
    }
    return f->effect != FAIL || f->error != 0;
}

bool plan_add(const char *word)
{
    char copy[PATH_MAX], *parts[5], *rest = copy;
    if (fault_count == MOST || strlen(word) >= sizeof copy) return false;
    fault *f = &faults[fault_count];
    snprintf(copy, sizeof copy, "%s", word);
    for (int i = 0; i < 5; i++) {
        parts[i] = strsep(&rest, ":");
        if (parts[i] == NULL || parts[i][0] == '\0') return false;
    }
    if (rest != NULL) return false;
    *f = (fault){.family = FAMILIES, .every = 1, .first = strtoll(parts[2], NULL, 10)};
    for (int i = 0; i < FAMILIES; i++) {
        if (strcmp(parts[0], family_names[i]) == 0) f->family = i;
    }
    if (f->family == FAMILIES && strcmp(parts[0], "*") != 0) return false;
    snprintf(f->path, sizeof f->path, "%s", parts[1]);
    f->times = parts[4][0] == '*' || parts[4][0] == '%' ? -1 : strtoll(parts[4], NULL, 10);
    if (parts[4][0] == '%') f->every = strtoll(parts[4] + 1, NULL, 10);
    if (f->times == 0 || f->every < 1 || !read_what(parts[3], f)) return false;
    fault_count++;
    return true;
}

/* Could the call end so on a real system? */
static bool possible(const fault *f, const request *call)
{
    switch (f->effect) {
    case STOP:
        return true;
    case SHORTEN:
        return (call->family == READ || call->family == WRITE) && call->bytes > 1;
    default:
        break;
    }
    switch (f->error) {
    case EINTR:
        return call->family == OPEN || call->family == READ || call->family == WRITE || call->family == SYNC ||
               call->family == SIZE || call->family == CLOSE;
    case ENOSPC:
    case EDQUOT:
        return call->makes || call->family == WRITE || call->family == LINK || call->family == MKDIR ||
               call->family == SYNC;
    case EROFS:
        return call->makes || call->family == LINK || call->family == MKDIR || call->family == RENAME ||
               call->family == UNLINK;
    default:
        return call->family != OTHER;
    }
}

effect plan_ask(const request *call, int *error)
{
    effect result = NOTHING;
    for (int i = 0; i < fault_count; i++) {
        fault *f = &faults[i];
        if ((f->family != FAMILIES && f->family != (int)call->family) || !possible(f, call)) continue;
        if (strcmp(f->path, "*") != 0 && fnmatch(f->path, call->path, 0) != 0) continue;
        const int64_t since = f->met++ - f->first;
        if (since < 0 || since % f->every != 0 || (f->times >= 0 && since >= f->times)) continue;
        if (result == NOTHING) {
            result = f->effect;
            *error = f->error;
        }
    }
    return result;
}

/* ---- census ---- */

typedef struct tally {
    char *path;
    family family;
    int64_t calls;
} tally;

static tally *tallies;
static size_t tally_count, tally_room;

void census_count(const request *call)
{
    for (size_t i = 0; i < tally_count; i++) {
        tally *t = &tallies[i];
        if (t->family != call->family || strcmp(t->path, call->path) != 0) continue;
        t->calls++;
        return;
    }
    if (tally_count == tally_room) {
        tally_room = 2 * tally_room + 256;
        tallies = realloc(tallies, tally_room * sizeof *tallies);
        if (tallies == NULL) abort();
    }
    tallies[tally_count++] = (tally){strdup(call->path), call->family, 1};
}

bool census_write(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) return false;
    for (size_t i = 0; i < tally_count; i++) {
        fprintf(file, "%s\t%s\t%lld\n", family_names[tallies[i].family], tallies[i].path, (long long)tallies[i].calls);
    }
    return fclose(file) == 0;
}
