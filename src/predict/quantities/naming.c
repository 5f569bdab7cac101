/* What the volumes of a run are called, and their format. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "predict/request.h"
#include "volume/choose.h"
#include "volume/views/lent.h"

/* The scan's file without dataset, level or final slashes: "file.h5:/entry/data" -> "file.h5", "scan.zarr/0" ->
 * "scan.zarr", "slices/" -> "slices". */
static crd_status file_of_scan(const char *path, char **file)
{
    const char *dataset = NULL;
    CRD_PASS(crd_split_dataset(path, false, file, &dataset));
    char *level = strstr(*file, ".zarr/");
    if (level != NULL) level[sizeof ".zarr" - 1] = '\0';
    size_t end = strlen(*file);
    while (end > 1 && (*file)[end - 1] == '/') (*file)[--end] = '\0';
    return CRD_OK;
}

/* "dir/scan.nii.gz" and "scan.ome.zarr" -> "scan"; "slices/a_*.tif" -> "a_". */
static crd_status name_of_scan(const char *file, char **out)
{
    const char *slash = strrchr(file, crd_is_lent(file) ? ':' : '/'), *name = slash != NULL ? slash + 1 : file;
    CRD_PASS(crd_alloc((int64_t)strlen(name) + 8, 1, "a name", out));
    size_t length = 0;
    for (; *name != '\0'; name++) {
        if (strchr("*?[]", *name) == NULL) (*out)[length++] = *name;
    }
    char *dot = strrchr(*out, '.');
    if (dot != NULL && dot != *out && strcmp(dot, ".gz") == 0) {
        *dot = '\0';
        dot = strrchr(*out, '.');
    }
    if (dot != NULL && dot != *out) *dot = '\0';
    dot = strrchr(*out, '.');
    if (dot != NULL && dot != *out && strcmp(dot, ".ome") == 0) *dot = '\0';
    if ((*out)[0] == '\0' || strcmp(*out, ".") == 0 || strcmp(*out, "..") == 0) strcpy(*out, "scan");
    return CRD_OK;
}

/* The one asked for; else the scan's own, packed or with its header apart as the scan is. */
static crd_status choose_format(crd_request *request, const char *file)
{
    const char *wanted = request->options->format, *own = request->scan.format;
    const bool no_file = request->unfiled || crd_is_lent(request->options->scan);
    const bool replaced = no_file || strcmp(own, "raw") == 0 || strcmp(own, "hdf5") == 0;
    const bool chosen = wanted != NULL && wanted[0] != '\0';
    const crd_format *format = NULL;
    CRD_PASS(crd_format_to_write(request->unfiled ? "npy"
                                 : chosen         ? wanted
                                 : replaced       ? "tiff"
                                                  : own,
                                 &format, request->suffix));
    request->format = format->name;
    if (!chosen && !replaced) crd_format_kind(format, file, request->suffix);
    return CRD_OK;
}

crd_status crd_request_name(crd_request *request)
{
    crd_status status = CRD_OK;
    char *file = NULL;
    CRD_TRY(file_of_scan(request->options->scan, &file));
    CRD_TRY(name_of_scan(file, &request->name));
    CRD_TRY(choose_format(request, file));
done:
    crd_free(&file);
    return status;
}
