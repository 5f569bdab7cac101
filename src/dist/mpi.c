/* Messages by MPI: libcredence_mpi.so. The only file that knows MPI; it waits nowhere but in leave(). */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "dist/transport.h"

static const crd_transport_host *host;
static MPI_Comm everybody = MPI_COMM_NULL;
static bool ours; /* MPI was started here, and is ended here */

_Static_assert(sizeof(MPI_Request) <= sizeof(crd_message), "a request must fit into a message");

#define FAIL(code, sentence) host->fail((code), __FILE__, __LINE__, (sentence))

static crd_status checked(int result, const char *what)
{
    char reason[MPI_MAX_ERROR_STRING] = "", sentence[MPI_MAX_ERROR_STRING + 160];
    int length = 0;
    if (result == MPI_SUCCESS) return CRD_OK;
    if (MPI_Error_string(result, reason, &length) != MPI_SUCCESS) reason[0] = '\0';
    snprintf(sentence, sizeof sentence, "MPI failed %s (%s); another process of the job may have ended", what, reason);
    return FAIL(CRD_ERR_SYSTEM, sentence);
}

#define CHECKED(call, what)                                                                                            \
    do {                                                                                                               \
        const crd_status checked_status = checked((call), what);                                                       \
        if (checked_status != CRD_OK) return checked_status;                                                           \
    } while (0)

static crd_status start(void)
{
    int running = 0, level = 0;
    CHECKED(MPI_Initialized(&running), "to say whether it runs");
    ours = !running;
    if (running) {
        CHECKED(MPI_Query_thread(&level), "to say what threads may do");
    } else {
        CHECKED(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "to start");
    }
    if (level < MPI_THREAD_SERIALIZED) {
        return FAIL(CRD_ERR_UNSUPPORTED,
                    "this MPI allows calls from one thread only (MPI_THREAD_SERIALIZED is needed)");
    }
    return CRD_OK;
}

static crd_status join(crd_place *out)
{
    MPI_Comm node;
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    memset(out, 0, sizeof *out);
    const crd_status status = start();
    if (status != CRD_OK) return status;
    CHECKED(MPI_Comm_dup(MPI_COMM_WORLD, &everybody), "to set up its group of processes");
    CHECKED(MPI_Comm_set_errhandler(everybody, MPI_ERRORS_RETURN), "to set up its group of processes");
    CHECKED(MPI_Comm_rank(everybody, &out->rank), "to number the processes");
    CHECKED(MPI_Comm_size(everybody, &out->size), "to count the processes");
    CHECKED(MPI_Comm_split_type(everybody, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node), "to find neighbours");
    CHECKED(MPI_Comm_rank(node, &out->local_rank), "to find neighbours");
    CHECKED(MPI_Comm_size(node, &out->local_size), "to find neighbours");
    CHECKED(MPI_Comm_free(&node), "to find neighbours");
    CHECKED(MPI_Get_processor_name(name, &length), "to name this machine");
    snprintf(out->host, sizeof out->host, "%.*s", (int)sizeof out->host - 1, name);
    return CRD_OK;
}

static crd_status too_long(void)
{
    return FAIL(CRD_ERR_INTERNAL, "a message of more than 2 GiB");
}

static crd_status send(int to, int tag, const void *data, int64_t bytes, crd_message *out)
{
    MPI_Request request;
    if (bytes < 0 || bytes > INT_MAX) return too_long();
    CHECKED(MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, everybody, &request), "to send");
    memcpy(out, &request, sizeof request);
    return CRD_OK;
}

static crd_status receive(int from, int tag, void *data, int64_t bytes, crd_message *out)
{
    MPI_Request request;
    if (bytes < 0 || bytes > INT_MAX) return too_long();
    CHECKED(MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, everybody, &request), "to receive");
    memcpy(out, &request, sizeof request);
    return CRD_OK;
}

static crd_status test(crd_message *message, bool *done)
{
    MPI_Request request;
    int over = 0;
    memcpy(&request, message, sizeof request);
    CHECKED(MPI_Test(&request, &over, MPI_STATUS_IGNORE), "to move a message");
    memcpy(message, &request, sizeof request);
    *done = over != 0;
    return CRD_OK;
}

static crd_status probe(int tag, bool *there, int *from, int64_t *bytes)
{
    MPI_Status status;
    int found = 0, count = 0;
    CHECKED(MPI_Iprobe(MPI_ANY_SOURCE, tag, everybody, &found, &status), "to look for messages");
    *there = found != 0;
    if (!found) return CRD_OK;
    CHECKED(MPI_Get_count(&status, MPI_BYTE, &count), "to look for messages");
    *from = status.MPI_SOURCE;
    *bytes = count;
    return CRD_OK;
}

/* Where the program has started MPI, it may have ended it, too. */
static void leave(void)
{
    int over = 0;
    if (MPI_Finalized(&over) != MPI_SUCCESS || over) return;
    (void)(ours ? MPI_Finalize() : MPI_Comm_free(&everybody));
}

__attribute__((visibility("default"))) crd_transport_entry crd_transport_plugin;

const crd_transport *crd_transport_plugin(const crd_transport_host *library)
{
    static const crd_transport table = {.version = CRD_TRANSPORT_VERSION,
                                        .join = join,
                                        .send = send,
                                        .receive = receive,
                                        .test = test,
                                        .probe = probe,
                                        .leave = leave};
    static const crd_build_mark own = CRD_TRANSPORT_MARK;
    if (!crd_same_build(&library->mark, &own)) return NULL;
    host = library;
    return &table;
}
