#include "validate/run_folder.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "credence/validate.h"

enum { MANIFEST_LIMIT = 1 << 28 };

/* Where in a file's name the suffix `_unc` ends, with a dot, nothing, or (for `further`) "_20-80." behind it; NULL if
 * the name isn't of that kind. The headers beside npy and raw data aren't volumes. */
static const char *after_role(const char *name, const char *role, bool further)
{
    const size_t length = strlen(name);
    if (name[0] == '.' || (length > 5 && strcmp(name + length - 5, ".json") == 0)) return NULL;
    const char *found = NULL;
    for (const char *at = strstr(name, role); at != NULL; at = strstr(at + 1, role)) found = at;
    if (found == NULL || found == name) return NULL;
    const char *end = found + strlen(role);
    if (!further) return *end == '.' || *end == '\0' ? end : NULL;
    if (*end != '_') return NULL;
    const char *digits = end + 1 + strspn(end + 1, "0123456789.");
    return *digits == '-' && digits[1] >= '0' && digits[1] <= '9' ? end + 1 : NULL;
}

static crd_status several(const char *folder, const char *one, const char *other)
{
    return crd_fail(
        CRD_ERR_ARGUMENT,
        "the folder %s holds the volumes of more than one run (%s and %s); name the files with --prob, --seg "
        "and --unc",
        folder, one, other);
}

static crd_status take(const char *folder, const char *name, char **slot)
{
    if (*slot != NULL) return several(folder, *slot, name);
    return crd_join_path(folder, name, "", slot);
}

static crd_status append(crd_text_list *list, char *text)
{
    char **items = NULL;
    CRD_PASS(crd_alloc(list->count + 1, sizeof *items, "a list of names", &items));
    for (int64_t i = 0; i < list->count; i++) items[i] = list->items[i];
    items[list->count++] = text;
    crd_free(&list->items);
    list->items = items;
    return CRD_OK;
}

static crd_status take_map(const char *folder, const char *name, const char *interval, crd_run_files *files)
{
    crd_status status = CRD_OK;
    char *path = NULL, *title = NULL;
    CRD_TRY(crd_join_path(folder, name, "", &path));
    CRD_TRY(append(&files->maps, path));
    path = NULL;
    CRD_TRY(crd_strdup(interval, &title));
    char *second = strchr(title, '-') + 1;
    second[strspn(second, "0123456789")] = '\0'; /* the suffix; a fraction of a percent goes with it */
    CRD_TRY(append(&files->map_names, title));
    title = NULL;
done:
    crd_free(&path);
    crd_free(&title);
    return status;
}

static double width_of(const char *interval)
{
    const char *dash = strchr(interval, '-');
    return dash != NULL ? strtod(dash + 1, NULL) - strtod(interval, NULL) : 0.0;
}

/* Narrow intervals first; there are a handful. */
static void sort_maps(crd_run_files *files)
{
    char **names = files->map_names.items, **paths = files->maps.items;
    for (int64_t i = 1; i < files->map_names.count; i++) {
        for (int64_t k = i; k > 0 && width_of(names[k]) < width_of(names[k - 1]); k--) {
            char *name = names[k], *path = paths[k];
            names[k] = names[k - 1];
            paths[k] = paths[k - 1];
            names[k - 1] = name;
            paths[k - 1] = path;
        }
    }
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

static crd_status look_at_name(const char *folder, const char *name, crd_run_files *files)
{
    const char *interval = after_role(name, "_unc", true);
    if (interval != NULL) return take_map(folder, name, interval, files);
    if (after_role(name, "_prob", false) != NULL) return take(folder, name, &files->prob);
    if (after_role(name, "_unc", false) != NULL) return take(folder, name, &files->unc);
    if (after_role(name, "_std", false) != NULL) return take(folder, name, &files->std);
    const char *end = after_role(name, "_seg", false);
    if (end == NULL) return CRD_OK;
    CRD_PASS(take(folder, name, &files->seg));
    CRD_PASS(crd_strdup(name, &files->name));
    files->name[end - name - 4] = '\0';
    return CRD_OK;
}

crd_status crd_run_files_find(const char *folder, crd_run_files *files)
{
    crd_status status = CRD_OK;
    memset(files, 0, sizeof *files);
    DIR *entries = opendir(folder);
    if (entries == NULL) return crd_fail_errno("can't open the run folder %s", folder);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (is_voxels_of_header(dirfd(entries), entry->d_name)) continue;
        CRD_TRY(look_at_name(folder, entry->d_name, files));
    }
    sort_maps(files);
    struct stat about;
    if (fstatat(dirfd(entries), ".partial/run.json", &about, 0) == 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "the run in %s isn't complete; credence predict with --resume goes on with it",
                 folder);
    }
    if (files->prob == NULL && files->seg == NULL) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is no run folder: it has no volume <name>_prob or <name>_seg", folder);
    }
done:
    closedir(entries);
    if (status != CRD_OK) crd_run_files_free(files);
    return status;
}

