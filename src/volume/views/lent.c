#include "volume/views/lent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char prefix[] = "memory:";

/* All that are lent now, newest first. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static crd_volume *newest;

crd_status crd_lent_path(const char *name, char **path)
{
    static atomic_llong numbers;
    char number[32];
    *path = NULL;
    if (name == NULL) {
        snprintf(number, sizeof number, "%lld", (long long)atomic_fetch_add(&numbers, 1) + 1);
        name = number;
    }
    if (name[0] == '\0' || name[0] == '.' || strlen(name) > 100 || strpbrk(name, "/\\:*?[]\n") != NULL) {
        return crd_fail(CRD_ERR_ARGUMENT,
                        "'%.100s' can't be the name of a volume in memory, which becomes part of files' names; use a "
                        "short word",
                        name);
    }
    const size_t room = sizeof prefix + strlen(name);
    CRD_PASS(crd_alloc((int64_t)room, 1, "a name", path));
    snprintf(*path, room, "%s%s", prefix, name);
    return CRD_OK;
}

/* The lock is held. */
static crd_volume *find(const char *path)
{
    crd_volume *volume = newest;
    while (volume != NULL && strcmp(volume->path, path) != 0) volume = volume->next_lent;
    return volume;
}

crd_status crd_lend(crd_volume *volume)
{
    (void)pthread_mutex_lock(&lock);
    const bool taken = find(volume->path) != NULL;
    if (!taken) {
        volume->next_lent = newest;
        volume->lent = true;
        newest = volume;
    }
    (void)pthread_mutex_unlock(&lock);
    if (!taken) return CRD_OK;
    return crd_fail(CRD_ERR_BUSY, "there is a volume called %s already; give this one another name", volume->path);
}

void crd_lent_end(crd_volume *volume)
{
    (void)pthread_mutex_lock(&lock);
    for (crd_volume **at = &newest; *at != NULL; at = &(*at)->next_lent) {
        if (*at != volume) continue;
        *at = volume->next_lent;
        break;
    }
    (void)pthread_mutex_unlock(&lock);
    volume->lent = false;
}

bool crd_is_lent(const char *path)
{
    (void)pthread_mutex_lock(&lock);
    const bool lent = find(path) != NULL;
    (void)pthread_mutex_unlock(&lock);
    return lent;
}

crd_status crd_lent_open(const char *path, crd_volume **out)
{
    *out = NULL;
    if (path == NULL || strncmp(path, prefix, sizeof prefix - 1) != 0) return CRD_OK;
    (void)pthread_mutex_lock(&lock); /* until the copy is made: the original may be closed right after */
    const crd_volume *volume = find(path);
    const crd_status status = volume != NULL ? crd_volume_open_again(volume, out) : CRD_OK;
    (void)pthread_mutex_unlock(&lock);
    return status;
}
