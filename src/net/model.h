/* The library's side of credence/model.h, and what a checkpoint shares with a model file. */
#ifndef CRD_NET_MODEL_H
#define CRD_NET_MODEL_H

#include "base/assert.h"
#include "credence/model.h"
#include "net/net.h"
#include "net/pieces.h"
#include "net/provenance.h"
#include "net/store/store.h"

struct crd_model {
    crd_net net;
    crd_model_info info; /* info.config points at `config` */
    char *config;
    float *parameters; /* [members][net.model.total], model layout */
    crd_pieces pieces;
    crd_provenance provenance;
};

/* A model of these settings with all parameters 0. */
crd_status crd_model_make_empty(const crd_model_info *info, crd_model **out);

/* The parameters of a member, 0 .. info.members - 1. Whoever predicts doesn't ask for one: a crd_predictor_plan has all
 * of them, and knows which one a sample is of. */
static inline float *crd_model_member(const crd_model *model, int64_t member)
{
    CRD_ASSERT(member >= 0 && member < model->info.members);
    return model->parameters + member * model->net.model.total;
}

/* Whether it is an ensemble of plain networks, trained with their weights at their means: its samples are its members,
 * without a spread of their own. */
bool crd_model_at_means(const crd_model *model);

/* The seed that all of a member follows from: its weights, the order of its examples, their augmentation and its
 * noise. The first one's is the ensemble's own. */
uint64_t crd_member_seed(uint64_t seed, int64_t member);

static inline bool crd_model_chunk_known(const crd_model_info *info)
{
    return info->chunk[0] != 0 || info->chunk[1] != 0 || info->chunk[2] != 0;
}

/* Takes the pieces over, in place of those it had, and leaves none behind. */
void crd_model_take_pieces(crd_model *model, crd_pieces *pieces);
crd_status crd_model_set_config(crd_model *model, const char *json); /* copied; NULL: none */

/* Where a checkpoint keeps how far it is: the first number is the step. */
#define CRD_CHECKPOINT_PLACE "state/place"

/* More content of the same file, written after the model or read after it: a checkpoint's moments and place. The store
 * is open, at its root. */
typedef crd_status crd_model_extra(void *context, crd_store *store);
crd_status crd_model_write(const crd_model *model, const char *path, crd_model_extra *extra, void *context);
crd_status crd_model_read(const char *path, crd_model_extra *extra, void *context, crd_model **out);

#endif
