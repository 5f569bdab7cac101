/* A run's volumes while tiles are finished: files of their final format in DIR/.partial, into which every tile is
 * written in its place, so that the end is a rename. A format that can't be written so (one that is packed in one
 * piece, or that libhdf5 writes) has a plain file of its voxels there, which is copied at the end; OME-Zarr grows under
 * its own name and can be looked at meanwhile. In a run without a folder tiles go to the request's outlet instead. */
#ifndef CRD_PREDICT_TILES_FILES_H
#define CRD_PREDICT_TILES_FILES_H

#include "predict/request.h"

typedef struct crd_tile_files crd_tile_files;

/* Of a run that is resumed, before anything is cleared away: volumes that have their names already, since the end was
 * interrupted, go back to the others. Fails where finished tiles have lost a file. */
crd_status crd_tile_files_restage(const crd_request *request, const char *folder);
/* Makes the files, or continues those that are there; any number of processes. */
crd_status crd_tile_files_open(const crd_request *request, const char *folder, crd_tile_files **out);
/* Leaves the files as they are. */
void crd_tile_files_close(crd_tile_files **files);

/* Memory. */
int64_t crd_tile_files_bytes(const crd_request *request);
/* Bytes on disk of the voxels that are copied at the end. */
int64_t crd_tile_files_spooled_bytes(const crd_request *request);

/* `box` in the scan; the voxels are of the output's type. Any thread; of one output one at a time. */
crd_status crd_tile_files_write(crd_tile_files *files, int64_t output, const crd_box *box, const void *voxels);
/* What was written until now, onto the disk. */
crd_status crd_tile_files_sync(crd_tile_files *files);

/* All tiles are there, and the values of output i lie between ranges[2i] and ranges[2i + 1]: gives all volumes their
 * names. A stop leaves what can be resumed. */
crd_status crd_tile_files_commit(crd_tile_files *files, const double *ranges, const crd_monitor *monitor);

#endif
