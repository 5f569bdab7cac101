/* The binary header of NIfTI-1 and NIfTI-2. libnifti turns it into numbers and back; it never sees a file,
 * nor a header about which it would print a message. */
#ifndef CRD_VOLUME_NIFTI_HEADER_H
#define CRD_VOLUME_NIFTI_HEADER_H

#include <stdbool.h>

#include "base/text.h"
#include "volume/format.h"

enum { CRD_NIFTI_1 = 348, CRD_NIFTI_2 = 540, CRD_NIFTI_EXTENSIONS = 1 << 20 };

typedef struct crd_nifti_header {
    crd_volume_info info;
    int version; /* 1 or 2 */
    int stored;
    bool swap, pair; /* pair: the voxels are in the .img file */
    int64_t offset;  /* of the voxels */
    double intercept;
    bool turned; /* the axes aren't those of the space */
} crd_nifti_header;

/* Bytes of the header that begins like this, or 0 if it is none. 348 bytes are enough to see. */
size_t crd_nifti_is(const unsigned char *head, size_t count);
crd_status crd_nifti_parse(const char *path, const void *head, size_t bytes, crd_nifti_header *out);
/* What our own comment among the extensions adds: `text` is what lies between header and voxels. */
void crd_nifti_take_extensions(const unsigned char *text, size_t bytes, crd_nifti_header *header);

/* Header and extensions as the file begins with them; free with crd_free. NIfTI-1 where every edge fits 15 bits. */
crd_status crd_nifti_write(const char *path, const crd_volume_info *info, char **out, size_t *bytes);

#endif
