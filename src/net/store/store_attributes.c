/* Attributes of a store: text, whole numbers, reals. */
#include <inttypes.h>
#include <string.h>

#include "base/hdf5/types.h"
#include "base/memory.h"
#include "net/store/apart.h"

static crd_status put(crd_store *store, const char *group, const char *name, hid_t space, hid_t file_type,
                      hid_t memory_type, const void *values)
{
    hid_t owner = H5I_INVALID_HID, attribute = H5I_INVALID_HID;
    crd_status status = crd_store_group(store, group, &owner);
    if (status != CRD_OK) return status;
    if (space >= 0) attribute = H5Acreate2(owner, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, memory_type, values) < 0) status = crd_store_broken(store, name);
    if (attribute >= 0) (void)H5Aclose(attribute);
    (void)H5Gclose(owner);
    return status;
}

/* One value is stored as a scalar, as other programs expect it. */
static crd_status put_array(crd_store *store, const char *group, const char *name, int64_t count, hid_t file_type,
                            hid_t memory_type, const void *values)
{
    const hsize_t size = (hsize_t)count;
    const hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    const crd_status status = put(store, group, name, space, file_type, memory_type, values);
    if (space >= 0) (void)H5Sclose(space);
    return status;
}

crd_status crd_store_put_numbers(crd_store *store, const char *group, const char *name, int64_t count,
                                 const int64_t *values)
{
    return put_array(store, group, name, count, H5T_STD_I64LE, H5T_NATIVE_INT64, values);
}

crd_status crd_store_put_reals(crd_store *store, const char *group, const char *name, int64_t count,
                               const double *values)
{
    return put_array(store, group, name, count, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
}

/* Of variable length, which other programs read as text, and which may be longer than 64 KiB. */
crd_status crd_store_put_text(crd_store *store, const char *group, const char *name, const char *text)
{
    crd_status status = CRD_OK;
    const hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
        status = put(store, group, name, space, type, type, &text);
    else
        status = crd_store_broken(store, name);
    if (type >= 0) (void)H5Tclose(type);
    if (space >= 0) (void)H5Sclose(space);
    return status;
}

/* An attribute of a group, opened; its type is looked at by the caller. */
static crd_status open_attribute(crd_store *store, const char *group, const char *name, hid_t *attribute, hid_t *type)
{
    hid_t owner = H5I_INVALID_HID;
    *attribute = *type = H5I_INVALID_HID;
    if (!crd_store_has_attribute(store, group, name))
        return crd_fail(CRD_ERR_FORMAT, "%s lacks the attribute '%s'", store->path, name);
    CRD_PASS(crd_store_group(store, group, &owner));
    *attribute = H5Aopen(owner, name, H5P_DEFAULT);
    (void)H5Gclose(owner);
    if (*attribute >= 0) *type = H5Aget_type(*attribute);
    return *type >= 0 ? CRD_OK : crd_store_broken(store, name);
}

static int64_t count_of(hid_t attribute)
{
    const hid_t space = H5Aget_space(attribute);
    const int64_t count = space >= 0 ? (int64_t)H5Sget_simple_extent_npoints(space) : -1;
    if (space >= 0) (void)H5Sclose(space);
    return count;
}

bool crd_store_has_attribute(crd_store *store, const char *group, const char *name)
{
    if (store->helper != NULL) return crd_store_apart_has(store, CRD_ASK_HAS_ATTRIBUTE, group, name);
    if (group[0] != '\0' && !crd_store_has(store, group)) return false;
    return H5Aexists_by_name(store->file, group[0] != '\0' ? group : "/", name, H5P_DEFAULT) > 0;
}

static crd_status get_array(crd_store *store, const char *group, const char *name, int64_t count, bool real,
                            void *values)
{
    crd_status status = CRD_OK;
    hid_t attribute, type;
    CRD_TRY(open_attribute(store, group, name, &attribute, &type));
    const H5T_class_t class = H5Tget_class(type);
    if (class != H5T_INTEGER && !(real && class == H5T_FLOAT))
        CRD_FAIL(CRD_ERR_FORMAT, "the attribute '%s' of %s isn't a %s", name, store->path,
                 real ? "number" : "whole number");
    if (!crd_hdf5_number_is_sound(type))
        CRD_FAIL(CRD_ERR_FORMAT, "the attribute '%s' of %s is damaged", name, store->path);
    if (count_of(attribute) != count)
        CRD_FAIL(CRD_ERR_FORMAT, "the attribute '%s' of %s holds %" PRId64 " values instead of %" PRId64, name,
                 store->path, count_of(attribute), count);
    if (H5Aread(attribute, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, values) < 0)
        status = crd_store_broken(store, name);
done:
    if (type >= 0) (void)H5Tclose(type);
    if (attribute >= 0) (void)H5Aclose(attribute);
    return status;
}

crd_status crd_store_get_numbers(crd_store *store, const char *group, const char *name, int64_t count, int64_t *values)
{
    if (store->helper != NULL) {
        return crd_store_apart_values(store, CRD_ASK_NUMBERS, group, name, 1, &count, "", sizeof *values, values);
    }
    return get_array(store, group, name, count, false, values);
}

crd_status crd_store_get_reals(crd_store *store, const char *group, const char *name, int64_t count, double *values)
{
    if (store->helper != NULL) {
        return crd_store_apart_values(store, CRD_ASK_REALS, group, name, 1, &count, "", sizeof *values, values);
    }
    return get_array(store, group, name, count, true, values);
}

/* Other programs may write text of a fixed length: both are read. */
static crd_status read_variable(const crd_store *store, const char *name, hid_t attribute, hid_t type, char **out)
{
    char *text = NULL;
    if (H5Aread(attribute, type, &text) < 0 || text == NULL) return crd_store_broken(store, name);
    const crd_status status = crd_strdup(text, out);
    (void)H5free_memory(text);
    return status;
}

static crd_status read_fixed(const crd_store *store, const char *name, hid_t attribute, hid_t type, char **out)
{
    enum { TEXT_MAX = 64 << 20 };
    const size_t size = H5Tget_size(type);
    if (size == 0 || size > TEXT_MAX) return crd_store_broken(store, name);
    CRD_PASS(crd_alloc((int64_t)size + 1, 1, "an attribute's text", out));
    if (H5Aread(attribute, type, *out) >= 0) return CRD_OK;
    crd_free(out);
    return crd_store_broken(store, name);
}

crd_status crd_store_get_text(crd_store *store, const char *group, const char *name, char **out)
{
    crd_status status = CRD_OK;
    hid_t attribute, type;
    *out = NULL;
    if (store->helper != NULL) return crd_store_apart_text(store, group, name, out);
    CRD_TRY(open_attribute(store, group, name, &attribute, &type));
    if (H5Tget_class(type) != H5T_STRING || count_of(attribute) != 1)
        CRD_FAIL(CRD_ERR_FORMAT, "the attribute '%s' of %s isn't a text", name, store->path);
    if (H5Tis_variable_str(type) > 0)
        CRD_TRY(read_variable(store, name, attribute, type, out));
    else
        CRD_TRY(read_fixed(store, name, attribute, type, out));
done:
    if (type >= 0) (void)H5Tclose(type);
    if (attribute >= 0) (void)H5Aclose(attribute);
    return status;
}
