#include "view/labels/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"

enum { HEAD = 32, FRONT = 8, FIXED = 13, KIND = 8, MARK_MOST = 1 << 16, MOST = 80 << 20, PORTION = 1 << 20 };

#define MOST_NUMBER INT64_C(9007199254740991) /* what JSON can say */

static const char magic[8] = "crdlabj1";

struct crd_label_journal {
    char *path;
    int fd; /* -1: there is no file, and none is made */
    int64_t shape[3], bytes, synced;
};

static void put(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static void make_head(const crd_label_journal *j, uint8_t head[HEAD])
{
    memcpy(head, magic, sizeof magic);
    for (int i = 0; i < 3; i++) put(head + 8 + 8 * i, (uint64_t)j->shape[i], 8);
}

/* The record that lies in so many bytes behind its length and CRC; false: it is none. */
static bool parse(const uint8_t *bytes, int64_t count, crd_record *out)
{
    if (count < FIXED + 1) return false;
    const int64_t words = (int64_t)crd_little_endian(bytes + 9, 4);
    if (words >= count - FIXED || bytes[FIXED + words] != 0) return false;
    out->number = (int64_t)crd_little_endian(bytes, 8);
    out->kind = (crd_record_kind)bytes[8];
    out->words = (const char *)bytes + FIXED;
    out->bytes = bytes + FIXED + words + 1;
    out->count = count - FIXED - words - 1;
    return out->number >= 0 && out->number <= MOST_NUMBER && strlen(out->words) == (size_t)words;
}

/* A whole record at an offset: true, with its bytes in *room. */
static crd_status take(const crd_label_journal *j, int64_t offset, int64_t end, uint8_t **room, int64_t *had,
                       crd_record *out, bool *whole)
{
    uint8_t front[FRONT];
    *whole = false;
    if (end - offset < FRONT) return CRD_OK;
    CRD_PASS(crd_read_at(j->fd, j->path, offset, front, FRONT));
    const int64_t count = (int64_t)crd_little_endian(front, 4);
    if (count > MOST || count > end - offset - FRONT) return CRD_OK;
    if (count > *had) {
        crd_free(room);
        *had = 0;
        CRD_PASS(crd_alloc(count, 1, "a record of the journal", room));
        *had = count;
    }
    CRD_PASS(crd_read_at(j->fd, j->path, offset + FRONT, *room, (size_t)count));
    if (crc32(0, *room, (uInt)count) != (uLong)crd_little_endian(front + 4, 4)) return CRD_OK;
    *whole = parse(*room, count, out);
    out->offset = offset;
    out->length = FRONT + count;
    return CRD_OK;
}

static crd_status read_all(crd_label_journal *j, int64_t end, crd_status (*each)(void *, const crd_record *),
                           void *context)
{
    crd_status status = CRD_OK;
    uint8_t *room = NULL;
    int64_t had = 0;
    crd_record record = {0};
    bool whole;
    for (j->bytes = HEAD; j->bytes < end; j->bytes += record.length) {
        CRD_TRY(take(j, j->bytes, end, &room, &had, &record, &whole));
        if (!whole) break;
        CRD_TRY(each(context, &record));
    }
done:
    crd_free(&room);
    return status;
}

/* A head that was never finished belongs to a journal in which nothing stood. */
static crd_status check_head(crd_label_journal *j, int64_t end, bool *there)
{
    uint8_t head[HEAD], own[HEAD];
    *there = end >= HEAD;
    if (!*there) return CRD_OK;
    make_head(j, own);
    CRD_PASS(crd_read_at(j->fd, j->path, 0, head, HEAD));
    if (memcmp(head, own, sizeof magic) != 0) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s isn't what credence view keeps there; move it away, or choose --project DIR", j->path);
    }
    if (memcmp(head, own, HEAD) != 0) {
        return crd_fail(CRD_ERR_MISMATCH, "%s is about labels of another shape; choose another --project DIR", j->path);
    }
    return CRD_OK;
}

static crd_status cut_to(crd_label_journal *j, int64_t bytes)
{
    return crd_resize(j->fd, bytes) == 0 ? CRD_OK : crd_fail_errno("can't cut %s", j->path);
}

/* What is read is confirmed from here on, also what a process that was killed had not brought onto the disk. */
static crd_status bring_onto_disk(const crd_label_journal *j)
{
    return crd_sync_data(j->fd) == 0 ? CRD_OK : crd_fail_errno("can't bring %s onto the disk", j->path);
}

