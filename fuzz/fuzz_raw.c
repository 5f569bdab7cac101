/* The description of a raw file: the input is its sidecar; the voxels are 4 KiB of zeros. */
#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char zeros[4096];
    const char *path = fuzz_path("input.raw");
    fuzz_write(path, zeros, sizeof zeros);
    fuzz_write(fuzz_path("input.raw.json"), data, size);
    fuzz_read(path, NULL);
    fuzz_read(path, &(crd_volume_options){.shape = {2, 3, 4}, .type = "f32be", .offset = 17});
    return 0;
}
