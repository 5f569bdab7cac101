#include "base/hdf5/source.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hdf5/heaps.h"
#include "base/hdf5/lock.h"

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* What libhdf5 holds: its own part comes first. */
typedef struct driver_file {
    H5FD_t base;
    haddr_t allocated; /* what libhdf5 takes for the file's end */
    crd_hdf5_layout layout;
} driver_file;

/* What crd_hdf5_source_open wants opened; NULL whenever a file's content asks for another. The lock guards it. */
static const crd_hdf5_layout *wanted;

/* Of crd_hdf5_source_note; the lock guards them. */
static bool noting;
static int noted;
static uint64_t noted_offset, noted_bytes;

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t limit)
{
    (void)name, (void)access, (void)limit;
    if (wanted == NULL || (flags & H5F_ACC_RDWR) != 0) return NULL;
    driver_file *file = calloc(1, sizeof *file); /* libhdf5 hands it back to driver_close */
    if (file == NULL) return NULL;
    file->layout = *wanted;
    wanted = NULL;
    return (H5FD_t *)file;
}

static herr_t driver_close(H5FD_t *base)
{
    (void)close(((driver_file *)base)->layout.fd);
    free(base);
    return 0;
}

/* Two openings of a file are two files to libhdf5, each with its own caches. */
static int driver_compare(const H5FD_t *a, const H5FD_t *b)
{
    return a < b ? -1 : a > b;
}

/* Without ACCUMULATE_METADATA: that is the copy. */
static herr_t driver_query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)base)->allocated;
}

static herr_t driver_set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((driver_file *)base)->allocated = address;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const driver_file *)base)->layout.end;
}

static herr_t driver_get_handle(H5FD_t *base, hid_t access, void **handle)
{
    (void)access;
    *handle = &((driver_file *)base)->layout;
    return 0;
}

static herr_t driver_read(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size, void *buffer)
{
    const driver_file *file = (const driver_file *)base;
    (void)transfer;
    if (buffer == NULL || address > file->layout.end || size > file->layout.end - address) return -1;
    if (noting && type == H5FD_MEM_DRAW) {
        noted_offset = address;
        noted_bytes = size;
        noted++;
        return 0;
    }
    if (crd_read_at(file->layout.fd, "an HDF5 file", (int64_t)address, buffer, size) != CRD_OK) return -1;
    return crd_hdf5_heap_is_broken(&file->layout, address, buffer, size) ? -1 : 0;
}

static herr_t driver_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                           const void *buffer)
{
    (void)base, (void)type, (void)transfer, (void)address, (void)size, (void)buffer;
    return -1;
}

static const H5FD_class_t driver_class = {
#if H5_VERSION_GE(1, 14, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)412, /* in the range that is free for use without registration */
#endif
    .name = "credence_source",
    .maxaddr = (haddr_t)1 << 62, /* bytes that a signed offset can hold, with room */
    .fc_degree = H5F_CLOSE_WEAK,
    .open = driver_open,
    .close = driver_close,
    .cmp = driver_compare,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .get_handle = driver_get_handle,
    .read = driver_read,
    .write = driver_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* libhdf5 closes the file once it has taken it; until then it is ours. */
static crd_status hand_over(const char *path, const crd_hdf5_layout *layout, hid_t *file)
{
    static hid_t driver = H5I_INVALID_HID; /* registered anew where a host program has shut libhdf5 down in between */
    char reason[256];
    if (driver < 0 || H5Iget_type(driver) != H5I_VFL) driver = H5FDregister(&driver_class);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    wanted = layout;
    if (driver >= 0 && access >= 0 && H5Pset_driver(access, driver, NULL) >= 0) {
        *file = H5Fopen(path, H5F_ACC_RDONLY, access);
    }
    if (wanted != NULL) (void)close(layout->fd);
    wanted = NULL;
    if (*file < 0) crd_hdf5_reason(reason, sizeof reason);
    if (access >= 0) (void)H5Pclose(access);
    if (*file >= 0) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "%s can't be opened as an HDF5 file: %s", path, reason);
}

crd_status crd_hdf5_source_take(int fd, int64_t length, const char *path, hid_t *file)
{
    crd_hdf5_layout layout;
    *file = H5I_INVALID_HID;
    const crd_status status = crd_hdf5_superblock_read(fd, path, length, &layout);
    if (status == CRD_OK) return hand_over(path, &layout, file);
    (void)close(fd);
    return status;
}

crd_status crd_hdf5_source_open(const char *path, hid_t *file)
{
    int64_t length = 0;
    int fd = -1;
    *file = H5I_INVALID_HID;
    CRD_PASS(crd_open_plain(path, &fd, &length));
    return crd_hdf5_source_take(fd, length, path, file);
}

void crd_hdf5_source_note(void)
{
    noting = true;
    noted = 0;
}

int crd_hdf5_source_noted(uint64_t *offset, uint64_t *bytes)
{
    noting = false;
    *offset = noted_offset;
    *bytes = noted_bytes;
    return noted;
}

const crd_hdf5_layout *crd_hdf5_source_layout(hid_t object)
{
    void *layout = NULL;
    const hid_t file = H5Iget_file_id(object);
    if (file < 0) return NULL;
    if (H5Fget_vfd_handle(file, H5P_DEFAULT, &layout) < 0) layout = NULL;
    (void)H5Fclose(file);
    return layout;
}

bool crd_hdf5_is_inside(hid_t dataset)
{
    const hid_t creation = H5Dget_create_plist(dataset);
    if (creation < 0) return false;
    const bool inside = H5Pget_layout(creation) != H5D_VIRTUAL && H5Pget_external_count(creation) == 0;
    (void)H5Pclose(creation);
    return inside;
}
