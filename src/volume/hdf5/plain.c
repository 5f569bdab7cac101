/* Datasets that are one plain array in the file are read past libhdf5: faster, without its lock, and without trusting
 * what a broken file says about itself, which libhdf5 does. */
#include "base/hdf5/source.h"
#include "base/memory.h"
#include "volume/hdf5/file.h"
#include "volume/types.h"

bool crd_hdf5_plain_type(hid_t type, int *stored, bool *swap)
{
    const struct {
        hid_t little, big;
        int stored;
    } rows[] = {
        {H5T_STD_U8LE, H5T_STD_U8BE, CRD_U8},      {H5T_STD_I8LE, H5T_STD_I8BE, CRD_I8},
        {H5T_STD_U16LE, H5T_STD_U16BE, CRD_U16},   {H5T_STD_I16LE, H5T_STD_I16BE, CRD_I16},
        {H5T_STD_U32LE, H5T_STD_U32BE, CRD_U32},   {H5T_STD_I32LE, H5T_STD_I32BE, CRD_I32},
        {H5T_IEEE_F32LE, H5T_IEEE_F32BE, CRD_F32}, {H5T_IEEE_F64LE, H5T_IEEE_F64BE, CRD_F64},
        {H5T_STD_U64LE, H5T_STD_U64BE, CRD_U64},   {H5T_STD_I64LE, H5T_STD_I64BE, CRD_STORED_I64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const bool little = H5Tequal(type, rows[i].little) > 0, big = !little && H5Tequal(type, rows[i].big) > 0;
        if (!little && !big) continue;
        *stored = rows[i].stored;
        *swap = big != (CRD_BIG_ENDIAN != 0);
        return true;
    }
    return false;
}

crd_status crd_hdf5_open_plain(const crd_hdf5_array *array, const char *file, const char *shown, crd_flat **out)
{
    crd_status status = CRD_OK;
    crd_flat *flat = NULL;
    int64_t expected = 0, there = 0;
    int stored;
    bool swap;
    const hid_t type = H5Dget_type(array->dataset);
    *out = NULL;
    if (type < 0 || array->layout == H5D_CHUNKED) goto done;
    /* libhdf5 believes both the shape and the size of the storage, and reads past the smaller one. */
    if (crd_product(array->shape[0], array->shape[1], array->shape[2], &expected) != CRD_OK ||
        crd_product(expected, (int64_t)H5Tget_size(type), 1, &expected) != CRD_OK) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is broken: its shape is too large", shown);
    }
    there = (int64_t)H5Dget_storage_size(array->dataset);
    if (there != expected && (there != 0 || array->layout == H5D_COMPACT)) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is broken: its shape needs %lld bytes, and it has %lld", shown,
                 (long long)expected, (long long)there);
    }
    const haddr_t offset = array->layout == H5D_CONTIGUOUS ? H5Dget_offset(array->dataset) : HADDR_UNDEF;
    if (offset == HADDR_UNDEF || there == 0) goto done; /* compact, or never written */
    const crd_hdf5_layout *source = crd_hdf5_source_layout(array->dataset);
    if (source == NULL) CRD_FAIL(CRD_ERR_FORMAT, "%s can't be read", shown);
    const int64_t length = (int64_t)source->end;
    CRD_TRY(crd_flat_share(file, source->fd, &flat));
    if (offset > (haddr_t)length || expected > length - (int64_t)offset) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s is cut short: the dataset ends behind the end of the file", shown);
    }
    if (!crd_hdf5_plain_type(type, &stored, &swap)) goto done;
    flat->offset = (int64_t)offset;
    flat->stored = stored;
    flat->swap = swap;
    for (int i = 0; i < 3; i++) flat->shape[i] = array->shape[i];
    CRD_TRY(crd_flat_check(flat, length, NULL));
    *out = flat;
    flat = NULL;
done:
    crd_flat_close(&flat);
    if (type >= 0) (void)H5Tclose(type);
    return status;
}
