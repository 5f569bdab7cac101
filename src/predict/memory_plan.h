/* How the memory limit is spent, and what a run needs: known before it starts. */
#ifndef CRD_PREDICT_MEMORY_PLAN_H
#define CRD_PREDICT_MEMORY_PLAN_H

#include "dist/dist.h"
#include "predict/request.h"

typedef struct crd_memory_plan {
    int64_t limit;
    int memory_saving;     /* of the network's predictor */
    int64_t memory_bytes;  /* of the whole process, at most */
    int64_t slab_bytes;    /* of sums held in memory; 0 where tiles have none */
    int64_t kept_bytes;    /* slices of the scan, so that each is read once; 0: they don't fit */
    int64_t cache_bytes;   /* of decoded data, per handle of the scan */
    int64_t scratch_bytes; /* file for the sums that don't fit */
    int64_t partial_bytes; /* what is finished and no volume yet */
    int64_t result_bytes;  /* the volumes */
    int64_t disk_bytes;    /* all three, and what processes leave for each other */
} crd_memory_plan;

/* "4G", "900M", "1.5GiB", "auto". */
crd_status crd_memory_parse(const char *text, int64_t *out);

/* What can't fit is refused, with the numbers and a chunk or tile that would. Memory is one process's, disk that of
 * all; processes on one machine share what `auto` finds there. */
crd_status crd_memory_plan_make(const crd_request *request, const crd_place *place, crd_memory_plan *out);

/* Seconds that the whole run will take, from timing the network: on the host with a small chunk, else with a whole one,
 * in the run's own `predictor` where there is one (not NULL). */
crd_status crd_memory_plan_eta(const crd_request *request, crd_predictor *predictor, double *seconds);

#endif
