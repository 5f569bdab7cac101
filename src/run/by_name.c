#include "run/by_name.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

static const char digits[] = "0123456789", decimals[] = "0123456789.";

/* Behind the role's tag in a file's name, which is what the scan's name ends before; NULL: the name has none. The
 * headers beside npy and raw data aren't volumes. */
static const char *behind_tag(const char *file, crd_output_role role)
{
    const char *tag = crd_output_role_tag(role), *last = NULL;
    const size_t length = strlen(file);
    if (file[0] == '.' || (length > 5 && strcmp(file + length - 5, ".json") == 0)) return NULL;
    for (const char *at = strstr(file, tag); at != NULL; at = strstr(at + 1, tag)) last = at;
    return last != NULL && last != file ? last + strlen(tag) : NULL;
}

/* "_2.5-97.5.tif": an interval, and whatever follows. */
static bool is_interval(const char *text, double percents[2])
{
    if (text[0] != '_') return false;
    const char *low = text + 1, *high = low + strspn(low, decimals) + 1;
    if (high[-1] != '-') return false;
    size_t length = strspn(high, digits);
    if (high[length] == '.') { /* of the number, or of the suffix */
        const size_t fraction = strspn(high + length + 1, digits);
        if (fraction > 0) length += 1 + fraction;
    }
    return crd_parse_real(low, (size_t)(high - 1 - low), &percents[0]) && crd_parse_real(high, length, &percents[1]);
}

static crd_output_role role_of(const char *file, double percents[2])
{
    static const crd_output_role roles[] = {CRD_OUTPUT_PROBABILITY, CRD_OUTPUT_UNCERTAINTY, CRD_OUTPUT_DEVIATION,
                                            CRD_OUTPUT_SEGMENTATION};
    percents[0] = percents[1] = (double)NAN;
    const char *end = behind_tag(file, CRD_OUTPUT_UNCERTAINTY);
    if (end != NULL && is_interval(end, percents)) return CRD_OUTPUT_UNCERTAINTY;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        end = behind_tag(file, roles[i]);
        if (end != NULL && (*end == '.' || *end == '\0')) return roles[i];
    }
    return CRD_OUTPUT_UNKNOWN;
}

/* "x_prob.raw" beside "x_prob.mhd" or "x_prob.nhdr": the voxels of that header, no volume of their own. */
static bool is_voxels_of_header(int folder, const char *name)
{
    static const char *const headers[] = {".mhd", ".nhdr"};
    char header[NAME_MAX + 8];
    struct stat about;
    const size_t length = strlen(name);
    if (length < 4 || strcmp(name + length - 4, ".raw") != 0) return false;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        snprintf(header, sizeof header, "%.*s%s", (int)length - 4, name, headers[i]);
        if (fstatat(folder, header, &about, 0) == 0) return true;
    }
    return false;
}

/* A run has one volume of a role, but for further intervals. */
static crd_status check_single(const char *folder, const crd_manifest *m, const crd_output *found)
{
    for (int64_t i = 0; isnan(found->percents[0]) && i < m->output_count; i++) {
        const crd_output *other = &m->outputs[i];
        if (other->role != found->role || !isnan(other->percents[0])) continue;
        return crd_fail(CRD_ERR_ARGUMENT,
                        "the folder %s holds the volumes of more than one run (%s/%s and %s); name the files with "
                        "--prob, --seg and --unc",
                        folder, folder, other->file, found->file);
    }
    return CRD_OK;
}

/* The map of a run's own interval, whose name doesn't say it, stands before the others. */
static crd_status append(crd_manifest *m, crd_output *found)
{
    crd_output *longer = NULL;
    const bool first = found->role == CRD_OUTPUT_UNCERTAINTY && isnan(found->percents[0]);
    CRD_PASS(crd_alloc(m->output_count + 1, sizeof *longer, "the list of volumes", &longer));
    if (m->output_count > 0) {
        memcpy(longer + first, m->outputs, (size_t)m->output_count * sizeof *longer);
    }
    longer[first ? 0 : m->output_count++] = *found;
    m->output_count += first;
    found->file = NULL;
    crd_free(&m->outputs);
    m->outputs = longer;
    return CRD_OK;
}

static crd_status look_at(const char *folder, const char *file, crd_manifest *m)
{
    crd_status status = CRD_OK;
    crd_output found = {.scale = (double)NAN};
    found.role = role_of(file, found.percents);
    if (found.role == CRD_OUTPUT_UNKNOWN) return CRD_OK;
    CRD_TRY(crd_strdup(file, &found.file));
    CRD_TRY(check_single(folder, m, &found));
    if (found.role == CRD_OUTPUT_SEGMENTATION && m->scan.name == NULL) {
        const char *tag = crd_output_role_tag(CRD_OUTPUT_SEGMENTATION);
        CRD_TRY(crd_strdup(file, &m->name));
        m->name[behind_tag(file, CRD_OUTPUT_SEGMENTATION) - file - (ptrdiff_t)strlen(tag)] = '\0';
        m->scan.name = m->name;
    }
    CRD_TRY(append(m, &found));
done:
    crd_free(&found.file);
    return status;
}

static void drop_maps_without_first(crd_manifest *m)
{
    const crd_output *first = crd_manifest_output(m, CRD_OUTPUT_UNCERTAINTY, 0);
    if (first == NULL || isnan(first->percents[0])) return;
    for (int64_t i = 0; i < m->output_count; i++) {
        if (m->outputs[i].role == CRD_OUTPUT_UNCERTAINTY) m->outputs[i].role = CRD_OUTPUT_UNKNOWN;
    }
}

crd_status crd_run_look_by_name(const char *folder, crd_manifest *m)
{
    crd_status status = CRD_OK;
    DIR *entries = crd_open_folder(folder);
    if (entries == NULL) return crd_fail_errno("can't open the run folder %s", folder);
    crd_outputs_free(&m->outputs, m->output_count);
    m->output_count = 0;
    for (struct dirent *entry; (entry = crd_next_entry(entries, folder, &status)) != NULL;) {
        if (is_voxels_of_header(dirfd(entries), entry->d_name)) continue;
        CRD_TRY(look_at(folder, entry->d_name, m));
    }
    drop_maps_without_first(m);
done:
    (void)closedir(entries);
    return status;
}
