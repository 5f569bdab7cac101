/* Which dataset of a file is the volume. Nothing here follows a way out of the file: external links, external storage
 * and virtual datasets are refused, since a volume someone sent must not read other files of the user's. */
#include <stdio.h>
#include <string.h>

#include "base/hdf5/lock.h"
#include "base/hdf5/source.h"
#include "base/hdf5/types.h"
#include "volume/hdf5/file.h"
#include "volume/shape.h"
#include "volume/types.h"

enum { REASON = 256, OBJECT_LIMIT = 10000, DEPTH_LIMIT = 64, LISTED = 600 };

#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info2_t object_info;
#define VISIT(file, callback, context) H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, callback, context, H5O_INFO_BASIC)
#else
typedef H5O_info_t object_info;
#define VISIT(file, callback, context) H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, callback, context, H5O_INFO_BASIC)
#endif

static herr_t refuse_external(const char *parent_file, const char *parent_group, const char *child_file,
                              const char *child_object, unsigned *flags, hid_t fapl, void *context)
{
    (void)parent_file, (void)parent_group, (void)child_object, (void)flags, (void)fapl;
    snprintf(context, REASON, "%s", child_file);
    return -1;
}

/* Access properties under which libhdf5 stops at an external link and leaves its target in `outside`. */
static hid_t access_properties(char outside[REASON])
{
    const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    outside[0] = '\0';
    if (access < 0) return H5I_INVALID_HID;
    if (H5Pset_elink_cb(access, refuse_external, outside) >= 0) return access;
    (void)H5Pclose(access);
    return H5I_INVALID_HID;
}

hid_t crd_hdf5_memory_type(crd_type type)
{
    switch (type) {
    case CRD_U8:
        return H5T_NATIVE_UINT8;
    case CRD_I8:
        return H5T_NATIVE_INT8;
    case CRD_U16:
        return H5T_NATIVE_UINT16;
    case CRD_I16:
        return H5T_NATIVE_INT16;
    case CRD_U32:
        return H5T_NATIVE_UINT32;
    case CRD_I32:
        return H5T_NATIVE_INT32;
    case CRD_F32:
        return H5T_NATIVE_FLOAT;
    case CRD_U64:
        return H5T_NATIVE_UINT64;
    default:
        return H5T_NATIVE_DOUBLE;
    }
}

/* Our type for the file's; false where there is none. */
static bool map_type(hid_t dataset, crd_hdf5_array *out)
{
    bool known = false;
    bool is_bool = false;
    hid_t type = H5Dget_type(dataset);
    if (type >= 0 && H5Tget_class(type) == H5T_ENUM) { /* h5py keeps bool as one of FALSE and TRUE */
        is_bool = H5Tget_nmembers(type) == 2;
        const hid_t base = H5Tget_super(type);
        (void)H5Tclose(type);
        type = base;
    }
    if (type < 0) return false;
    const size_t size = H5Tget_size(type);
    const H5T_class_t class = H5Tget_class(type);
    const bool is_signed = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2 && !(is_bool && size == 1);
    out->widened = false;
    if (class == H5T_INTEGER && size >= 1 && size <= 8) {
        known = true;
        out->widened = size > 4 && is_signed;
        out->type = size == 1   ? (is_signed ? CRD_I8 : CRD_U8)
                    : size == 2 ? (is_signed ? CRD_I16 : CRD_U16)
                    : size <= 4 ? (is_signed ? CRD_I32 : CRD_U32)
                    : is_signed ? CRD_F64
                                : CRD_U64;
    } else if (class == H5T_FLOAT && size >= 1 && size <= 16) {
        known = true;
        out->widened = size != 4 && size != 8;
        out->type = size <= 4 ? CRD_F32 : CRD_F64;
    }
    known = known && crd_hdf5_number_is_sound(type);
    (void)H5Tclose(type);
    if (known) out->memory_type = crd_hdf5_memory_type(out->type);
    return known;
}

static bool map_shape(hid_t dataset, crd_hdf5_array *out)
{
    hsize_t sizes[4] = {0};
    int64_t dims[4];
    bool known = false;
    const hid_t space = H5Dget_space(dataset);
    if (space < 0) return false;
    const int rank = H5Sget_simple_extent_ndims(space);
    if ((rank == 3 || rank == 4) && H5Sget_simple_extent_dims(space, sizes, NULL) == rank) {
        known = true;
        for (int i = 0; i < rank; i++) {
            known = known && sizes[i] <= (hsize_t)INT64_MAX;
            dims[i] = known ? (int64_t)sizes[i] : 0;
        }
        known = known && crd_shape_of(dims, rank, out->shape, &out->channel);
    }
    (void)H5Sclose(space);
    return known;
}

