/* The text header of NRRD files, https://teem.sourceforge.net/nrrd/format.html. Axes are listed fastest first. */
#ifndef CRD_VOLUME_NRRD_HEADER_H
#define CRD_VOLUME_NRRD_HEADER_H

#include <stdbool.h>

#include "base/text.h"
#include "credence/volume.h"
#include "volume/array/unpack.h"

enum { CRD_NRRD_AXES = 16 };

typedef struct crd_nrrd_header {
    crd_volume_info info; /* shape, type, spacing, unit, and our own keys */
    int stored;
    bool swap;
    crd_packing packing;
    int64_t line_skip, byte_skip; /* byte_skip -1: the voxels end where the file ends */
    const char *data_file;        /* in the text; NULL: behind the header */
    size_t data_file_length;
    size_t bytes;      /* of the header with the empty line behind it */
    bool oblique;      /* the axes aren't those of the space */
    bool units_differ; /* from axis to axis, and one of them is unknown */
} crd_nrrd_header;

bool crd_nrrd_is(const unsigned char *head, size_t count);
/* `text` needn't end in a zero. `path` is for sentences. */
crd_status crd_nrrd_parse(const char *path, const char *text, size_t length, crd_nrrd_header *out);
/* A crd_header_style's (volume/header/data.h). */
void crd_nrrd_write(const crd_volume_info *info, int64_t packed_bytes, const char *data_file, crd_text *text);

#endif
