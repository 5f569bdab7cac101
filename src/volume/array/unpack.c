#include "volume/array/unpack.h"

#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"

enum {
    WINDOW = 32768,
    INPUT_BYTES = 65536,
    SKIP_BYTES = 32768,
    MOST_POINTS = 1024,
    LEAST_POINTS = 8,
    MOST_RATIO = 1032, /* deflate's: 258 bytes by two bits */
    LARGEST_BLOCK = 512 << 10,
    SMALLEST_BLOCK = 4 << 10,
    RAW_DEFLATE = -15
};
static const int64_t shortest_span = 4 << 20;

/* Where unpacking can begin: between two deflate blocks, perhaps within a byte. */
typedef struct point {
    int64_t in, out;    /* the first byte that isn't used up in the file; the first byte to come out */
    int64_t member_out; /* where the member began */
    int bits;           /* of the byte before `in` that are still unused */
    uint32_t check;     /* checksum of the member so far */
    uInt window_bytes;
    unsigned char *window;
} point;

struct crd_unpack {
    int fd;
    const char *shown;
    crd_packing packing;
    int64_t file_bytes, start;
    int64_t expected, span;
    point points[MOST_POINTS];
    int64_t point_count, point_limit;

    z_stream stream;
    bool stream_made, running; /* running: within a member; else at the beginning of one */
    bool ended;                /* there is no further member */
    int64_t out;               /* the next byte to come out */
    int64_t member_out;
    int64_t read_at; /* the next byte of the file to be read into `input` */
    uint32_t check;
    unsigned char *input, *skipped;

    int64_t block_bytes;
    crd_block_cache *cache;
};

static crd_status damaged(const crd_unpack *u, const char *what)
{
    return crd_fail(CRD_ERR_FORMAT, "%s is damaged: %s", u->shown, what);
}

bool crd_is_gzip(const unsigned char *head, size_t count)
{
    return count >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8;
}

size_t crd_unpack_head(const unsigned char *stream, size_t bytes, void *out, size_t room)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    if (bytes > INT32_MAX || room > INT32_MAX || inflateInit2(&z, 15 + 32) != Z_OK) return 0;
    z.next_in = (z_const Bytef *)stream;
    z.avail_in = (uInt)bytes;
    z.next_out = out;
    z.avail_out = (uInt)room;
    (void)inflate(&z, Z_SYNC_FLUSH);
    const size_t made = room - z.avail_out;
    (void)inflateEnd(&z);
    return made;
}

crd_status crd_unpack_open(int fd, const char *shown, int64_t start, int64_t file_bytes, crd_packing packing,
                           size_t cache_bytes, crd_block_cache **shared, crd_unpack **out)
{
    crd_status status = CRD_OK;
    crd_unpack *u = NULL;
    CRD_TRY(crd_alloc(1, sizeof *u, "unpacking", &u));
    u->fd = fd;
    u->shown = shown;
    u->packing = packing;
    u->start = u->read_at = start;
    u->file_bytes = file_bytes;
    u->expected = INT64_MAX;
    u->span = shortest_span;
    CRD_TRY(crd_alloc(INPUT_BYTES, 1, "unpacking", &u->input));
    CRD_TRY(crd_alloc(SKIP_BYTES, 1, "unpacking", &u->skipped));
    /* A quarter of the memory for points, the rest for blocks. */
    const int64_t points = (int64_t)(cache_bytes / 4 / WINDOW);
    u->point_limit = points < LEAST_POINTS ? LEAST_POINTS : points > MOST_POINTS ? MOST_POINTS : points;
    cache_bytes -= cache_bytes / 4;
    for (u->block_bytes = LARGEST_BLOCK; u->block_bytes > SMALLEST_BLOCK; u->block_bytes /= 2) {
        if ((size_t)u->block_bytes <= cache_bytes / 8) break;
    }
    CRD_TRY(crd_block_cache_open(cache_bytes, shared, &u->cache));
    if (!crd_block_cache_fits(u->cache, u->block_bytes)) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s is packed and can't be read with a cache of %zu bytes", shown, cache_bytes);
    }
    if (inflateInit2(&u->stream, RAW_DEFLATE) != Z_OK)
        CRD_FAIL(CRD_ERR_MEMORY, "not enough memory to unpack %s", shown);
    u->stream_made = true;
    *out = u;
    u = NULL;
