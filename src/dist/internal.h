/* What the files of src/dist share, and nobody else. */
#ifndef CRD_DIST_INTERNAL_H
#define CRD_DIST_INTERNAL_H

#include <pthread.h>

#include "dist/dist.h"

/* Messages of one kind between two ranks arrive in the order in which they were sent. */
enum crd_dist_tag {
    CRD_TAG_NOTICE = 1,
    CRD_TAG_BROADCAST,
    CRD_TAG_GATHER,
    CRD_TAG_PART,
    CRD_TAG_VECTOR,
    CRD_TAG_QUESTION,
    CRD_TAG_ANSWER
};

enum { CRD_DIST_KEPT = 64 };

/* How a process tells the others that it failed. */
typedef struct crd_dist_notice {
    int64_t status;
    char host[CRD_HOST_BYTES];
    char message[1024];
} crd_dist_notice;

struct crd_dist {
    const crd_transport *transport;
    crd_place place;
    pthread_mutex_t lock;       /* one thread at a time calls the transport */
    const crd_monitor *monitor; /* the caller's */
    crd_monitor linked;         /* which also looks at the others */
    bool broken;                /* a process failed, this one or another: error says which */
    bool adrift;                /* messages may be under way that nobody waits for any more */
    crd_error error;
    crd_dist_notice notice;
    void *kept[CRD_DIST_KEPT]; /* memory that a message may still reach */
    int kept_count;
};

typedef struct crd_flight {
    crd_message message;
    bool done;
} crd_flight;

crd_status crd_dist_send(crd_dist *dist, int to, enum crd_dist_tag tag, const void *data, int64_t bytes,
                         crd_flight *out);
crd_status crd_dist_receive(crd_dist *dist, int from, enum crd_dist_tag tag, void *data, int64_t bytes,
                            crd_flight *out);
crd_status crd_dist_probe(crd_dist *dist, enum crd_dist_tag tag, bool *there, int *from, int64_t *bytes);
/* Tests those that aren't done; all of them done? */
crd_status crd_dist_test(crd_dist *dist, crd_flight *flights, int64_t count, bool *done);
/* Waits until all are done; see dist.h on what ends the waiting. */
crd_status crd_dist_wait(crd_dist *dist, crd_flight *flights, int64_t count);

/* Frees memory that messages go from or to. After a failure some may still be under way: then it is kept until
 * crd_dist_forget, which comes when the transport was left. */
void crd_dist_release(crd_dist *dist, void *pointer_to_pointer);
void crd_dist_forget(crd_dist *dist);

#endif
