
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "view/labels/labels_inside.h"
#include "view/labels/seed.h"
#include "view/labels/shapes.h"

/* What the way back may take: the oldest operations beyond it are forgotten, in portions. */
enum { KEPT_BYTES = 256 << 20, KEPT_STEPS = 100000, SPARE_STEPS = 10000, WORDS = 128 };

void crd_label_change_free(crd_label_change *change)
{
    crd_free(&change->places);
}

/* ---- from the disk ---- */

static void count_delta(crd_labels *l, const crd_delta_facts *facts, crd_direction direction)
{
    for (int k = 0; k < 256; k++) l->counts[k] += direction == CRD_FORTH ? facts->counts[k] : -facts->counts[k];
}

static crd_status apply(crd_labels *l, const uint8_t *bytes, int64_t count, crd_direction direction)
{
    crd_delta_facts facts;
    CRD_PASS(crd_delta_read(bytes, count, l->blocks, false, &facts));
    CRD_PASS(crd_delta_apply(bytes, count, l->blocks, direction));
    count_delta(l, &facts, direction);
    return CRD_OK;
}

static void put_number(uint8_t bytes[8], int64_t value)
{
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)value >> 8 * i);
}

/* A mark's bytes: voxels of each class. */
static void take_mark(crd_labels *l, const crd_record *record)
{
    const int64_t voxels = l->info.shape[0] * l->info.shape[1] * l->info.shape[2];
    if (record->count != 8 * 256) return;
    for (int k = 0; k < 256; k++) {
        const int64_t count = (int64_t)crd_little_endian(record->bytes + 8 * k, 8);
        l->counts[k] = count >= -voxels && count <= voxels ? count : 0;
    }
    l->marked = record->number;
    if (l->revision < l->marked) l->revision = l->marked; /* what came before it may be forgotten */
}

static crd_status take_record(void *context, const crd_record *record)
{
    crd_labels *l = context;
    crd_step step = {.number = record->number,
                     .target = record->number,
                     .offset = record->offset,
                     .length = record->length,
                     .kind = record->kind};
    if (record->kind == CRD_RECORD_MARK) {
        take_mark(l, record);
        return CRD_OK;
    }
    const bool turned = record->kind == CRD_RECORD_UNDONE || record->kind == CRD_RECORD_REDONE;
    if ((!turned && record->kind != CRD_RECORD_DONE) || (turned && record->count != 8) ||
        record->number <= l->revision) {
        return crd_fail(CRD_ERR_FORMAT,
                        "%s is damaged at byte %lld; move it away to go on with %s as it is, without "
                        "undo",
                        l->file, (long long)record->offset, l->folder);
    }
    if (turned) step.target = (int64_t)crd_little_endian(record->bytes, 8);
    cJSON *words = cJSON_Parse(record->words);
    const bool good = crd_operation_id(words, step.id);
    cJSON_Delete(words);
    if (!good) step.id[0] = '\0';
    l->revision = record->number;
    return crd_steps_add(&l->steps, &step);
}

/* The delta of a step, and which way it goes. */
static crd_status read_delta(crd_labels *l, const crd_step *step, uint8_t **room, crd_record *record,
                             crd_direction *direction)
{
    const crd_step *target = crd_steps_by_number(&l->steps, step->target);
    *direction = step->kind == CRD_RECORD_UNDONE ? CRD_BACK : CRD_FORTH;
    if (target == NULL || target->kind != CRD_RECORD_DONE) {
        return crd_fail(CRD_ERR_FORMAT, "%s no longer has operation %lld", l->file, (long long)step->target);
    }
    return crd_label_journal_read(l->journal, target->offset, target->length, room, record);
}

/* What stands behind the mark may be in the chunks or not: done again, it is. */
static crd_status replay(crd_labels *l)
{
    for (int64_t i = 0; i < l->steps.count; i++) {
        const crd_step *step = &l->steps.items[i];
        crd_record record;
        crd_direction direction;
        uint8_t *room = NULL;
        if (step->number <= l->marked) continue;
        crd_status status = read_delta(l, step, &room, &record, &direction);
        if (status == CRD_OK) status = apply(l, record.bytes, record.count, direction);
        crd_free(&room);
        CRD_PASS(status);
    }
    return CRD_OK;
}

