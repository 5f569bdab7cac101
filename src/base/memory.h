/* Memory with overflow-checked sizes. All sizes are counts of 64 bits; a product that overflows is an error, never a
 * short buffer. Memory comes back zeroed and aligned to 64 bytes; large blocks ask for huge pages. */
#ifndef CRD_BASE_MEMORY_H
#define CRD_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* *out = count * size bytes, zeroed. `what` names the thing in the error sentence ("the chunk's activations"). */
crd_status crd_alloc(int64_t count, size_t size, const char *what, void *out);

/* Frees what crd_alloc gave and sets the pointer to NULL; NULL is fine. Call as crd_free(&pointer): an argument that
 * isn't the address of a pointer doesn't compile. It is evaluated once. */
#define crd_free(pointer_to_pointer)                                                                                   \
    ((void)sizeof(*(pointer_to_pointer) == (void *)0), crd_free_untyped(pointer_to_pointer))

/* The same where the pointer's type isn't known. */
void crd_free_untyped(void *pointer_to_pointer);

/* Copies a string with crd_alloc; NULL gives NULL. */
crd_status crd_strdup(const char *text, char **out);

/* Bytes that this process could still take: what the machine has free, or what its control groups still
 * allow where that is less. */
int64_t crd_available_memory(void);

/* *out = a * b * c, refused when it exceeds 2^62 or any factor is negative. */
crd_status crd_product(int64_t a, int64_t b, int64_t c, int64_t *out);

#endif
