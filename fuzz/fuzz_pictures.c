/* PNG and JPEG slices, and TIFF of colours: as grey values or as they are. */
#include "common.h"

/* As fuzz_read, of colours as well. */
static void read_grey(const char *path)
{
    static double voxels[16 * 16 * 16];
    crd_volume *volume = NULL;
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    if (crd_volume_open_grey(path, &options, NULL, &volume) != CRD_OK) return;
    const int64_t *shape = crd_volume_describe(volume)->shape;
    const crd_box box = {.origin = {shape[0] - 1, 0, 0},
                         .size = {1, shape[1] < 16 ? shape[1] : 16, shape[2] < 16 ? shape[2] : 16}};
    (void)crd_volume_read(volume, &box, CRD_F64, voxels);
    crd_volume_close(&volume);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    const char *path = fuzz_path("slice");
    fuzz_write(path, data, size);
    fuzz_read(path, &options);
    read_grey(path);
    return 0;
}