/* Is there a whole mark in what can't be read? All that lies before a mark was on the disk when it was made: then this
 * is no end that was never confirmed, but damage. */
static crd_status find_mark_behind(const crd_label_journal *j, int64_t end, bool *found)
{
    crd_status status = CRD_OK;
    uint8_t *portion = NULL, *room = NULL, front[4];
    int64_t had = 0;
    crd_record record;
    *found = false;
    CRD_TRY(crd_alloc(PORTION, 1, "the journal", &portion));
    for (int64_t at = j->bytes + 1; at < end && !*found; at += PORTION) {
        const int64_t some = end - at < PORTION ? end - at : PORTION;
        CRD_TRY(crd_read_at(j->fd, j->path, at, portion, (size_t)some));
        for (int64_t i = 0; i < some && !*found; i++) {
            const int64_t offset = at + i - FRONT - KIND;
            bool whole = false;
            if (portion[i] != CRD_RECORD_MARK || offset <= j->bytes) continue;
            CRD_TRY(crd_read_at(j->fd, j->path, offset, front, sizeof front));
            if (crd_little_endian(front, sizeof front) > MARK_MOST) continue; /* by far most of what is none */
            CRD_TRY(take(j, offset, end, &room, &had, &record, &whole));
            *found = whole && record.kind == CRD_RECORD_MARK;
        }
    }
done:
    crd_free(&portion);
    crd_free(&room);
    return status;
}

/* What remains behind the last whole record is cut off, unless it is more than an end. */
static crd_status check_end(crd_label_journal *j, int64_t end)
{
    bool damaged = false;
    if (end > j->bytes) CRD_PASS(find_mark_behind(j, end, &damaged));
    if (!damaged) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT,
                    "%s is damaged at byte %lld; move it away to go on with the labels as they were stored last, "
                    "without undo",
                    j->path, (long long)j->bytes);
}

