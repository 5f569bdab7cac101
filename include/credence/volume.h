/* Volumes: 3D scans, labels and maps in files, of any size.
 *
 * Axes are (z, y, x), x fastest, everywhere: shapes, boxes, spacings. A volume is opened or created, read or written
 * box by box, and closed; no call holds the whole volume in memory. A handle is used by one thread at a time; several
 * handles, also of the same file, may be used by several threads.
 *
 *     crd_volume *scan = NULL;
 *     if (crd_volume_open("scan.tif", NULL, NULL, &scan) != CRD_OK) fail(crd_last_error()->message);
 *     const crd_volume_info *info = crd_volume_describe(scan);
 *     crd_box box = {.origin = {0, 0, 0}, .size = {64, 64, 64}};
 *     crd_volume_read(scan, &box, CRD_F32, voxels);         // 64*64*64 floats, converted if need be
 *     crd_volume_close(&scan);
 *
 * A created volume appears under its name only when crd_volume_commit succeeds: until then it is a temporary file
 * beside it, and crd_volume_close without commit removes that.
 */
#ifndef CREDENCE_VOLUME_H
#define CREDENCE_VOLUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "credence/monitor.h"
#include "credence/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum crd_type {
    CRD_U8 = 0,
    CRD_I8 = 1,
    CRD_U16 = 2,
    CRD_I16 = 3,
    CRD_U32 = 4,
    CRD_I32 = 5,
    CRD_F32 = 6,
    CRD_F64 = 7,
    CRD_U64 = 8, /* words of bits, or numbers: as f32 and f64 they are exact up to 2^24 and 2^53 */
    CRD_TYPE_COUNT = 9
} crd_type;

CRD_API size_t crd_type_size(crd_type type);
CRD_API const char *crd_type_name(crd_type type); /* "u16" */
/* "u16", "u16le", "u16be", "float32", "uint8", ...; *big_endian may be NULL. */
CRD_API crd_status crd_type_parse(const char *text, crd_type *type, bool *big_endian);

/* "0.65,0.65,0.65,um": three positive edges along z, y, x and a unit, which may be missing; normalised as in
 * crd_volume_info. On failure nothing is changed. */
CRD_API crd_status crd_spacing_parse(const char *text, double spacing[3], char unit[16]);

typedef struct crd_box {
    int64_t origin[3];
    int64_t size[3];
} crd_box;

/* "z0:z1,y0:y1,x0:x1", each from the first voxel to behind the last: a box with at least one voxel, of a volume of that
 * shape; `shape` NULL: of one that isn't open yet. Sentences begin with `name`, the option's. */
CRD_API crd_status crd_box_parse(const char *name, const char *text, const int64_t *shape, crd_box *out);

typedef struct crd_volume_info {
    int64_t shape[3]; /* z, y, x */
    crd_type type;
    double spacing[3]; /* voxel edge along z, y, x in `unit`; 0, 0, 0 where the file doesn't say */
    char unit[16];     /* "um", "mm", ...; "" where the file doesn't say. micron, \u00b5m and micrometer become "um" */
    int64_t origin[3]; /* of this volume inside a larger one, in voxels; 0 unless the file says */
    double scale;      /* stored value * scale = the quantity (1/255 for probabilities kept in u8); 1 if not said */
    char format[16];   /* "tiff", "hdf5", "npy", "raw", "nifti", "nrrd", "metaimage", "zarr", "zarr3", "png", "jpeg" */
} crd_volume_info;

typedef struct crd_volume crd_volume;

/* All fields 0 or NULL: the defaults. */
typedef struct crd_volume_options {
    int64_t shape[3];  /* raw files: required */
    const char *type;  /* raw files: required when reading, "u16le" */
    int64_t offset;    /* raw files: bytes to skip */
    double spacing[3]; /* overrides the file's, where all three are > 0 */
    const char *unit;
    size_t cache_bytes; /* upper limit of decoded data kept for re-use; 0: 256 MiB */
    const char *format; /* forces a format, by name or suffix; NULL: by content when reading, by suffix when writing */
    int compress;       /* writing, where the format can: 0 none, 1 (fast) .. 9 (small) */
    int levels;         /* writing OME-Zarr: resolutions, each half of the one before; 0: until one fits a chunk */
} crd_volume_options;

