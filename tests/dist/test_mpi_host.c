/* A program that has started MPI itself and then uses the library. MPI starts once in a process: each case is one. */
#include <mpi.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "credence/cluster.h"
#include "harness.h"

static int copied, deleted; /* communicators that were made of MPI_COMM_WORLD, and those of them that were freed */

static int on_copy(MPI_Comm from, int key, void *extra, void *value, void *copy, int *keep)
{
    (void)from, (void)key, (void)extra;
    memcpy(copy, &value, sizeof value);
    *keep = 1;
    copied++;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm from, int key, void *value, void *extra)
{
    (void)from, (void)key, (void)value, (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static bool start(int wanted)
{
    int level = 0;
    if (MPI_Init_thread(NULL, NULL, wanted, &level) != MPI_SUCCESS || level < wanted) return false;
    return setenv("OMPI_COMM_WORLD_RANK", "0", 1) == 0 && setenv("OMPI_COMM_WORLD_SIZE", "2", 1) == 0;
}

/* The library may come and go, and leaves nothing behind but a running MPI. */
static bool join_and_leave(void)
{
    int key, over = 1;
    if (!start(MPI_THREAD_SERIALIZED)) return false;
    if (MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL) != MPI_SUCCESS) return false;
    if (MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL) != MPI_SUCCESS) return false;
    for (int i = 1; i <= 3; i++) {
        if (crd_cluster_join() != CRD_OK || crd_cluster_size() != 1 || copied != i) return false;
        crd_cluster_leave();
        if (deleted != i) return false;
    }
    return MPI_Finalized(&over) == MPI_SUCCESS && !over;
}

/* The status that comes back is the record's. */
static bool too_few_threads(void)
{
    if (!start(MPI_THREAD_SINGLE)) return false;
    const crd_status status = crd_cluster_join();
    return status == CRD_ERR_UNSUPPORTED && crd_last_error()->status == status &&
           strstr(crd_last_error()->message, "MPI_THREAD_SERIALIZED") != NULL;
}

/* The host ends MPI first: there is nothing left to free. */
static bool end_mpi_first(void)
{
    if (!start(MPI_THREAD_SERIALIZED) || crd_cluster_join() != CRD_OK) return false;
    if (MPI_Finalize() != MPI_SUCCESS) return false;
    crd_cluster_leave();
    return true;
}

static bool in_child(bool (*body)(void))
{
    int result = 0, over = 0;
    const pid_t child = fork();
    if (child == 0) {
        const bool fine = body();
        if (!fine) printf("%d copied, %d deleted, last error: %s\n", copied, deleted, crd_last_error()->message);
        (void)MPI_Finalized(&over);
        if (!over) (void)MPI_Finalize();
        fflush(stdout);
        _exit(fine ? 0 : 1);
    }
    return child > 0 && waitpid(child, &result, 0) == child && WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

static void test_join_and_leave(void)
{
    CHECK(in_child(join_and_leave));
}

static void test_too_few_threads(void)
{
    CHECK(in_child(too_few_threads));
}

static void test_mpi_ended_first(void)
{
    CHECK(in_child(end_mpi_first));
}

TEST_MAIN(TEST(test_join_and_leave), TEST(test_too_few_threads), TEST(test_mpi_ended_first))
