/* More than one machine: several processes of one MPI job that share the work of a prediction or a training.
 *
 *     if (crd_cluster_join() != CRD_OK) fail(crd_last_error()->message);
 *     const bool talks = crd_cluster_rank() == 0;
 *     ... crd_predict(&options, &monitor, &result) ...     the same call, with the same options, in every process
 *     crd_cluster_leave();
 *
 * A process that doesn't call crd_cluster_join, or wasn't started by mpirun or srun, is alone, and nothing here touches
 * MPI. The results are the same bytes for any number of processes. Callbacks of the monitor run in every process; a
 * program shows those of rank 0. Messages, files and results of a run come from rank 0. A failure in one process ends
 * the call in all of them, with that process's sentence, and leaves a run that `resume` can continue. Only one
 * prediction or training runs at a time: all processes take part in it. docs/CLUSTER.md has the rest.
 */
#ifndef CREDENCE_CLUSTER_H
#define CREDENCE_CLUSTER_H

#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the job that this process was started in, if any: loads the MPI plug-in and starts MPI, or uses it where the
 * program has started it (with MPI_THREAD_SERIALIZED at least). The environment variable CREDENCE_MPI=off keeps
 * processes apart that one mpirun or srun has started; without it, tasks of srun that no MPI connects are refused. Call
 * it once, before any thread uses the library. */
CRD_API crd_status crd_cluster_join(void);

/* 0 and 1 for a process alone. */
CRD_API int crd_cluster_rank(void);
CRD_API int crd_cluster_size(void);

/* Waits until all processes leave, and ends MPI where crd_cluster_join started it. No other call may be under way. */
CRD_API void crd_cluster_leave(void);

#ifdef __cplusplus
}
#endif
#endif
