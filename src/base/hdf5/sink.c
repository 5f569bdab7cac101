#include "base/hdf5/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hdf5/lock.h"
#include "base/memory.h"

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

struct crd_hdf5_sink {
    int fd;
    int failure; /* errno of the first write that failed, 0 before */
    bool over;   /* what the file held before stays */
    char *shown;
    hid_t file;
};

/* What libhdf5 holds: its own part comes first. */
typedef struct driver_file {
    H5FD_t base;
    crd_hdf5_sink *sink;
    haddr_t allocated, end; /* what libhdf5 has given away; what was written */
} driver_file;

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t limit)
{
    (void)name, (void)flags, (void)limit;
    crd_hdf5_sink *const *sink = H5Pget_driver_info(access);
    driver_file *file = calloc(1, sizeof *file); /* libhdf5 hands it back to driver_close */
    if (file != NULL) file->sink = *sink;
    return (H5FD_t *)file;
}

static herr_t driver_close(H5FD_t *base)
{
    free(base);
    return 0;
}

static herr_t driver_query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
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
    return ((const driver_file *)base)->end;
}

/* Beyond what was written there are zeros, as in a file with holes. */
static herr_t driver_read(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size, void *buffer)
{
    const driver_file *file = (const driver_file *)base;
    (void)type, (void)transfer;
    const size_t there = address >= file->end ? 0 : file->end - address < size ? (size_t)(file->end - address) : size;
    memset((char *)buffer + there, 0, size - there);
    if (file->sink->failure != 0) {
        memset(buffer, 0, size);
        return 0;
    }
    return crd_read_at(file->sink->fd, file->sink->shown, (int64_t)address, buffer, there) == CRD_OK ? 0 : -1;
}

static herr_t driver_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
                           const void *buffer)
{
    driver_file *file = (driver_file *)base;
    (void)type, (void)transfer;
    if (address + size > file->end) file->end = address + size;
    if (file->sink->failure != 0) return 0;
    errno = 0;
    if (crd_write_at(file->sink->fd, file->sink->shown, (int64_t)address, buffer, size) == CRD_OK) return 0;
    file->sink->failure = errno != 0 ? errno : EIO;
    return 0;
}

static herr_t driver_truncate(H5FD_t *base, hid_t transfer, hbool_t closing)
{
    driver_file *file = (driver_file *)base;
    struct stat about;
    (void)transfer, (void)closing;
    if (file->end == file->allocated) return 0;
    file->end = file->allocated;
    if (file->sink->failure != 0) return 0;
    if (file->sink->over && fstat(file->sink->fd, &about) == 0 && (haddr_t)about.st_size >= file->allocated) return 0;
    if (crd_resize(file->sink->fd, (int64_t)file->allocated) != 0) file->sink->failure = errno;
    return 0;
}

static const H5FD_class_t driver_class = {
#if H5_VERSION_GE(1, 14, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)411, /* in the range that is free for use without registration */
#endif
    .name = "credence",
    .maxaddr = (haddr_t)1 << 62, /* bytes that a signed offset can hold, with room */
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(crd_hdf5_sink *),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* File access through the driver; registered anew where a host program has shut libhdf5 down in between. */
static hid_t access_properties(crd_hdf5_sink *sink)
{
    static hid_t driver = H5I_INVALID_HID;
    if (driver < 0 || H5Iget_type(driver) != H5I_VFL) driver = H5FDregister(&driver_class);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access < 0) return H5I_INVALID_HID;
    if (driver >= 0 && H5Pset_driver(access, driver, &sink) >= 0) return access;
    (void)H5Pclose(access);
    return H5I_INVALID_HID;
}

static crd_status create(const char *path, const char *shown, bool fixed_format, bool over, crd_hdf5_sink **out,
                         hid_t *file)
{
    crd_status status = CRD_OK;
    crd_hdf5_sink *sink = NULL;
    hid_t access = H5I_INVALID_HID, creation = H5I_INVALID_HID;
    CRD_TRY(crd_alloc(1, sizeof *sink, "an HDF5 file", &sink));
    sink->fd = -1;
    sink->file = H5I_INVALID_HID;
    CRD_TRY(crd_strdup(shown, &sink->shown));
    sink->over = over;
    sink->fd = crd_open(path, O_RDWR | O_CREAT | (over ? 0 : O_EXCL) | O_CLOEXEC);
    if (sink->fd < 0) {
        status = crd_fail_errno("%s can't be created", shown);
        goto done;
    }
    access = access_properties(sink);
    creation = H5Pcreate(H5P_FILE_CREATE);
    if (access < 0 || creation < 0 || H5Pset_obj_track_times(creation, false) < 0 ||
        (fixed_format && H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18) < 0) ||
        (sink->file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access)) < 0) {
        status = crd_hdf5_sink_check(sink, -1);
        goto done;
    }
    *file = sink->file;
    *out = sink;
    sink = NULL;
done:
    if (creation >= 0) (void)H5Pclose(creation);
    if (access >= 0) (void)H5Pclose(access);
    crd_hdf5_sink_close(&sink);
    return status;
}

crd_status crd_hdf5_sink_create(const char *path, const char *shown, bool fixed_format, crd_hdf5_sink **out,
                                hid_t *file)
{
    return create(path, shown, fixed_format, false, out, file);
}

crd_status crd_hdf5_sink_over(const char *path, const char *shown, crd_hdf5_sink **out, hid_t *file)
{
    return create(path, shown, false, true, out, file);
}

crd_status crd_hdf5_sink_check(const crd_hdf5_sink *sink, herr_t result)
{
    char reason[256];
    if (sink->failure != 0) {
        errno = sink->failure;
        return crd_fail_errno("%s can't be written", sink->shown);
    }
    if (result >= 0) return CRD_OK;
    return crd_fail(CRD_ERR_SYSTEM, "%s can't be written: %s", sink->shown, crd_hdf5_reason(reason, sizeof reason));
}

crd_status crd_hdf5_sink_finish(crd_hdf5_sink *sink)
{
    const herr_t closed = H5Fclose(sink->file);
    sink->file = H5I_INVALID_HID;
    CRD_PASS(crd_hdf5_sink_check(sink, closed));
    const int fd = sink->fd;
    sink->fd = -1;
    return crd_sync_and_close(fd, sink->shown);
}

void crd_hdf5_sink_drop(crd_hdf5_sink *sink)
{
    if (sink->failure == 0) sink->failure = ECANCELED;
}

void crd_hdf5_sink_close(crd_hdf5_sink **sink)
{
    crd_hdf5_sink *s = *sink;
    if (s == NULL) return;
    crd_hdf5_sink_drop(s);
    if (s->file >= 0) (void)H5Fclose(s->file);
    if (s->fd >= 0) (void)close(s->fd);
    crd_free(&s->shown);
    crd_free(sink);
}