/* Opens for reading. `path` is a file, a folder of slices, a quoted glob pattern ("scan_*.tif"), file.h5:/dataset, or
 * an OME-Zarr folder or one of its levels (docs/FORMATS.md). `monitor` is told what had to be assumed.
 * `options` and `monitor` may be NULL. */
CRD_API crd_status crd_volume_open(const char *path, const crd_volume_options *options, const crd_monitor *monitor,
                                   crd_volume **out);

/* The same, for files of TIFF, PNG or JPEG whose pixels may have colours, which crd_volume_open refuses: each becomes
 * its grey value, .299 R + .587 G + .114 B, which is all three where they are equal. Grey files are read as they are.
 */
CRD_API crd_status crd_volume_open_grey(const char *path, const crd_volume_options *options, const crd_monitor *monitor,
                                        crd_volume **out);

/* Volumes that are no files. Whatever takes the name of a file takes such a volume by its name,
 * crd_volume_path(volume), as long as it is open: a scan, a label or a mask of the options, a segmentation to measure,
 * crd_volume_open. They are read by several threads at once, never changed, and give the same results as files with the
 * same voxels. `info` says shape and type and, where they are known, spacing, unit, origin and scale (0 counts as 1).
 *
 *     crd_volume *scan = NULL;
 *     const crd_volume_info info = {.shape = {64, 128, 128}, .type = CRD_U16};
 *     crd_volume_from_memory(voxels, &info, NULL, false, "scan", &scan);
 *     crd_settings_set(&crd_predict_settings, &options, "scan", crd_volume_path(scan));      "memory:scan"
 *     crd_predict(&options, NULL, NULL);
 *     crd_volume_close(&scan);
 *
 * `name`, which may be NULL, is what sentences and the files of a run call it: a short word without slashes. Two that
 * are open at once can't share one. */

/* An array of the caller's, which must stay as it is while the volume is open. `strides` are the bytes from a voxel to
 * the next along z, y and x, of any sign and alignment; NULL: x fastest, without gaps. `voxels` points to voxel 0, 0,
 * 0, wherever in the array that lies. */
CRD_API crd_status crd_volume_from_memory(const void *voxels, const crd_volume_info *info, const int64_t *strides,
                                          bool big_endian, const char *name, crd_volume **out);

/* Where the voxels of a volume come from that the caller makes, or fetches, box by box. */
typedef struct crd_volume_source {
    size_t size; /* sizeof(crd_volume_source) */
    /* Fills `voxels` with those of the box, x fastest and without gaps, of info's type and in the machine's byte order.
     * A failure, of which crd_set_error says more, ends the work that asked. Threads of the library call it. */
    crd_status (*read)(void *context, const crd_box *box, void *voxels);
    void *context;
    int64_t layer;      /* slices that are best read together, such as the depth of a block; 0: any number */
    bool one_at_a_time; /* never two calls at once */
} crd_volume_source;

CRD_API crd_status crd_volume_from_callback(const crd_volume_source *source, const crd_volume_info *info,
                                            const char *name, crd_volume **out);

/* Creates for writing; the format follows the suffix unless options->format names it. info->format is ignored.
 * `options` may be NULL. */
CRD_API crd_status crd_volume_create(const char *path, const crd_volume_info *info, const crd_volume_options *options,
                                     crd_volume **out);

/* What libhdf5 must read of an HDF5 file is read by a program of its own, credence-hdf5, in a sandbox: a file that
 * makes libhdf5 crash or hang is an error. For all that is opened from now on by this process, `trust` reads it in
 * here. */
CRD_API void crd_trust_files(bool trust);
/* What that program does; for nobody else. Gives back its exit code. */
CRD_API int crd_hdf5_serve(void);

