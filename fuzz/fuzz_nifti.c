/* A .nii, packed or not; a header of a pair finds input.img beside it. */
#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int ready;
    const char *path = fuzz_path("input.nii");
    if (!ready) fuzz_write(fuzz_path("input.img"), "0123456789abcdefghijklmnopqrstuvwxyz", 36);
    ready = 1;
    fuzz_write(path, data, size);
    fuzz_read(path, &(crd_volume_options){.cache_bytes = 1 << 20});
    return 0;
}
