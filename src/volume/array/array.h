/* The voxels of a header-and-data format (NRRD, MetaImage, NIfTI): one array in C order, plain or packed, somewhere in
 * a file. */
#ifndef CRD_VOLUME_ARRAY_H
#define CRD_VOLUME_ARRAY_H

#include "volume/array/flat.h"
#include "volume/array/unpack.h"

typedef struct crd_array crd_array;

/* Opens the file; what lies in it is said by crd_array_place. `shared` as for crd_block_cache_open; it must outlive the
 * array. */
crd_status crd_array_open(const char *path, size_t cache_bytes, crd_block_cache **shared, crd_array **out,
                          int64_t *file_bytes);

/* Bytes of the file, or of the stream it begins with, before crd_array_set_place: for headers. */
crd_status crd_array_peek(crd_array *array, crd_packing packing, int64_t offset, void *data, size_t bytes);

typedef struct crd_array_place {
    crd_packing packing;
    int64_t packed_at; /* where the packed stream begins in the file */
    int64_t offset;    /* of the first voxel, in the file or in what is unpacked */
    int64_t shape[3];
    int stored; /* a crd_type or crd_stored */
    bool swap;
} crd_array_place;

/* Where the voxels begin if they end where the file ends, but not before `least`; what doesn't fit is said by
 * crd_array_set_place. */
int64_t crd_array_offset_at_end(const crd_array_place *place, int64_t file_bytes, int64_t least);
/* Refuses an array that the file can't hold. `*spare` = bytes behind its end, where that can be known, else 0. */
crd_status crd_array_set_place(crd_array *array, const crd_array_place *place, int64_t *spare);
/* Says so where the array is packed and large: slices out of order are slow then. */
void crd_array_tell_packed(const crd_array *array, const crd_monitor *monitor);
/* The file that was opened. */
const char *crd_array_file(const crd_array *array);
crd_status crd_array_read(crd_array *array, const crd_box *box, void *voxels);

/* Creates `temporary` for the voxels of `info`, in the machine's byte order, behind `head_bytes` bytes of `head`, which
 * are packed with them where `pack_head` says so. Packed arrays take whole slices in rising z; `shown` is the name for
 * sentences. `level` is 1..9. */
typedef struct crd_array_plan {
    const char *temporary, *shown;
    const crd_volume_info *info;
    crd_packing packing;
    int level;
    const char *head;
    size_t head_bytes;
    bool pack_head;
    bool staged; /* see crd_flat_create_at; of arrays that aren't packed */
} crd_array_plan;

crd_status crd_array_create(const crd_array_plan *plan, crd_array **out);
crd_status crd_array_write(crd_array *array, const crd_box *box, const void *voxels);
/* Ends a packed stream, filling up with zeros what was never written. `*packed_bytes` = its length; 0 if not packed. */
crd_status crd_array_end_stream(crd_array *array, int64_t *packed_bytes);
/* Writes over a part of the head, for what is known only now. Between the two other calls. */
crd_status crd_array_write_head(crd_array *array, int64_t at, const char *text, size_t bytes);
/* What was written to one that isn't packed until now, onto the disk. */
crd_status crd_array_sync(const crd_array *array);
/* Syncs and closes the file. */
crd_status crd_array_finish(crd_array *array);

void crd_array_close(crd_array **array);

#endif
