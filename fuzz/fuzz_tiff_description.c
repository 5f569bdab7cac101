/* Descriptions inside TIFF files: ImageJ's lines, OME's XML, tifffile's JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "volume/tiff/tiff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const crd_tiff_resolution resolution = {.x = 0.5, .y = 0.25, .per_x = 2.0, .per_y = 4.0, .unit = size % 4};
    crd_tiff_metadata metadata;
    char *text = malloc(size + 1);
    if (text == NULL) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (int slice = 0; slice < 2; slice++) {
        if (crd_tiff_read_metadata("f.tif", text, &resolution, slice != 0, NULL, &metadata) != CRD_OK) continue;
        for (int i = 0; i < 3; i++) {
            if (!(metadata.spacing[i] >= 0.0)) abort();
        }
        if (memchr(metadata.unit, '\0', sizeof metadata.unit) == NULL || !(metadata.scale > 0.0)) abort();
    }
    free(text);
    return 0;
}
