#include "dist/agree.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/hash/sha256.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "ops/ops.h"

enum { NAME_BYTES = 16 };

crd_status crd_dist_agree(crd_dist *dist, const char *what, const char *text)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(dist);
    char own[CRD_SHA256_TEXT], *all = NULL;
    crd_sha256 hash;
    if (size == 1) return CRD_OK;
    crd_sha256_begin(&hash);
    crd_sha256_add(&hash, text, strlen(text));
    crd_sha256_end(&hash, own);
    CRD_TRY(crd_alloc(size, sizeof own, "a comparison of ranks", &all));
    CRD_TRY(crd_dist_share(dist, own, (int64_t)sizeof own, all));
    for (int rank = 1; rank < size; rank++) {
        if (memcmp(all, all + (size_t)rank * sizeof own, sizeof own) == 0) continue;
        CRD_FAIL(CRD_ERR_MISMATCH,
                 "rank %d of the MPI job has other %s than rank 0; start all with the same command, or set "
                 "CREDENCE_MPI=off where they have nothing to do with each other",
                 rank, what);
    }
done:
    crd_free(&all);
    return status;
}

crd_status crd_dist_agree_options(crd_dist *dist, const crd_settings *table, const void *options)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    if (crd_dist_size(dist) == 1) return CRD_OK;
    CRD_TRY(crd_dist_agree(dist, "versions of credence", crd_version()));
    CRD_TRY(crd_settings_to_json(table, options, CRD_SCOPE_PLACE, &text));
    CRD_TRY(crd_dist_agree(dist, "settings", text));
done:
    crd_settings_free_text(&text);
    return status;
}

/* Can all of them run it? */
static crd_status available_everywhere(crd_dist *dist, const char *isa, bool *out)
{
    const crd_ops *ops;
    bool lacking;
    CRD_PASS(crd_dist_any(dist, crd_ops_select(isa, &ops) != CRD_OK, &lacking));
    *out = !lacking;
    return CRD_OK;
}

crd_status crd_dist_agree_isa(crd_dist *dist, const crd_monitor *monitor, const char **isa)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(dist);
    const crd_ops *best, *chosen = NULL;
    char own[NAME_BYTES] = "", *all = NULL;
    CRD_PASS(crd_ops_select(NULL, &best));
    *isa = best->name;
    if (size == 1) return CRD_OK;
    snprintf(own, sizeof own, "%s", best->name);
    CRD_TRY(crd_alloc(size, NAME_BYTES, "a comparison of ranks", &all));
    CRD_TRY(crd_dist_share(dist, own, NAME_BYTES, all));
    for (int rank = 0; rank < size && chosen == NULL; rank++) { /* the weakest one's best is the only one all have */
        const char *name = all + (size_t)rank * NAME_BYTES;
        bool fits = false;
        if (rank > 0 && strcmp(name, name - NAME_BYTES) == 0) continue;
        CRD_TRY(available_everywhere(dist, name, &fits));
        if (fits) CRD_TRY(crd_ops_select(name, &chosen));
    }
    if (chosen == NULL) CRD_FAIL(CRD_ERR_UNSUPPORTED, "the ranks' processors have no instruction path in common");
    *isa = chosen->name;
    bool mixed = false;
    for (int rank = 0; rank < size; rank++) mixed = mixed || strcmp(all + (size_t)rank * NAME_BYTES, *isa) != 0;
    crd_info(monitor, "instruction path %s%s", *isa, mixed ? ", the weakest processor's best, in all ranks" : "");
done:
    crd_free(&all);
    return status;
}

typedef struct seat { /* where a process may run */
    char host[CRD_HOST_BYTES];
    cpu_set_t cores;
} seat;

crd_status crd_dist_threads(crd_dist *dist, int64_t asked, int64_t *threads)
{
    crd_status status = CRD_OK;
    const int size = crd_dist_size(dist);
    seat own, *all = NULL;
    double share = 0.0;
    *threads = asked;
    if (size == 1) return CRD_OK;
    memset(&own, 0, sizeof own);
    memcpy(own.host, crd_dist_place(dist)->host, sizeof own.host);
    const bool known = sched_getaffinity(0, sizeof own.cores, &own.cores) == 0;
    CRD_TRY(crd_alloc(size, sizeof *all, "a comparison of ranks", &all));
    CRD_TRY(crd_dist_share(dist, &own, (int64_t)sizeof own, all));
    for (size_t core = 0; core < CPU_SETSIZE; core++) {
        int users = 0;
        if (!CPU_ISSET(core, &own.cores)) continue;
        for (int rank = 0; rank < size; rank++) {
            users += strcmp(all[rank].host, own.host) == 0 && CPU_ISSET(core, &all[rank].cores);
        }
        share += 1.0 / users;
    }
    if (asked == 0 && known) *threads = share < 1.0 ? 1 : (int64_t)(share + 1e-6);
done:
    crd_free(&all);
    return status;
}

crd_status crd_dist_describe(crd_dist *dist, char *text, int64_t bytes)
{
    const int size = crd_dist_size(dist);
    crd_status status = CRD_OK;
    uint8_t *all = NULL;
    const uint8_t first = crd_dist_place(dist)->local_rank == 0;
    int machines = 0;
    CRD_TRY(crd_alloc(size, 1, "a comparison of ranks", &all));
    CRD_TRY(crd_dist_share(dist, &first, 1, all));
    for (int rank = 0; rank < size; rank++) machines += all[rank];
    snprintf(text, (size_t)bytes, "%d processes on %d machine%s", size, machines, machines == 1 ? "" : "s");
done:
    crd_free(&all);
    return status;
}
