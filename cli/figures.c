#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "credence/number.h"
#include "talk/wrap.h"

enum { TEXTS = 16, BYTES = 48 };

static char *next_text(void)
{
    static char texts[TEXTS][BYTES];
    static unsigned turn;
    return texts[turn++ % TEXTS];
}

const char *cli_figure(double value, int decimals)
{
    char *text = next_text();
    if (isnan(value)) return "n/a";
    snprintf(text, BYTES, "%.*f", decimals, value);
    return text;
}

const char *cli_figure_general(double value, int digits)
{
    char *text = next_text();
    if (isnan(value)) return "n/a";
    snprintf(text, BYTES, "%.*g", digits, value);
    return text;
}

const char *cli_figure_digits(double value, int digits)
{
    char *text = next_text();
    if (isnan(value)) return "n/a";
    snprintf(text, BYTES, "%#.*g", digits, value);
    const size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '.') text[length - 1] = '\0'; /* a whole number of so many digits */
    return text;
}

/* Quoted where a comma, a quote or a line's end would break the table. */
static void csv_text(const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

/* What has no meaning is an empty field. */
static void csv_real(double value)
{
    char text[CRD_NUMBER_BYTES];
    printf(",%s", isfinite(value) ? crd_format_real(value, text) : "");
}

static void csv_count(int64_t value)
{
    if (value < 0)
        putchar(',');
    else
        printf(",%" PRId64, value);
}

void cli_csv_header(void)
{
    puts("run,kind,voxels,accuracy,dice,iou,tp,fp,fn,tn,volume_fraction,label_fraction,uncertainty_mean,"
         "uncertainty_variance,uncertainty_min,uncertainty_max,edge,stride,accuracy_threshold,uncertainty_threshold,"
         "n_ac,n_au,n_ic,n_iu,p_accurate_given_certain,p_uncertain_given_inaccurate,pavpu3d,ece,brier,nll,aurc,"
         "autocorrelation,gradient_over_mean");
}

void cli_csv_row(const char *run, const char *kind, const crd_validation *v)
{
    const crd_pavpu *p = &v->pavpu;
    csv_text(run);
    putchar(',');
    csv_text(kind);
    csv_count(v->voxels);
    csv_real(v->accuracy);
    csv_real(v->dice);
    csv_real(v->iou);
    csv_count(v->tp);
    csv_count(v->fp);
    csv_count(v->fn);
    csv_count(v->tn);
    csv_real(v->volume_fraction);
    csv_real(v->label_fraction);
    csv_real(v->uncertainty.mean);
    csv_real(v->uncertainty.variance);
    csv_real(v->uncertainty.min);
    csv_real(v->uncertainty.max);
    csv_count(p->edge);
    csv_count(p->stride);
    csv_real(p->accuracy_threshold);
    csv_real(p->uncertainty_threshold);
    csv_count(p->n_ac);
    csv_count(p->n_au);
    csv_count(p->n_ic);
    csv_count(p->n_iu);
    csv_real(p->p_accurate_given_certain);
    csv_real(p->p_uncertain_given_inaccurate);
    csv_real(p->pavpu3d);
    csv_real(v->calibration.ece);
    csv_real(v->calibration.brier);
    csv_real(v->calibration.nll);
    csv_real(v->calibration.aurc);
    csv_real(v->geometry.autocorrelation);
    csv_real(v->geometry.gradient_over_mean);
    putchar('\n');
}

/* As wide as the names and the counts need. */
static int column_width(const crd_validation *v)
{
    int width = 9;
    for (int64_t k = 0; k < v->classes.name.count; k++) {
        const int name = (int)strlen(v->classes.name.items[k]);
        width = name > width ? name : width;
    }
    const int digits = snprintf(NULL, 0, "%" PRId64, v->voxels);
    return digits > width ? digits : width;
}

void cli_print_classes(const crd_validation *v)
{
    const int64_t count = v->classes.name.count;
    const int width = column_width(v);
    printf("\n%-*s  value  Dice      IoU       segmented  labelled\n", width, "class");
    for (int64_t k = 0; k < count; k++) {
        printf("%-*s  %-5s  %-8s  %-8s  %-9s  %s\n", width, v->classes.name.items[k],
               cli_figure_general(v->classes.value.items[k], 6), cli_figure(v->classes.dice.items[k], 6),
               cli_figure(v->classes.iou.items[k], 6), cli_figure(v->classes.volume_fraction.items[k], 6),
               cli_figure(v->classes.label_fraction.items[k], 6));
    }
    printf("\n%-*s  segmented as\n%-*s", width, "label", width, "");
    for (int64_t i = 0; i < count; i++) printf("  %*s", width, v->classes.name.items[i]);
    for (int64_t k = 0; k < count && v->classes.confusion.count == count * count; k++) {
        printf("\n%-*s", width, v->classes.name.items[k]);
        for (int64_t i = 0; i < count; i++) printf("  %*.0f", width, v->classes.confusion.items[k * count + i]);
    }
    printf("\n");
}

void cli_say_seen(const char *name, const crd_validation *v)
{
    if (v->seen_in_training <= 0) return;
    cli_say("%s learnt from %" PRId64 " of these %" PRId64 " voxels: figures over all of them flatter.", name,
            v->voxels - v->unseen.voxels, v->voxels);
    if (v->unseen.voxels == 0) {
        printf("There are no others to judge it by.\n\n");
        return;
    }
    cli_say("Over the %" PRId64
            " that it didn't learn from: accuracy %s, Dice %s, NLL %s, ECE %s, P(A|C) %s, P(U|I) %s.",
            v->unseen.voxels, cli_figure(v->unseen.accuracy, 4), cli_figure(v->unseen.dice, 4),
            cli_figure(v->unseen.nll, 4), cli_figure(v->unseen.ece, 4),
            cli_figure(v->unseen.p_accurate_given_certain, 4), cli_figure(v->unseen.p_uncertain_given_inaccurate, 4));
    printf("\n");
}
