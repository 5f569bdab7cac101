/* HDF5 files read as users read them, by the helper: whatever libhdf5 does there, here it is a sentence or voxels. */
#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const crd_volume_options options = {.cache_bytes = 1 << 20};
    if (size > 65536) return 0;
    fuzz_trusts = false;
    fuzz_write(fuzz_path("input.h5"), data, size);
    fuzz_read(fuzz_path("input.h5"), &options);
    fuzz_read(fuzz_path("input.h5:/x"), &options);
    return 0;
}