done:
    crd_unpack_close(&u);
    return status;
}

void crd_unpack_close(crd_unpack **unpack)
{
    crd_unpack *u = *unpack;
    if (u == NULL) return;
    if (u->stream_made) (void)inflateEnd(&u->stream);
    for (int64_t i = 0; i < u->point_count; i++) crd_free(&u->points[i].window);
    crd_block_cache_free(&u->cache);
    crd_free(&u->input);
    crd_free(&u->skipped);
    crd_free(unpack);
}

crd_status crd_unpack_expect(crd_unpack *u, int64_t bytes)
{
    const int64_t packed = u->file_bytes - u->start;
    if (packed < 1 || (bytes - WINDOW) / MOST_RATIO > packed) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s is too short: its header speaks of %lld bytes, and %lld packed ones can't hold them",
                        u->shown, (long long)bytes, (long long)(packed < 0 ? 0 : packed));
    }
    u->expected = bytes;
    if (bytes / u->point_limit + 1 > u->span) u->span = bytes / u->point_limit + 1;
    return CRD_OK;
}

/* At least one byte of input, or none at the end of the file. */
static crd_status feed(crd_unpack *u)
{
    if (u->stream.avail_in > 0 || u->read_at >= u->file_bytes) return CRD_OK;
    const int64_t left = u->file_bytes - u->read_at;
    const size_t count = left < INPUT_BYTES ? (size_t)left : INPUT_BYTES;
    CRD_PASS(crd_read_at(u->fd, u->shown, u->read_at, u->input, count));
    u->read_at += (int64_t)count;
    u->stream.next_in = u->input;
    u->stream.avail_in = (uInt)count;
    return CRD_OK;
}

/* One byte of a header or trailer; -1 at the end of the file. */
static crd_status take_byte(crd_unpack *u, int *out)
{
    CRD_PASS(feed(u));
    *out = -1;
    if (u->stream.avail_in == 0) return CRD_OK;
    *out = *u->stream.next_in++;
    u->stream.avail_in--;
    return CRD_OK;
}

static crd_status take_bytes(crd_unpack *u, unsigned char *out, int count)
{
    for (int i = 0; i < count; i++) {
        int byte;
        CRD_PASS(take_byte(u, &byte));
        if (byte < 0) return damaged(u, "it ends within its packed data");
        out[i] = (unsigned char)byte;
    }
    return CRD_OK;
}

static crd_status skip_text(crd_unpack *u)
{
    unsigned char byte;
    do {
        CRD_PASS(take_bytes(u, &byte, 1));
    } while (byte != 0);
    return CRD_OK;
}

/* A gzip header behind its first byte. */
static crd_status gzip_header(crd_unpack *u)
{
    enum { HEADER_CHECK = 2, EXTRA = 4, NAME = 8, COMMENT = 16 };
    unsigned char fields[9], length[2];
    CRD_PASS(take_bytes(u, fields, 9));
    if (fields[0] != 0x8b || fields[1] != 8) return damaged(u, "what should be gzip doesn't begin like it");
    const int flags = fields[2];
    if (flags & EXTRA) {
        CRD_PASS(take_bytes(u, length, 2));
        for (int left = length[0] | length[1] << 8; left > 0; left--) CRD_PASS(take_bytes(u, fields, 1));
    }
    if (flags & NAME) CRD_PASS(skip_text(u));
    if (flags & COMMENT) CRD_PASS(skip_text(u));
    return flags & HEADER_CHECK ? take_bytes(u, length, 2) : CRD_OK;
}

