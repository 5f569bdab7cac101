/* Which job this process belongs to: found out from what mpirun and srun leave in the environment, so that a process
 * that nobody started that way never touches MPI. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared_object.h"
#include "credence/cluster.h"
#include "dist/internal.h"

static const char plugin[] = "libcredence_mpi.so";

static crd_dist current = {
    .transport = &crd_transport_serial, .place = {.size = 1, .local_size = 1}, .lock = PTHREAD_MUTEX_INITIALIZER};

crd_dist *crd_dist_current(void)
{
    return &current;
}

/* Open MPI; PMIx (Open MPI, srun --mpi=pmix); PMI-1 and PMI-2 (MPICH, Intel MPI, Cray, srun --mpi=pmi2). */
static bool started_by_mpi(void)
{
    static const char *const marks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (getenv(marks[i]) != NULL) return true;
    }
    return false;
}

/* How many processes were started, as far as the environment tells; else 1. */
static int processes_started(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        const long count = text != NULL ? strtol(text, NULL, 10) : 0;
        if (count > 1 && count <= INT_MAX) return (int)count;
    }
    return 1;
}

static crd_status fail_from_plugin(crd_status code, const char *file, int line, const char *sentence)
{
    return crd_error_set(code, file, line, "%s", sentence);
}

static crd_status load(const crd_transport **out)
{
    static const crd_transport_host host = {.mark = CRD_TRANSPORT_MARK, .fail = fail_from_plugin};
    crd_transport_entry *entry;
    *out = NULL;
    void *handle = crd_shared_object_open(plugin, true); /* parts of Open MPI look for its symbols among all */
    if (handle == NULL) {
        const char *reason = dlerror();
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%d processes were started as one MPI job, and the MPI part of credence can't be loaded (%s); "
                        "install it, or start one process, or set CREDENCE_MPI=off where they have nothing to do with "
                        "each other",
                        processes_started(), reason != NULL ? reason : plugin);
    }
    void *symbol = dlsym(handle, CRD_TRANSPORT_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    if (entry != NULL) *out = entry(&host);
    if (*out != NULL && (*out)->version == CRD_TRANSPORT_VERSION) return CRD_OK;
    *out = NULL;
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s belongs to another version of credence; install both from one build",
                    plugin);
}

/* srun without --mpi: each task would take itself for the only one, and all would do the same work in the same place.
 */
static crd_status not_connected(void)
{
    return crd_fail(CRD_ERR_UNSUPPORTED,
                    "srun started %d tasks, and no MPI connects them; start them with srun --mpi=pmix (srun --mpi=list "
                    "says what there is), or set CREDENCE_MPI=off where they have nothing to do with each other",
                    processes_started());
}

crd_status crd_cluster_join(void)
{
    const char *wish = getenv("CREDENCE_MPI");
    const crd_transport *transport;
    if (current.transport != &crd_transport_serial) return CRD_OK;
    if (wish != NULL && strcmp(wish, "off") == 0) return CRD_OK;
    if (!started_by_mpi()) return processes_started() > 1 ? not_connected() : CRD_OK;
    const crd_status status = load(&transport);
    if (status != CRD_OK) return processes_started() > 1 ? status : CRD_OK;
    CRD_PASS(transport->join(&current.place));
    current.transport = transport;
    return CRD_OK;
}

int crd_cluster_rank(void)
{
    return current.place.rank;
}

int crd_cluster_size(void)
{
    return current.place.size;
}

void crd_cluster_leave(void)
{
    current.transport->leave();
    current.transport = &crd_transport_serial;
    crd_dist_forget(&current);
    (void)current.transport->join(&current.place);
}
