/* Three files in one input, between lines of three dashes: .zarray, .zattrs of the group above it, and a chunk, which
 * is there under its flat and its nested name. */
#include "parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"x.zarr", "x.zarr/0", "x.zarr/0/0", "x.zarr/0/0/0"};
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    const uint8_t *at = data, *end = data + size, *part;
    size_t count;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) (void)mkdir(fuzz_path(folders[i]), 0700);
    part = fuzz_next_part(&at, end, &count);
    fuzz_put("x.zarr/0/.zarray", part, count);
    part = fuzz_next_part(&at, end, &count);
    fuzz_put("x.zarr/.zattrs", part, count);
    fuzz_put("x.zarr/0/0/0/0", at, (size_t)(end - at));
    fuzz_put("x.zarr/0/0.0.0", at, (size_t)(end - at));
    fuzz_read(fuzz_path("x.zarr"), &options);
    fuzz_read(fuzz_path("x.zarr/0"), &options);
    return 0;
}
