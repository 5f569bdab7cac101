#include "view/tiles/levels.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "view/tiles/halve.h"
#include "volume/zarr/json.h"

enum { SLAB = 32, BOOT_BYTES = 40 };
_Static_assert(1 << (CRD_VIEW_LEVELS - 1) <= SLAB, "a slab holds whole voxels of every level");
_Static_assert((int)SLAB == (int)CRD_ZARR_DEPTH, "a slab of level 0 is a layer of its chunks");

/* What is on the disk about the pass: replaced after every slab. Behind it come a byte for each slab and, of grey
 * values, the counts. */
typedef struct noted {
    char magic[8];
    char boot[BOOT_BYTES]; /* of the machine's start: what was noted before another one may never have reached the disk
                            */
    int64_t slabs, complete;
} noted;

static const char magic[8] = "crdlevl1";

struct crd_levels {
    char *folder, *state; /* the image, and the file with what is done */
    crd_type type;
    int first, count; /* levels that it has */
    int64_t shapes[CRD_VIEW_LEVELS][3];
    crd_zarr_array *writers[CRD_VIEW_LEVELS];
    crd_volume *volumes[CRD_VIEW_LEVELS]; /* opened again by whoever reads */
    int64_t slabs;
    atomic_llong done;
    atomic_bool given_up;
    atomic_uchar *there; /* for each slab */
    char boot[BOOT_BYTES];
    bool counted; /* the greys are wanted */
    crd_greys greys;
    char *voxels[CRD_VIEW_LEVELS]; /* of a slab, from level 1 on; of level 0 as much as is read at a time */
    int64_t portion;
};

int crd_levels_plan(const int64_t shape[3], int64_t shapes[CRD_VIEW_LEVELS][3])
{
    int count = 1;
    memcpy(shapes[0], shape, 3 * sizeof shape[0]);
    for (; count < CRD_VIEW_LEVELS; count++) {
        const int64_t *last = shapes[count - 1];
        if (last[0] <= CRD_TILE_EDGE && last[1] <= CRD_TILE_EDGE && last[2] <= CRD_TILE_EDGE) break;
        for (int i = 0; i < 3; i++) shapes[count][i] = (last[i] + 1) / 2;
    }
    return count;
}

static crd_type stored_type(const crd_layer *layer)
{
    return layer->kind == CRD_LAYER_CLASSES ? CRD_U8 : layer->info.type;
}

int64_t crd_levels_bytes(const crd_layer *layer)
{
    int64_t bytes = 0;
    for (int n = layer->in_blocks ? 0 : 1; n < layer->levels; n++) {
        int64_t voxels = 1;
        for (int i = 0; i < 3; i++) { /* chunks at the ends are whole ones on the disk */
            const int64_t edge = i == 0 ? CRD_ZARR_DEPTH : CRD_ZARR_EDGE, size = layer->shapes[n][i];
            voxels *= size < edge ? size : (size + edge - 1) / edge * edge;
        }
        bytes += voxels * (int64_t)crd_type_size(stored_type(layer));
    }
    return bytes;
}

/* ---- what is noted ---- */

static void read_boot(char boot[BOOT_BYTES])
{
    memset(boot, 0, BOOT_BYTES);
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t got = read(fd, boot, BOOT_BYTES - 1);
        if (got < 0) boot[0] = '\0';
        (void)close(fd);
    }
}

static crd_status note(crd_levels *l, bool complete)
{
    crd_status status = CRD_OK;
    const size_t counts = l->counted ? sizeof l->greys.counts : 0, bytes = sizeof(noted) + (size_t)l->slabs + counts;
    char *data = NULL;
    noted head = {.slabs = l->slabs, .complete = complete};
    memcpy(head.magic, magic, sizeof magic);
    memcpy(head.boot, l->boot, sizeof head.boot);
    CRD_TRY(crd_alloc((int64_t)bytes, 1, "what is done", &data));
    memcpy(data, &head, sizeof head);
    for (int64_t i = 0; i < l->slabs; i++) data[sizeof head + (size_t)i] = (char)atomic_load(&l->there[i]);
    memcpy(data + sizeof head + l->slabs, l->greys.counts, counts);
    CRD_TRY(crd_write_file(l->state, data, bytes));
done:
    crd_free(&data);
    return status;
}

