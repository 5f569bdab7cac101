/* One job of a project: a training, a prediction or an exam, its command, its process, and how far it is. Kept in
 * job.json in the job's folder, beside what it prints (result.json) and says (log.txt, a JSON object a line). */
#ifndef CRD_VIEW_JOB_H
#define CRD_VIEW_JOB_H

#include "base/text.h"
#include "view/jobs/process.h"
#include "view/jobs/wishes.h"

enum { CRD_JOB_RUN = 40, CRD_JOB_FOLDER = 64, CRD_JOB_WORDS = 600, CRD_JOB_PATIENCE = 30 /* seconds for a good end */ };

typedef enum crd_job_state {
    CRD_JOB_RUNNING,
    CRD_JOB_DONE,
    CRD_JOB_FAILED,      /* it said why */
    CRD_JOB_CANCELLED,   /* by the user */
    CRD_JOB_INTERRUPTED, /* gone without a word */
} crd_job_state;

typedef struct crd_job {
    int64_t number, iteration;
    crd_job_kind kind;
    crd_job_state state;
    char folder[CRD_JOB_FOLDER]; /* in the project: "iterations/003/runs/1" */
    crd_text_list words;  /* the command; what begins with @/ lies in the project, so that the project can be moved */
    crd_text_list wishes; /* what the user chose of it */
    char
        model[CRD_JOB_FOLDER]; /* where it begins, as a word; "": the file that was given, or a training from scratch */
    bool warm;                 /* of a training: not from scratch, */
    int64_t from, loop;        /* but from that iteration; and the loop that it belongs to */
    int64_t learnt, boxes;     /* voxels that it learns from, and boxes to train on that have a label */
    bool check;                /* it has labels of its own to check on */
    bool examine;              /* of a training: its model is to be judged as soon as it is done, */
    crd_text_list exam;        /* with these options */
    crd_text_list parts;       /* of a score, or of a prediction of several: the boxes, */
    int64_t step;              /* and which step of theirs it is at */
    crd_process process;
    double began, ended; /* seconds since 1970; ended 0: it runs */
    char error[CRD_JOB_WORDS];
    int64_t log_from; /* where in the log what it says since it was last started begins */
    double kill_at;   /* it was asked to end, and has time until then; 0: it wasn't */

    /* What the server knows while it follows the log. */
    int64_t seen; /* bytes of it */
    char stage[64], unit[32], note[256];
    int64_t done, total; /* total 0: nothing is known */
    double left;         /* seconds; NaN: not known */
    double gone_at;      /* since when its process is gone, and nobody has said what became of it; 0: it isn't */
} crd_job;

void crd_job_free(crd_job *job);

/* The folder of a job, or a file in it; free with crd_free. */
crd_status crd_job_path(const char *project, const crd_job *job, const char *name, char **out);
crd_status crd_job_write(const char *project, const crd_job *job);
/* What lies in `folder`, relative to the project. */
crd_status crd_job_read(const char *project, const char *folder, crd_job *out);

/* Starts it, or with `resume` goes on with it, by the program at hand. */
crd_status crd_job_start(const char *project, crd_job *job, bool resume);
/* The words as they are started, for execv; free with crd_words_free. */
crd_status crd_job_words(const char *project, const crd_job *job, bool resume, crd_text_list *out);
/* What has been said since; *progressed: there is news of how far it is. */
void crd_job_follow(const char *project, crd_job *job, bool *progressed);
/* The process is gone: what became of it? */
void crd_job_end(const char *project, crd_job *job);

/* As JSON, and its command as a person would type it. */
void crd_job_describe(const char *project, const crd_job *job, crd_text *text);
void crd_job_progress(const crd_job *job, crd_text *text);
void crd_words_shell(const char *project, const crd_text_list *words, crd_text *text);

#endif
