/* The voxels that a text header (NRRD, MetaImage) describes: behind it, or in a file of their own beside it. */
#ifndef CRD_VOLUME_HEADER_DATA_H
#define CRD_VOLUME_HEADER_DATA_H

#include "volume/array/array.h"
#include "volume/format.h"

/* The file that a header in `header` names as the place of its voxels. Only names in the header's own folder, or below
 * it, are believed; a link that leads elsewhere is followed, and said. Free with crd_free. */
crd_status crd_header_data_path(const char *header, const char *name, size_t length, const crd_monitor *monitor,
                                char **out);

/* Writing. `head` is the header's text, or NULL where the voxels have a file of their own, `data_suffix` behind the
 * header's stem. */
typedef struct crd_header_data {
    crd_array *array;
    char *path, *temporary; /* NULL where the header is in front */
    crd_packing packing;
    bool staged; /* what isn't finished stays */
    bool placed; /* the voxels have their final name, their header perhaps not yet */
} crd_header_data;

crd_status crd_header_data_create(crd_volume *volume, const char *head, const char *data_suffix, crd_packing packing,
                                  int level, crd_header_data **out);
/* The data file's name as the header says it: without a folder. */
const char *crd_header_data_name(const crd_header_data *data);
/* Ends the voxels; then `head`, as long as the first one where it lies in front, is written and all is synced. */
crd_status crd_header_data_end(crd_header_data *data, int64_t *packed_bytes);
crd_status crd_header_data_finish(crd_volume *volume, crd_header_data *data, const char *head);
void crd_header_data_close(crd_header_data **data);

/* The same for both as rows of a format: the volume's state is its crd_header_data. */
crd_status crd_header_data_read(crd_volume *volume, const crd_box *box, void *voxels);
crd_status crd_header_data_write(crd_volume *volume, const crd_box *box, const void *voxels);
crd_status crd_header_data_sync(crd_volume *volume);
const char *crd_header_data_file(const crd_volume *volume, int64_t index);
void crd_header_data_close_volume(crd_volume *volume);
/* What is worth a word about a file that was opened. */
void crd_header_data_tell(const crd_volume *volume, const crd_header_data *data, int64_t spare_bytes, bool turned,
                          int stored, const char *data_path, const crd_monitor *monitor);

#endif
