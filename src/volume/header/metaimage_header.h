/* The text header of MetaImage files, https://itk.org/Wiki/MetaIO/Documentation. Axes are listed fastest first. */
#ifndef CRD_VOLUME_METAIMAGE_HEADER_H
#define CRD_VOLUME_METAIMAGE_HEADER_H

#include <stdbool.h>

#include "base/text.h"
#include "credence/volume.h"

enum { CRD_METAIMAGE_AXES = 10 };

typedef struct crd_metaimage_header {
    crd_volume_info info;
    int stored;
    bool swap, packed;
    int64_t skip;          /* bytes before the voxels in their file; 0: not said, -1: they end where the file ends */
    double intercept;      /* to be added to the values, which nothing here does */
    const char *data_file; /* in the text; NULL: behind the header */
    size_t data_file_length;
    size_t bytes; /* of the header */
    bool turned;  /* the axes aren't those of the space */
} crd_metaimage_header;

bool crd_metaimage_is(const unsigned char *head, size_t count);
crd_status crd_metaimage_parse(const char *path, const char *text, size_t length, crd_metaimage_header *out);
/* A crd_header_style's (volume/header/data.h). */
void crd_metaimage_write(const crd_volume_info *info, int64_t packed_bytes, const char *data_file, crd_text *text);

#endif
