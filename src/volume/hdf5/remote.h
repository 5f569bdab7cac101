/* HDF5 volumes that are read by the helper (base/hdf5/helper.h), which parses the file (serve.c).
 *
 * - It finds the dataset and describes it. A plain array is then read here, by its offset, and the helper is done.
 *   Of chunks that we can decode it tells the places, some hundreds at a time, when they are first wanted; their bytes
 *   are read and decoded here. What only libhdf5 can read it reads box by box into the shared memory.
 * - Nothing that it says is believed: every number is checked, and every place held against the file's length. */
#ifndef CRD_VOLUME_HDF5_REMOTE_H
#define CRD_VOLUME_HDF5_REMOTE_H

#include "base/hdf5/helper.h"
#include "volume/hdf5/chunks.h"

enum { CRD_HDF5_NAME = 2048 };

/* Of the helper's work. */
void crd_hdf5_mark(char mark[CRD_HELPER_MARK]);

/* The first order. */
typedef struct crd_hdf5_opening {
    char file[CRD_HDF5_NAME], shown[CRD_HDF5_NAME], dataset[CRD_HDF5_NAME]; /* no dataset: the only volume */
    int64_t length, data_limit;
    int64_t cache_bytes, own_cache_bytes; /* for what we decode, and for libhdf5's own */
} crd_hdf5_opening;

/* All others. */
typedef struct crd_hdf5_order {
    int64_t window;       /* bytes of the shared memory */
    int64_t first, count; /* chunks, counted along x, y, z, whose places are wanted; none: the voxels of a box are */
    crd_box box;
} crd_hdf5_order;

typedef enum crd_hdf5_way { CRD_HDF5_PLAIN, CRD_HDF5_CHUNKS, CRD_HDF5_BOXES } crd_hdf5_way;

typedef struct crd_hdf5_description {
    crd_hdf5_way way;
    crd_volume_info info;
    crd_hdf5_array array; /* without what is libhdf5's */
    crd_hdf5_grid grid;   /* of chunks */
    int64_t offset;       /* of a plain array, and what it holds */
    int stored;
    bool swap;
} crd_hdf5_description;

/* Starts the helper and has the volume's file described, which follows the first answer. The volume's path is borrowed;
 * `own_cache_bytes` is for libhdf5. */
crd_status crd_hdf5_remote_open(const crd_volume *volume, size_t own_cache_bytes, crd_hdf5_remote **out,
                                crd_hdf5_description *about);
/* The file, open for reading, and its length when it was opened. */
int crd_hdf5_remote_file(const crd_hdf5_remote *remote);
int64_t crd_hdf5_remote_length(const crd_hdf5_remote *remote);
/* Where a chunk lies, as the helper says. */
crd_status crd_hdf5_remote_place(crd_hdf5_remote *remote, const crd_hdf5_grid *grid, const int64_t index[3],
                                 crd_hdf5_place *out);
/* Voxels of `size` bytes, through libhdf5 in the helper. */
crd_status crd_hdf5_remote_read(crd_hdf5_remote *remote, const crd_box *box, size_t size, void *voxels);
void crd_hdf5_remote_close(crd_hdf5_remote **remote);

/* Reads a box through libhdf5 in this process; `shown` is for the sentence. Takes the lock. */
crd_status crd_hdf5_read_box(const crd_hdf5_array *array, const crd_box *box, const char *shown, void *voxels);
/* Describes the open file; the dataset stays open in about->array. Needs the lock. */
crd_status crd_hdf5_describe(hid_t file, const crd_hdf5_opening *what, crd_hdf5_description *about);

/* What the helper does for a volume, once its mark was read; gives back the exit code. */
int crd_hdf5_serve_volume(void);

#endif
