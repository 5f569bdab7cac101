/* The library's side of credence/model.h, and what a checkpoint shares with a model file. */
#ifndef CRD_NET_MODEL_H
#define CRD_NET_MODEL_H

#include "credence/model.h"
#include "net/net.h"
#include "net/pieces.h"
#include "net/provenance.h"
#include "net/store/store.h"

struct crd_model {
    crd_net net;
    crd_model_info info; /* info.config points at `config` */
    char *config;
    float *parameters; /* net.model.total values, model layout */
    crd_pieces pieces;
    crd_provenance provenance;
};

/* A model of these settings with all parameters 0. */
crd_status crd_model_make_empty(const crd_model_info *info, crd_model **out);

static inline bool crd_model_chunk_known(const crd_model_info *info)
{
    return info->chunk[0] != 0 || info->chunk[1] != 0 || info->chunk[2] != 0;
}

/* Takes the pieces over, in place of those it had, and leaves none behind. */
void crd_model_take_pieces(crd_model *model, crd_pieces *pieces);
crd_status crd_model_set_config(crd_model *model, const char *json); /* copied; NULL: none */

/* More content of the same file, written after the model or read after it: a checkpoint's moments and place. The store
 * is open, at its root. */
typedef crd_status crd_model_extra(void *context, crd_store *store);
crd_status crd_model_write(const crd_model *model, const char *path, crd_model_extra *extra, void *context);
crd_status crd_model_read(const char *path, crd_model_extra *extra, void *context, crd_model **out);

#endif
