#include "run/outputs.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static const struct {
    const char *name;
    const char *tag;  /* in a file's name, behind the scan's */
    const char *join; /* between the tag and which of several it is */
} roles[CRD_OUTPUT_ROLES] = {
    [CRD_OUTPUT_PROBABILITY] = {"probability", "_prob", "_"},
    [CRD_OUTPUT_SEGMENTATION] = {"segmentation", "_seg", "_"},
    [CRD_OUTPUT_UNCERTAINTY] = {"uncertainty", "_unc", "_"},
    [CRD_OUTPUT_CLASS_UNCERTAINTY] = {"uncertainty of a class", "_unc", "_"},
    [CRD_OUTPUT_PERCENTILE] = {"percentile", "_p", ""},
    [CRD_OUTPUT_DEVIATION] = {"standard deviation", "_std", "_"},
    [CRD_OUTPUT_ENTROPY] = {"entropy", "_entropy", "_"},
    [CRD_OUTPUT_ALEATORIC] = {"aleatoric entropy", "_aleatoric", "_"},
    [CRD_OUTPUT_EPISTEMIC] = {"epistemic entropy", "_epistemic", "_"},
    [CRD_OUTPUT_LOWER_BOUND] = {"lower bound", "_seg_lower", "_"},
    [CRD_OUTPUT_UPPER_BOUND] = {"upper bound", "_seg_upper", "_"},
    [CRD_OUTPUT_SAMPLE] = {"sample", "_sample", "_"},
    [CRD_OUTPUT_SAMPLE_BITS] = {"bits of samples", "_samples", "_"},
};

const char *crd_output_role_name(crd_output_role role)
{
    return roles[role].name;
}

crd_output_role crd_output_role_of(const char *name)
{
    for (int role = CRD_OUTPUT_UNKNOWN + 1; name != NULL && role < CRD_OUTPUT_ROLES; role++) {
        if (strcmp(name, roles[role].name) == 0) return (crd_output_role)role;
    }
    return CRD_OUTPUT_UNKNOWN;
}

const char *crd_output_role_tag(crd_output_role role)
{
    return roles[role].tag;
}

bool crd_output_labels(const crd_output *output)
{
    return output->role == CRD_OUTPUT_SEGMENTATION || output->role == CRD_OUTPUT_LOWER_BOUND ||
           output->role == CRD_OUTPUT_UPPER_BOUND;
}

char *crd_interval_text(const double percents[2], char text[CRD_INTERVAL_BYTES])
{
    char from[CRD_NUMBER_BYTES], to[CRD_NUMBER_BYTES];
    snprintf(text, CRD_INTERVAL_BYTES, "%.19s-%.19s", crd_short_number(percents[0], 6, from),
             crd_short_number(percents[1], 6, to));
    return text;
}

crd_status crd_output_name(const char *scan, crd_output_role role, const char *which, const char *suffix, char **out)
{
    const char *join = which[0] != '\0' ? roles[role].join : "";
    const size_t bytes = strlen(scan) + strlen(roles[role].tag) + strlen(join) + strlen(which) + strlen(suffix) + 1;
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a name", out));
    snprintf(*out, bytes, "%s%s%s%s%s", scan, roles[role].tag, join, which, suffix);
    return CRD_OK;
}

void crd_outputs_free(crd_output **outputs, int64_t count)
{
    for (int64_t i = 0; *outputs != NULL && i < count; i++) crd_free(&(*outputs)[i].file);
    crd_free(outputs);
}