/* Whatever can't be used is as if it weren't there. */
static void recall(crd_levels *l)
{
    char *data = NULL;
    size_t bytes = 0;
    noted head;
    const size_t counts = l->counted ? sizeof l->greys.counts : 0, wanted = sizeof head + (size_t)l->slabs + counts;
    if (access(l->state, F_OK) != 0 || crd_read_file(l->state, wanted, &data, &bytes) != CRD_OK) return;
    if (bytes == wanted) {
        memcpy(&head, data, sizeof head);
        const bool ours = memcmp(head.magic, magic, sizeof magic) == 0 && head.slabs == l->slabs;
        if (ours && (head.complete == 1 || memcmp(head.boot, l->boot, sizeof head.boot) == 0)) {
            for (int64_t i = 0; i < l->slabs; i++) {
                const bool there = data[sizeof head + (size_t)i] == 1;
                atomic_store(&l->there[i], there);
                atomic_fetch_add(&l->done, there);
            }
            memcpy(l->greys.counts, data + sizeof head + l->slabs, counts);
        }
    }
    crd_free(&data);
}

/* ---- opening ---- */

static crd_status write_attributes(const crd_levels *l, const crd_volume_info *info)
{
    crd_status status = CRD_OK;
    crd_text text = {0};
    char *words = NULL, *path = NULL;
    static const char group[] = "{\n    \"zarr_format\": 2\n}\n";
    CRD_TRY(crd_join_path(l->folder, ".zgroup", "", &path));
    CRD_TRY(crd_write_file(path, group, sizeof group - 1));
    crd_free(&path);
    /* Other programs see an image only where it has all levels; we know each by its own folder. */
    if (l->first == 0) {
        int64_t factors[CRD_VIEW_LEVELS][3];
        for (int n = 0; n < l->count; n++) {
            for (int i = 0; i < 3; i++) factors[n][i] = (int64_t)1 << n;
        }
        CRD_TRY(crd_join_path(l->folder, ".zattrs", "", &path));
        crd_zarr_attributes_write(2, info, "levels", l->count, (const int64_t(*)[3])factors, true, &text);
        CRD_TRY(crd_text_finish(&text, &words));
        CRD_TRY(crd_write_file(path, words, strlen(words)));
    }
done:
    crd_text_free(&text);
    crd_free(&words);
    crd_free(&path);
    return status;
}

static crd_status open_level(crd_levels *l, const crd_volume_info *info, int level, size_t cache_bytes)
{
    crd_status status = CRD_OK;
    char name[16], *path = NULL;
    crd_volume_info of = *info;
    const crd_volume_options options = {.cache_bytes = cache_bytes};
    snprintf(name, sizeof name, "%d", level);
    memcpy(of.shape, l->shapes[level], sizeof of.shape);
    of.type = l->type;
    CRD_TRY(crd_join_path(l->folder, name, "", &path));
    CRD_TRY(crd_zarr_array_create(path, &of, &(crd_zarr_form){.version = 2}, true, &l->writers[level]));
    CRD_TRY(crd_volume_open(path, &options, NULL, &l->volumes[level]));
done:
    crd_free(&path);
    return status;
}

/* Slices that are read at a time: of what is or becomes blocks a layer of those, of others few, to take little memory.
 */
static int64_t portion_of(const crd_layer *layer)
{
    const int64_t slice = layer->info.shape[1] * layer->info.shape[2] * (int64_t)crd_type_size(layer->info.type);
    const int64_t limit = layer->source->layer > 1 || layer->in_blocks ? (int64_t)256 << 20 : (int64_t)32 << 20;
    int64_t portion = SLAB;
    while (portion > 2 && portion * slice > limit) portion /= 2;
    return portion;
}