/* A new file begins under a passing name, so that its head is whole. */
static crd_status begin_file(crd_label_journal *j)
{
    uint8_t head[HEAD];
    make_head(j, head);
    CRD_PASS(crd_write_file(j->path, head, HEAD));
    if (j->fd >= 0) (void)close(j->fd);
    j->fd = crd_open(j->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (j->fd < 0) return crd_fail_errno("can't open %s", j->path);
    j->bytes = HEAD;
    return CRD_OK;
}

crd_status crd_label_journal_open(const char *path, const int64_t shape[3], bool change,
                                  crd_status (*each)(void *context, const crd_record *record), void *context,
                                  int64_t *cut, crd_label_journal **out)
{
    crd_status status = CRD_OK;
    crd_label_journal *j = NULL;
    struct stat about = {0};
    bool there = false;
    *cut = 0;
    CRD_TRY(crd_alloc(1, sizeof *j, "the journal", &j));
    memcpy(j->shape, shape, sizeof j->shape);
    j->bytes = HEAD;
    CRD_TRY(crd_strdup(path, &j->path));
    j->fd = crd_open(path, (change ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
    if ((j->fd < 0 && errno != ENOENT) || (j->fd >= 0 && fstat(j->fd, &about) != 0)) {
        status = crd_fail_errno("can't open %s", path);
        goto done;
    }
    if (j->fd >= 0) CRD_TRY(check_head(j, about.st_size, &there));
    if (there) {
        CRD_TRY(read_all(j, about.st_size, each, context));
        CRD_TRY(check_end(j, about.st_size));
        *cut = about.st_size - j->bytes;
    }
    if (change && !there) CRD_TRY(begin_file(j));
    if (change && *cut > 0) CRD_TRY(cut_to(j, j->bytes));
    if (change) CRD_TRY(bring_onto_disk(j));
    j->synced = j->bytes;
    *out = j;
    j = NULL;
done:
    crd_label_journal_close(&j);
    return status;
}

void crd_label_journal_close(crd_label_journal **journal)
{
    crd_label_journal *j = *journal;
    if (j == NULL) return;
    if (j->fd >= 0) (void)close(j->fd);
    crd_free(&j->path);
    crd_free(journal);
}

crd_status crd_label_journal_append(crd_label_journal *j, crd_record *record)
{
    crd_status status = CRD_OK;
    uint8_t *bytes = NULL;
    const int64_t words = (int64_t)strlen(record->words), count = FIXED + words + 1 + record->count;
    if (count > MOST) return crd_fail(CRD_ERR_ARGUMENT, "the operation is too large for the journal; do it in parts");
    CRD_TRY(crd_alloc(FRONT + count, 1, "a record of the journal", &bytes));
    uint8_t *at = bytes + FRONT;
    put(at, (uint64_t)record->number, 8);
    at[8] = (uint8_t)record->kind;
    put(at + 9, (uint64_t)words, 4);
    memcpy(at + FIXED, record->words, (size_t)words + 1);
    if (record->count > 0) memcpy(at + FIXED + words + 1, record->bytes, (size_t)record->count);
    put(bytes, (uint64_t)count, 4);
    put(bytes + 4, (uint64_t)crc32(0, at, (uInt)count), 4);
    status = crd_write_at(j->fd, j->path, j->bytes, bytes, (size_t)(FRONT + count));
    if (status != CRD_OK) {
        const crd_error error = *crd_last_error();
        (void)cut_to(j, j->bytes);
        status = crd_error_adopt(&error);
        goto done;
    }
    record->offset = j->bytes;
    record->length = FRONT + count;
    j->bytes += record->length;
done:
    crd_free(&bytes);
    return status;
}

crd_status crd_label_journal_drop(crd_label_journal *j, int64_t offset)
{
    CRD_PASS(cut_to(j, offset));
    j->bytes = offset;
    if (j->synced > offset) j->synced = offset;
    return CRD_OK;
}

crd_status crd_label_journal_sync(crd_label_journal *j)
{
    if (j->bytes == j->synced) return CRD_OK;
    if (bring_onto_disk(j) == CRD_OK) {
        j->synced = j->bytes;
        return CRD_OK;
    }
    const crd_error error = *crd_last_error();
    if (cut_to(j, j->synced) == CRD_OK) j->bytes = j->synced;
    return crd_error_adopt(&error);
}

int64_t crd_label_journal_bytes(const crd_label_journal *journal)
{
    return journal->bytes;
}

crd_status crd_label_journal_read(crd_label_journal *j, int64_t offset, int64_t length, uint8_t **room, crd_record *out)
{
    int64_t had = 0;
    bool whole = false;
    *room = NULL;
    CRD_PASS(take(j, offset, offset + length, room, &had, out, &whole));
    return whole ? CRD_OK : crd_fail(CRD_ERR_FORMAT, "%s is damaged at byte %lld", j->path, (long long)offset);
}

static bool lies_at(int fd, const char *path)
{
    struct stat own, there;
    return fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

crd_status crd_label_journal_forget(crd_label_journal *j, int64_t offset, int64_t *moved)
{
    crd_status status = CRD_OK;
    char *temporary = NULL;
    uint8_t *portion = NULL, head[HEAD];
    int fd = -1;
    CRD_TRY(crd_temporary_name(j->path, &temporary));
    CRD_TRY(crd_alloc(PORTION, 1, "the journal", &portion));
    fd = crd_open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
    if (fd < 0) {
        status = crd_fail_errno("%s can't be written", temporary);
        goto done;
    }
    make_head(j, head);
    CRD_TRY(crd_write_at(fd, temporary, 0, head, HEAD));
    for (int64_t at = offset; at < j->bytes; at += PORTION) {
        const size_t some = (size_t)(j->bytes - at < PORTION ? j->bytes - at : PORTION);
        CRD_TRY(crd_read_at(j->fd, j->path, at, portion, some));
        CRD_TRY(crd_write_at(fd, temporary, HEAD + at - offset, portion, some));
    }
    if (crd_sync_data(fd) != 0) {
        status = crd_fail_errno("%s can't be brought onto the disk", temporary);
        goto done;
    }
    status = crd_replace_file(temporary, j->path);
    if (status != CRD_OK && !lies_at(fd, j->path)) goto done;
    status = CRD_OK; /* it is in place, whatever failed behind: the old one would be written on for nobody */
    (void)close(j->fd);
    j->fd = fd;
    fd = -1;
    *moved = offset - HEAD;
    j->bytes -= *moved;
    j->synced = j->bytes;
done:
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(temporary);
    }
    crd_free(&temporary);
    crd_free(&portion);
    return status;
}
