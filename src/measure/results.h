/* Inside src/measure: a measurement as it is filled, and the statistics over the realisations. */
#ifndef CRD_MEASURE_RESULTS_H
#define CRD_MEASURE_RESULTS_H

#include "base/error.h"
#include "credence/measure.h"
#include "run/realisations.h"

/* What stands for all values of a property. NaN is no value; an infinity sorts above all numbers in quantiles, and is
 * left out of mean and deviation. Linear between order statistics; interval and deviation need two values. */
typedef struct crd_summary {
    double mean, std, median, interval[2];
    int64_t defined; /* finite ones */
} crd_summary;
crd_status crd_summarise(const double *values, int64_t count, const double percent[2], crd_summary *out);

/* A property as it is known: its values are those of all bits of the realisations. */
typedef struct crd_property_plan {
    const char *name;
    double phase;
    char axis;
    const char *unit;   /* "1", or a power of the length: "1/length^2" becomes "1/um^2" */
    const double *bits; /* one value for each bit; borrowed */
    double size_error;  /* NaN: not known */
    /* What errors of whole scans add to the interval (run/widen.h), NaN where that isn't known; NULL: of this property
     * nothing can be known. */
    const double *systematic;
    bool by_cuts;     /* its interval is wider by what it is at both cuts (run/realisations.h), where there are some */
    const char *note; /* or NULL */
    const char *why;  /* a value can be missing; NULL: it can't, or the note says it */
    struct {          /* further numbers of each bit, up to the first without a name */
        const char *name;
        const double *bits;
    } details[CRD_PROPERTY_DETAILS];
} crd_property_plan;

crd_status crd_measurement_create(const crd_realisations_info *info, const double percent[2], crd_measurement **out);
crd_status crd_measurement_add(crd_measurement *m, const crd_realisations_info *info, const crd_property_plan *plan);

/* A distribution: rows of `count` values, one row for each bit. NaN rows are left out. */
typedef struct crd_distribution_plan {
    const char *name;
    double phase;
    char axis;
    const char *unit;
    const double *edges; /* count + 1 of them, or `count` where `points` */
    bool points;
    const double *rows;
    int64_t count;
} crd_distribution_plan;
crd_status crd_measurement_add_distribution(crd_measurement *m, const crd_realisations_info *info,
                                            const crd_distribution_plan *plan);

crd_status crd_measurement_add_rev(crd_measurement *m, const crd_rev_row *row);

/* Takes over what `labelled`, of the labelled voxels alone, says of the same properties. */
crd_status crd_measurement_add_label(crd_measurement *m, const crd_measurement *labelled);

crd_status crd_measurement_note(crd_measurement *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
