#include "net/store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hdf5/lock.h"
#include "base/hdf5/source.h"
#include "base/hdf5/types.h"
#include "base/memory.h"
#include "net/store/apart.h"

enum { NAME_MAX_BYTES = 256, SHAPE_TEXT = 160 };

const char *crd_store_path(const crd_store *store)
{
    return store->path;
}

crd_status crd_store_broken(const crd_store *store, const char *name)
{
    char reason[256];
    const char *why = crd_hdf5_reason(reason, sizeof reason);
    if (store->temporary != NULL)
        return crd_fail(CRD_ERR_SYSTEM, "%s of %s can't be written (%s); is there room on the disk?", name, store->path,
                        why);
    return crd_fail(CRD_ERR_FORMAT, "%s of %s can't be read (%s); the file is damaged", name, store->path, why);
}

static void free_store(crd_store **store)
{
    crd_free(&(*store)->path);
    crd_free(&(*store)->temporary);
    crd_free(store);
}

static crd_status make(const char *path, bool write, crd_store **out)
{
    crd_status status = CRD_OK;
    crd_store *store = NULL;
    *out = NULL;
    CRD_TRY(crd_alloc(1, sizeof *store, "a file's state", &store));
    store->file = H5I_INVALID_HID;
    CRD_TRY(crd_strdup(path, &store->path));
    if (write) CRD_TRY(crd_temporary_name(path, &store->temporary));
    *out = store;
    store = NULL;
done:
    if (store != NULL) free_store(&store);
    return status;
}

/* Holds the lock from here on; gives up the store where its file can't be opened. */
static crd_status start(crd_store **out, int fd, int64_t length)
{
    crd_store *store = *out;
    crd_status status;
    crd_hdf5_lock();
    if (store->temporary != NULL) {
        status = crd_hdf5_sink_create(store->temporary, store->path, true, &store->sink, &store->file);
    } else if (fd >= 0) {
        status = crd_hdf5_source_take(fd, length, store->path, &store->file);
    } else {
        status = crd_hdf5_source_open(store->path, &store->file);
    }
    if (status == CRD_OK) return CRD_OK;
    crd_hdf5_unlock();
    free_store(out);
    return status;
}

crd_status crd_store_open(const char *path, crd_store **out)
{
    CRD_PASS(make(path, false, out));
    if (crd_helper_trusted()) return start(out, -1, 0);
    const crd_status status = crd_store_apart_open(*out);
    if (status != CRD_OK) free_store(out);
    return status;
}

crd_status crd_store_take(int fd, int64_t length, const char *path, crd_store **out)
{
    const crd_status status = make(path, false, out);
    if (status == CRD_OK) return start(out, fd, length);
    (void)close(fd);
    return status;
}

crd_status crd_store_create(const char *path, crd_store **out)
{
    CRD_PASS(make(path, true, out));
    return start(out, -1, 0);
}

crd_status crd_store_check(const crd_store *store)
{
    return store->lost.status == CRD_OK ? CRD_OK : crd_fail(store->lost.status, "%s", store->lost.message);
}

crd_status crd_store_commit(crd_store *store)
{
    store->file = H5I_INVALID_HID;
    CRD_PASS(crd_hdf5_sink_finish(store->sink));
    return crd_replace_file(store->temporary, store->path);
}

void crd_store_close(crd_store **store)
{
    if (*store == NULL) return;
    if ((*store)->helper != NULL) {
        crd_helper_close(&(*store)->helper);
    } else {
        if ((*store)->sink != NULL) {
            crd_hdf5_sink_close(&(*store)->sink);
        } else if ((*store)->file >= 0) {
            (void)H5Fclose((*store)->file);
        }
        crd_hdf5_unlock();
    }
    /* After a commit nothing of that name is left. */
    if ((*store)->temporary != NULL) (void)unlink((*store)->temporary);
    free_store(store);
}

