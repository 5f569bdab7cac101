#include "view/loop/proposals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random/philox.h"
#include "view/loop/boxes.h"

enum { MOST_NEAR = 500 };

const char *const crd_proposal_orders[CRD_PROPOSE_ORDERS] = {
    [CRD_PROPOSE_EXCESS] = "excess", [CRD_PROPOSE_MEAN] = "mean", [CRD_PROPOSE_RANDOM] = "random"};

/* ---- figures ---- */

static void fit(const crd_candidates *c, double *a, double *b)
{
    double sum = 0.0, edge_sum = 0.0, covariance = 0.0, variance = 0.0, count = 0.0;
    for (int64_t i = 0; i < c->count; i++) {
        if (!c->items[i].inside) continue;
        sum += c->items[i].uncertainty;
        edge_sum += c->items[i].edges;
        count++;
    }
    *a = *b = 0.0;
    if (count == 0.0) return;
    for (int64_t i = 0; i < c->count; i++) {
        if (!c->items[i].inside) continue;
        const double edge = c->items[i].edges - edge_sum / count;
        covariance += edge * (c->items[i].uncertainty - sum / count);
        variance += edge * edge;
    }
    *b = variance > 0.0 ? covariance / variance : 0.0;
    *a = (sum - *b * edge_sum) / count;
}

/* To mean 0 and deviation 1 over all in the mask; a feature that is alike everywhere says nothing. */
static void standardise(const crd_candidates *c, double (*out)[CRD_FEATURES])
{
    for (int f = 0; f < CRD_FEATURES; f++) {
        double sum = 0.0, squares = 0.0, count = 0.0;
        for (int64_t i = 0; i < c->count; i++) {
            if (!c->items[i].inside) continue;
            sum += c->items[i].features[f];
            count++;
        }
        const double mean = count > 0.0 ? sum / count : 0.0;
        for (int64_t i = 0; i < c->count; i++) {
            const double away = c->items[i].features[f] - mean;
            if (c->items[i].inside) squares += away * away;
        }
        const double deviation = count > 0.0 ? sqrt(squares / count) : 0.0;
        const bool alike = !(deviation > 1e-9 * fabs(mean)) || !isfinite(deviation);
        for (int64_t i = 0; i < c->count; i++) out[i][f] = alike ? 0.0 : (c->items[i].features[f] - mean) / deviation;
    }
}

static double distance(const double a[CRD_FEATURES], const double b[CRD_FEATURES])
{
    double sum = 0.0;
    for (int f = 0; f < CRD_FEATURES; f++) sum += (a[f] - b[f]) * (a[f] - b[f]);
    return sqrt(sum);
}

static int by_value(const void *a, const void *b)
{
    const double *first = a, *second = b;
    return (*first > *second) - (*first < *second);
}

/* Half of all lie nearer to the middle than this. */
static crd_status median_distance(const crd_candidates *c, double (*features)[CRD_FEATURES], double *out)
{
    static const double middle[CRD_FEATURES] = {0.0};
    crd_status status = CRD_OK;
    double *all = NULL;
    int64_t count = 0;
    CRD_TRY(crd_alloc(c->count, sizeof *all, "distances", &all));
    for (int64_t i = 0; i < c->count; i++) {
        if (c->items[i].inside) all[count++] = distance(features[i], middle);
    }
    qsort(all, (size_t)count, sizeof *all, by_value);
    *out = count > 0 ? all[count / 2] : 0.0;
done:
    crd_free(&all);
    return status;
}

/* ---- choosing ---- */

static bool overlaps(const crd_candidates *c, int64_t candidate, const crd_proposal chosen[], int count)
{
    crd_box box, other;
    crd_candidates_box(c, candidate, &box);
    for (int k = 0; k < count; k++) {
        crd_candidates_box(c, chosen[k].candidate, &other);
        if (crd_boxes_touch(&box, &other)) return true;
    }
    return false;
}