/* Bytes of a chunk, decoded; 0 if the layout has none, -1 if it makes no sense. */
static int64_t chunk_bytes(hid_t creation, size_t size, hsize_t chunk[H5S_MAX_RANK])
{
    int64_t bytes = (int64_t)size;
    if (H5Pget_layout(creation) != H5D_CHUNKED) return 0;
    const int rank = H5Pget_chunk(creation, H5S_MAX_RANK, chunk);
    for (int i = 0; i < rank && i < H5S_MAX_RANK; i++) {
        if (chunk[i] < 1 || chunk[i] > UINT32_MAX || __builtin_mul_overflow(bytes, (int64_t)chunk[i], &bytes))
            return -1;
    }
    return rank > 0 && bytes > 0 ? bytes : -1;
}

/* As many chunks as the limit allows; a filtered chunk is kept even when it alone is larger, since each box would
 * otherwise decode it again. */
bool crd_hdf5_size_cache(hid_t access, hid_t creation, size_t size, size_t cache_bytes)
{
    hsize_t dims[H5S_MAX_RANK];
    const int64_t chunk = chunk_bytes(creation, size, dims);
    if (chunk <= 0) return chunk == 0;
    const size_t one = (size_t)chunk, bytes = H5Pget_nfilters(creation) > 0 && one > cache_bytes ? one : cache_bytes;
    size_t slots = 10 * (bytes / one) + 1;
    slots = slots < 521 ? 521 : slots > 1000000 ? 1000003 : slots | 1;
    return H5Pset_chunk_cache(access, slots, bytes, 0.75) >= 0;
}

/* Where its data lie: `elsewhere` if in other files; chunk size and filters otherwise. */
static bool map_storage(hid_t dataset, crd_hdf5_array *out, bool *elsewhere, int *missing_filter)
{
    const hid_t creation = H5Dget_create_plist(dataset), type = H5Dget_type(dataset);
    bool known = creation >= 0 && type >= 0;
    hsize_t chunk[H5S_MAX_RANK] = {0};
    *elsewhere = false;
    *missing_filter = 0;
    if (known) {
        out->layout = H5Pget_layout(creation);
        *elsewhere = !crd_hdf5_is_inside(dataset);
        out->chunk_bytes = chunk_bytes(creation, H5Tget_size(type), chunk);
        known = out->layout >= 0 && out->chunk_bytes >= 0;
        for (int i = 0; i < 4; i++) out->chunk[i] = (int64_t)chunk[i];
    }
    const int filters = known ? H5Pget_nfilters(creation) : 0;
    out->filtered = filters > 0;
    for (int i = 0; i < filters; i++) {
        unsigned flags = 0, config = 0;
        size_t values = 0;
        const H5Z_filter_t filter = H5Pget_filter2(creation, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter > 0 && H5Zfilter_avail(filter) <= 0) *missing_filter = (int)filter;
    }
    if (type >= 0) (void)H5Tclose(type);
    if (creation >= 0) (void)H5Pclose(creation);
    return known;
}

typedef struct search {
    hid_t access;
    int found, visited;
    char first[LISTED / 2]; /* the first volume's name */
    char list[LISTED];      /* all of them, for the error sentence */
} search;

static herr_t look_at(hid_t root, const char *name, const object_info *info, void *context)
{
    search *s = context;
    crd_hdf5_array array;
    bool elsewhere;
    int missing;
    int depth = 0;
    for (const char *c = name; *c != '\0'; c++) depth += *c == '/';
    if (++s->visited > OBJECT_LIMIT || depth > DEPTH_LIMIT) return 1; /* a broken file's groups may hold each other */
    if (info->type != H5O_TYPE_DATASET) return 0;
    const hid_t dataset = H5Dopen2(root, name, s->access);
    if (dataset < 0) return 0;
    /* The shape of one that lies in other files isn't asked for: that could open them. */
    if (map_storage(dataset, &array, &elsewhere, &missing) && map_type(dataset, &array) &&
        (elsewhere || map_shape(dataset, &array))) {
        const size_t used = strlen(s->list);
        const char *comma = used > 0 ? ", " : "";
        if (s->found++ == 0) snprintf(s->first, sizeof s->first, "/%s", name);
        if (elsewhere) {
            snprintf(s->list + used, sizeof s->list - used, "%s/%s (in other files)", comma, name);
        } else {
            snprintf(s->list + used, sizeof s->list - used, "%s/%s (z %lld, y %lld, x %lld)", comma, name,
                     (long long)array.shape[0], (long long)array.shape[1], (long long)array.shape[2]);
        }
    }
    (void)H5Dclose(dataset);
    return 0;
}

