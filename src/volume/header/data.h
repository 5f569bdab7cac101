/* The voxels that a text header (NRRD, MetaImage) describes: behind it, or in a file of their own beside it. */
#ifndef CRD_VOLUME_HEADER_DATA_H
#define CRD_VOLUME_HEADER_DATA_H

#include "base/text.h"
#include "volume/array/array.h"
#include "volume/format.h"

/* The file that a header in `header` names as the place of its voxels. Only names in the header's own folder, or below
 * it, are believed; a link that leads elsewhere is followed, and said. Free with crd_free. */
crd_status crd_header_data_path(const char *header, const char *name, size_t length, const crd_monitor *monitor,
                                char **out);

/* Writing: how a format does it. */
typedef struct crd_header_style {
    const char *detached;       /* suffix of a header whose voxels have a file of their own, the header's stem with */
    const char *plain, *packed; /* one of these suffixes */
    crd_packing packing;        /* of voxels that are to be compressed */
    /* Adds the header. `packed_bytes`: of the compressed voxels, 0 where that isn't known yet, below 0 where they are
     * plain; the text's length doesn't depend on it otherwise. `data_file` is NULL where the voxels follow. */
    void (*write)(const crd_volume_info *info, int64_t packed_bytes, const char *data_file, crd_text *text);
} crd_header_style;

typedef struct crd_header_data {
    crd_array *array;
    char *path, *temporary; /* NULL where the header is in front */
    crd_packing packing;
    bool staged; /* what isn't finished stays */
    bool placed; /* the voxels have their final name, their header perhaps not yet */
} crd_header_data;

void crd_header_data_close(crd_header_data **data);

/* Rows of a format, whose volumes' state is their crd_header_data. */
crd_status crd_header_data_create(crd_volume *volume, const crd_volume_options *options, const crd_header_style *style);
/* Ends the voxels; then the header is written once more, and all is synced. */
crd_status crd_header_data_finish(crd_volume *volume, const crd_header_style *style);
crd_status crd_header_data_read(crd_volume *volume, const crd_box *box, void *voxels);
crd_status crd_header_data_write(crd_volume *volume, const crd_box *box, const void *voxels);
crd_status crd_header_data_sync(crd_volume *volume);
const char *crd_header_data_file(const crd_volume *volume, int64_t index);
void crd_header_data_close_volume(crd_volume *volume);
/* What is worth a word about a file that was opened. */
void crd_header_data_tell(const crd_volume *volume, const crd_header_data *data, int64_t spare_bytes, bool turned,
                          int stored, const char *data_path, const crd_monitor *monitor);

#endif
