/* What an HDF5 volume says about itself, as attributes of its dataset.
 *
 * element_size_um  [z, y, x], the voxel's edges in micrometres
 * spacing, unit    the same in the volume's own unit where that isn't um; alone where it is no length, or there is none
 * origin           [z, y, x] in a larger volume, where it isn't 0
 * scale            stored value * scale = the quantity, where it isn't 1
 */
#include <math.h>
#include <string.h>

#include "base/hdf5/lock.h"
#include "base/hdf5/types.h"
#include "volume/hdf5/file.h"
#include "volume/units.h"

enum { TEXT_LIMIT = 256 };

/* `count` numbers, if there are just so many; an attribute of another shape is not ours and is let be. */
static bool read_numbers(hid_t dataset, const char *name, hid_t type, hssize_t count, void *out)
{
    bool read = false;
    if (H5Aexists(dataset, name) <= 0) return false;
    const hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    if (attribute < 0) return false;
    const hid_t space = H5Aget_space(attribute), stored = H5Aget_type(attribute);
    if (space >= 0 && stored >= 0 && H5Sget_simple_extent_npoints(space) == count) {
        read = crd_hdf5_number_is_sound(stored) && H5Aread(attribute, type, out) >= 0;
    }
    if (stored >= 0) (void)H5Tclose(stored);
    if (space >= 0) (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return read;
}

/* A text, of fixed length (as we write) or variable (as h5py does). */
static bool read_text(hid_t dataset, const char *name, char out[TEXT_LIMIT])
{
    bool read = false;
    out[0] = '\0';
    if (H5Aexists(dataset, name) <= 0) return false;
    const hid_t attribute = H5Aopen(dataset, name, H5P_DEFAULT);
    if (attribute < 0) return false;
    const hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
    if (space >= 0 && type >= 0 && H5Sget_simple_extent_npoints(space) == 1 && H5Tget_class(type) == H5T_STRING) {
        if (H5Tis_variable_str(type) > 0) {
            char *text = NULL;
            read = H5Aread(attribute, type, &text) >= 0 && text != NULL;
            if (read) strncpy(out, text, TEXT_LIMIT - 1);
            if (text != NULL) (void)H5free_memory(text);
        } else if (H5Tget_size(type) < TEXT_LIMIT) {
            read = H5Aread(attribute, type, out) >= 0;
        }
        out[TEXT_LIMIT - 1] = '\0';
    }
    if (type >= 0) (void)H5Tclose(type);
    if (space >= 0) (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return read;
}

void crd_hdf5_read_about(hid_t dataset, crd_volume_info *info)
{
    char unit[TEXT_LIMIT] = "", normal[CRD_UNIT_BYTES] = "";
    double own[3];
    const bool known = read_numbers(dataset, "element_size_um", H5T_NATIVE_DOUBLE, 3, info->spacing);
    bool agree = true;
    if (known) strcpy(info->unit, "um");
    if (read_numbers(dataset, "spacing", H5T_NATIVE_DOUBLE, 3, own)) {
        (void)read_text(dataset, "unit", unit);
        crd_unit_normalise(unit, normal);
        const double um = crd_unit_in_um(normal);
        /* Somebody may have changed the one and not the other: micrometres are what other programs know. */
        for (int i = 0; i < 3; i++) agree = agree && fabs(own[i] * um / info->spacing[i] - 1.0) < 1e-9;
        if (!known || agree) {
            memcpy(info->spacing, own, sizeof own);
            memcpy(info->unit, normal, sizeof info->unit);
        }
    }
    (void)read_numbers(dataset, "origin", H5T_NATIVE_INT64, 3, info->origin);
    (void)read_numbers(dataset, "scale", H5T_NATIVE_DOUBLE, 1, &info->scale);
}

static bool write_attribute(hid_t dataset, const char *name, hid_t type, hsize_t count, const void *values)
{
    const hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, NULL);
    const hid_t attribute = space < 0 ? -1 : H5Acreate2(dataset, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
    if (attribute >= 0) good = H5Aclose(attribute) >= 0 && good;
    if (space >= 0) (void)H5Sclose(space);
    return good;
}

static bool write_text(hid_t dataset, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    const bool good = type >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0 &&
                      write_attribute(dataset, name, type, 1, text);
    if (type >= 0) (void)H5Tclose(type);
    return good;
}

bool crd_hdf5_write_about(hid_t dataset, const crd_volume_info *info)
{
    const double um = crd_unit_in_um(info->unit);
    bool good = true;
    if (info->spacing[0] > 0.0 && um > 0.0) {
        const double size[3] = {info->spacing[0] * um, info->spacing[1] * um, info->spacing[2] * um};
        good = write_attribute(dataset, "element_size_um", H5T_NATIVE_DOUBLE, 3, size);
    }
    if (good && info->spacing[0] > 0.0 && um != 1.0) {
        good = write_attribute(dataset, "spacing", H5T_NATIVE_DOUBLE, 3, info->spacing);
        if (good && info->unit[0] != '\0') good = write_text(dataset, "unit", info->unit);
    }
    if (good && (info->origin[0] != 0 || info->origin[1] != 0 || info->origin[2] != 0)) {
        good = write_attribute(dataset, "origin", H5T_NATIVE_INT64, 3, info->origin);
    }
    if (good && info->scale != 1.0) good = write_attribute(dataset, "scale", H5T_NATIVE_DOUBLE, 1, &info->scale);
    return good;
}
