/* What the figures of several runs say, in sentences. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "credence/validate.h"
#include "validate/figures.h"

/* Below this share of the larger error two groups count as level. */
#define LEVEL 0.05

/* Runs of one kind of network, or a run of its own: means over them. */
typedef struct group {
    const char *name;
    int64_t runs;
    const crd_validation **figures;
} group;

typedef struct figure {
    const char *words;
    double (*of)(const crd_validation *v);
    bool higher, percent; /* the higher the better; printed as a percentage */
} figure;

static double accuracy_of(const crd_validation *v)
{
    return v->accuracy;
}
static double reliable_of(const crd_validation *v)
{
    return v->pavpu.p_accurate_given_certain;
}
static double warned_of(const crd_validation *v)
{
    return v->pavpu.p_uncertain_given_inaccurate;
}
static double alarmed_of(const crd_validation *v)
{
    const int64_t accurate = v->pavpu.n_ac + v->pavpu.n_au;
    return accurate > 0 ? (double)v->pavpu.n_au / (double)accurate : (double)NAN;
}
static double pavpu_of(const crd_validation *v)
{
    return v->pavpu.pavpu3d;
}
static double ece_of(const crd_validation *v)
{
    return v->calibration.ece;
}
static double nll_of(const crd_validation *v)
{
    return v->calibration.nll;
}
static double aurc_of(const crd_validation *v)
{
    return v->calibration.aurc;
}
static double uncertainty_of(const crd_validation *v)
{
    return v->uncertainty.mean;
}

static const figure figures[] = {
    {"Voxels that are segmented right", accuracy_of, true, true},
    {"Cubes that are right where it claims to be certain", reliable_of, true, true},
    {"Wrong cubes that it warns of", warned_of, true, true},
    {"Right cubes that it doubts without need", alarmed_of, false, true},
    {"Cubes right and certain, or wrong and uncertain (PAvPU3D)", pavpu_of, true, true},
    {"Probabilities are off by (ECE)", ece_of, false, true},
    {"Log loss of the probabilities (NLL)", nll_of, false, false},
    {"Errors left when the most uncertain voxels are set aside (AURC)", aurc_of, false, true},
};
enum { FIGURES = sizeof figures / sizeof figures[0] };

static double mean_of(const group *g, double (*of)(const crd_validation *v))
{
    double sum = 0.0;
    for (int64_t i = 0; i < g->runs; i++) sum += of(g->figures[i]);
    return sum / (double)g->runs;
}

/* What is compared is what is missing from perfect. */
static double error_of(const figure *f, double value)
{
    return f->higher ? 1.0 - value : value;
}

bool crd_errors_level(double a, double b)
{
    return fabs(a - b) <= LEVEL * fmax(a, b);
}

/* The best group, or -1 where the best two are level; -2 where a figure is missing. */
static int64_t winner(const figure *f, const double *values, int64_t count)
{
    int64_t best = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) return -2;
        if (error_of(f, values[i]) < error_of(f, values[best])) best = i;
    }
    for (int64_t i = 0; i < count; i++) {
        const double least = error_of(f, values[best]), other = error_of(f, values[i]);
        if (i != best && crd_errors_level(least, other)) return -1;
    }
    return best;
}

static void say_figure(crd_text *text, const figure *f, const group *groups, const double *values, int64_t count,
                       int64_t best)
{
    crd_text_print(text, "%s: ", f->words);
    for (int64_t i = 0; i < count; i++) {
        crd_text_print(text, "%s%s ", i > 0 ? ", " : "", groups[i].name);
        crd_text_number(text, f->percent ? 100.0 * values[i] : values[i], 3, "n/a");
        if (f->percent && isfinite(values[i])) crd_text_add(text, " %");
    }
    if (best == -2) crd_text_add(text, ".\n");
    if (best == -1) crd_text_add(text, "; level.\n");
    if (best >= 0) crd_text_print(text, "; %s is ahead.\n", groups[best].name);
}