/* The nearest of what is labelled or chosen, for all: brought up to date with one more. */
static void bring_near(const crd_candidates *c, double (*features)[CRD_FEATURES], int64_t one, double *nearest)
{
    for (int64_t i = 0; i < c->count; i++) {
        const double d = distance(features[i], features[one]);
        if (d < nearest[i]) nearest[i] = d;
    }
}

/* Of very many labelled boxes a part says as much. */
static void bring_labelled(const crd_candidates *c, const uint8_t *states, double (*features)[CRD_FEATURES],
                           double *nearest)
{
    int64_t all = 0, met = 0;
    for (int64_t i = 0; i < c->count; i++) all += states[i] == CRD_CANDIDATE_LABELLED;
    const int64_t every = all / MOST_NEAR + 1;
    for (int64_t i = 0; i < c->count; i++) {
        if (states[i] == CRD_CANDIDATE_LABELLED && met++ % every == 0) bring_near(c, features, i, nearest);
    }
}

crd_status crd_propose(const crd_candidates *c, const uint8_t *states, crd_proposal_order order, int most,
                       crd_proposal out[], int *count, double *a, double *b)
{
    crd_status status = CRD_OK;
    double(*features)[CRD_FEATURES] = NULL, *nearest = NULL, reach = 0.0;
    *count = 0;
    fit(c, a, b);
    CRD_TRY(crd_alloc(c->count, sizeof *features, "features of boxes", &features));
    CRD_TRY(crd_alloc(c->count, sizeof *nearest, "distances", &nearest));
    standardise(c, features);
    CRD_TRY(median_distance(c, features, &reach));
    for (int64_t i = 0; i < c->count; i++) nearest[i] = INFINITY;
    bring_labelled(c, states, features, nearest);
    while (*count < most) {
        double best = -INFINITY;
        int64_t found = -1;
        for (int64_t i = 0; i < c->count; i++) {
            if (states[i] != CRD_CANDIDATE_FREE || !c->items[i].inside) continue;
            const double excess = c->items[i].uncertainty - (*a + *b * c->items[i].edges);
            const double e = order == CRD_PROPOSE_EXCESS ? excess : c->items[i].uncertainty;
            const double unlike = reach > 0.0 && nearest[i] < reach ? nearest[i] / reach : 1.0;
            const double score = e > 0.0 ? e * unlike : e; /* below what edges explain likeness makes nothing better */
            if (!(score > best) || overlaps(c, i, out, *count)) continue;
            best = score;
            found = i;
            out[*count].excess = excess;
        }
        if (found < 0) break;
        out[(*count)++].candidate = found;
        bring_near(c, features, found, nearest);
    }
done:
    crd_free(&features);
    crd_free(&nearest);
    return status;
}

/* ---- at random ---- */

typedef struct keyed {
    uint32_t key;
    int64_t candidate;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *first = a, *second = b;
    if (first->key != second->key) return first->key < second->key ? -1 : 1;
    return (first->candidate > second->candidate) - (first->candidate < second->candidate);
}

crd_status crd_propose_random(const crd_candidates *c, int64_t seed, int64_t loop,
                              crd_status (*may)(void *context, int64_t candidate, bool *free), void *context, int most,
                              crd_proposal out[], int *count)
{
    crd_status status = CRD_OK;
    keyed *order = NULL;
    const crd_stream stream = {.seed = (uint64_t)seed, .purpose = CRD_PURPOSE_PROPOSAL, .step = (uint32_t)loop};
    *count = 0;
    CRD_TRY(crd_alloc(c->count, sizeof *order, "boxes to propose", &order));
    for (int64_t i = 0; i < c->count; i++) {
        order[i] = (keyed){.key = crd_random_u32(&stream, (uint64_t)i), .candidate = i};
    }
    qsort(order, (size_t)c->count, sizeof *order, by_key);
    for (int64_t i = 0; i < c->count && *count < most; i++) {
        bool free = false;
        if (overlaps(c, order[i].candidate, out, *count)) continue;
        CRD_TRY(may(context, order[i].candidate, &free));
        if (free) out[(*count)++] = (crd_proposal){.candidate = order[i].candidate, .excess = (double)NAN};
    }
done:
    crd_free(&order);
    return status;
}
