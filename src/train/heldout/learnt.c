#include "train/heldout/learnt.h"

#include <string.h>

#include "base/memory.h"

crd_status crd_learnt_names(const crd_dataset *data, const crd_monitor *monitor, crd_scan_name **out)
{
    crd_status status = CRD_OK;
    *out = NULL;
    CRD_TRY(crd_alloc(crd_dataset_scans(data), sizeof **out, "the scans' fingerprints", out));
    for (int64_t i = 0; i < crd_dataset_scans(data); i++) {
        CRD_TRY(crd_scan_fingerprint(crd_dataset_scan(data, i), "taking the scan's fingerprint", monitor, (*out)[i]));
    }
done:
    if (status != CRD_OK) crd_free(out);
    return status;
}

/* The first pair with the scan of this one. */
static int64_t source_of(const crd_scan_name *names, int64_t number)
{
    int64_t first = 0;
    while (strcmp(names[first], names[number]) != 0) first++;
    return first;
}

void crd_learnt_keep_blocks(const crd_provenance *earlier, const crd_scan_name *names, crd_dataset *data)
{
    crd_held_blocks kept = {0};
    for (int64_t i = 0; i < crd_dataset_scans(data); i++) {
        crd_dataset_same_scan(data, i, source_of(names, i));
        if (source_of(names, i) < i) continue;
        const crd_learnt_scan *scan = crd_provenance_find(earlier, names[i]);
        for (int64_t k = 0; scan != NULL && k < scan->block_count && kept.count < CRD_BLOCKS_MOST; k++) {
            const crd_learnt_block *block = &scan->blocks[k];
            kept.blocks[kept.count++] =
                (crd_held_block){.scan = i, .box = block->box, .margin = block->margin, .exam = block->exam};
        }
    }
    if (kept.count > 0) crd_dataset_keep_blocks(data, &kept);
}

static crd_status join_scan(const crd_scan_name *names, const crd_dataset *data, int64_t number, crd_learnt_scan *scan)
{
    const crd_held_blocks *held = crd_dataset_blocks(data);
    crd_learnt_block blocks[CRD_BLOCKS_MOST];
    int64_t cells[3], words, count = 0;
    CRD_PASS(crd_learnt_size(scan->shape, cells, &words));
    for (int64_t i = 0; i < words; i++) scan->cells[i] |= crd_dataset_learnt(data, number)[i];
    for (int64_t i = 0; i < held->count; i++) {
        const crd_held_block *b = &held->blocks[i];
        if (strcmp(names[b->scan], scan->sha256) == 0)
            blocks[count++] = (crd_learnt_block){.box = b->box, .margin = b->margin, .exam = b->exam};
    }
    return crd_learnt_set_blocks(scan, blocks, count);
}

crd_status crd_learnt_join(const crd_provenance *earlier, const crd_scan_name *names, const crd_dataset *data,
                           crd_provenance *out)
{
    CRD_PASS(crd_provenance_copy(earlier, out));
    for (int64_t i = 0; i < crd_dataset_scans(data); i++) {
        crd_learnt_scan *scan;
        CRD_PASS(crd_provenance_add(out, names[i], crd_scan_info(crd_dataset_scan(data, i))->shape, &scan));
        CRD_PASS(join_scan(names, data, i, scan));
    }
    return CRD_OK;
}

bool crd_learnt_unseen(const crd_provenance *earlier, const crd_scan_name *names, const crd_dataset *data)
{
    const crd_held_blocks *held = crd_dataset_blocks(data);
    if (!earlier->known) return false;
    for (int64_t i = 0; i < held->count; i++) {
        const crd_held_block *block = &held->blocks[i];
        const crd_learnt_scan *scan = crd_provenance_find(earlier, names[block->scan]);
        if (block->exam && scan != NULL && crd_learnt_in(scan, &block->box)) return false;
    }
    return true;
}
