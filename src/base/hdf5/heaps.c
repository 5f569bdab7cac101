#include "base/hdf5/heaps.h"

#include <string.h>

#include "base/bytes.h"
#include "base/file.h"

enum { HEAD = 16, OBJECT = 16, WINDOW = 4096 };

/* A file's bytes from some place on, a window at a time. */
typedef struct window {
    const crd_hdf5_layout *file;
    uint64_t at;
    size_t count;
    unsigned char bytes[WINDOW];
} window;

/* `count` bytes from `at` on, at most OBJECT; NULL where the file has none. */
static const unsigned char *look(window *w, uint64_t at, size_t count)
{
    const uint64_t end = w->file->end;
    if (at > end || count > end - at) return NULL;
    if (w->count == 0 || at < w->at || at - w->at + count > w->count) {
        w->at = at;
        w->count = end - at < WINDOW ? (size_t)(end - at) : WINDOW;
        if (crd_read_at(w->file->fd, "an HDF5 file", (int64_t)at, w->bytes, w->count) != CRD_OK) return NULL;
    }
    return w->bytes + (at - w->at);
}

/* A head with the heap's size, then objects: an index and a size each. Index 0 is what is free, whose size counts all
 * of it; that of others counts what follows, and is rounded up. */
static bool global_is_broken(const crd_hdf5_layout *file, uint64_t address, const unsigned char *head)
{
    window w = {.file = file};
    const uint64_t size = crd_little_endian(head + 8, file->length_size);
    uint64_t length;
    if (size < HEAD || address > file->end || size > file->end - address) return true;
    for (uint64_t at = HEAD; size - at >= OBJECT; at += length) {
        const unsigned char *object = look(&w, address + at, OBJECT);
        if (object == NULL) return true;
        length = crd_little_endian(object + 8, file->length_size);
        if (length > size - at) return true;
        if (crd_little_endian(object, 2) > 0) length = OBJECT + (length + 7) / 8 * 8;
        if (length == 0 || length > size - at) return true;
    }
    return false;
}

/* A head that says where the names lie, how many bytes, and where among them the first free block is; each of those
 * begins with the place of the next one (1: none) and its own size. */
static bool local_is_broken(const crd_hdf5_layout *file, const unsigned char *head)
{
    enum { NONE = 1 };
    window w = {.file = file};
    const size_t word = file->length_size;
    const uint64_t size = crd_little_endian(head + 8, word),
                   start = crd_little_endian(head + 8 + 2 * word, file->offset_size);
    uint64_t next = crd_little_endian(head + 8 + word, word), left = size / (2 * word);
    if (start > file->end - file->base || size > file->end - file->base - start) return true;
    while (next != NONE) {
        const uint64_t at = next;
        if (left-- == 0 || size < 2 * word || at > size - 2 * word) return true;
        const unsigned char *block = look(&w, file->base + start + at, 2 * word);
        if (block == NULL || crd_little_endian(block + word, word) > size - at) return true;
        next = crd_little_endian(block, word);
    }
    return false;
}

bool crd_hdf5_heap_is_broken(const crd_hdf5_layout *file, uint64_t address, const unsigned char *bytes, size_t count)
{
    const size_t local_head = 8 + 2 * file->length_size + file->offset_size;
    if (count < HEAD) return false;
    /* Name and version; the three bytes that follow are reserved, and libhdf5 passes over them. */
    if (memcmp(bytes, "GCOL\1", 5) == 0) return global_is_broken(file, address, bytes);
    if (memcmp(bytes, "HEAP\0", 5) == 0) return count < local_head || local_is_broken(file, bytes);
    return false;
}
