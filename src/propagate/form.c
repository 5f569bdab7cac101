#include "propagate/form.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/monitor.h"
#include "base/number.h"

/* "16" or "8-23". */
static bool parse_samples(const char *text, int64_t *first, int64_t *count)
{
    const char *dash = strchr(text, '-');
    int64_t last;
    *first = 0;
    if (dash == NULL) return crd_parse_int(text, strlen(text), count) && *count > 0;
    if (!crd_parse_int(text, (size_t)(dash - text), first) || !crd_parse_int(dash + 1, strlen(dash + 1), &last)) {
        return false;
    }
    *count = last - *first + 1;
    return *first >= 0 && *count > 0;
}

crd_status crd_check_sample_range(const char *name, const char *text)
{
    int64_t first, count;
    if (parse_samples(text, &first, &count)) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be a number from 1 on, or the first and the last such as 8-23, not '%s'",
                    name, text);
}

crd_status crd_check_phase(const char *name, const char *text)
{
    double value;
    if (crd_parse_real(text, strlen(text), &value)) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s must be a number, not '%s'", name, text);
}

static bool is_byte(double value)
{
    return value >= 0 && value <= 255 && value == floor(value);
}

static crd_status choose_values(const crd_export_form *form, crd_export_plan *plan)
{
    const crd_realisations_info *about = plan->about;
    const double *values = form->values.items;
    int64_t phase = about->phases - 1;
    double wanted;
    if (form->values.count != 2 || !is_byte(values[0]) || !is_byte(values[1]) || values[0] == values[1]) {
        return crd_fail(CRD_ERR_ARGUMENT, "values must be two different whole numbers from 0 to 255, such as 1,0");
    }
    if (form->phase != NULL && crd_parse_real(form->phase, strlen(form->phase), &wanted)) {
        for (phase = 0; phase < about->phases && about->values[phase] != wanted;) phase++;
        if (phase == about->phases) {
            return crd_fail(CRD_ERR_ARGUMENT, "phase: %s has no voxels of value %s", about->name, form->phase);
        }
    }
    memset(plan->values, (int)values[1], sizeof plan->values);
    if (form->phase != NULL || about->phases <= 2) {
        plan->values[phase] = (uint8_t)values[0];
        return CRD_OK;
    }
    for (int64_t i = 0; i < about->phases; i++) {
        if (!is_byte(about->values[i])) {
            return crd_fail(CRD_ERR_ARGUMENT, "phase: %s has the value %g, which a byte doesn't hold; give --phase V",
                            about->name, about->values[i]);
        }
        plan->values[i] = (uint8_t)about->values[i];
    }
    return CRD_OK;
}

crd_status crd_export_plan_open(const char *run, const crd_export_form *form, const crd_monitor *monitor,
                                crd_export_plan *plan)
{
    crd_status status = CRD_OK;
    const char *const paths[] = {run};
    crd_realisations_options wanted = {.paths = paths, .path_count = 1};
    char unit[16] = "";
    memset(plan, 0, sizeof *plan);
    CRD_TRY(crd_solver_of(form->solver, &plan->solver));
    if (form->samples != NULL && !parse_samples(form->samples, &wanted.first_sample, &wanted.samples)) {
        CRD_TRY(crd_check_sample_range("samples", form->samples));
    }
    if (form->spacing != NULL) CRD_TRY(crd_spacing_parse(form->spacing, wanted.reading.spacing, unit));
    if (unit[0] != '\0') wanted.reading.unit = unit;
    CRD_TRY(crd_realisations_open(&wanted, monitor, &plan->realisations));
    const crd_realisations_info *about = plan->about = crd_realisations_describe(plan->realisations);
    CRD_TRY(choose_values(form, plan));
    plan->info.type = CRD_U8;
    plan->info.scale = 1;
    memcpy(plan->info.shape, about->shape, sizeof plan->info.shape);
    memcpy(plan->info.origin, about->origin, sizeof plan->info.origin);
    memcpy(plan->info.spacing, about->spacing, sizeof plan->info.spacing);
    memcpy(plan->info.unit, about->unit, sizeof plan->info.unit);
    if (form->spacing != NULL) {
        memcpy(plan->info.spacing, wanted.reading.spacing, sizeof plan->info.spacing);
        memcpy(plan->info.unit, unit, sizeof plan->info.unit);
    }
    if (!(plan->info.spacing[0] > 0)) {
        crd_info(monitor, "the size of a voxel isn't known, and files that need one say 1; --spacing gives it");
    }
done:
    if (status != CRD_OK) crd_export_plan_close(plan);
    return status;
}

void crd_export_plan_close(crd_export_plan *plan)
{
    crd_realisations_close(&plan->realisations);
    plan->about = NULL;
}

void crd_export_name(const crd_export_plan *plan, int64_t bit, char name[CRD_EXPORT_NAME_BYTES])
{
    if (bit == plan->about->segmentation) {
        snprintf(name, CRD_EXPORT_NAME_BYTES, "segmentation%s", plan->solver->suffix);
    } else {
        snprintf(name, CRD_EXPORT_NAME_BYTES, "sample_%03lld%s", (long long)(plan->about->first_sample + bit),
                 plan->solver->suffix);
    }
}
