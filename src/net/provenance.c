#include "net/provenance.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static const char group[] = "provenance";
enum { SCANS_MAX = 4096, BLOCKS_MAX = 4096, BLOCK_NUMBERS = 8, NAME = 64 };

static void free_scan(crd_learnt_scan *scan)
{
    crd_free(&scan->cells);
    crd_free(&scan->blocks);
}

void crd_provenance_free(crd_provenance *p)
{
    for (int64_t i = 0; i < p->count; i++) free_scan(&p->scans[i]);
    crd_free(&p->scans);
    *p = (crd_provenance){0};
}

crd_learnt_scan *crd_provenance_find(const crd_provenance *p, const char *sha256)
{
    for (int64_t i = 0; i < p->count; i++) {
        if (strcmp(p->scans[i].sha256, sha256) == 0) return &p->scans[i];
    }
    return NULL;
}

crd_status crd_learnt_size(const int64_t shape[3], int64_t cells[3], int64_t *words)
{
    int64_t count;
    for (int axis = 0; axis < 3; axis++)
        cells[axis] = shape[axis] / CRD_LEARNT_CELL + (shape[axis] % CRD_LEARNT_CELL != 0);
    CRD_PASS(crd_product(cells[0], cells[1], cells[2], &count));
    *words = (count + 63) / 64;
    return CRD_OK;
}

crd_status crd_provenance_add(crd_provenance *p, const char *sha256, const int64_t shape[3], crd_learnt_scan **out)
{
    crd_status status = CRD_OK;
    crd_learnt_scan *larger = NULL, added = {0};
    int64_t cells[3], words;
    p->known = true;
    *out = crd_provenance_find(p, sha256);
    if (*out != NULL) return CRD_OK;
    snprintf(added.sha256, sizeof added.sha256, "%s", sha256);
    memcpy(added.shape, shape, sizeof added.shape);
    CRD_TRY(crd_learnt_size(shape, cells, &words));
    CRD_TRY(crd_alloc(words, sizeof *added.cells, "the map of what was learnt from", &added.cells));
    CRD_TRY(crd_alloc(p->count + 1, sizeof *larger, "the scans that were learnt from", &larger));
    if (p->count > 0) memcpy(larger, p->scans, (size_t)p->count * sizeof *larger);
    larger[p->count] = added;
    crd_free(&p->scans);
    p->scans = larger;
    *out = &p->scans[p->count++];
    added = (crd_learnt_scan){0};
done:
    free_scan(&added);
    return status;
}

crd_status crd_learnt_set_blocks(crd_learnt_scan *scan, const crd_learnt_block *blocks, int64_t count)
{
    crd_learnt_block *copy = NULL;
    if (count > 0) {
        CRD_PASS(crd_alloc(count, sizeof *copy, "the blocks held back", &copy));
        memcpy(copy, blocks, (size_t)count * sizeof *copy);
    }
    crd_free(&scan->blocks);
    scan->blocks = copy;
    scan->block_count = count;
    return CRD_OK;
}

crd_status crd_provenance_copy(const crd_provenance *from, crd_provenance *out)
{
    crd_status status = CRD_OK;
    *out = (crd_provenance){.known = from->known};
    for (int64_t i = 0; i < from->count; i++) {
        const crd_learnt_scan *scan = &from->scans[i];
        crd_learnt_scan *copy;
        int64_t cells[3], words;
        CRD_TRY(crd_provenance_add(out, scan->sha256, scan->shape, &copy));
        CRD_TRY(crd_learnt_size(scan->shape, cells, &words));
        memcpy(copy->cells, scan->cells, (size_t)words * sizeof *copy->cells);
        CRD_TRY(crd_learnt_set_blocks(copy, scan->blocks, scan->block_count));
    }
done:
    if (status != CRD_OK) crd_provenance_free(out);
    return status;
}

void crd_learnt_mark(int64_t *cells, int64_t number)
{
    cells[number / 64] |= (int64_t)(UINT64_C(1) << (number % 64));
}