crd_status crd_levels_open(const crd_layer *layer, const char *folder, size_t cache_bytes, crd_levels **out)
{
    crd_status status = CRD_OK;
    crd_levels *l = NULL;
    CRD_TRY(crd_alloc(1, sizeof *l, "the levels", &l));
    l->first = layer->in_blocks ? 0 : 1;
    l->count = layer->levels;
    l->type = stored_type(layer);
    l->counted = layer->kind == CRD_LAYER_SCAN;
    l->greys.type = layer->info.type;
    l->portion = portion_of(layer);
    memcpy(l->shapes, layer->shapes, sizeof l->shapes);
    l->slabs = (layer->info.shape[0] + SLAB - 1) / SLAB;
    CRD_TRY(crd_alloc(l->slabs, sizeof *l->there, "the list of slabs", &l->there));
    CRD_TRY(crd_join_path(folder, "levels.zarr", "", &l->folder));
    CRD_TRY(crd_join_path(folder, "state", "", &l->state));
    CRD_TRY(crd_make_folders(l->folder));
    read_boot(l->boot);
    recall(l);
    CRD_TRY(write_attributes(l, &layer->info));
    for (int n = l->first; n < l->count; n++) {
        CRD_TRY(open_level(l, &layer->info, n, n == 0 ? cache_bytes / 2 : cache_bytes / 2 / (size_t)l->count));
    }
    *out = l;
    l = NULL;
done:
    crd_levels_close(&l);
    return status;
}

static void free_voxels(crd_levels *l)
{
    for (int n = 0; n < CRD_VIEW_LEVELS; n++) crd_free(&l->voxels[n]);
}

void crd_levels_close(crd_levels **levels)
{
    crd_levels *l = *levels;
    if (l == NULL) return;
    for (int n = 0; n < CRD_VIEW_LEVELS; n++) {
        crd_zarr_array_close(&l->writers[n]);
        crd_volume_close(&l->volumes[n]);
    }
    free_voxels(l);
    crd_free(&l->there);
    crd_free(&l->folder);
    crd_free(&l->state);
    crd_free(levels);
}

/* ---- the pass ---- */

/* Of `count` slabs the one at a place of the order 0, 1/2, 1/4, 3/4, 1/8, ...: the middles of gaps, widest first. */
static int64_t in_order(int64_t place, int64_t count)
{
    int bits = 0;
    while (((int64_t)1 << bits) < count) bits++;
    for (int64_t i = 0, met = 0;; i++) {
        int64_t turned = 0;
        for (int b = 0; b < bits; b++) turned |= (i >> b & 1) << (bits - 1 - b);
        if (turned < count && met++ == place) return turned;
    }
}

static crd_status take_room(crd_levels *l, const crd_layer *layer)
{
    if (l->voxels[0] != NULL) return CRD_OK;
    for (int n = 0; n < l->count; n++) {
        const int64_t *shape = l->shapes[n], depth = n == 0 ? l->portion : SLAB >> n;
        const size_t voxel = crd_type_size(n == 0 ? layer->info.type : l->type);
        int64_t voxels;
        CRD_PASS(crd_product(depth, shape[1], shape[2], &voxels));
        CRD_PASS(crd_alloc(voxels, voxel, "a slab of the scan", &l->voxels[n]));
    }
    return CRD_OK;
}

static void halve(const crd_levels *l, const crd_layer *layer, const char *from, const int64_t size[3], char *to)
{
    if (layer->kind == CRD_LAYER_CLASSES) {
        crd_halve_classes((const uint8_t *)from, size, (uint8_t *)to);
    } else {
        crd_halve_values(l->type, from, size, to);
    }
}

static crd_status write_level(crd_levels *l, int level, int64_t z, int64_t depth, const char *voxels)
{
    if (l->writers[level] == NULL) return CRD_OK;
    const crd_box box = {.origin = {z, 0, 0}, .size = {depth, l->shapes[level][1], l->shapes[level][2]}};
    return crd_zarr_array_write(l->writers[level], &box, voxels);
}

/* Level 0 of a slab portion by portion, and level 1 from it. */
static crd_status take_source(crd_levels *l, const crd_layer *layer, crd_volume *source, int64_t first, int64_t depth,
                              crd_greys *greys, bool (*pause)(void *), void *context, bool *stopped)
{
    const int64_t *shape = l->shapes[0];
    for (int64_t z = 0; z < depth; z += l->portion) {
        const crd_box box = {.origin = {first + z, 0, 0},
                             .size = {depth - z < l->portion ? depth - z : l->portion, shape[1], shape[2]}};
        const int64_t count = box.size[0] * shape[1] * shape[2];
        if (!pause(context)) {
            *stopped = true;
            return CRD_OK;
        }
        CRD_PASS(crd_volume_read(source, &box, layer->info.type, l->voxels[0]));
        if (greys != NULL) crd_greys_add(greys, l->voxels[0], count);
        if (layer->kind == CRD_LAYER_CLASSES) crd_layer_to_classes(layer, count, l->voxels[0]);
        CRD_PASS(write_level(l, 0, first + z, box.size[0], l->voxels[0]));
        if (l->count == 1) continue;
        const int64_t slice = l->shapes[1][1] * l->shapes[1][2] * (int64_t)crd_type_size(l->type);
        halve(l, layer, l->voxels[0], box.size, l->voxels[1] + z / 2 * slice);
    }
    return CRD_OK;
}

