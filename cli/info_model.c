#include "describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "credence/model.h"
#include "credence/number.h"
#include "heldout.h"
#include "talk/wrap.h"

static bool chunk_known(const crd_model_info *info)
{
    return info->chunk[0] > 0;
}

static void json_training(cli_json *json, const crd_training_record *t)
{
    if (t->voxels == 0) {
        cli_json_text(json, "training", NULL);
        return;
    }
    cli_json_open(json, "training", '{');
    cli_json_int(json, "voxels", t->voxels);
    cli_json_real(json, "min", t->minimum);
    cli_json_real(json, "max", t->maximum);
    cli_json_real(json, "mean", t->mean);
    cli_json_real(json, "variance", t->std * t->std);
    if (t->spacing[0] > 0) {
        cli_json_reals(json, "spacing", t->spacing, 3);
    } else {
        cli_json_text(json, "spacing", NULL);
    }
    cli_json_text(json, "unit", t->unit[0] != '\0' ? t->unit : NULL);
    cli_json_close(json);
}

static void json_classes(cli_json *json, const crd_model_info *info)
{
    char name[CRD_CLASS_NAME_TEXT];
    cli_json_int(json, "classes", info->classes);
    cli_json_open(json, "class_names", '[');
    for (int i = 0; i < info->classes; i++) {
        crd_class_name(info, i, name);
        cli_json_text(json, NULL, name);
    }
    cli_json_close(json);
    cli_json_reals(json, "class_values", info->class_values, info->classes);
}

static void json_members(cli_json *json, const crd_model_info *info)
{
    cli_json_int(json, "members", info->members);
    if (info->members < 2) return;
    cli_json_open(json, "member", '[');
    for (int i = 0; i < info->members; i++) {
        const crd_member_info *m = &info->member[i];
        cli_json_open(json, NULL, '{');
        cli_json_int(json, "seed", m->seed);
        cli_json_int(json, "epoch", m->epoch);
        cli_json_real(json, "check_nll", m->check_nll);
        cli_json_close(json);
    }
    cli_json_close(json);
}

static void json_intervals(cli_json *json, const crd_model_info *info)
{
    const crd_systematic *s = &info->systematic;
    if (s->shifts == 0) return;
    cli_json_open(json, "intervals", '{');
    cli_json_int(json, "voxels", s->voxels);
    cli_json_int(json, "samples", s->samples);
    cli_json_reals(json, "median", s->median, info->classes);
    cli_json_open(json, "shifts", '[');
    for (int64_t i = 0; i < s->shifts; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", s->names[i]);
        cli_json_reals(json, "offsets", s->offsets[i], info->classes);
        cli_json_close(json);
    }
    cli_json_close(json);
    cli_json_close(json);
}

static int json_model(cli_json *json, const char *path, const crd_model_info *info)
{
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "path", path);
    cli_json_text(json, "format", "credence-model");
    if (info->checkpoint_step > 0) cli_json_int(json, "checkpoint_step", info->checkpoint_step);
    cli_json_text(json, "kind", crd_kind_name(info->kind));
    cli_json_int(json, "filters", info->filters);
    cli_json_int(json, "groups", info->groups);
    json_members(json, info);
    json_classes(json, info);
    cli_json_int(json, "parameters", info->parameters);
    if (chunk_known(info)) {
        cli_json_ints(json, "chunk", info->chunk, 3);
    } else {
        cli_json_text(json, "chunk", NULL);
    }
    cli_json_text(json, "norm", info->norm);
    cli_json_real(json, "calibration", info->calibration);
    cli_json_int(json, "pieces", info->pieces);
    if (info->heads_redrawn > 0) cli_json_int(json, "heads_redrawn", info->heads_redrawn);
    const int code = cli_json_heldout(json, &info->heldout);
    json_intervals(json, info);
    json_training(json, &info->training);
    cli_json_raw(json, "config", info->config);
    cli_json_close(json);
    return code;
}

/* {"lr":0.003,"chunk":[8,8,8]} is shown as "lr 0.003, chunk [8,8,8]". */
static void print_config(const char *config)
{
    const char *const lead = "  settings   ";
    char *text = malloc(2 * strlen(config) + 1), *end = text;
    if (text == NULL) return;
    for (int depth = 0; *config != '\0'; config++) {
        depth += (*config == '[') - (*config == ']');
        if (strchr("{}\"", *config) != NULL) continue;
        *end++ = (char)(*config == ':' ? ' ' : *config);
        if (*config == ',' && depth == 0) *end++ = ' ';
    }
    fputs(lead, stdout);
    cli_wrap(stdout, text, (size_t)(end - text), cli_terminal_width(STDOUT_FILENO), strlen(lead), strlen(lead));
    free(text);
}

