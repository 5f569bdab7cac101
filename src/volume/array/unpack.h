/* Any range of bytes of a gzip or zlib stream in a file, in bounded memory.
 *
 * Deflate can only be unpacked from the front. So on its way forward the unpacker leaves restart points behind (the 32
 * KiB that deflate may refer back to, at most 1024 of them, and at least four MiB apart), and keeps blocks of what it
 * unpacked; both within the cache's limit. A range that was passed before costs at most the distance from the point
 * before it. */
#ifndef CRD_VOLUME_UNPACK_H
#define CRD_VOLUME_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "volume/block_cache.h"

typedef enum crd_packing { CRD_PACKING_NONE = 0, CRD_PACKING_GZIP, CRD_PACKING_ZLIB } crd_packing;

typedef struct crd_unpack crd_unpack;

/* The stream begins at byte `start` of the file; gzip may have several members. Both the file's name as sentences call
 * it and the descriptor are borrowed. `shared` as for crd_block_cache_open. */
crd_status crd_unpack_open(int fd, const char *shown, int64_t start, int64_t file_bytes, crd_packing packing,
                           size_t cache_bytes, crd_block_cache **shared, crd_unpack **out);
/* Says how many unpacked bytes will be asked for at most. A stream that can't hold as many, since deflate shrinks by no
 * more than a factor of 1032, is refused here rather than after hours. */
crd_status crd_unpack_expect(crd_unpack *unpack, int64_t bytes);
/* The bytes must be there: fewer are an error that names the file. A member's checksum is looked at when its end is
 * reached. */
crd_status crd_unpack_read(crd_unpack *unpack, int64_t offset, void *data, size_t bytes);
void crd_unpack_close(crd_unpack **unpack);

/* The first bytes of a stream that lies in memory, perhaps cut off: how many could be unpacked, at most `room`. */
size_t crd_unpack_head(const unsigned char *stream, size_t bytes, void *out, size_t room);
bool crd_is_gzip(const unsigned char *head, size_t count);

#endif
