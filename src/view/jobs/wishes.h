/* What the page may ask a job to do: options by their names, of a list without a single path. */
#ifndef CRD_VIEW_WISHES_H
#define CRD_VIEW_WISHES_H

#include "base/json.h"
#include "credence/settings.h"

typedef enum crd_job_kind { CRD_JOB_TRAIN, CRD_JOB_PREDICT, CRD_JOB_SCORE, CRD_JOB_KINDS } crd_job_kind;
extern const char *const crd_job_kinds[CRD_JOB_KINDS]; /* "train", "predict", "score" */
/* CRD_JOB_KINDS: none of them. */
crd_job_kind crd_job_kind_of(const char *word);

typedef struct crd_wishes {
    crd_job_kind kind;
    int64_t iteration;   /* train: to start from the weights of that one; else whose model. -1: none, the latest */
    bool held_out;       /* predict: all held-out boxes */
    bool examine;        /* train: the model is to be judged as soon as it is done, */
    crd_text_list exam;  /* with these options; owned */
    crd_text_list words; /* "--max-steps", "600", ... checked; owned */
} crd_wishes;

/* `what` is "train", "predict" or "score", `options` an object of numbers, texts and booleans, or NULL. Wrong ones are
 * CRD_ERR_ARGUMENT with a sentence that begins with the option's name. */
crd_status crd_wishes_read(const char *what, const cJSON *options, crd_wishes *out);
void crd_wishes_free(crd_wishes *wishes);

/* A list of words that owns them. */
crd_status crd_words_add(crd_text_list *words, const char *word);
crd_status crd_words_add_number(crd_text_list *words, int64_t value);
void crd_words_free(crd_text_list *words);

#endif
