/* A report from the options to the page. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/settings/whole.h"
#include "draw/picture.h"
#include "report/measured.h"
#include "report/page.h"

/* "out/report.html" -> "out/report_pictures", made if need be, and "out" with it. */
static crd_status picture_folder(const char *output, char **out)
{
    const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
    const size_t stem = dot != NULL && (slash == NULL || dot > slash + 1) ? (size_t)(dot - output) : strlen(output);
    CRD_PASS(crd_alloc((int64_t)stem + 16, 1, "a path", out));
    snprintf(*out, stem + 16, "%.*s_pictures", (int)stem, output);
    return crd_make_folders(*out);
}

/* The scan's file with its folder, as far as they are known: many scans are called "scan". */
static const char *scan_name(const crd_reported_run *s)
{
    const char *path = s->run.scan.path, *at = path != NULL ? path + strlen(path) : NULL;
    if (path == NULL) return s->run.scan.name != NULL ? s->run.scan.name : s->folder;
    for (int slashes = 0; at > path; at--) {
        slashes += at[-1] == '/';
        if (slashes == 2) break;
    }
    return at;
}

static crd_status write_page(const crd_report_options *options, const char *folder, crd_reported_run *runs, int count,
                             const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_text page = {0};
    crd_stack stack = {0};
    char *html = NULL;
    char title[512];
    crd_page_pictures pictures = {.page = &page, .folder = folder, .which = ""};
    snprintf(title, sizeof title, "Segmentation of %s, and where it can be trusted", scan_name(&runs[0]));
    crd_page_begin(&page, options->title != NULL ? options->title : title, runs, count);
    if (!options->small) {
        CRD_TRY(crd_stack_make(runs, count, crd_page_highest(runs, count), CRD_STACK_BYTES, monitor, &stack));
    }
    CRD_TRY(crd_page_opening(&pictures, runs, count, &stack));
    CRD_TRY(crd_page_trust(&page, runs, count));
    CRD_TRY(crd_page_regions(&pictures, runs, count));
    CRD_TRY(crd_page_measured(&page, runs, count));
    CRD_TRY(crd_page_slices(&pictures, runs, count));
    CRD_TRY(crd_page_plots(&page, runs, count));
    crd_page_words(&page, &runs[0]);
    CRD_TRY(crd_page_made(&page, runs, count));
    crd_page_end(&page, &stack);
    CRD_TRY(crd_text_finish(&page, &html));
    CRD_TRY(crd_write_file(options->output, html, strlen(html)));
done:
    crd_stack_free(&stack);
    crd_text_free(&page);
    crd_free(&html);
    return status;
}

/* What the label was understood as is said once, not again for the second run. */
static void pass_warning(void *context, crd_level level, const char *text)
{
    const crd_monitor *shown = context;
    if (level == CRD_LEVEL_WARNING && shown->message != NULL) shown->message(shown->context, level, text);
}

static bool pass_progress(void *context, const crd_progress *progress)
{
    const crd_monitor *shown = context;
    return shown->progress == NULL || shown->progress(shown->context, progress);
}

static crd_status report(const crd_report_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    crd_reported_run *runs = NULL;
    char *folder = NULL;
    const int count = options->second != NULL ? 2 : 1;
    crd_monitor shown = monitor != NULL ? *monitor : (crd_monitor){0};
    const crd_monitor warnings = {.context = &shown, .message = pass_warning, .progress = pass_progress};
    if (!crd_png_possible()) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "this credence was built without libpng, which a report's pictures need");
    }
    if (options->run == NULL) return crd_fail(CRD_ERR_ARGUMENT, "run: a report is about a run folder; name one");
    if (options->output == NULL) return crd_fail(CRD_ERR_ARGUMENT, "output: say where the page goes (-o report.html)");
    if (crd_file_is_other(options->output, "<!doctype html>")) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is there already and is no report; give -o another name",
                        options->output);
    }
    CRD_TRY(crd_alloc(count, sizeof *runs, "the report", &runs));
    CRD_TRY(crd_reported_run_open(options->run, options, monitor, &runs[0]));
    if (count > 1) CRD_TRY(crd_reported_run_open(options->second, options, &warnings, &runs[1]));
    for (int i = 0; count > 1 && i < count; i++) {
        const char *kind = runs[i].run.model.kind;
        snprintf(runs[i].name, sizeof runs[i].name, kind[0] != '\0' ? "Run %c (%s)" : "Run %c", 'A' + i, kind);
    }
    CRD_TRY(picture_folder(options->output, &folder));
    CRD_TRY(crd_check_target(options->output));
    CRD_TRY(write_page(options, folder, runs, count, monitor));
done:
    for (int i = 0; runs != NULL && i < count; i++) crd_reported_run_close(&runs[i]);
    crd_free(&runs);
    crd_free(&folder);
    return status;
}

crd_status crd_report(const crd_report_options *options, const crd_monitor *monitor)
{
    crd_report_options whole;
    CRD_PASS(crd_settings_whole(&crd_report_settings, options, &whole));
    const crd_status status = report(&whole, monitor);
    crd_settings_whole_free(&crd_report_settings, options, &whole);
    return status;
}