/* The beginning of a member; further ones may be missing, and zeros that fill up a tape are no member. */
static crd_status begin_member(crd_unpack *u)
{
    unsigned char flags;
    int byte;
    CRD_PASS(take_byte(u, &byte));
    if (u->packing == CRD_PACKING_ZLIB) {
        if (byte < 0) return damaged(u, "it ends before its packed data");
        CRD_PASS(take_bytes(u, &flags, 1));
        if ((byte & 15) != 8 || (byte << 8 | flags) % 31 != 0 || (flags & 32) != 0) {
            return damaged(u, "what should be zlib data doesn't begin like it");
        }
        u->check = (uint32_t)adler32(0, NULL, 0);
    } else {
        if (byte != 0x1f) {
            if (u->out == 0) return damaged(u, "what should be gzip doesn't begin like it");
            u->ended = true;
            return CRD_OK;
        }
        CRD_PASS(gzip_header(u));
        u->check = (uint32_t)crc32(0, NULL, 0);
    }
    if (inflateReset2(&u->stream, RAW_DEFLATE) != Z_OK) return damaged(u, "it can't be unpacked");
    u->member_out = u->out;
    u->running = true;
    return CRD_OK;
}

static crd_status end_member(crd_unpack *u)
{
    unsigned char t[8];
    uint32_t check;
    u->running = false;
    if (u->packing == CRD_PACKING_ZLIB) {
        CRD_PASS(take_bytes(u, t, 4));
        check = (uint32_t)t[0] << 24 | (uint32_t)t[1] << 16 | (uint32_t)t[2] << 8 | t[3];
        u->ended = true;
    } else {
        CRD_PASS(take_bytes(u, t, 8));
        check = (uint32_t)t[3] << 24 | (uint32_t)t[2] << 16 | (uint32_t)t[1] << 8 | t[0];
        const uint32_t length = (uint32_t)t[7] << 24 | (uint32_t)t[6] << 16 | (uint32_t)t[5] << 8 | t[4];
        if (length != (uint32_t)(u->out - u->member_out)) return damaged(u, "its packed data has a wrong length");
    }
    return check == u->check ? CRD_OK : damaged(u, "the checksum of its packed data is wrong");
}

static crd_status keep_point(crd_unpack *u)
{
    const int64_t last = u->point_count > 0 ? u->points[u->point_count - 1].out : 0;
    if (u->point_count == u->point_limit || u->out - last < u->span) return CRD_OK;
    point *p = &u->points[u->point_count];
    *p = (point){.in = u->read_at - (int64_t)u->stream.avail_in,
                 .out = u->out,
                 .member_out = u->member_out,
                 .bits = u->stream.data_type & 7,
                 .check = u->check};
    CRD_PASS(crd_alloc(WINDOW, 1, "a restart point", &p->window));
    if (inflateGetDictionary(&u->stream, p->window, &p->window_bytes) != Z_OK) {
        crd_free(&p->window);
        return CRD_OK;
    }
    u->point_count++;
    return CRD_OK;
}

static crd_status restart(crd_unpack *u, const point *p)
{
    unsigned char byte;
    bool good = inflateReset2(&u->stream, RAW_DEFLATE) == Z_OK;
    u->stream.avail_in = 0;
    u->ended = false;
    if (p == NULL) {
        u->read_at = u->start;
        u->out = u->member_out = 0;
        u->running = false;
        return CRD_OK;
    }
    if (p->bits > 0) {
        CRD_PASS(crd_read_at(u->fd, u->shown, p->in - 1, &byte, 1));
        good = good && inflatePrime(&u->stream, p->bits, byte >> (8 - p->bits)) == Z_OK;
    }
    good = good && inflateSetDictionary(&u->stream, p->window, p->window_bytes) == Z_OK;
    if (!good) return damaged(u, "it can't be unpacked");
    u->read_at = p->in;
    u->out = p->out;
    u->member_out = p->member_out;
    u->check = p->check;
    u->running = true;
    return CRD_OK;
}

/* Up to `room` bytes; 0 at the end of the last member only. */
static crd_status produce(crd_unpack *u, unsigned char *data, size_t room, size_t *made)
{
    *made = 0;
    while (*made == 0 && !u->ended) {
        if (!u->running) {
            CRD_PASS(begin_member(u));
            continue;
        }
        CRD_PASS(feed(u));
        u->stream.next_out = data;
        u->stream.avail_out = (uInt)room;
        const uInt before = u->stream.avail_in;
        const int result = inflate(&u->stream, Z_BLOCK);
        *made = room - u->stream.avail_out;
        u->out += (int64_t)*made;
        u->check = (uint32_t)(u->packing == CRD_PACKING_ZLIB ? adler32(u->check, data, (uInt)*made)
                                                             : crc32(u->check, data, (uInt)*made));
        if (result == Z_STREAM_END) {
            CRD_PASS(end_member(u));
            continue;
        }
        if (result != Z_OK && result != Z_BUF_ERROR) return damaged(u, "its packed data makes no sense");
        /* Bit 7: between two blocks; bit 6: the last one is done. */
        if ((u->stream.data_type & 192) == 128) CRD_PASS(keep_point(u));
        if (*made == 0 && before == 0 && u->read_at >= u->file_bytes) {
            return damaged(u, "it ends within its packed data; it may be cut short");
        }
    }
    return CRD_OK;
}

