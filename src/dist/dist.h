/* Several processes that work on one thing. One process is the common case, for which all of this costs nothing.
 *
 * Every function that talks to others is collective, unless it says otherwise: all processes call it, in the same
 * order. None of them waits for ever: once another process has failed, every call returns that process's
 * sentence. Only the thread that runs the job calls them. A process alone may run several jobs, each in a thread of its
 * own: it writes nothing that they share. */
#ifndef CRD_DIST_DIST_H
#define CRD_DIST_DIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "credence/monitor.h"
#include "dist/transport.h"

typedef struct crd_dist crd_dist;

/* The job that crd_cluster_join joined, or a process alone. Never NULL. */
crd_dist *crd_dist_current(void);

int crd_dist_rank(const crd_dist *dist);
int crd_dist_size(const crd_dist *dist);
const crd_place *crd_dist_place(const crd_dist *dist);

/* Begins work that `monitor` watches; it is borrowed until the next call, and NULL stands for nobody. It is also polled
 * while waiting, so that a request to stop is heard even if the other processes are gone. Returns the monitor to use in
 * its place: through that one, a failure of another process ends the work here, too. For a process alone it is
 * `monitor` itself. Not collective. */
const crd_monitor *crd_dist_watch(crd_dist *dist, const crd_monitor *monitor);

crd_status crd_dist_barrier(crd_dist *dist);
/* From rank 0 to all. */
crd_status crd_dist_broadcast(crd_dist *dist, void *data, int64_t bytes);
/* all[rank] = that rank's `own`, of `bytes` each, at rank 0; `all` may be NULL elsewhere. */
crd_status crd_dist_gather(crd_dist *dist, const void *own, int64_t bytes, void *all);
/* The same, at all ranks. */
crd_status crd_dist_share(crd_dist *dist, const void *own, int64_t bytes, void *all);
/* Is it true anywhere? */
crd_status crd_dist_any(crd_dist *dist, bool own, bool *any);

/* Part `rank` of `size` of [0, count), in order; they differ by one at most. */
void crd_dist_part(int64_t count, int size, int rank, int64_t *begin, int64_t *end);

/* Has another process failed? Cheap; not collective. */
crd_status crd_dist_check(crd_dist *dist);
/* A process that failed calls this: it tells the others its last error or, where one of them failed first, makes that
 * one's error the last error here. Not collective. */
void crd_dist_fail(crd_dist *dist);

/* A vector of which every rank writes a range of its own that all then see. */
typedef struct crd_shared_vector crd_shared_vector;
/* Not collective. */
crd_status crd_shared_vector_create(crd_dist *dist, int64_t length, crd_shared_vector **out);
void crd_shared_vector_free(crd_shared_vector **vector);
float *crd_shared_vector_values(crd_shared_vector *vector);
/* Rank r has written [bounds[r], bounds[r + 1]). */
crd_status crd_shared_vector_share(crd_shared_vector *vector, const int64_t *bounds);

/* Vectors that different ranks hold, to be added in the same order by any number of them: every rank gets one range of
 * the elements of all vectors, and does with it what it likes.
 *
 *     crd_dist_sum_begin(sum, count);
 *     for each vector v of this rank's crd_dist_part of count:
 *         write crd_dist_sum_vector(sum, v); crd_dist_sum_put(sum, v);
 *     crd_dist_sum_parts(sum, &parts);         // parts[v]: this rank's range of vector v
 */
typedef struct crd_dist_sum crd_dist_sum;
/* For up to `most` vectors of `length`; rank r gets [bounds[r], bounds[r + 1]) of each. Not collective. */
crd_status crd_dist_sum_create(crd_dist *dist, int64_t most, int64_t length, const int64_t *bounds, crd_dist_sum **out);
void crd_dist_sum_free(crd_dist_sum **sum);
crd_status crd_dist_sum_begin(crd_dist_sum *sum, int64_t count);
float *crd_dist_sum_vector(crd_dist_sum *sum, int64_t v);
/* Hands a vector on; it goes while its rank computes the next one. Not collective. */
crd_status crd_dist_sum_put(crd_dist_sum *sum, int64_t v);
/* They stay until the next begin. */
crd_status crd_dist_sum_parts(crd_dist_sum *sum, const float *const **parts);

/* Questions to rank 0, answered by a thread of its own there while the job runs, in the order in which they come. */
enum { CRD_DIST_QUESTION_BYTES = 64 };
typedef struct crd_dist_questions crd_dist_questions;
/* Called with one question at a time, of the rank given; fills the answer. */
typedef void crd_dist_answer(void *context, int rank, const void *question, void *answer);
/* Questions of CRD_DIST_QUESTION_BYTES at most, answers of `answer_bytes`; one at a time. Collective. */
crd_status crd_dist_questions_open(crd_dist *dist, crd_dist_answer *answer, void *context, int64_t answer_bytes,
                                   crd_dist_questions **out);
/* Not collective. */
crd_status crd_dist_ask(crd_dist_questions *questions, const void *question, int64_t bytes, void *answer);
/* After the last question, also after a failure; not collective, but a barrier should come before it where all went
 * well. NULL is fine. */
void crd_dist_questions_close(crd_dist_questions **questions);

#endif