static bool is_there(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

static void forget(crd_labels *l)
{
    crd_label_journal_close(&l->journal);
    crd_steps_free(&l->steps);
    crd_label_blocks_forget(l->blocks);
    memset(l->counts, 0, sizeof l->counts);
    l->revision = l->marked = 0;
    l->storing = false;
}

static crd_status load(crd_labels *l, bool ours, const crd_monitor *monitor)
{
    int64_t cut = 0;
    forget(l);
    CRD_PASS(crd_label_journal_open(l->file, l->info.shape, ours, take_record, l, &cut, &l->journal));
    if (cut > 0 && ours) {
        crd_info(monitor, "the last %lld bytes of %s were never confirmed, and are left out", (long long)cut, l->file);
    }
    l->kept = l->revision == 0 && is_there(l->folder);
    CRD_PASS(l->kept ? crd_label_blocks_count(l->blocks, l->counts) : replay(l));
    l->ours = ours;
    return CRD_OK;
}

/* What is on the disk is what counts. Where even that can't be read, the next change tries again. */
static void take_back(crd_labels *l)
{
    if (load(l, true, NULL) != CRD_OK) l->ours = false;
}

crd_status crd_labels_open(crd_project *project, const crd_volume_info *info, size_t memory, const crd_monitor *monitor,
                           crd_labels **out)
{
    crd_status status = CRD_OK;
    crd_labels *l = NULL;
    CRD_TRY(crd_alloc(1, sizeof *l, "the labels", &l));
    if (pthread_mutex_init(&l->lock, NULL) != 0) {
        crd_free(&l);
        return crd_fail(CRD_ERR_SYSTEM, "no lock can be made");
    }
    l->project = project;
    l->kept_bytes = KEPT_BYTES;
    l->info = *info;
    crd_shape_edges(info->spacing, l->edges);
    CRD_TRY(crd_join_path(crd_project_folder(project), "labels.zarr", "", &l->folder));
    CRD_TRY(crd_join_path(crd_project_folder(project), "labels.journal", "", &l->file));
    CRD_TRY(crd_label_blocks_open(l->folder, info, memory, &l->blocks));
    bool ours = false;
    if (is_there(l->file) && !crd_project_read_only(project)) {
        const crd_status claimed = crd_project_claim(project);
        ours = claimed == CRD_OK;
        if (!ours) crd_warn(monitor, "what is painted can only be looked at: %s", crd_last_error()->message);
    }
    CRD_TRY(load(l, ours, monitor));
    *out = l;
    l = NULL;
done:
    crd_labels_close(&l);
    return status;
}

static crd_status store_all(crd_labels *l);

void crd_labels_close(crd_labels **labels)
{
    crd_labels *l = *labels;
    if (l == NULL) return;
    (void)store_all(l); /* what can't be stored is in the journal */
    crd_label_journal_close(&l->journal);
    crd_steps_free(&l->steps);
    crd_label_blocks_close(&l->blocks);
    crd_free(&l->folder);
    crd_free(&l->file);
    pthread_mutex_destroy(&l->lock);
    crd_free(labels);
}

static crd_status mark(crd_labels *l);

/* The label that the user has already, as revision 1. It goes into the chunks; what would interrupt it begins anew. */
static crd_status take_in(crd_labels *l)
{
    bool wanted = false;
    CRD_PASS(crd_label_seed_wanted(l->project, l->seed, l->folder, &wanted));
    crd_label_blocks_forget(l->blocks);
    if (!wanted) return CRD_OK;
    memset(l->counts, 0, sizeof l->counts);
    l->kept = false;
    CRD_PASS(crd_label_seed_begin(l->project));
    CRD_PASS(crd_label_seed_take(l->seed, l->blocks, l->counts));
    memcpy(l->storing_counts, l->counts, sizeof l->counts);
    l->storing_revision = 1;
    CRD_PASS(mark(l));
    l->revision = 1;
    return crd_label_seed_end(l->project, l->seed);
}

/* Before the first change: the project is ours, and what lies there is what is here. */
static crd_status begin(crd_labels *l)
{
    if (l->ours && l->journal != NULL) return CRD_OK;
    CRD_PASS(crd_project_claim(l->project));
    CRD_PASS(load(l, true, NULL));
    if (l->revision > 0) return CRD_OK;
    if (take_in(l) == CRD_OK) return CRD_OK;
    const crd_error error = *crd_last_error();
    l->ours = false; /* nothing is painted over half of it */
    return crd_error_adopt(&error);
}

crd_status crd_labels_begin(crd_labels *l)
{
    pthread_mutex_lock(&l->lock);
    const crd_status status = begin(l);
    pthread_mutex_unlock(&l->lock);
    return status;
}

void crd_labels_seed(crd_labels *l, const crd_label_seed *seed)
{
    pthread_mutex_lock(&l->lock);
    l->seed = seed;
    pthread_mutex_unlock(&l->lock);
}

/* ---- changes; under the lock ---- */

static crd_status describe(crd_labels *l, const crd_step *step, const crd_record *record, crd_label_change *out)
{
    crd_delta_facts facts;
    CRD_PASS(crd_delta_read(record->bytes, record->count, l->blocks, true, &facts));
    out->revision = step->number;
    out->undone = step->target;
    out->voxels = facts.voxels;
    out->blocks = facts.blocks;
    out->places = facts.places;
    memcpy(out->low, facts.low, sizeof out->low);
    memcpy(out->high, facts.high, sizeof out->high);
    return CRD_OK;
}

/* Was it done before? Then the same answer. */
static crd_status answer_again(crd_labels *l, const char *id, crd_label_change *out, bool *found)
{
    const crd_step *step = crd_steps_by_id(&l->steps, id);
    crd_record record;
    crd_direction direction;
    uint8_t *room = NULL;
    *found = step != NULL;
    if (step == NULL) return CRD_OK;
    crd_status status = read_delta(l, step, &room, &record, &direction);
    if (status == CRD_OK) status = describe(l, step, &record, out);
    crd_free(&room);
    return status;
}

/* In the journal, in the list, in the blocks. What fails half-way is read again from the disk. */
static crd_status commit(crd_labels *l, crd_record *record, const char *id, int64_t target, const uint8_t *delta,
                         int64_t count, crd_direction direction)
{
    crd_step step = {.number = record->number, .target = target, .kind = record->kind};
    memcpy(step.id, id, strlen(id) + 1);
    CRD_PASS(crd_label_journal_append(l->journal, record));
    step.offset = record->offset;
    step.length = record->length;
    crd_status status = crd_steps_add(&l->steps, &step);
    if (status == CRD_OK) status = apply(l, delta, count, direction);
    if (status == CRD_OK) {
        l->revision = record->number;
        return CRD_OK;
    }
    const crd_error error = *crd_last_error();
    (void)crd_label_journal_drop(l->journal, record->offset);
    take_back(l);
    return crd_error_adopt(&error);
}

static crd_status record_words(const crd_operation *op, const crd_delta_facts *facts, char **out)
{
    crd_text text = {0};
    crd_text_add(&text, "{\"do\":");
    crd_text_json(&text, crd_paint_names[op->kind]);
    if (op->id[0] != '\0') {
        crd_text_add(&text, ",\"id\":");
        crd_text_json(&text, op->id);
    }
    if (op->kind != CRD_PAINT_ACCEPT && op->kind != CRD_PAINT_CLEAR) {
        crd_text_print(&text, ",\"axis\":%d,\"slice\":%lld", op->axis, (long long)op->slice);
    }
    if (op->kind != CRD_PAINT_ACCEPT) crd_text_print(&text, ",\"value\":%d", op->value);
    crd_text_print(&text, ",\"voxels\":%lld,\"low\":[%lld,%lld,%lld],\"high\":[%lld,%lld,%lld]}",
                   (long long)facts->voxels, (long long)facts->low[0], (long long)facts->low[1],
                   (long long)facts->low[2], (long long)facts->high[0], (long long)facts->high[1],
                   (long long)facts->high[2]);
    return crd_text_finish(&text, out);
}

static crd_status paint(crd_labels *l, const crd_operation *op, const crd_paint_sources *sources, crd_label_change *out)
{
    crd_status status = CRD_OK;
    crd_delta delta = {0};
    crd_delta_facts facts;
    char *words = NULL;
    CRD_TRY(crd_paint(op, l->edges, l->blocks, sources, &delta));
    if (delta.count == 0) { /* nothing that would have to be kept */
        out->revision = l->revision;
        goto done;
    }
    CRD_TRY(crd_delta_read(delta.bytes, delta.count, l->blocks, false, &facts));
    CRD_TRY(record_words(op, &facts, &words));
    crd_record record = {
        .number = l->revision + 1, .kind = CRD_RECORD_DONE, .words = words, .bytes = delta.bytes, .count = delta.count};
    CRD_TRY(commit(l, &record, op->id, record.number, delta.bytes, delta.count, CRD_FORTH));
    CRD_TRY(describe(l, &l->steps.items[l->steps.count - 1], &record, out));
done:
    crd_delta_free(&delta);
    crd_free(&words);
    return status;
}

crd_status crd_labels_do(crd_labels *l, const crd_operation *op, int64_t revision, const crd_paint_sources *sources,
                         crd_label_change *out)
{
    crd_status status = CRD_OK;
    bool found = false;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&l->lock);
    const bool first = l->revision == 0;
    CRD_TRY(begin(l));
    if (first && revision == 0) revision = l->revision; /* what was taken in just now is what the user sees, too */
    CRD_TRY(answer_again(l, op->id, out, &found));
    if (found) goto done;
    out->revision = l->revision;
    out->old_revision = revision >= 0 && revision != l->revision;
    if (!out->old_revision) status = paint(l, op, sources, out);
done:
    pthread_mutex_unlock(&l->lock);
    return status;
}

