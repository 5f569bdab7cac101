/* The first pass: everything that one walk over the slices can count, for all realisations together. */
#ifndef CRD_MEASURE_PASS_H
#define CRD_MEASURE_PASS_H

#include "credence/monitor.h"
#include "measure/counts/cells.h"
#include "measure/counts/chords.h"
#include "measure/counts/components.h"
#include "measure/counts/twopoint.h"
#include "run/realisations.h"

/* What is counted. */
enum {
    CRD_COUNT_CELLS = 1, /* always: the volume fraction comes from there */
    CRD_COUNT_COMPONENTS = 2,
    CRD_COUNT_CHORDS = 4,
    CRD_COUNT_PAIRS = 8,
    CRD_COUNT_SETS = 16 /* cells of several phases taken together, where there are more than two */
};

/* Triple lines of more phases than these would take hundreds of sets. */
enum { CRD_TRIPLES_MAX = 6 };

typedef struct crd_pass_plan {
    crd_realisations *realisations;
    const int64_t *phases; /* their numbers; borrowed */
    int64_t phase_count;
    unsigned counted;
    int neighbours;
    const int64_t *lags; /* rising from 0; borrowed */
    int64_t lag_count;
    int64_t blocks[3];    /* of the segmentation, for the size error; 0, 0, 0: none */
    int64_t memory_bytes; /* that may be used */
    int64_t most_slices;  /* at once; 0: as many as there is memory for */
    /* Of several processes: all read all slices; this one counts cells and pairs of its part of them, and components
     * and chords of every `processes`-th realisation. What all of them count adds up. */
    int process, processes; /* 0, 0: one alone */
} crd_pass_plan;

/* One phase of up to 64 realisations. */
typedef struct crd_pass_part {
    int64_t phase, word; /* the phase's place in the plan's list; bits 64 word and on */
    crd_field field;
    crd_cells cells;
    crd_twopoint pairs;
    crd_components components;
    crd_chords chords;
} crd_pass_part;

/* Cells of several phases taken as one, for up to 64 realisations: what interfaces and triple lines are made of. */
typedef struct crd_pass_set {
    unsigned phases; /* bit p: phase p is one of them */
    int64_t word;
    crd_field field;
    crd_cells cells;
} crd_pass_set;

typedef struct crd_pass {
    crd_pass_plan plan;
    crd_frame window;
    crd_frame narrow; /* the same for sets, which look one slice back */
    crd_cell_rooms rooms;
    crd_pass_set *sets;
    int64_t set_count;
    crd_pass_part *parts; /* [phase * words + word] */
    int64_t part_count;
    int64_t slices; /* at once */
    int64_t bytes;  /* planned */
    int64_t voxels; /* of the window */
} crd_pass;

/* What it would take: bytes, and sets of phases. */
crd_status crd_pass_needs(crd_pass *pass, const crd_pass_plan *plan, crd_pool *pool, int64_t *bytes, int64_t *sets);
/* Plans and takes the memory. */
crd_status crd_pass_begin(crd_pass *pass, const crd_pass_plan *plan, crd_pool *pool);
/* Goes through the slices. */
crd_status crd_pass_run(crd_pass *pass, crd_pool *pool, const crd_monitor *monitor);
void crd_pass_end(crd_pass *pass);

/* All that was counted, as bytes: for a journal. The pass that they come back into has the same plan and is begun. */
int64_t crd_pass_counts_bytes(const crd_pass *pass);
void crd_pass_counts_save(const crd_pass *pass, uint8_t *bytes);
void crd_pass_counts_restore(crd_pass *pass, const uint8_t *bytes);

/* The part that holds a realisation's bit, and which of its bits that is. */
const crd_pass_part *crd_pass_part_of(const crd_pass *pass, int64_t phase, int64_t bit, int *own);

/* The cells inside the window of one realisation, by the codes that they would have if those phases were one. */
void crd_pass_cells_of(const crd_pass *pass, unsigned phases, int64_t bit, int64_t histogram[CRD_CELL_CODES]);

#endif
