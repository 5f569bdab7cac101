/* TIFF files. The last byte of an input chooses the size of the cache, so that strips are kept, pushed out or streamed.
 */
#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t caches[] = {1 << 20, 2000, 100};
    if (size < 1) return 0;
    const crd_volume_options options = {.format = "tiff", .cache_bytes = caches[data[size - 1] % 3]};
    const char *path = fuzz_path("volume.tif");
    fuzz_write(path, data, size - 1);
    fuzz_read(path, &options);
    return 0;
}