/* Of two classes both have the same. */
static void print_intervals(const crd_model_info *info)
{
    const crd_systematic *s = &info->systematic;
    if (s->shifts == 0) return;
    printf("  intervals  of volume fractions hold logits that are off by ");
    for (int c = info->classes > 2 ? 0 : 1; c < info->classes; c++) {
        printf("%.2f%s", s->median[c], c + 1 < info->classes ? ", " : "");
    }
    printf(" (median of %" PRId64 " made-up changes of the training scans)\n", s->shifts);
}

/* "pore (0), ysz (128), nickel (255)" */
static void print_classes(const crd_model_info *info)
{
    printf("  classes    %d:", info->classes);
    for (int i = 0; i < info->classes; i++) {
        char name[CRD_CLASS_NAME_TEXT], number[CRD_NUMBER_BYTES];
        crd_class_name(info, i, name);
        crd_format_real(info->class_values[i], number);
        printf("%s %s", i > 0 ? "," : "", name);
        if (strcmp(name, number) != 0) printf(" (%s in the label)", number);
    }
    printf("\n");
}

static void print_members(const crd_model_info *info)
{
    printf("  members    %d networks of this size, whose samples take turns\n", info->members);
    for (int i = 0; i < info->members; i++) {
        const crd_member_info *m = &info->member[i];
        printf("    %-8d seed %" PRId64, i, m->seed);
        if (m->epoch > 0) printf(", the state after epoch %" PRId64, m->epoch);
        if (!isnan(m->check_nll)) printf(", NLL %.4f where it was checked", m->check_nll);
        printf("\n");
    }
}

static void print_model(const char *path, const crd_model_info *info)
{
    const crd_training_record *t = &info->training;
    printf("%s\n", path);
    printf("  format     credence model");
    if (info->checkpoint_step > 0) printf(", in a checkpoint after step %" PRId64, info->checkpoint_step);
    printf("\n");
    printf("  kind       %s (%s)\n", crd_kind_name(info->kind),
           info->kind == CRD_BCNN ? "Bayesian network" : "Monte Carlo dropout network");
    printf("  size       %d filters, %d groups, %" PRId64 " parameters\n", info->filters, info->groups,
           info->parameters);
    if (info->members > 1) print_members(info);
    if (info->classes > 2 || info->class_names[0] != '\0') print_classes(info);
    if (chunk_known(info)) {
        printf("  chunk      z %" PRId64 ", y %" PRId64 ", x %" PRId64 "\n", info->chunk[0], info->chunk[1],
               info->chunk[2]);
    } else {
        printf("  chunk      not known\n");
    }
    printf("  norm       %s\n", info->norm);
    printf("  calibrated by dividing the logit by %.4g\n", info->calibration);
    if (info->pieces > 0) {
        printf("  pieces     %" PRId64 " of z %" PRId64 ", y %" PRId64 ", x %" PRId64 " voxels of the training scans\n",
               info->pieces, info->piece[0], info->piece[1], info->piece[2]);
    }
    if (t->voxels > 0) {
        printf("  scans      %" PRId64 " voxels, %.7g to %.7g, mean %.7g, std %.7g\n", t->voxels, t->minimum,
               t->maximum, t->mean, t->std);
        if (t->spacing[0] > 0) {
            printf("  spacing    z %.7g, y %.7g, x %.7g %s\n", t->spacing[0], t->spacing[1], t->spacing[2], t->unit);
        }
    }
    if (info->heads_redrawn > 0) {
        printf("  head       was dead in training, and got new random weights, %" PRId64 " time%s\n",
               info->heads_redrawn, info->heads_redrawn == 1 ? "" : "s");
    }
    cli_print_heldout("  ", info->classes, &info->heldout);
    print_intervals(info);
    if (info->config != NULL) print_config(info->config);
}

int cli_describe_model(const char *path, cli_json *json)
{
    crd_model *model = NULL;
    if (crd_model_load(path, &model) != CRD_OK) return cli_library_failed();
    if (json != NULL) {
        json_model(json, path, crd_model_describe(model));
    } else {
        print_model(path, crd_model_describe(model));
    }
    crd_model_free(&model);
    return CLI_DONE;
}
