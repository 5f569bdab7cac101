#include "report/measured.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "credence/measure.h"
#include "measure/curves.h"
#include "run/paths.h"

/* Distributions that are drawn: how far, how thick, how likely. */
static const char *const drawn[] = {"chord_z", "chord_x", "s2_z", "thickness", "component_size"};

enum { UNIT_WORDS = 40 };

static const cJSON *item(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double real(const cJSON *object, const char *key)
{
    const cJSON *value = item(object, key);
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

static const char *text(const cJSON *object, const char *key)
{
    const char *words = cJSON_GetStringValue(item(object, key));
    return words != NULL ? words : "";
}

/* "1/um^3", as people write it. */
static const char *unit_words(const char *unit, char out[UNIT_WORDS])
{
    size_t used = 0;
    for (out[0] = '\0'; *unit != '\0' && used + 4 < UNIT_WORDS;) {
        const char *sign = NULL;
        size_t taken = 2;
        if (strncmp(unit, "um", 2) == 0) sign = "\xc2\xb5m";
        if (strncmp(unit, "^2", 2) == 0) sign = "\xc2\xb2";
        if (strncmp(unit, "^3", 2) == 0) sign = "\xc2\xb3";
        if (sign == NULL) taken = 1;
        used +=
            (size_t)snprintf(out + used, UNIT_WORDS - used, "%.*s", sign != NULL ? 3 : 1, sign != NULL ? sign : unit);
        unit += taken;
    }
    return out;
}

static void add_number(crd_text *page, double value)
{
    char number[CRD_NUMBER_BYTES];
    crd_text_add(page, "<td class=\"number\">");
    crd_text_add(page, isfinite(value) ? crd_short_number(value, 4, number) : "n/a");
    crd_text_add(page, "</td>");
}

/* One property. What has neither a value nor a spread is left out. */
static void add_property(crd_text *page, const cJSON *p, bool spread, bool errors, bool many)
{
    char low[CRD_NUMBER_BYTES], high[CRD_NUMBER_BYTES], words[80], unit[UNIT_WORDS];
    const char *name = crd_property_words(text(p, "name"), words, sizeof words);
    if (name == NULL) name = text(p, "name");
    const cJSON *interval = item(p, "interval"), *shown = item(p, "coverage_shown");
    const double from = interval != NULL && cJSON_GetArraySize(interval) == 2 && cJSON_IsNumber(interval->child)
                            ? interval->child->valuedouble
                            : (double)NAN;
    const double to =
        !isnan(from) && cJSON_IsNumber(interval->child->next) ? interval->child->next->valuedouble : (double)NAN;
    crd_text_add(page, name[0] == ' ' ? "<tr><th scope=\"row\" class=\"under\">" : "<tr><th scope=\"row\">");
    crd_text_html(page, name + strspn(name, " "));
    if (many && cJSON_IsNumber(item(p, "phase"))) crd_text_print(page, "<small> phase %g</small>", real(p, "phase"));
    crd_text_add(page, "</th>");
    add_number(page, real(p, "segmentation"));
    if (spread) {
        add_number(page, real(p, "median"));
        crd_text_add(page, "<td class=\"number\">");
        if (!isnan(from)) crd_text_print(page, "%s to ", crd_short_number(from, 4, low));
        if (!isnan(from)) crd_text_add(page, isnan(to) ? "infinite" : crd_short_number(to, 4, high));
        crd_text_print(page, "%s</td>", cJSON_IsTrue(shown) ? " *" : "");
    }
    if (errors) add_number(page, real(p, "size_error"));
    crd_text_add(page, "<td class=\"words\">");
    if (strcmp(text(p, "unit"), "1") != 0) crd_text_html(page, unit_words(text(p, "unit"), unit));
    crd_text_add(page, "</td><td class=\"words\">");
    crd_text_html(page, text(p, "note"));
    const double own = real(p, "segmentation");
    if (spread && own < from) crd_text_add(page, " The segmentation lies below the spread.");
    if (spread && own > to) crd_text_add(page, " The segmentation lies above the spread.");
    if (cJSON_IsObject(item(p, "label")) && cJSON_IsFalse(item(item(p, "label"), "inside"))) {
        crd_text_add(page, " The label lies outside.");
    }
    crd_text_add(page, "</td></tr>");
}

/* Those that people have words for, as `credence measure` prints them, or the others. */
static void add_rows(crd_text *page, const cJSON *document, bool known)
{
    const bool spread = real(document, "samples") > 1.0, many = cJSON_IsArray(item(document, "phase"));
    const cJSON *p;
    bool errors = false; /* only some properties of scans that are large enough have a size error */
    char words[80];
    cJSON_ArrayForEach(p, item(document, "properties")) errors |= isfinite(real(p, "size_error"));
    crd_text_add(page, "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">Property</th><th "
                       "scope=\"col\">segmentation</th>");
    if (spread) crd_text_add(page, "<th scope=\"col\">median</th><th scope=\"col\">spread</th>");
    if (errors) crd_text_add(page, "<th scope=\"col\">size error</th>");
    crd_text_add(page, "<th class=\"words\" scope=\"col\">unit</th><td></td></tr></thead><tbody>");
    cJSON_ArrayForEach(p, item(document, "properties"))
    {
        if ((crd_property_words(text(p, "name"), words, sizeof words) != NULL) == known) {
            add_property(page, p, spread, errors, many);
        }
    }
    crd_text_add(page, "</tbody></table></div>");
}

static void add_table(crd_text *page, const cJSON *document)
{
    const cJSON *p;
    char words[80];
    bool others = false;
    add_rows(page, document, true);
    cJSON_ArrayForEach(p, item(document, "properties"))
    {
        others |= crd_property_words(text(p, "name"), words, sizeof words) == NULL;
    }
    if (!others) return;
    crd_text_add(page, "<details><summary>More properties, as measure.json calls them</summary>");
    add_rows(page, document, false);
    crd_text_add(page, "</details>");
}

/* ---- plots ---- */

static crd_status read_list(const cJSON *array, crd_real_list *out)
{
    const cJSON *value;
    const int64_t count = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : 0;
    if (count == 0) return CRD_OK;
    CRD_PASS(crd_alloc(count, sizeof *out->items, "a distribution", &out->items));
    cJSON_ArrayForEach(value, array) out->items[out->count++] =
        cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
    return CRD_OK;
}

/* `several`: there are such of other phases, so the title says which this is. */
static crd_status add_distribution(crd_text *page, const cJSON *source, bool several)
{
    crd_status status = CRD_OK;
    crd_distribution d = {.axis = text(source, "axis")[0], .points = cJSON_IsArray(item(source, "points"))};
    crd_real_list *const lists[] = {&d.edges, &d.segmentation, &d.median, &d.low, &d.high};
    static const char *const keys[] = {NULL, "segmentation", "median", "low", "high"};
    crd_curves curves = {0};
    crd_plot plot;
    char unit[UNIT_WORDS];
    snprintf(d.name, sizeof d.name, "%s", source->string);
    snprintf(d.unit, sizeof d.unit, "%s", unit_words(text(source, "unit"), unit));
    for (int i = 0; i < 5; i++) {
        CRD_TRY(read_list(item(source, i > 0 ? keys[i] : d.points ? "points" : "edges"), lists[i]));
    }
    if (d.edges.count < 2) goto done;
    CRD_TRY(crd_curves_make(&d, &curves, &plot));
    plot.title = NULL;
    crd_text_add(page, "<figure class=\"plot\"><figcaption>");
    crd_text_html(page, curves.title);
    if (several) crd_text_print(page, ", phase %g", real(source, "phase"));
    crd_text_add(page, "</figcaption>");
    crd_plot_svg(&plot, 380.0, 260.0, curves.title, page);
    crd_text_add(page, "</figure>");
done:
    for (int i = 0; i < 5; i++) crd_free(&lists[i]->items);
    crd_curves_free(&curves);
    return status;
}

/* "chord_z" is also the beginning of "chord_z_phase_128". */
static bool is_called(const cJSON *distribution, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(distribution->string, name, length) != 0) return false;
    return distribution->string[length] == '\0' || strncmp(distribution->string + length, "_phase_", 7) == 0;
}

static crd_status add_plots(crd_text *page, const cJSON *document)
{
    const cJSON *d;
    const bool several = cJSON_IsArray(item(document, "phase"));
    crd_text_add(page, "<div class=\"plots\">");
    for (size_t i = 0; i < sizeof drawn / sizeof drawn[0]; i++) {
        cJSON_ArrayForEach(d, item(document, "distributions"))
        {
            if (is_called(d, drawn[i])) CRD_PASS(add_distribution(page, d, several));
        }
    }
    crd_text_add(page, "</div>");
    return CRD_OK;
}

/* ---- blocks ---- */

/* What blocks of each size say, and which stand for the whole. */
static void add_blocks(crd_text *page, const cJSON *document)
{
    const cJSON *row;
    if (cJSON_GetArraySize(item(document, "rev")) == 0) return;
    crd_text_add(page, "<h3>Blocks of the segmentation</h3><p class=\"note\">A block stands for the whole where the "
                       "deviation over blocks is below 5 % of their mean.</p><div class=\"scroll\"><table><thead><tr>"
                       "<th scope=\"col\">Property</th><th scope=\"col\">voxels</th><th scope=\"col\">blocks</th><th "
                       "scope=\"col\">mean</th><th scope=\"col\">deviation</th><th scope=\"col\">5-95 %</th><td></td>"
                       "</tr></thead><tbody>");
    cJSON_ArrayForEach(row, item(document, "rev"))
    {
        char low[CRD_NUMBER_BYTES], high[CRD_NUMBER_BYTES], words[80];
        const cJSON *interval = item(row, "interval");
        const char *name = crd_property_words(text(row, "property"), words, sizeof words);
        crd_text_add(page, "<tr><th scope=\"row\">");
        crd_text_html(page, name != NULL ? name + strspn(name, " ") : text(row, "property"));
        crd_text_print(page, "<small> phase %g</small></th>", real(row, "phase"));
        add_number(page, real(row, "voxels"));
        add_number(page, real(row, "blocks"));
        add_number(page, real(row, "mean"));
        add_number(page, real(row, "std"));
        crd_text_add(page, "<td class=\"number\">");
        if (cJSON_IsNumber(cJSON_GetArrayItem(interval, 0)) && cJSON_IsNumber(cJSON_GetArrayItem(interval, 1))) {
            crd_text_print(page, "%s to %s", crd_short_number(cJSON_GetArrayItem(interval, 0)->valuedouble, 4, low),
                           crd_short_number(cJSON_GetArrayItem(interval, 1)->valuedouble, 4, high));
        }
        crd_text_print(page, "</td><td class=\"words\">%s</td></tr>",
                       cJSON_IsTrue(item(row, "representative")) ? "representative" : "");
    }
    crd_text_add(page, "</tbody></table></div>");
}

static crd_status add_run(crd_text *page, const crd_reported_run *run, const cJSON *document)
{
    const cJSON *note;
    if (run->name[0] != '\0') {
        crd_text_add(page, "<h3>");
        crd_text_html(page, run->name);
        crd_text_add(page, "</h3>");
    }
    add_table(page, document);
    if (cJSON_GetArraySize(item(document, "notes")) > 0) crd_text_add(page, "<ul>");
    cJSON_ArrayForEach(note, item(document, "notes"))
    {
        crd_text_add(page, "<li>");
        crd_text_html(page, cJSON_GetStringValue(note) != NULL ? cJSON_GetStringValue(note) : "");
        crd_text_add(page, "</li>");
    }
    if (cJSON_GetArraySize(item(document, "notes")) > 0) crd_text_add(page, "</ul>");
    CRD_PASS(add_plots(page, document));
    add_blocks(page, document);
    return CRD_OK;
}

bool crd_page_is_measured(const crd_reported_run *run)
{
    char *json = NULL;
    const bool measured = crd_run_text(run->folder, CRD_RUN_MEASURE, &json) == CRD_OK && json != NULL;
    crd_free(&json);
    return measured;
}

crd_status crd_page_measured(crd_text *page, const crd_reported_run *runs, int count)
{
    crd_status status = CRD_OK;
    cJSON *document = NULL;
    char *json = NULL;
    bool begun = false;
    for (int i = 0; i < count; i++) {
        CRD_TRY(crd_run_text(runs[i].folder, CRD_RUN_MEASURE, &json));
        if (json == NULL) continue;
        document = cJSON_Parse(json);
        if (document == NULL) CRD_FAIL(CRD_ERR_FORMAT, "measure.json in %s is no JSON; measure again", runs[i].folder);
        if (!begun) {
            crd_text_add(page, "<section id=\"measured\"><h2>Properties</h2><p>Of every realisation, as credence "
                               "measure found them. The spread is that of the model's opinions; where it is starred "
                               "it was shown to hold the truth as often as it says. A size error, where there is one, "
                               "is what another piece of the same material would change.</p>");
        }
        begun = true;
        CRD_TRY(add_run(page, &runs[i], document));
        cJSON_Delete(document);
        document = NULL;
        crd_free(&json);
    }
    if (begun) crd_text_add(page, "</section>");
done:
    cJSON_Delete(document);
    crd_free(&json);
    return status;
}
