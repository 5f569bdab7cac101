#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory_limit.h"

enum { ALIGNMENT = 64, HUGE_PAGE = 2 << 20 };

crd_status crd_product(int64_t a, int64_t b, int64_t c, int64_t *out)
{
    int64_t ab, abc;
    if (a < 0 || b < 0 || c < 0 || __builtin_mul_overflow(a, b, &ab) || __builtin_mul_overflow(ab, c, &abc) ||
        abc > (INT64_C(1) << 62)) {
        return crd_fail(CRD_ERR_MEMORY, "a size of %lld x %lld x %lld is too large", (long long)a, (long long)b,
                        (long long)c);
    }
    *out = abc;
    return CRD_OK;
}

crd_status crd_alloc(int64_t count, size_t size, const char *what, void *out)
{
    void *memory = NULL;
    int64_t bytes = 0;
    memcpy(out, &memory, sizeof memory);
    CRD_PASS(crd_product(count, (int64_t)size, 1, &bytes));
    const size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
    const size_t rounded = ((size_t)bytes + alignment - 1) / alignment * alignment;
    memory = aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
    if (memory == NULL) {
        return crd_fail(CRD_ERR_MEMORY, "not enough memory for %s (%.1f MiB)", what, (double)bytes / 1048576.0);
    }
#ifdef MADV_HUGEPAGE
    if (alignment == HUGE_PAGE) (void)madvise(memory, rounded, MADV_HUGEPAGE);
#endif
    memset(memory, 0, rounded > 0 ? rounded : alignment);
    memcpy(out, &memory, sizeof memory);
    return CRD_OK;
}

void crd_free_untyped(void *pointer_to_pointer)
{
    void *memory;
    memcpy(&memory, pointer_to_pointer, sizeof memory);
    free(memory);
    memory = NULL;
    memcpy(pointer_to_pointer, &memory, sizeof memory);
}

crd_status crd_strdup(const char *text, char **out)
{
    *out = NULL;
    if (text == NULL) return CRD_OK;
    const size_t bytes = strlen(text) + 1;
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a string", out));
    memcpy(*out, text, bytes);
    return CRD_OK;
}

int64_t crd_available_memory(void)
{
    const int64_t free_kib = crd_system_number("/proc/meminfo", "MemAvailable:");
    const int64_t bytes = free_kib >= 0 ? free_kib * 1024 : INT64_C(2) << 30;
    const int64_t allowed = crd_memory_left_by_groups("/proc/self/cgroup", "/sys/fs/cgroup");
    return allowed < bytes ? allowed : bytes;
}
