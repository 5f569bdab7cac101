#include "run/read.h"

#include <dirent.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/by_name.h"
#include "run/paths.h"

static bool has_result(const crd_manifest *m)
{
    return crd_manifest_output(m, CRD_OUTPUT_PROBABILITY, 0) != NULL ||
           crd_manifest_output(m, CRD_OUTPUT_SEGMENTATION, 0) != NULL;
}

/* Volumes may have been moved away since. Without the first uncertainty map the others aren't what the run goes by. */
static crd_status keep_present(const char *folder, crd_manifest *m)
{
    int64_t kept = 0, maps = 0;
    bool first_map = false;
    for (int64_t i = 0; i < m->output_count; i++) {
        crd_output output = m->outputs[i];
        char *path = NULL;
        CRD_PASS(crd_run_volume_path(folder, output.file, &path));
        bool keep = crd_run_volume_there(path);
        crd_free(&path);
        if (output.role == CRD_OUTPUT_UNCERTAINTY && maps++ == 0) {
            first_map = keep;
        } else if (output.role == CRD_OUTPUT_UNCERTAINTY) {
            keep &= first_map && !isnan(output.percents[0]);
        }
        m->outputs[i].file = NULL;
        if (keep) m->outputs[kept++] = output;
        if (!keep) crd_free(&output.file);
    }
    m->output_count = kept;
    return CRD_OK;
}

static crd_output *map_of(crd_manifest *m, int64_t number)
{
    const crd_output *map = crd_manifest_output(m, CRD_OUTPUT_UNCERTAINTY, number);
    return map != NULL ? m->outputs + (map - m->outputs) : NULL;
}

static double width_of(const crd_output *map)
{
    return map->percents[1] - map->percents[0];
}

/* Narrow intervals first, behind the run's own; there are a handful. */
static void sort_maps(crd_manifest *m)
{
    crd_output *later = NULL, *earlier = NULL;
    for (int64_t last = 2; (later = map_of(m, last)) != NULL; last++) {
        for (int64_t i = last - 1; i > 0 && width_of(later) < width_of(earlier = map_of(m, i)); i--, later = earlier) {
            const crd_output narrow = *later;
            *later = *earlier;
            *earlier = narrow;
        }
    }
}

crd_status crd_run_read_manifest(const char *folder, crd_manifest *out)
{
    crd_status status = CRD_OK;
    char *text = NULL, *path = NULL;
    memset(out, 0, sizeof *out);
    CRD_TRY(crd_run_path(folder, CRD_RUN_MANIFEST, &path));
    CRD_TRY(crd_run_text(folder, CRD_RUN_MANIFEST, &text));
    CRD_TRY(crd_manifest_parse(text, path, out));
done:
    crd_free(&text);
    crd_free(&path);
    return status;
}

crd_status crd_run_read(const char *folder, crd_manifest *out)
{
    crd_status status = CRD_OK;
    DIR *there = crd_open_folder(folder);
    memset(out, 0, sizeof *out);
    if (there == NULL) return crd_fail_errno("can't open the run folder %s", folder);
    (void)closedir(there);
    if (crd_run_interrupted(folder)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "the run in %s isn't complete; credence predict with --resume goes on with it",
                 folder);
    }
    CRD_TRY(crd_run_read_manifest(folder, out));
    CRD_TRY(keep_present(folder, out));
    if (!has_result(out)) CRD_TRY(crd_run_look_by_name(folder, out));
    if (!has_result(out)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is no run folder: it has no volume <name>_prob or <name>_seg", folder);
    }
    sort_maps(out);
done:
    if (status != CRD_OK) crd_manifest_free(out);
    return status;
}