static void say_amount(crd_text *text, const group *groups, int64_t count)
{
    int64_t least = 0, most = 0;
    for (int64_t i = 0; i < count; i++) {
        const double mean = mean_of(&groups[i], uncertainty_of);
        if (!isfinite(mean)) return;
        if (mean < mean_of(&groups[least], uncertainty_of)) least = i;
        if (mean > mean_of(&groups[most], uncertainty_of)) most = i;
    }
    const double small = mean_of(&groups[least], uncertainty_of), large = mean_of(&groups[most], uncertainty_of);
    if (!(small > 0.0) || least == most) return;
    crd_text_print(text, "Amount: the mean uncertainty of %s is ", groups[most].name);
    crd_text_number(text, large / small, 3, "n/a");
    crd_text_print(text, " times that of %s, which by itself is neither good nor bad.\n", groups[least].name);
}

static void say_all(crd_text *text, const group *groups, const int64_t *wins, int64_t count, int64_t compared)
{
    int64_t level = compared, runs = 0;
    crd_text_print(text, "In all, of %lld figures: ", (long long)compared);
    for (int64_t i = 0; i < count; i++) {
        crd_text_print(text, "%s is ahead in %lld, ", groups[i].name, (long long)wins[i]);
        level -= wins[i];
        runs += groups[i].runs;
    }
    crd_text_print(text,
                   "%lld level (errors that differ by less than %.0f %%). %lld runs: another seed or scan can turn "
                   "small differences.\n",
                   (long long)level, 100.0 * LEVEL, (long long)runs);
}

static crd_status say(const group *groups, int64_t count, char **out)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    double *values = NULL;
    int64_t *wins = NULL, compared = 0;
    CRD_TRY(crd_alloc(count, sizeof *values, "the comparison", &values));
    CRD_TRY(crd_alloc(count, sizeof *wins, "the comparison", &wins));
    for (int k = 0; k < FIGURES; k++) {
        for (int64_t i = 0; i < count; i++) values[i] = mean_of(&groups[i], figures[k].of);
        const int64_t best = winner(&figures[k], values, count);
        say_figure(&text, &figures[k], groups, values, count, best);
        if (best >= 0) wins[best]++;
        compared += best != -2;
    }
    say_amount(&text, groups, count);
    say_all(&text, groups, wins, count, compared);
    CRD_TRY(crd_text_finish(&text, out));
done:
    crd_text_free(&text);
    crd_free(&values);
    crd_free(&wins);
    return status;
}

/* The group that run `i` belongs to: that of its kind, where there are two kinds and more; else its own. */
static int64_t group_of(const crd_compared_run *runs, int64_t i, bool by_kind, const group *groups, int64_t count)
{
    for (int64_t g = 0; by_kind && g < count; g++) {
        if (strcmp(groups[g].name, runs[i].kind) == 0) return g;
    }
    return count;
}

crd_status crd_compare_in_words(const crd_compared_run *runs, int64_t count, char **out)
{
    crd_status status = CRD_OK;
    group *groups = NULL;
    int64_t made = 0;
    bool by_kind = false;
    *out = NULL;
    if (count < 2) return crd_fail(CRD_ERR_ARGUMENT, "two runs or more can be compared, not %lld", (long long)count);
    for (int64_t i = 0; i < count; i++) by_kind |= strcmp(runs[i].kind, runs[0].kind) != 0;
    for (int64_t i = 0; i < count; i++) by_kind &= runs[i].kind[0] != '\0';
    CRD_TRY(crd_alloc(count, sizeof *groups, "the comparison", &groups));
    for (int64_t i = 0; i < count; i++) {
        const int64_t g = group_of(runs, i, by_kind, groups, made);
        if (g == made) {
            groups[made++].name = by_kind ? runs[i].kind : runs[i].run;
            CRD_TRY(crd_alloc(count, sizeof *groups[g].figures, "the comparison", &groups[g].figures));
        }
        groups[g].figures[groups[g].runs++] = runs[i].figures;
    }
    CRD_TRY(say(groups, made, out));
done:
    for (int64_t g = 0; groups != NULL && g < count; g++) crd_free(&groups[g].figures);
    crd_free(&groups);
    return status;
}