static crd_status turn(crd_labels *l, crd_record_kind kind, const char *id, crd_label_change *out)
{
    crd_status status = CRD_OK;
    const int64_t target = kind == CRD_RECORD_UNDONE ? crd_steps_to_undo(&l->steps) : crd_steps_to_redo(&l->steps);
    const crd_step of = {.kind = kind, .target = target};
    char words[WORDS] = "{}";
    uint8_t bytes[8], *room = NULL;
    crd_record was;
    crd_direction direction;
    out->nothing = target < 0;
    if (out->nothing) return CRD_OK;
    if (id[0] != '\0') snprintf(words, sizeof words, "{\"id\":\"%s\"}", id);
    put_number(bytes, target);
    crd_record record = {
        .number = l->revision + 1, .kind = kind, .words = words, .bytes = bytes, .count = sizeof bytes};
    CRD_TRY(read_delta(l, &of, &room, &was, &direction));
    CRD_TRY(commit(l, &record, id, target, was.bytes, was.count, direction));
    CRD_TRY(describe(l, &l->steps.items[l->steps.count - 1], &was, out));
done:
    crd_free(&room);
    return status;
}

static crd_status turn_locked(crd_labels *l, crd_record_kind kind, const char *id, int64_t revision,
                              crd_label_change *out)
{
    crd_status status = CRD_OK;
    bool found = false;
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&l->lock);
    CRD_TRY(begin(l));
    CRD_TRY(answer_again(l, id, out, &found));
    if (found) goto done;
    out->revision = l->revision;
    out->old_revision = revision >= 0 && revision != l->revision;
    if (!out->old_revision) status = turn(l, kind, id, out);