/* Is there something under this path? Every part of it is asked for, since libhdf5 fails on a missing group. */
bool crd_store_has(crd_store *store, const char *name)
{
    char part[NAME_MAX_BYTES];
    if (store->helper != NULL) return crd_store_apart_has(store, CRD_ASK_HAS, "", name);
    if (strlen(name) >= sizeof part) return false;
    for (const char *end = name; *end != '\0';) {
        end = strchr(end + 1, '/');
        if (end == NULL) end = name + strlen(name);
        snprintf(part, sizeof part, "%.*s", (int)(end - name), name);
        if (H5Lexists(store->file, part, H5P_DEFAULT) <= 0) return false;
    }
    return H5Oexists_by_name(store->file, name, H5P_DEFAULT) > 0;
}

static crd_status make_group(crd_store *store, const char *name)
{
    if (H5Lexists(store->file, name, H5P_DEFAULT) > 0) return CRD_OK;
    const hid_t create = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = H5I_INVALID_HID;
    if (create >= 0 && H5Pset_obj_track_times(create, false) >= 0)
        group = H5Gcreate2(store->file, name, H5P_DEFAULT, create, H5P_DEFAULT);
    const crd_status status = group >= 0 ? CRD_OK : crd_store_broken(store, name);
    if (group >= 0) (void)H5Gclose(group);
    if (create >= 0) (void)H5Pclose(create);
    return status;
}

/* Makes all groups that lead to `name`, but not the last part of it. */
static crd_status make_groups_above(crd_store *store, const char *name)
{
    char part[NAME_MAX_BYTES];
    if (strlen(name) >= sizeof part) return crd_fail(CRD_ERR_INTERNAL, "the name %s is too long for a dataset", name);
    for (const char *end = strchr(name, '/'); end != NULL; end = strchr(end + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(end - name), name);
        CRD_PASS(make_group(store, part));
    }
    return CRD_OK;
}

crd_status crd_store_group(crd_store *store, const char *group, hid_t *out)
{
    if (store->temporary != NULL && group[0] != '\0') {
        CRD_PASS(make_groups_above(store, group));
        CRD_PASS(make_group(store, group));
    }
    *out = H5Gopen2(store->file, group[0] != '\0' ? group : "/", H5P_DEFAULT);
    return *out >= 0 ? CRD_OK : crd_store_broken(store, group);
}