static void free_list(crd_text_list *list)
{
    for (int64_t i = 0; i < list->count; i++) crd_free(&list->items[i]);
    crd_free(&list->items);
    list->count = 0;
}

void crd_run_files_free(crd_run_files *files)
{
    crd_free(&files->name);
    crd_free(&files->prob);
    crd_free(&files->seg);
    crd_free(&files->unc);
    crd_free(&files->std);
    free_list(&files->maps);
    free_list(&files->map_names);
}

static crd_status read_if_there(const char *folder, const char *name, char **out)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    size_t bytes;
    *out = NULL;
    CRD_TRY(crd_join_path(folder, name, "", &path));
    if (access(path, F_OK) != 0 && errno == ENOENT) goto done;
    CRD_TRY(crd_read_file(path, MANIFEST_LIMIT, out, &bytes));
done:
    crd_free(&path);
    return status;
}

crd_status crd_run_manifest(const char *folder, char **out)
{
    return read_if_there(folder, "manifest.json", out);
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Three whole numbers; false where there aren't any. */
static bool triple_of(const cJSON *object, const char *key, int64_t out[3])
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
    for (int axis = 0; axis < 3; axis++) {
        const cJSON *item = cJSON_GetArrayItem(list, axis);
        if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= 0x1p53)) return false;
        out[axis] = (int64_t)item->valuedouble;
    }
    return true;
}

static void read_box(const cJSON *root, crd_run_facts *facts)
{
    const cJSON *plan = cJSON_GetObjectItemCaseSensitive(root, "plan");
    int64_t scan[3], box[3];
    facts->boxed = triple_of(cJSON_GetObjectItemCaseSensitive(root, "scan"), "shape", scan) &&
                   triple_of(plan, "shape", box) && triple_of(plan, "origin", facts->origin) &&
                   memcmp(scan, box, sizeof scan) != 0;
}

/* 33-67, 2.5-97.5: two numbers. The manifest may be anybody's, and what is kept of it goes into pages and tables. */
static bool is_interval(const char *text)
{
    const size_t low = strspn(text, "0123456789.");
    const size_t high = text[low] == '-' ? strspn(text + low + 1, "0123456789.") : 0;
    return low > 0 && high > 0 && text[low + 1 + high] == '\0' &&
           low + high + 1 < sizeof((crd_run_facts *)NULL)->interval;
}

static bool is_kind(const char *text)
{
    return strcmp(text, "bcnn") == 0 || strcmp(text, "mcdn") == 0;
}

crd_status crd_run_facts_read(const char *folder, crd_run_facts *facts)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    cJSON *root = NULL;
    *facts = (crd_run_facts){.mean = (double)NAN};
    CRD_TRY(crd_run_manifest(folder, &text));
    if (text == NULL) goto done;
    root = cJSON_Parse(text);
    if (!cJSON_IsObject(root)) CRD_FAIL(CRD_ERR_FORMAT, "%s/manifest.json isn't JSON", folder);
    const cJSON *uncertainty = cJSON_GetObjectItemCaseSensitive(root, "uncertainty");
    const cJSON *mean = cJSON_GetObjectItemCaseSensitive(uncertainty, "mean");
    const char *interval = text_of(uncertainty, "interval");
    const char *kind = text_of(cJSON_GetObjectItemCaseSensitive(root, "model"), "kind");
    const char *mask = text_of(cJSON_GetObjectItemCaseSensitive(root, "settings"), "mask");
    read_box(root, facts);
    if (cJSON_IsNumber(mean)) facts->mean = mean->valuedouble;
    if (interval != NULL && is_interval(interval)) snprintf(facts->interval, sizeof facts->interval, "%s", interval);
    if (kind != NULL && is_kind(kind)) snprintf(facts->kind, sizeof facts->kind, "%s", kind);
    if (mask != NULL && mask[0] != '\0') CRD_TRY(crd_strdup(mask, &facts->mask));
done:
    cJSON_Delete(root);
    crd_free(&text);
    return status;
}

void crd_run_facts_free(crd_run_facts *facts)
{
    crd_free(&facts->mask);
}

crd_status crd_run_kind(const char *run, char kind[16])
{
    crd_run_facts facts;
    kind[0] = '\0';
    CRD_PASS(crd_run_facts_read(run, &facts));
    snprintf(kind, 16, "%s", facts.kind);
    crd_run_facts_free(&facts);
    return CRD_OK;
}

crd_status crd_validation_load(const char *run, crd_validation **out)
{
    crd_status status = CRD_OK;
    char *text = NULL, *path = NULL;
    *out = NULL;
    CRD_TRY(read_if_there(run, "validation.json", &text));
    if (text == NULL) goto done;
    CRD_TRY(crd_join_path(run, "validation.json", "", &path));
    CRD_TRY(crd_validation_from_json(text, path, out));
done:
    crd_free(&text);
    crd_free(&path);
    return status;
}
