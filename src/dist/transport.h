/* What the processes of a job need from a message library, as a const table: functions that start a message or check
 * whether it has ended, and none that waits. All waiting, and all that is built from messages, is above it in src/dist.
 *
 * The MPI one lives in a shared object of its own (mpi.c), loaded where a job was started by mpirun or srun; nothing
 * else crosses the border. A table is called by one thread at a time: src/dist/dist.c sees to that. */
#ifndef CRD_DIST_TRANSPORT_H
#define CRD_DIST_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_mark.h"
#include "credence/status.h"

enum { CRD_TRANSPORT_VERSION = 2, CRD_HOST_BYTES = 64 };

typedef struct crd_place {
    int rank, size;
    int local_rank, local_size; /* among the processes on the same machine */
    char host[CRD_HOST_BYTES];
} crd_place;

/* A message under way; whatever the message library calls it fits in here. */
typedef struct crd_message {
    uint64_t handle[2];
} crd_message;

typedef struct crd_transport {
    uint32_t version;
    crd_status (*join)(crd_place *out);
    /* `data` must stay until the message has been tested as done. */
    crd_status (*send)(int to, int tag, const void *data, int64_t bytes, crd_message *out);
    crd_status (*receive)(int from, int tag, void *data, int64_t bytes, crd_message *out);
    crd_status (*test)(crd_message *message, bool *done);
    /* Has a message with this tag, from anybody, arrived? */
    crd_status (*probe)(int tag, bool *there, int *from, int64_t *bytes);
    /* Waits for the other processes to leave, too. */
    void (*leave)(void);
} crd_transport;

/* A process alone. */
extern const crd_transport crd_transport_serial;

#define CRD_TRANSPORT_MARK                                                                                             \
    {                                                                                                                  \
        CRD_TRANSPORT_VERSION, CRD_VERSION,                                                                            \
        {                                                                                                              \
            sizeof(crd_place), sizeof(crd_message), sizeof(crd_transport)                                              \
        }                                                                                                              \
    }

typedef struct crd_transport_host {
    crd_build_mark mark; /* CRD_TRANSPORT_MARK of the library */
    /* Sets the calling thread's error record to a ready sentence, and gives the code back. */
    crd_status (*fail)(crd_status code, const char *file, int line, const char *sentence);
} crd_transport_host;

/* The symbol that a transport in a shared object exports. NULL where the marks differ. */
#define CRD_TRANSPORT_SYMBOL "crd_transport_plugin"
typedef const crd_transport *crd_transport_entry(const crd_transport_host *host);

#endif
