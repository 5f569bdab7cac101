/* Three files in one input, between lines of three dashes: .zarray, .zattrs of the group above it, and a chunk, which
 * is there under its flat and its nested name. */
#include <errno.h>

#include "common.h"

static const char border[] = "\n---\n";

/* The part of [*at, end) up to the next border, or to the end. */
static const uint8_t *next_part(const uint8_t **at, const uint8_t *end, size_t *size)
{
    const uint8_t *start = *at;
    const uint8_t *stop = memmem(start, (size_t)(end - start), border, sizeof border - 1);
    *size = (size_t)((stop != NULL ? stop : end) - start);
    *at = stop != NULL ? stop + sizeof border - 1 : end;
    return start;
}

static void put(const char *name, const uint8_t *data, size_t size)
{
    const char *path = fuzz_path(name);
    if (size > 0) {
        fuzz_write(path, data, size);
    } else if (unlink(path) != 0 && errno != ENOENT) {
        exit(1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {"x.zarr", "x.zarr/0", "x.zarr/0/0", "x.zarr/0/0/0"};
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    const uint8_t *at = data, *end = data + size, *part;
    size_t count;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) (void)mkdir(fuzz_path(folders[i]), 0700);
    part = next_part(&at, end, &count);
    put("x.zarr/0/.zarray", part, count);
    part = next_part(&at, end, &count);
    put("x.zarr/.zattrs", part, count);
    put("x.zarr/0/0/0/0", at, (size_t)(end - at));
    put("x.zarr/0/0.0.0", at, (size_t)(end - at));
    fuzz_read(fuzz_path("x.zarr"), &options);
    fuzz_read(fuzz_path("x.zarr/0"), &options);
    return 0;
}
