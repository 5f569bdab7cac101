#include "predict/finished/partial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/file.h"
#include "base/memory.h"
#include "predict/tiles/box.h"
#include "run/identity.h"
#include "run/paths.h"

/* A journal record is this many words around an item's sums: a mark, the slice in the scan or the tile, and at the end
 * a checksum of all before it. */
enum { LEAD = 2, TAIL = 1 };
static const uint64_t mark = UINT64_C(0x31656369736d6f63);

struct crd_partial {
    const crd_request *request;
    char *folder;
    int *files; /* by quantity */
    int probe, journal;
    int64_t journal_bytes;
    int64_t items, first; /* slices, from this one of the scan on; or tiles, from 0 on */
    int64_t words;        /* of an item's sums */
    uint64_t *record;     /* LEAD + words + TAIL */
    uint64_t *sums;       /* [items][words] */
    uint8_t *finished;    /* by item */
};

static uint64_t checksum(const uint64_t *words, int64_t count)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < count; i++) {
        sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

static crd_status open_file(const crd_partial *partial, const char *name, bool resume, int *out)
{
    crd_status status = CRD_OK;
    char *path = NULL;
    CRD_TRY(crd_join_path(partial->folder, name, "", &path));
    *out = crd_open(path, O_RDWR | O_CREAT | O_CLOEXEC | (resume ? 0 : O_TRUNC));
    if (*out < 0) status = crd_fail_errno("can't open %s", path);
done:
    crd_free(&path);
    return status;
}

/* Reads records up to the first that is broken: an interruption can only have cut the last one short. *bytes is where
 * the good ones end. */
static crd_status read_journal(crd_partial *partial, int file, int64_t *bytes)
{
    const int64_t count = LEAD + partial->words + TAIL, size = count * (int64_t)sizeof(uint64_t);
    struct stat about;
    *bytes = 0;
    if (fstat(file, &about) != 0) return crd_fail_errno("can't look at the journal in %s", partial->folder);
    for (; *bytes + size <= about.st_size; *bytes += size) {
        CRD_PASS(crd_read_at(file, "the journal", *bytes, partial->record, (size_t)size));
        const int64_t item = (int64_t)partial->record[1] - partial->first;
        if (partial->record[0] != mark || checksum(partial->record, count - 1) != partial->record[count - 1]) break;
        if (item < 0 || item >= partial->items) break;
        memcpy(partial->sums + item * partial->words, partial->record + LEAD,
               (size_t)partial->words * sizeof(uint64_t));
        partial->finished[item] = 1;
    }
    return CRD_OK;
}

/* This process's journal, to be continued behind its last good record. */
static crd_status open_journal(crd_partial *partial, int rank, bool keep)
{
    char name[32] = "journal";
    if (rank > 0) snprintf(name, sizeof name, "journal.%d", rank);
    CRD_PASS(open_file(partial, name, keep, &partial->journal));
    CRD_PASS(read_journal(partial, partial->journal, &partial->journal_bytes));
    if (crd_resize(partial->journal, partial->journal_bytes) != 0) {
        return crd_fail_errno("can't shorten the journal in %s", partial->folder);
    }
    return CRD_OK;
}

/* The journals of all other processes, earlier ones and those of this run. */
static crd_status read_other_journals(crd_partial *partial)
{
    crd_status status = CRD_OK;
    DIR *listing = crd_open_folder(partial->folder);
    if (listing == NULL) return crd_fail_errno("can't look into %s", partial->folder);
    for (struct dirent *entry;
         status == CRD_OK && (entry = crd_next_entry(listing, partial->folder, &status)) != NULL;) {
        int64_t bytes;
        int file = -1;
        if (strncmp(entry->d_name, "journal.", 8) != 0) continue;
        status = open_file(partial, entry->d_name, true, &file);
        if (status == CRD_OK) status = read_journal(partial, file, &bytes);
        if (file >= 0) (void)close(file);
    }
    (void)closedir(listing);
    return status;
}

/* Sums that processes of an interrupted run left for each other. */
static crd_status remove_edges(const crd_partial *partial)
{
    crd_status status = CRD_OK;
    DIR *listing = crd_open_folder(partial->folder);
    if (listing == NULL) return crd_fail_errno("can't look into %s", partial->folder);
    for (struct dirent *entry; (entry = crd_next_entry(listing, partial->folder, &status)) != NULL;) {
        if (strncmp(entry->d_name, "edge.", 5) != 0 && strncmp(entry->d_name, "scratch", 7) != 0) continue;
        if (unlinkat(dirfd(listing), entry->d_name, 0) == 0 || errno == ENOENT) continue;
        status = crd_fail_errno("can't remove %s/%s", partial->folder, entry->d_name);
        break;
    }
    (void)closedir(listing);
    return status;
}

static crd_status open_files(crd_partial *partial, bool keep)
{
    const crd_request *request = partial->request;
    CRD_PASS(crd_alloc(LEAD + partial->words + TAIL, sizeof(uint64_t), "the journal", &partial->record));
    CRD_PASS(crd_alloc(partial->items * partial->words, sizeof(uint64_t), "the journal", &partial->sums));
    CRD_PASS(crd_alloc(partial->items, 1, "the journal", &partial->finished));
    for (int64_t i = 0; i < request->quantity_count && !request->seamless; i++) {
        if (!request->quantities[i].passing)
            CRD_PASS(open_file(partial, request->quantities[i].name, keep, &partial->files[i]));
    }
    return open_file(partial, "probe", keep, &partial->probe);
}

static crd_status open_all(crd_partial *partial, const char *folder, const char *identity, bool resume)
{
    if (mkdir(partial->folder, 0777) != 0 && errno != EEXIST) {
        return crd_fail_errno("can't make the folder %s", partial->folder);
    }
    if (identity != NULL) {
        CRD_PASS(resume ? crd_identity_check_interrupted(folder, identity) : crd_identity_write(folder, identity));
    }
    CRD_PASS(open_files(partial, resume));
    CRD_PASS(remove_edges(partial));
    CRD_PASS(open_journal(partial, 0, resume));
    /* Without their names on the disk, all that is noted later would be gone with the power. */
    CRD_PASS(crd_sync_folder(partial->folder));
    CRD_PASS(crd_sync_folder(folder));
    return read_other_journals(partial);
}

/* Everything but the files. */
static crd_status begin(const char *folder, const crd_request *request, crd_partial **out)
{
    crd_status status = CRD_OK;
    crd_partial *partial = NULL;
    CRD_TRY(crd_alloc(1, sizeof *partial, "the finished slices", &partial));
    partial->request = request;
    partial->words = request->seamless ? crd_tile_sums(request) : crd_slice_sums(request);
    partial->items = request->seamless ? request->chunks : request->box.size[0];
    partial->first = request->seamless ? 0 : request->box.origin[0];
    partial->probe = partial->journal = -1;
    CRD_TRY(crd_run_path(folder, CRD_RUN_PARTIAL, &partial->folder));
    CRD_TRY(crd_alloc(request->quantity_count, sizeof *partial->files, "the finished slices", &partial->files));
    for (int64_t i = 0; i < request->quantity_count; i++) partial->files[i] = -1;
    *out = partial;
    partial = NULL;
done:
    crd_partial_close(&partial);
    return status;
}

crd_status crd_partial_open(const char *folder, const crd_request *request, const char *identity, bool resume,
                            crd_partial **out)
{
    crd_status status = CRD_OK;
    crd_partial *partial = NULL;
    *out = NULL;
    if (!resume) CRD_TRY(crd_run_partial_remove(folder));
    CRD_TRY(begin(folder, request, &partial));
    CRD_TRY(open_all(partial, folder, identity, resume));
    *out = partial;
    partial = NULL;
done:
    crd_partial_close(&partial);
    return status;
}

crd_status crd_partial_join(const char *folder, const crd_request *request, int rank, const uint8_t *finished,
                            crd_partial **out)
{
    crd_status status = CRD_OK;
    crd_partial *partial = NULL;
    *out = NULL;
    CRD_TRY(begin(folder, request, &partial));
    CRD_TRY(open_files(partial, true));
    CRD_TRY(open_journal(partial, rank, true));
    if (finished != NULL) {
        memcpy(partial->finished, finished, (size_t)partial->items);
    } else {
        CRD_TRY(read_other_journals(partial));
    }
    *out = partial;
    partial = NULL;
done:
    crd_partial_close(&partial);
    return status;
}

void crd_partial_close(crd_partial **pointer)
{
    crd_partial *partial = *pointer;
    if (partial == NULL) return;
    for (int64_t i = 0; partial->files != NULL && i < partial->request->quantity_count; i++) {
        if (partial->files[i] >= 0) (void)close(partial->files[i]);
    }
    if (partial->probe >= 0) (void)close(partial->probe);
    if (partial->journal >= 0) (void)close(partial->journal);
    crd_free(&partial->folder);
    crd_free(&partial->files);
    crd_free(&partial->record);
    crd_free(&partial->sums);
    crd_free(&partial->finished);
    crd_free(pointer);
}

const uint8_t *crd_partial_finished(const crd_partial *partial)
{
    return partial->finished;
}

int64_t crd_partial_items(const crd_partial *partial)
{
    return partial->items;
}

const uint64_t *crd_partial_sums(const crd_partial *partial, int64_t item)
{
    return partial->sums + item * partial->words;
}

static int64_t slice_bytes(const crd_partial *partial, int64_t quantity)
{
    const crd_request *request = partial->request;
    return request->box.size[1] * request->box.size[2] * (int64_t)crd_type_size(request->quantities[quantity].stored);
}

crd_status crd_partial_write(crd_partial *partial, const crd_slice *slice)
{
    const crd_request *request = partial->request;
    CRD_ASSERT(slice->z >= request->box.origin[0] && slice->z < request->box.origin[0] + request->box.size[0]);
    for (int64_t i = 0; i < request->quantity_count; i++) {
        const int64_t bytes = slice_bytes(partial, i);
        if (request->quantities[i].passing) continue;
        if (request->outlet != NULL && i != request->outputs[0].quantity) continue; /* only what seams are found in */
        CRD_PASS(crd_write_at(partial->files[i], request->quantities[i].name,
                              (slice->z - request->box.origin[0]) * bytes, slice->voxels[i], (size_t)bytes));
    }
    return CRD_OK;
}

crd_status crd_partial_sync(crd_partial *partial)
{
    for (int64_t i = 0; i < partial->request->quantity_count && !partial->request->seamless; i++) {
        if (partial->files[i] >= 0 && crd_sync_data(partial->files[i]) != 0)
            return crd_fail_errno("can't bring %s onto the disk", partial->folder);
    }
    return crd_partial_sync_probes(partial);
}

crd_status crd_partial_sync_probes(crd_partial *partial)
{
    if (crd_sync_data(partial->probe) != 0) return crd_fail_errno("can't bring %s onto the disk", partial->folder);
    return CRD_OK;
}

crd_status crd_partial_note(crd_partial *partial, int64_t number, const uint64_t *sums)
{
    const int64_t count = LEAD + partial->words + TAIL, bytes = count * (int64_t)sizeof(uint64_t);
    const int64_t item = number - partial->first;
    CRD_ASSERT(item >= 0 && item < partial->items);
    partial->record[0] = mark;
    partial->record[1] = (uint64_t)number;
    memcpy(partial->record + LEAD, sums, (size_t)partial->words * sizeof(uint64_t));
    partial->record[count - 1] = checksum(partial->record, count - 1);
    CRD_PASS(crd_write_at(partial->journal, "the journal", partial->journal_bytes, partial->record, (size_t)bytes));
    partial->journal_bytes += bytes;
    memcpy(partial->sums + item * partial->words, sums, (size_t)partial->words * sizeof(uint64_t));
    return CRD_OK;
}

crd_status crd_partial_flush(crd_partial *partial)
{
    if (crd_sync_data(partial->journal) != 0) return crd_fail_errno("can't bring %s onto the disk", partial->folder);
    return CRD_OK;
}

crd_status crd_partial_read(crd_partial *partial, int64_t quantity, int64_t first, int64_t count, void *voxels)
{
    const int64_t bytes = slice_bytes(partial, quantity);
    return crd_read_at(partial->files[quantity], partial->request->quantities[quantity].name, first * bytes, voxels,
                       (size_t)(count * bytes));
}

crd_status crd_partial_read_rows(crd_partial *partial, int64_t quantity, int64_t slice, int64_t y, int64_t rows,
                                 void *voxels)
{
    const crd_request *request = partial->request;
    const int64_t row = slice_bytes(partial, quantity) / request->box.size[1];
    return crd_read_at(partial->files[quantity], request->quantities[quantity].name,
                       (slice * request->box.size[1] + y) * row, voxels, (size_t)(rows * row));
}

crd_status crd_partial_write_probes(crd_partial *partial, int64_t first, int64_t count, const float *values)
{
    const int64_t bytes = partial->request->samples * partial->request->planes * (int64_t)sizeof(float);
    return crd_write_at(partial->probe, "the probe values", first * bytes, values, (size_t)(count * bytes));
}

crd_status crd_partial_read_probes(crd_partial *partial, int64_t first, int64_t count, float *values)
{
    const int64_t bytes = partial->request->samples * partial->request->planes * (int64_t)sizeof(float);
    return crd_read_at(partial->probe, "the probe values", first * bytes, values, (size_t)(count * bytes));
}
