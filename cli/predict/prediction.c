#include "prediction.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "talk/next.h"
#include "talk/wrap.h"

void cli_json_prediction(cli_json *json, const crd_predict_options *options, const crd_predict_result *r)
{
    cli_json_text(json, "path", options->output);
    cli_json_int(json, "chunks", r->chunks);
    cli_json_int(json, "computed", r->computed);
    cli_json_int(json, "samples", r->samples);
    if (r->class_count == 0) {
        cli_json_real(json, "volume_fraction", r->volume_fraction);
        cli_json_reals(json, "volume_fraction_interval", (double[]){r->fraction_low, r->fraction_high}, 2);
        cli_json_real(json, "volume_fraction_mean", r->fraction_mean);
        cli_json_reals(json, "interval90", r->fraction_interval90, 2);
        cli_json_real(json, "interval_systematic", r->fraction_systematic);
    } else {
        cli_json_open(json, "classes", '[');
        for (int i = 0; i < r->class_count; i++) {
            const crd_class_result *class = &r->classes[i];
            cli_json_open(json, NULL, '{');
            cli_json_text(json, "name", class->name);
            cli_json_real(json, "volume_fraction", class->volume_fraction);
            cli_json_reals(json, "volume_fraction_interval", (double[]){class->fraction_low, class->fraction_high}, 2);
            cli_json_real(json, "volume_fraction_mean", class->fraction_mean);
            cli_json_reals(json, "interval90", class->fraction_interval90, 2);
            cli_json_real(json, "interval_systematic", class->fraction_systematic);
            cli_json_close(json);
        }
        cli_json_close(json);
    }
    cli_json_real(json, "mean_uncertainty", r->mean_uncertainty);
    cli_json_real(json, "seconds", r->seconds);
}

/* The sentence, which is put together piece by piece. */
typedef struct line {
    char text[2048];
    size_t used;
} line;

static void add(line *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(line *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, arguments);
    va_end(arguments);
    if (length > 0) out->used += (size_t)length;
    if (out->used >= sizeof out->text) out->used = sizeof out->text - 1;
}

/* Classes that nobody named are called as their labels' values: "class 2". */
static const char *kind_of(const char *name)
{
    return name[strspn(name, "0123456789.-")] == '\0' ? "class " : "";
}

/* "run: volume fractions pore 40.1 % (90 % interval 39.6 to 40.7), ysz ...", or what is known without such an interval:
 * "run: volume fractions of the segmentation pore 0.4012 (percentiles 33-67 of the samples 0.3998 to 0.4023), ..." */
static void add_classes(line *out, const crd_predict_options *options, const crd_predict_result *r)
{
    const bool widened = !isnan(r->classes[0].fraction_systematic);
    add(out, "volume fractions%s", widened ? "" : " of the segmentation");
    for (int i = 0; i < r->class_count; i++) {
        const crd_class_result *class = &r->classes[i];
        if (widened) {
            add(out, "%s %s%s %.1f %% (%s%.1f to %.1f)", i > 0 ? "," : "", kind_of(class->name), class->name,
                100.0 * class->fraction_mean, i > 0 ? "" : "90 % interval ", 100.0 * class->fraction_interval90[0],
                100.0 * class->fraction_interval90[1]);
            continue;
        }
        add(out, "%s %s%s %.4f", i > 0 ? "," : "", kind_of(class->name), class->name, class->volume_fraction);
        if (isnan(class->fraction_low) || options->intervals.count == 0) continue;
        add(out, " (");
        if (i == 0) {
            add(out, "percentiles %g-%g of the samples ", options->intervals.items[0].low,
                options->intervals.items[0].high);
        }
        add(out, "%.4f to %.4f)", class->fraction_low, class->fraction_high);
    }
    add(out, ";");
}

static void add_fraction(line *out, const crd_predict_options *options, const crd_predict_result *r)
{
    if (!isnan(r->fraction_systematic)) {
        add(out, "volume fraction %.1f %% (90 %% interval %.1f to %.1f),", 100.0 * r->fraction_mean,
            100.0 * r->fraction_interval90[0], 100.0 * r->fraction_interval90[1]);
        return;
    }
    add(out, "volume fraction of the segmentation %.4f,", r->volume_fraction);
    if (isnan(r->fraction_low) || options->intervals.count == 0) return;
    add(out, " percentiles %g-%g of the samples %.4f to %.4f,", options->intervals.items[0].low,
        options->intervals.items[0].high, r->fraction_low, r->fraction_high);
}

void cli_print_prediction(const crd_predict_options *options, const crd_predict_result *r)
{
    line out = {.used = 0};
    add(&out, "%s: ", options->output);
    if (r->class_count > 0) {
        add_classes(&out, options, r);
    } else {
        add_fraction(&out, options, r);
    }
    cli_say("%s mean uncertainty %.4f, %.1f s", out.text, r->mean_uncertainty, r->seconds);
}

void cli_print_after_prediction(const cli_context *context, const char *run)
{
    const bool view = cli_next_can_view();
    if (!cli_next_wanted(context)) return;
    cli_next_begin(view ? "to look at it, and for a page about it" : "for a page about it");
    if (view) {
        cli_next_command("view");
        cli_next_word(run);
        cli_next_end();
    }
    cli_next_command("report");
    cli_next_word(run);
    cli_next_output("report.html");
    cli_next_end();
}