/* Borrowed from the volume, valid until it is closed. */
CRD_API const crd_volume_info *crd_volume_describe(const crd_volume *volume);
CRD_API const char *crd_volume_path(const crd_volume *volume);

/* Reads a box into size[0]*size[1]*size[2] contiguous values of type `as`: the volume's own type, or CRD_F32 / CRD_F64
 * (converted, not scaled). A box that leaves the volume is an error. */
CRD_API crd_status crd_volume_read(crd_volume *volume, const crd_box *box, crd_type as, void *voxels);

/* Writes a box of the volume's own type. Boxes may come in any order for raw, npy, HDF5, OME-Zarr and what isn't packed
 * of NIfTI, NRRD and MetaImage; TIFF and packed files take whole slices in rising z and refuse anything else. */
CRD_API crd_status crd_volume_write(crd_volume *volume, const crd_box *box, const void *voxels);

/* Flushes to disk and renames to the final name. Only crd_volume_close is allowed afterwards. */
CRD_API crd_status crd_volume_commit(crd_volume *volume);

/* Frees the handle and sets it to NULL; a volume that was created and not committed is removed. NULL is fine. */
CRD_API void crd_volume_close(crd_volume **volume);

/* Statistics over the whole volume, over fixed blocks of 2^20 voxels in file order: the same bits for any number of
 * threads. Histogram bins of integers below 2^53 are a whole number wide and begin at the minimum; those of floats
 * divide [minimum, maximum] evenly, the last one closed, or lie within 0.5 of the only value. */
enum { CRD_HISTOGRAM_BINS = 256 };
typedef struct crd_volume_statistics {
    double minimum, maximum, mean, variance; /* of the finite voxels (NaN without any); variance is the population's */
    int64_t count;                           /* finite voxels */
    int64_t nonfinite;                       /* NaN and Inf */
    double histogram_low, histogram_high;    /* outer edges */
    int64_t histogram[CRD_HISTOGRAM_BINS];
    double levels[2]; /* means of the darker and brighter class by Otsu's threshold, untouched by a few outliers; NaN
                         for types of more than 16 bits, where only normalisation (`--norm levels`) looks for them */
} crd_volume_statistics;

/* `monitor` may be NULL. */
CRD_API crd_status crd_volume_measure(crd_volume *volume, const crd_monitor *monitor, crd_volume_statistics *out);

/* Views: a volume looked at in another way. It is read, measured and converted like a file. It borrows `of`, which must
 * stay open as long and belongs to the same thread. */

/* The voxels of a box; its place is the view's origin. */
CRD_API crd_status crd_view_box(crd_volume *of, const crd_box *box, crd_volume **out);

/* Voxels `step` times as long along z, y and x: 2, 2, 2 for an eighth as many. Where a step is above 1, a new voxel is
 * the mean of all that lies under it, with parts of old voxels counted by their share; where it is below 1, it lies
 * between the old ones' centres (linear). The last voxel may reach beyond the end, and is made of what is there. Labels
 * have no means: MAJORITY takes the value with the largest share (the least of several such), NEAREST the old voxel
 * under the new one's centre. The origin is kept where it is a whole number of new voxels. */
typedef enum crd_resampling {
    CRD_RESAMPLE_MEAN = 0,
    CRD_RESAMPLE_MAJORITY = 1,
    CRD_RESAMPLE_NEAREST = 2
} crd_resampling;

CRD_API crd_status crd_view_resampled(crd_volume *of, const double step[3], crd_resampling how, crd_volume **out);

/* Copies `in` to a new file, slab by slab, in at most 1 GiB of memory beside the caches. `info` is NULL (type, spacing
 * and all stay) or a copy of crd_volume_describe(in) in which type, spacing, unit, origin or scale were changed. Values
 * are multiplied by in's scale / info's scale; integer targets are rounded and clamped, with a warning that counts.
 * `options` and `monitor` may be NULL. */
CRD_API crd_status crd_volume_convert(crd_volume *in, const char *path, const crd_volume_info *info,
                                      const crd_volume_options *options, const crd_monitor *monitor);

#ifdef __cplusplus
}
#endif
#endif
