#include "common.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("input.npy");
    fuzz_write(path, data, size);
    fuzz_read(path, NULL);
    return 0;
}
