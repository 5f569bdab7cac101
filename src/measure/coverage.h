/* Which properties have intervals that were seen to hold the truth. */
#ifndef CRD_MEASURE_COVERAGE_H
#define CRD_MEASURE_COVERAGE_H

/* Of so many phantoms the 90 % interval held the truth in so many (docs/RESULTS.md). */
typedef struct crd_coverage {
    const char *property; /* without its axis */
    int held, phantoms;
} crd_coverage;

/* NULL: it wasn't seen, and what a table shows is a spread. `name` may end with an axis. */
const crd_coverage *crd_coverage_of(const char *name);

#endif
