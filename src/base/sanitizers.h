/* What sanitizer builds have, and inner loops that they check once a row and not once a multiplication.
 *
 * A sanitizer makes each access of plain C arithmetic ten to fifty times slower. A loop that does nearly all the work
 * of a test may be CRD_UNCHECKED, if its caller hands the same memory, whole, to crd_check_read and crd_check_write
 * first: a fault is still found, in the row that reaches beyond its memory. Elsewhere the two cost nothing. */
#ifndef CRD_BASE_SANITIZERS_H
#define CRD_BASE_SANITIZERS_H

#include <stddef.h>

#ifdef __has_feature /* clang's way of saying it; gcc has the macros */
#if __has_feature(address_sanitizer) && !defined __SANITIZE_ADDRESS__
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined __SANITIZE_THREAD__
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define CRD_UNCHECKED __attribute__((no_sanitize("address"), no_sanitize("undefined")))

/* The first byte that may not be touched is touched, where the sanitizer sees it. */
static inline void crd_check_read(const void *memory, size_t bytes)
{
    const volatile char *bad = __asan_region_is_poisoned((void *)(size_t)memory, bytes);
    if (bad != NULL) (void)*bad;
}

static inline void crd_check_write(void *memory, size_t bytes)
{
    volatile char *bad = __asan_region_is_poisoned(memory, bytes);
    if (bad != NULL) *bad = 0;
}

#elif defined __SANITIZE_THREAD__
#define CRD_UNCHECKED __attribute__((no_sanitize("thread")))
void __tsan_read_range(void *memory, unsigned long bytes); /* of its runtime, for compilers */
void __tsan_write_range(void *memory, unsigned long bytes);

static inline void crd_check_read(const void *memory, size_t bytes)
{
    __tsan_read_range((void *)(size_t)memory, bytes);
}

static inline void crd_check_write(void *memory, size_t bytes)
{
    __tsan_write_range(memory, bytes);
}

#else
#define CRD_UNCHECKED

static inline void crd_check_read(const void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}

static inline void crd_check_write(void *memory, size_t bytes)
{
    (void)memory, (void)bytes;
}
#endif

#endif
