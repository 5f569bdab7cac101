/* Inside src/net/store: stores that are read by the helper (base/hdf5/helper.h), because a model, a checkpoint or the
 * files of a run may be somebody else's. Each call of store.h is an order; the helper answers by the same call in its
 * own process, with the same sentences. */
#ifndef CRD_NET_STORE_APART_H
#define CRD_NET_STORE_APART_H

#include "net/store/store_file.h"

enum { CRD_STORE_NAME = 256, CRD_STORE_SHOWN = 2048, CRD_STORE_RANK = 8 };

/* The first order. */
typedef struct crd_store_opening {
    char path[CRD_STORE_SHOWN]; /* for sentences */
    int64_t length, data_limit;
} crd_store_opening;

typedef enum crd_store_question {
    CRD_ASK_HAS,
    CRD_ASK_HAS_ATTRIBUTE,
    CRD_ASK_SHAPE,
    CRD_ASK_FLOATS,
    CRD_ASK_DOUBLES,
    CRD_ASK_HALVES,
    CRD_ASK_INTEGERS,
    CRD_ASK_TEXT,
    CRD_ASK_NUMBERS,
    CRD_ASK_REALS
} crd_store_question;

/* All others. Values and texts come in the shared memory. */
typedef struct crd_store_order {
    crd_store_question question;
    int rank;
    int64_t window; /* bytes of the shared memory */
    int64_t count;  /* of values */
    int64_t shape[CRD_STORE_RANK];
    char group[CRD_STORE_NAME], name[CRD_STORE_NAME], needed_by[CRD_STORE_NAME];
} crd_store_order;

/* What follows a good answer. */
typedef struct crd_store_reply {
    int64_t value; /* is it there; a text's length */
    int64_t shape[CRD_STORE_RANK];
} crd_store_reply;

/* Of the helper's work. */
void crd_store_mark(char mark[CRD_HELPER_MARK]);

crd_status crd_store_apart_open(crd_store *store);

bool crd_store_apart_has(crd_store *store, crd_store_question question, const char *group, const char *name);
crd_status crd_store_apart_shape(crd_store *store, const char *name, int rank, int64_t *shape);
/* Values of `bytes` each, in a dataset or, of rank 1 and in a group, in an attribute. */
crd_status crd_store_apart_values(crd_store *store, crd_store_question question, const char *group, const char *name,
                                  int rank, const int64_t *shape, const char *needed_by, size_t bytes, void *values);
crd_status crd_store_apart_text(crd_store *store, const char *group, const char *name, char **out);

#endif