done:
    pthread_mutex_unlock(&l->lock);
    return status;
}

crd_status crd_labels_undo(crd_labels *labels, const char *id, int64_t revision, crd_label_change *out)
{
    return turn_locked(labels, CRD_RECORD_UNDONE, id, revision, out);
}

crd_status crd_labels_redo(crd_labels *labels, const char *id, int64_t revision, crd_label_change *out)
{
    return turn_locked(labels, CRD_RECORD_REDONE, id, revision, out);
}

/* ---- confirming and storing ---- */

static crd_status sync_locked(crd_labels *l)
{
    if (l->journal == NULL || !l->ours) return CRD_OK;
    if (crd_label_journal_sync(l->journal) == CRD_OK) return CRD_OK;
    const crd_error error = *crd_last_error();
    take_back(l);
    return crd_error_adopt(&error);
}

crd_status crd_labels_sync(crd_labels *l)
{
    pthread_mutex_lock(&l->lock);
    const crd_status status = sync_locked(l);
    pthread_mutex_unlock(&l->lock);
    return status;
}

/* The least number that a replay asks for: an undo that isn't in the chunks yet may be about an operation that is. */
static int64_t first_replayed(const crd_labels *l)
{
    int64_t number = l->marked + 1;
    for (int64_t i = l->steps.count - 1; i >= 0 && l->steps.items[i].number > l->marked; i--) {
        if (l->steps.items[i].target < number) number = l->steps.items[i].target;
    }
    return number;
}