static bool is_marked(const crd_learnt_scan *scan, int64_t number)
{
    return ((uint64_t)scan->cells[number / 64] >> (number % 64) & 1) != 0;
}

bool crd_learnt_in(const crd_learnt_scan *scan, const crd_box *box)
{
    int64_t cells[3], words, first[3], end[3];
    if (crd_learnt_size(scan->shape, cells, &words) != CRD_OK) return false;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t low = box->origin[axis] > 0 ? box->origin[axis] : 0;
        const int64_t high = box->origin[axis] + box->size[axis];
        first[axis] = low / CRD_LEARNT_CELL;
        end[axis] = (high + CRD_LEARNT_CELL - 1) / CRD_LEARNT_CELL;
        end[axis] = end[axis] < cells[axis] ? end[axis] : cells[axis];
    }
    for (int64_t z = first[0]; z < end[0]; z++) {
        for (int64_t y = first[1]; y < end[1]; y++) {
            for (int64_t x = first[2]; x < end[2]; x++) {
                if (is_marked(scan, (z * cells[1] + y) * cells[2] + x)) return true;
            }
        }
    }
    return false;
}

bool crd_learnt_at(const crd_learnt_scan *scan, int64_t z, int64_t y, int64_t x)
{
    const int64_t rows = (scan->shape[1] + CRD_LEARNT_CELL - 1) / CRD_LEARNT_CELL;
    const int64_t columns = (scan->shape[2] + CRD_LEARNT_CELL - 1) / CRD_LEARNT_CELL;
    if (z < 0 || y < 0 || x < 0 || z >= scan->shape[0] || y >= scan->shape[1] || x >= scan->shape[2]) return false;
    return is_marked(scan, (z / CRD_LEARNT_CELL * rows + y / CRD_LEARNT_CELL) * columns + x / CRD_LEARNT_CELL);
}

static crd_status write_scan(crd_store *store, int64_t number, const crd_learnt_scan *scan)
{
    crd_status status = CRD_OK;
    char path[NAME], name[NAME + 16];
    int64_t cells[3], words, *numbers = NULL;
    snprintf(path, sizeof path, "%s/%" PRId64, group, number);
    CRD_TRY(crd_learnt_size(scan->shape, cells, &words));
    snprintf(name, sizeof name, "%s/cells", path);
    CRD_TRY(crd_store_put_integers(store, name, words, scan->cells));
    CRD_TRY(crd_store_put_text(store, path, "sha256", scan->sha256));
    CRD_TRY(crd_store_put_numbers(store, path, "shape", 3, scan->shape));
    if (scan->block_count == 0) goto done;
    CRD_TRY(crd_alloc(scan->block_count * BLOCK_NUMBERS, sizeof *numbers, "the blocks held back", &numbers));
    for (int64_t i = 0; i < scan->block_count; i++) {
        const crd_learnt_block *b = &scan->blocks[i];
        int64_t *row = numbers + i * BLOCK_NUMBERS;
        for (int axis = 0; axis < 3; axis++) {
            row[axis] = b->box.origin[axis];
            row[3 + axis] = b->box.size[axis];
        }
        row[6] = b->margin;
        row[7] = b->exam;
    }
    snprintf(name, sizeof name, "%s/blocks", path);
    CRD_TRY(crd_store_put_integers(store, name, scan->block_count * BLOCK_NUMBERS, numbers));
done:
    crd_free(&numbers);
    return status;
}

crd_status crd_provenance_write(crd_store *store, const crd_provenance *p)
{
    if (!p->known) return CRD_OK;
    for (int64_t i = 0; i < p->count; i++) CRD_PASS(write_scan(store, i, &p->scans[i]));
    return crd_store_put_numbers(store, group, "scans", 1, &p->count);
}

static crd_status broken(const crd_store *store)
{
    return crd_fail(CRD_ERR_FORMAT,
                    "what the model %s says of the scans that it learnt from can't be: the file is damaged",
                    crd_store_path(store));
}

