/* A whole .mha, or a .mhd whose data file may be the data.raw beside it. */
#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int ready;
    const char *path = fuzz_path("input.mha");
    if (!ready) fuzz_write(fuzz_path("data.raw"), "0123456789abcdefghijklmnopqrstuvwxyz", 36);
    ready = 1;
    fuzz_write(path, data, size);
    fuzz_read(path, &(crd_volume_options){.cache_bytes = 1 << 20});
    return 0;
}