/* The first step that is kept when older ones are forgotten: all of those are in the chunks. */
static int64_t first_kept(const crd_labels *l)
{
    const int64_t bytes = crd_label_journal_bytes(l->journal), replayed = first_replayed(l);
    int64_t first = 0;
    while (first < l->steps.count && l->steps.items[first].number < replayed &&
           (bytes - l->steps.items[first].offset > l->kept_bytes || l->steps.count - first > KEPT_STEPS)) {
        first++;
    }
    return first;
}

static crd_status forget_oldest(crd_labels *l)
{
    int64_t moved = 0;
    if (crd_label_journal_bytes(l->journal) <= l->kept_bytes + l->kept_bytes / 4 &&
        l->steps.count <= KEPT_STEPS + SPARE_STEPS) {
        return CRD_OK;
    }
    const int64_t first = first_kept(l);
    if (first == 0 || first == l->steps.count) return CRD_OK;
    CRD_PASS(crd_label_journal_forget(l->journal, l->steps.items[first].offset, &moved));
    crd_steps_forget(&l->steps, first, moved);
    return CRD_OK;
}

static crd_status mark(crd_labels *l)
{
    uint8_t bytes[8 * 256];
    for (int k = 0; k < 256; k++) put_number(bytes + 8 * k, l->storing_counts[k]);
    crd_record record = {
        .number = l->storing_revision, .kind = CRD_RECORD_MARK, .words = "{}", .bytes = bytes, .count = sizeof bytes};
    CRD_PASS(crd_label_blocks_sync(l->blocks));
    CRD_PASS(crd_label_journal_append(l->journal, &record));
    CRD_PASS(crd_label_journal_sync(l->journal));
    l->marked = l->storing_revision;
    return CRD_OK;
}

static crd_status store_locked(crd_labels *l, int64_t most, bool *unfinished)
{
    int64_t left = 0;
    *unfinished = false;
    if (!l->ours) return CRD_OK;
    CRD_PASS(sync_locked(l)); /* only what is confirmed goes into the chunks */
    if (!l->storing) {
        if (l->marked == l->revision) return CRD_OK;
        crd_label_blocks_begin_store(l->blocks);
        l->storing = true;
        l->storing_revision = l->revision;
        memcpy(l->storing_counts, l->counts, sizeof l->counts);
    }
    CRD_PASS(crd_label_blocks_store(l->blocks, most, &left));
    *unfinished = left > 0;
    if (*unfinished) return CRD_OK;
    CRD_PASS(mark(l));
    l->storing = false;
    return forget_oldest(l);
}

crd_status crd_labels_store(crd_labels *l, int64_t most, bool *unfinished)
{
    pthread_mutex_lock(&l->lock);
    const crd_status status = store_locked(l, most, unfinished);
    pthread_mutex_unlock(&l->lock);
    return status;
}

static crd_status store_all(crd_labels *l)
{
    bool unfinished;
    while (l->ours && l->marked != l->revision) CRD_PASS(store_locked(l, INT64_MAX, &unfinished));
    return CRD_OK;
}

void crd_labels_keep(crd_labels *l, int64_t bytes)
{
    pthread_mutex_lock(&l->lock);
    l->kept_bytes = bytes;
    pthread_mutex_unlock(&l->lock);
}

crd_status crd_labels_snapshot(crd_labels *l, const char *folder)
{
    crd_status status = CRD_OK;
    if (is_there(folder)) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s is there already: labels are only kept at a new place", folder);
    }
    pthread_mutex_lock(&l->lock);
    CRD_TRY(begin(l));
    CRD_TRY(sync_locked(l));
    CRD_TRY(store_all(l));
    CRD_TRY(crd_label_blocks_link(l->blocks, folder));
done:
    pthread_mutex_unlock(&l->lock);
    return status;
}