static crd_status go_to(crd_unpack *u, int64_t offset)
{
    const point *best = NULL;
    for (int64_t i = 0; i < u->point_count && u->points[i].out <= offset; i++) best = &u->points[i];
    if (offset < u->out || (best != NULL && best->out > u->out)) CRD_PASS(restart(u, best));
    while (u->out < offset) {
        const int64_t left = offset - u->out;
        size_t made;
        CRD_PASS(produce(u, u->skipped, left < SKIP_BYTES ? (size_t)left : SKIP_BYTES, &made));
        if (made == 0) break;
    }
    return CRD_OK;
}

/* One block, as far as the stream has it. */
static crd_status unpack_block(crd_unpack *u, int64_t start, unsigned char *data, size_t wanted, size_t *have)
{
    *have = 0;
    CRD_PASS(go_to(u, start));
    while (*have < wanted && u->out == start + (int64_t)*have) {
        size_t made;
        CRD_PASS(produce(u, data + *have, wanted - *have, &made));
        if (made == 0) break;
        *have += made;
    }
    /* Behind the last byte that anybody wants, the checksum follows, or more than the header spoke of. */
    unsigned char more;
    size_t made;
    if (start + (int64_t)*have == u->expected) CRD_PASS(produce(u, &more, 1, &made));
    return CRD_OK;
}

/* A block, to be released. Before the size is known, it has only what is asked for, and isn't kept. */
static crd_status get_block(crd_unpack *u, int64_t number, size_t wanted, crd_block **out)
{
    crd_status status = CRD_OK;
    size_t have = 0;
    /* The cache is one file's; a header of its own (a.hdr beside a.img) is read before any size is known. */
    crd_block *block = u->expected != INT64_MAX ? crd_block_cache_find(u->cache, 0, number, u->block_bytes) : NULL;
    *out = block;
    if (block != NULL) return CRD_OK;
    CRD_PASS(crd_block_cache_add(u->cache, 0, number, u->block_bytes, &block));
    CRD_TRY(unpack_block(u, number * u->block_bytes, block->data, wanted, &have));
    if (have < wanted) {
        CRD_FAIL(CRD_ERR_FORMAT, "%s unpacks to %lld bytes, and its header speaks of more; it was cut off", u->shown,
                 (long long)(number * u->block_bytes + (int64_t)have));
    }
    if (u->expected != INT64_MAX) crd_block_cache_publish(u->cache, block);
    *out = block;
done:
    if (status != CRD_OK) {
        crd_block_cache_release(u->cache, &block);
        u->running = false; /* whatever state it is in: the next one begins at a point */
        u->out = INT64_MAX;
    }
    return status;
}

crd_status crd_unpack_read(crd_unpack *u, int64_t offset, void *data, size_t bytes)
{
    char *to = data;
    while (bytes > 0) {
        const int64_t number = offset / u->block_bytes, inside = offset % u->block_bytes;
        const size_t left = (size_t)(u->block_bytes - inside), count = bytes < left ? bytes : left;
        int64_t end = u->expected - number * u->block_bytes;
        if (u->expected == INT64_MAX) end = inside + (int64_t)count;
        const size_t wanted = end < u->block_bytes ? (size_t)end : (size_t)u->block_bytes;
        crd_block *block;
        CRD_PASS(get_block(u, number, wanted, &block));
        memcpy(to, (const char *)block->data + inside, count);
        crd_block_cache_release(u->cache, &block);
        to += count, offset += (int64_t)count, bytes -= count;
    }
    return CRD_OK;
}