/* A block that lies in the scan. */
static bool is_block(const int64_t *row, const int64_t shape[3])
{
    for (int axis = 0; axis < 3; axis++) {
        if (row[axis] < 0 || row[3 + axis] < 1 || row[3 + axis] > shape[axis]) return false;
        if (row[axis] > shape[axis] - row[3 + axis]) return false;
    }
    /* Of the three lengths, whose cells were counted, at most one is so large that a signed sum could overflow. */
    return row[6] >= 0 && (uint64_t)row[6] <= (uint64_t)shape[0] + (uint64_t)shape[1] + (uint64_t)shape[2];
}

static crd_status read_blocks(crd_store *store, const char *name, crd_learnt_scan *scan)
{
    crd_status status = CRD_OK;
    int64_t length, *numbers = NULL;
    if (!crd_store_has(store, name)) return CRD_OK;
    CRD_TRY(crd_store_get_shape(store, name, 1, &length));
    if (length % BLOCK_NUMBERS != 0 || length < BLOCK_NUMBERS || length > (int64_t)BLOCKS_MAX * BLOCK_NUMBERS) {
        status = broken(store);
        goto done;
    }
    CRD_TRY(crd_alloc(length, sizeof *numbers, "the blocks held back", &numbers));
    CRD_TRY(crd_store_get_integers(store, name, length, "a list of blocks", numbers));
    CRD_TRY(crd_alloc(length / BLOCK_NUMBERS, sizeof *scan->blocks, "the blocks held back", &scan->blocks));
    scan->block_count = length / BLOCK_NUMBERS;
    for (int64_t i = 0; i < scan->block_count; i++) {
        const int64_t *row = numbers + i * BLOCK_NUMBERS;
        if (!is_block(row, scan->shape)) {
            status = broken(store);
            goto done;
        }
        scan->blocks[i] = (crd_learnt_block){
            .box = {{row[0], row[1], row[2]}, {row[3], row[4], row[5]}}, .margin = row[6], .exam = row[7] != 0};
    }
done:
    crd_free(&numbers);
    return status;
}

static crd_status read_scan(crd_store *store, int64_t number, crd_provenance *out)
{
    crd_status status = CRD_OK;
    char path[NAME], name[NAME + 16], *sha256 = NULL;
    int64_t shape[3], cells[3], words, stored;
    crd_learnt_scan *scan;
    snprintf(path, sizeof path, "%s/%" PRId64, group, number);
    CRD_TRY(crd_store_get_text(store, path, "sha256", &sha256));
    CRD_TRY(crd_store_get_numbers(store, path, "shape", 3, shape));
    snprintf(name, sizeof name, "%s/cells", path);
    CRD_TRY(crd_store_get_shape(store, name, 1, &stored));
    if (strlen(sha256) >= CRD_SHA256_TEXT || shape[0] < 1 || shape[1] < 1 || shape[2] < 1 ||
        crd_provenance_find(out, sha256) != NULL || crd_learnt_size(shape, cells, &words) != CRD_OK ||
        words != stored) {
        status = broken(store);
        goto done;
    }
    CRD_TRY(crd_provenance_add(out, sha256, shape, &scan));
    CRD_TRY(crd_store_get_integers(store, name, words, "a map of cells", scan->cells));
    snprintf(name, sizeof name, "%s/blocks", path);
    CRD_TRY(read_blocks(store, name, scan));
done:
    crd_free(&sha256);
    return status;
}

crd_status crd_provenance_read(crd_store *store, crd_provenance *out)
{
    int64_t count;
    *out = (crd_provenance){0};
    if (!crd_store_has_attribute(store, group, "scans")) return CRD_OK;
    CRD_PASS(crd_store_get_numbers(store, group, "scans", 1, &count));
    if (count < 0 || count > SCANS_MAX) return broken(store);
    out->known = true;
    for (int64_t i = 0; i < count; i++) CRD_PASS(read_scan(store, i, out));
    return CRD_OK;
}