static crd_status make_slab(crd_levels *l, const crd_layer *layer, crd_volume *source, int64_t slab, crd_greys *greys,
                            bool (*pause)(void *), void *context, bool *stopped)
{
    const int64_t first = slab * SLAB;
    int64_t depth = l->shapes[0][0] - first < SLAB ? l->shapes[0][0] - first : SLAB;
    CRD_PASS(take_room(l, layer));
    CRD_PASS(take_source(l, layer, source, first, depth, greys, pause, context, stopped));
    if (*stopped) return CRD_OK;
    for (int n = 1; n < l->count; n++) {
        depth = (depth + 1) / 2;
        CRD_PASS(write_level(l, n, first >> n, depth, l->voxels[n]));
        const int64_t size[3] = {depth, l->shapes[n][1], l->shapes[n][2]};
        if (n + 1 < l->count) halve(l, layer, l->voxels[n], size, l->voxels[n + 1]);
    }
    return CRD_OK;
}

/* All of it onto the disk, once: from then on it outlives a restart of the machine. */
static crd_status settle(crd_levels *l)
{
    CRD_PASS(crd_sync_tree(l->folder, l->folder));
    free_voxels(l);
    return note(l, true);
}

crd_status crd_levels_advance(crd_levels *l, const crd_layer *layer, crd_volume *source, bool (*pause)(void *context),
                              void *context, bool *more)
{
    crd_status status = CRD_OK;
    crd_greys *greys = NULL;
    bool stopped = false;
    int64_t slab = -1;
    *more = false;
    for (int64_t i = 0; i < l->slabs && slab < 0; i++) {
        const int64_t next = in_order(i, l->slabs);
        if (!atomic_load(&l->there[next])) slab = next;
    }
    if (slab < 0) return CRD_OK;
    if (l->counted) {
        CRD_TRY(crd_alloc(1, sizeof *greys, "grey values", &greys));
        greys->type = layer->info.type;
    }
    CRD_TRY(make_slab(l, layer, source, slab, greys, pause, context, &stopped));
    if (stopped) goto done;
    if (greys != NULL) crd_greys_join(&l->greys, greys);
    atomic_store(&l->there[slab], 1);
    *more = atomic_fetch_add(&l->done, 1) + 1 < l->slabs;
    CRD_TRY(*more ? note(l, false) : settle(l));
done:
    crd_free(&greys);
    return status;
}

void crd_levels_give_up(crd_levels *levels)
{
    atomic_store(&levels->given_up, true);
}

/* ---- reading ---- */

bool crd_levels_ready(const crd_levels *l, int level, const crd_box *box)
{
    if (l->volumes[level] == NULL) return false;
    if (atomic_load(&l->done) == l->slabs) return true;
    /* Readers keep whole chunks: all slabs that a chunk is made of must be there. */
    const int64_t layer = (int64_t)SLAB << level;
    const int64_t first = (box->origin[0] << level) / layer * layer;
    int64_t end = ((box->origin[0] + box->size[0]) << level) + layer - 1;
    end = end / layer * layer;
    if (end > l->slabs * SLAB) end = l->slabs * SLAB;
    for (int64_t z = first; z < end; z += SLAB) {
        if (!atomic_load(&l->there[z / SLAB])) return false;
    }
    return true;
}

double crd_levels_share(const crd_levels *levels)
{
    return (double)atomic_load(&levels->done) / (double)levels->slabs;
}

bool crd_levels_building(const crd_levels *levels)
{
    return atomic_load(&levels->done) < levels->slabs && !atomic_load(&levels->given_up);
}

const crd_greys *crd_levels_greys(const crd_levels *levels)
{
    return levels->counted && atomic_load(&levels->done) == levels->slabs ? &levels->greys : NULL;
}

crd_status crd_levels_reopen(const crd_levels *levels, int level, crd_volume **out)
{
    *out = NULL;
    return levels->volumes[level] != NULL ? crd_volume_open_again(levels->volumes[level], out) : CRD_OK;
}