static crd_status list_volumes(hid_t file, hid_t access, search *out)
{
    *out = (search){.access = access};
    if (VISIT(file, look_at, out) >= 0) return CRD_OK;
    char reason[REASON];
    return crd_fail(CRD_ERR_FORMAT, "its contents can't be listed: %s", crd_hdf5_reason(reason, sizeof reason));
}

static crd_status check_array(hid_t dataset, const char *path, const char *name, crd_hdf5_array *out)
{
    char reason[REASON];
    bool elsewhere;
    int missing;
    if (!map_storage(dataset, out, &elsewhere, &missing)) {
        return crd_fail(CRD_ERR_FORMAT, "%s:%s can't be understood: %s", path, name,
                        crd_hdf5_reason(reason, sizeof reason));
    }
    if (elsewhere) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s:%s keeps its voxels in other files (external storage or a virtual dataset), which credence "
                        "doesn't follow; copy it into one file first, for instance with h5repack",
                        path, name);
    }
    if (!map_type(dataset, out)) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s:%s holds neither integers nor floats of a size that credence reads",
                        path, name);
    }
    if (!map_shape(dataset, out)) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s:%s is no volume: three dimensions are needed, or four with one channel first or last", path,
                        name);
    }
    if (missing != 0) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s:%s is compressed by HDF5 filter %d, which is not installed; set HDF5_PLUGIN_PATH to its "
                        "plug-in, or rewrite the file with gzip",
                        path, name, missing);
    }
    return CRD_OK;
}

/* The cache belongs to the opening, so a chunked dataset is opened again with the right one. */
static crd_status reopen(hid_t file, const char *path, const char *name, hid_t access, size_t cache_bytes,
                         hid_t *dataset)
{
    const hid_t creation = H5Dget_create_plist(*dataset), type = H5Dget_type(*dataset);
    bool good = creation >= 0 && type >= 0;
    good = good && crd_hdf5_size_cache(access, creation, H5Tget_size(type), cache_bytes);
    if (type >= 0) (void)H5Tclose(type);
    if (creation >= 0) (void)H5Pclose(creation);
    (void)H5Dclose(*dataset);
    *dataset = good ? H5Dopen2(file, name, access) : H5I_INVALID_HID;
    if (*dataset >= 0) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "%s:%s can't be opened with a chunk cache of %zu MiB", path, name,
                    cache_bytes >> 20);
}

crd_status crd_hdf5_find(hid_t file, const char *path, const char *name, size_t cache_bytes, crd_hdf5_array *out)
{
    crd_status status = CRD_OK;
    char outside[REASON];
    search all = {.found = 0};
    hid_t access = access_properties(outside), dataset = H5I_INVALID_HID;
    if (access < 0) CRD_FAIL(CRD_ERR_MEMORY, "%s: libhdf5 can't make a property list", path);
    if (name == NULL) {
        if (list_volumes(file, access, &all) != CRD_OK) {
            CRD_FAIL(CRD_ERR_FORMAT, "%s: %s", path, crd_last_error()->message);
        }
        if (all.found == 0) CRD_FAIL(CRD_ERR_FORMAT, "%s holds no dataset of three dimensions", path);
        if (all.found > 1) {
            CRD_FAIL(CRD_ERR_ARGUMENT, "%s holds %d volumes; say which one as %s:/name: %s", path, all.found, path,
                     all.list);
        }
        name = all.first;
    }
    dataset = H5Dopen2(file, name, access);
    if (dataset < 0 && outside[0] != '\0') {
        CRD_FAIL(CRD_ERR_UNSUPPORTED,
                 "%s:%s is a link into another file (%s), which credence doesn't follow; open that file itself", path,
                 name, outside);
    }
    if (dataset < 0) {
        char reason[REASON];
        crd_hdf5_reason(reason, sizeof reason);
        if (list_volumes(file, access, &all) != CRD_OK || all.found == 0) {
            CRD_FAIL(CRD_ERR_FORMAT, "%s has no dataset %s that can be opened (%s)", path, name, reason);
        }
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s has no dataset %s that can be opened (%s); it holds %s", path, name, reason,
                 all.list);
    }
    CRD_TRY(check_array(dataset, path, name, out));
    if (out->chunk_bytes > 0) CRD_TRY(reopen(file, path, name, access, cache_bytes, &dataset));
    out->dataset = dataset;
    dataset = H5I_INVALID_HID;
done:
    if (dataset >= 0) (void)H5Dclose(dataset);
    if (access >= 0) (void)H5Pclose(access);
    return status;
}
