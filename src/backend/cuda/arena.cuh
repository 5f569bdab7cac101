// Device memory is one block, cut up; with no block behind it, cutting only counts.
#ifndef CRD_CUDA_ARENA_CUH
#define CRD_CUDA_ARENA_CUH

#include <stdint.h>

struct Arena {
    char *base;
    int64_t used;
    template <typename U> U *take(int64_t count)
    {
        U *pointer = base == nullptr ? nullptr : reinterpret_cast<U *>(base + used);
        used += (count * (int64_t)sizeof(U) + 255) / 256 * 256;
        return pointer;
    }
};

#endif