static crd_status put(crd_store *store, const char *name, int rank, const int64_t *shape, hid_t file_type,
                      hid_t memory_type, const void *values)
{
    hsize_t size[H5S_MAX_RANK];
    crd_status status = CRD_OK;
    hid_t space = H5I_INVALID_HID, dataset = H5I_INVALID_HID;
    CRD_PASS(make_groups_above(store, name));
    for (int axis = 0; axis < rank; axis++) size[axis] = (hsize_t)shape[axis];
    const hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    if (create >= 0 && H5Pset_obj_track_times(create, false) >= 0) space = H5Screate_simple(rank, size, NULL);
    if (space >= 0) dataset = H5Dcreate2(store->file, name, file_type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (dataset < 0 || H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = crd_store_broken(store, name);
    if (dataset >= 0) (void)H5Dclose(dataset);
    if (space >= 0) (void)H5Sclose(space);
    if (create >= 0) (void)H5Pclose(create);
    return status;
}

crd_status crd_store_put_floats(crd_store *store, const char *name, int rank, const int64_t *shape, const float *values)
{
    return put(store, name, rank, shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
}

crd_status crd_store_put_doubles(crd_store *store, const char *name, int rank, const int64_t *shape,
                                 const double *values)
{
    return put(store, name, rank, shape, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
}

crd_status crd_store_put_halves(crd_store *store, const char *name, int rank, const int64_t *shape, const float *values)
{
    /* 1 sign, 5 bits of exponent, 10 of fraction: NumPy's float16 */
    crd_status status = CRD_OK;
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    if (half < 0 || H5Tset_fields(half, 15, 10, 5, 0, 10) < 0 || H5Tset_size(half, 2) < 0 ||
        H5Tset_ebias(half, 15) < 0) {
        status = crd_store_broken(store, name);
    } else {
        status = put(store, name, rank, shape, half, H5T_NATIVE_FLOAT, values);
    }
    if (half >= 0) (void)H5Tclose(half);
    return status;
}

crd_status crd_store_put_integers(crd_store *store, const char *name, int64_t count, const int64_t *values)
{
    return put(store, name, 1, &count, H5T_STD_I64LE, H5T_NATIVE_INT64, values);
}

static const char *shape_text(int rank, const int64_t *shape, char *text)
{
    size_t used = 0;
    text[0] = '\0';
    for (int axis = 0; axis < rank && used < SHAPE_TEXT; axis++)
        used += (size_t)snprintf(text + used, SHAPE_TEXT - used, "%s%" PRId64, axis > 0 ? "x" : "", shape[axis]);
    return rank > 0 ? text : "of one value";
}

static crd_status check_shape(const crd_store *store, const char *name, hid_t dataset, int rank, const int64_t *shape,
                              const char *needed_by)
{
    hsize_t size[H5S_MAX_RANK] = {0};
    int64_t found[H5S_MAX_RANK];
    char has[SHAPE_TEXT], needs[SHAPE_TEXT];
    const hid_t space = H5Dget_space(dataset);
    const int dimensions = space >= 0 ? H5Sget_simple_extent_dims(space, size, NULL) : -1;
    if (space >= 0) (void)H5Sclose(space);
    if (dimensions < 0) return crd_store_broken(store, name);
    bool equal = dimensions == rank;
    for (int axis = 0; axis < dimensions; axis++) {
        found[axis] = (int64_t)size[axis];
        equal = equal && found[axis] == shape[axis];
    }
    if (equal) return CRD_OK;
    return crd_fail(CRD_ERR_MISMATCH, "%s of %s has the shape %s, but %s needs %s", name, store->path,
                    shape_text(dimensions, found, has), needed_by, shape_text(rank, shape, needs));
}

static crd_status check_type(const crd_store *store, const char *name, hid_t dataset, H5T_class_t wanted, size_t bytes)
{
    const hid_t type = H5Dget_type(dataset);
    if (type < 0) return crd_store_broken(store, name);
    const H5T_class_t class = H5Tget_class(type);
    const size_t size = H5Tget_size(type);
    const bool sound = crd_hdf5_number_is_sound(type);
    (void)H5Tclose(type);
    if (class == wanted && !sound) return crd_store_broken(store, name);
    if (class == wanted && (class != H5T_FLOAT || size == bytes)) return CRD_OK;
    return crd_fail(CRD_ERR_MISMATCH, "%s of %s isn't of type %s%.0zu", name, store->path,
                    wanted == H5T_FLOAT ? "float" : "integer", wanted == H5T_FLOAT ? 8 * bytes : (size_t)0);
}

crd_status crd_store_check_claim(const crd_store *store, const char *name, int64_t count, uint64_t stored)
{
    enum { MOST = 1032 }; /* bytes that a packed one can stand for */
    if ((uint64_t)count / MOST <= stored) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "%s of %s speaks of %" PRId64 " values and holds none; the file is damaged", name,
                    store->path, count);
}

static crd_status check_dataset_claim(const crd_store *store, const char *name, hid_t dataset, int rank,
                                      const int64_t *shape)
{
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++) CRD_PASS(crd_product(count, shape[axis], 1, &count));
    return crd_store_check_claim(store, name, count, H5Dget_storage_size(dataset));
}

static crd_status get(crd_store *store, const char *name, int rank, const int64_t *shape, const char *needed_by,
                      H5T_class_t class, size_t bytes, hid_t memory_type, void *values)
{
    char needs[SHAPE_TEXT];
    if (!crd_store_has(store, name))
        return crd_fail(CRD_ERR_MISMATCH, "%s lacks the dataset %s, which %s needs with the shape %s", store->path,
                        name, needed_by, shape_text(rank, shape, needs));
    crd_status status = CRD_OK;
    const hid_t dataset = H5Dopen2(store->file, name, H5P_DEFAULT);
    if (dataset < 0) return crd_store_broken(store, name);
    if (!crd_hdf5_is_inside(dataset)) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED, "%s of %s keeps its values in another file, which credence doesn't follow", name,
                 store->path);
    }
    CRD_TRY(check_shape(store, name, dataset, rank, shape, needed_by));
    CRD_TRY(check_type(store, name, dataset, class, bytes));
    CRD_TRY(check_dataset_claim(store, name, dataset, rank, shape));
    if (H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
        status = crd_store_broken(store, name);
done:
    (void)H5Dclose(dataset);
    return status;
}

crd_status crd_store_get_floats(crd_store *store, const char *name, int rank, const int64_t *shape,
                                const char *needed_by, float *values)
{
    if (store->helper != NULL) {
        return crd_store_apart_values(store, CRD_ASK_FLOATS, "", name, rank, shape, needed_by, sizeof(float), values);
    }
    return get(store, name, rank, shape, needed_by, H5T_FLOAT, sizeof(float), H5T_NATIVE_FLOAT, values);
}

crd_status crd_store_get_doubles(crd_store *store, const char *name, int rank, const int64_t *shape,
                                 const char *needed_by, double *values)
{
    if (store->helper != NULL) {
        return crd_store_apart_values(store, CRD_ASK_DOUBLES, "", name, rank, shape, needed_by, sizeof(double), values);
    }
    return get(store, name, rank, shape, needed_by, H5T_FLOAT, sizeof(double), H5T_NATIVE_DOUBLE, values);
}

crd_status crd_store_get_halves(crd_store *store, const char *name, int rank, const int64_t *shape,
                                const char *needed_by, float *values)
{
    if (store->helper != NULL) {
        return crd_store_apart_values(store, CRD_ASK_HALVES, "", name, rank, shape, needed_by, sizeof(float), values);
    }
    return get(store, name, rank, shape, needed_by, H5T_FLOAT, sizeof(float) / 2, H5T_NATIVE_FLOAT, values);
}

crd_status crd_store_get_integers(crd_store *store, const char *name, int64_t count, const char *needed_by,
                                  int64_t *values)
{
    if (store->helper != NULL) {
        return crd_store_apart_values(store, CRD_ASK_INTEGERS, "", name, 1, &count, needed_by, sizeof(int64_t), values);
    }
    return get(store, name, 1, &count, needed_by, H5T_INTEGER, 0, H5T_NATIVE_INT64, values);
}

crd_status crd_store_get_shape(crd_store *store, const char *name, int rank, int64_t *shape)
{
    hsize_t size[H5S_MAX_RANK] = {0};
    if (store->helper != NULL) return crd_store_apart_shape(store, name, rank, shape);
    if (!crd_store_has(store, name)) {
        return crd_fail(CRD_ERR_MISMATCH, "%s lacks the dataset %s", store->path, name);
    }
    const hid_t dataset = H5Dopen2(store->file, name, H5P_DEFAULT);
    const hid_t space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    const int dimensions = space >= 0 ? H5Sget_simple_extent_dims(space, size, NULL) : -1;
    if (space >= 0) (void)H5Sclose(space);
    if (dataset >= 0) (void)H5Dclose(dataset);
    if (dimensions < 0) return crd_store_broken(store, name);
    if (dimensions != rank) {
        return crd_fail(CRD_ERR_MISMATCH, "%s of %s has %d dimensions and not %d", name, store->path, dimensions, rank);
    }
    for (int axis = 0; axis < rank; axis++) shape[axis] = (int64_t)size[axis];
    return CRD_OK;
}

static void join(const char *prefix, const char *name, char path[NAME_MAX_BYTES])
{
    snprintf(path, NAME_MAX_BYTES, "%s%s%s", prefix, prefix[0] != '\0' ? "/" : "", name);
}

crd_status crd_store_put_layout(crd_store *store, const char *prefix, const crd_layout *layout, const float *values)
{
    char path[NAME_MAX_BYTES];
    for (int i = 0; i < layout->count; i++) {
        const crd_parameter *parameter = &layout->parameters[i];
        join(prefix, parameter->path, path);
        CRD_PASS(crd_store_put_floats(store, path, parameter->rank, parameter->shape, values + parameter->offset));
    }
    return CRD_OK;
}

crd_status crd_store_get_layout(crd_store *store, const char *prefix, const crd_layout *layout, const char *needed_by,
                                float *values)
{
    char path[NAME_MAX_BYTES];
    for (int i = 0; i < layout->count; i++) {
        const crd_parameter *parameter = &layout->parameters[i];
        join(prefix, parameter->path, path);
        CRD_PASS(crd_store_get_floats(store, path, parameter->rank, parameter->shape, needed_by,
                                      values + parameter->offset));
    }
    return CRD_OK;
}
