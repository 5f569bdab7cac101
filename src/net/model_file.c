/* The model file: the network's parameters as datasets, settings as attributes of the root. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/memory.h"
#include "net/heldout_file.h"
#include "net/model.h"
#include "net/store/systematic.h"

static const char format_name[] = "credence-model", pieces_name[] = "pieces/voxels";
static const char signature[] = "\x89HDF\r\n\x1a\n"; /* of HDF5; cheaper than asking libhdf5 about a large scan */
/* A model that a program of the first version would compute otherwise is of the second. */
enum {
    FIRST_VERSION = 1,
    FROZEN_VERSION = 2,
    WHOLE_VERSION = 3, /* more than two classes, or members: programs before it can't compute them at all */
    NEWEST_VERSION = WHOLE_VERSION,
    CHECKSUM_TEXT = 32,
    GROUP_TEXT = 24
};

static uint64_t hash_values(uint64_t hash, const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int shift = 0; shift < 32; shift += 8) {
            const unsigned char byte = (unsigned char)(bits >> shift);
            hash = crd_fnv1a(hash, &byte, 1);
        }
    }
    return hash;
}

/* Two classes without names of their own are what a file means that says nothing. */
static bool classes_stated(const crd_model_info *info)
{
    return info->classes > 2 || info->class_names[0] != '\0';
}

/* FNV-1a over the norm, the config, all values (little-endian) in the order of the layout, names and values of
 * classes where they are stated, and the pieces: what libhdf5 keeps no checksum of. Shows a damaged file. */
static void checksum_of(const crd_model *model, char text[CHECKSUM_TEXT])
{
    const crd_model_info *info = &model->info;
    uint64_t hash = CRD_FNV1A_OF_NONE;
    hash = crd_fnv1a(hash, info->norm, strlen(info->norm));
    if (info->config != NULL) hash = crd_fnv1a(hash, info->config, strlen(info->config));
    hash = hash_values(hash, model->parameters, info->members * model->net.model.total);
    if (classes_stated(info)) {
        hash = crd_fnv1a(hash, info->class_names, strlen(info->class_names));
        for (int i = 0; i < info->classes; i++)
            hash = hash_values(hash, (const float[]){(float)info->class_values[i]}, 1);
    }
    hash = hash_values(hash, model->pieces.voxels, model->pieces.count * crd_piece_voxels(&model->pieces));
    snprintf(text, CHECKSUM_TEXT, "fnv1a64:%016" PRIx64, hash);
}

/* Where a member's parameters stand in the file: those of a model that is one network at its root. */
static void group_of(const crd_model *model, int member, char group[GROUP_TEXT])
{
    group[0] = '\0';
    if (model->info.members > 1) snprintf(group, GROUP_TEXT, "member/%d", member);
}

static crd_status check_member(const crd_model *model, int member, const char *path)
{
    const float *values = crd_model_member(model, member);
    for (int p = 0; p < model->net.model.count; p++) {
        const crd_parameter *parameter = &model->net.model.parameters[p];
        for (int64_t i = 0; i < parameter->count; i++) {
            char group[GROUP_TEXT];
            if (isfinite(values[parameter->offset + i])) continue;
            group_of(model, member, group);
            return crd_fail(CRD_ERR_NUMERIC,
                            "%s%s%s of the model %s holds a value that isn't a finite number (number %" PRId64
                            "); training went wrong, take an earlier model",
                            group, group[0] != '\0' ? "/" : "", parameter->path, path, i);
        }
    }
    return CRD_OK;
}

static crd_status check_finite(const crd_model *model, const char *path)
{
    for (int m = 0; m < model->info.members; m++) CRD_PASS(check_member(model, m, path));
    return CRD_OK;
}

/* The record's reals, as attributes of /training. */
typedef struct record_field {
    const char *name;
    size_t offset;
    int64_t count;
} record_field;

static const record_field record_fields[] = {
    {"minimum", offsetof(crd_training_record, minimum), 1},
    {"maximum", offsetof(crd_training_record, maximum), 1},
    {"mean", offsetof(crd_training_record, mean), 1},
    {"std", offsetof(crd_training_record, std), 1},
    {"histogram_low", offsetof(crd_training_record, histogram_low), 1},
    {"histogram_high", offsetof(crd_training_record, histogram_high), 1},
    {"spacing", offsetof(crd_training_record, spacing), 3},
};
enum { RECORD_FIELDS = sizeof record_fields / sizeof record_fields[0] };
static const char record_group[] = "training", record_histogram[] = "training/histogram";

static crd_status write_training(crd_store *store, const crd_training_record *record)
{
    CRD_PASS(crd_store_put_integers(store, record_histogram, CRD_HISTOGRAM_BINS, record->histogram));
    CRD_PASS(crd_store_put_numbers(store, record_group, "voxels", 1, &record->voxels));
    for (int i = 0; i < RECORD_FIELDS; i++) {
        const record_field *field = &record_fields[i];
        const double *values = (const double *)((const char *)record + field->offset);
        CRD_PASS(crd_store_put_reals(store, record_group, field->name, field->count, values));
    }
    return crd_store_put_text(store, record_group, "unit", record->unit);
}

static crd_status read_training(crd_store *store, crd_training_record *record)
{
    crd_status status = CRD_OK;
    char *unit = NULL;
    CRD_TRY(
        crd_store_get_integers(store, record_histogram, CRD_HISTOGRAM_BINS, "a training record", record->histogram));
    CRD_TRY(crd_store_get_numbers(store, record_group, "voxels", 1, &record->voxels));
    for (int i = 0; i < RECORD_FIELDS; i++) {
        const record_field *field = &record_fields[i];
        double *values = (double *)((char *)record + field->offset);
        CRD_TRY(crd_store_get_reals(store, record_group, field->name, field->count, values));
    }
    CRD_TRY(crd_store_get_text(store, record_group, "unit", &unit));
    snprintf(record->unit, sizeof record->unit, "%s", unit);
done:
    crd_free(&unit);
    return status;
}

static crd_status put_integer(crd_store *store, const char *name, int64_t value)
{
    return crd_store_put_numbers(store, "", name, 1, &value);
}

static int version_of(const crd_model *model)
{
    if (model->info.classes > 2 || model->info.members > 1) return WHOLE_VERSION;
    const bool by_levels = strcmp(model->info.norm, "levels") == 0 || strcmp(model->info.norm, "phases") == 0;
    return model->pieces.count > 0 || by_levels ? FROZEN_VERSION : FIRST_VERSION;
}

static crd_status write_pieces(crd_store *store, const crd_pieces *pieces)
{
    const int64_t shape[4] = {pieces->count, pieces->size[0], pieces->size[1], pieces->size[2]};
    return crd_store_put_halves(store, pieces_name, 4, shape, pieces->voxels);
}

static crd_status write_classes(crd_store *store, const crd_model_info *info)
{
    CRD_PASS(put_integer(store, "classes", info->classes));
    if (info->class_names[0] != '\0') CRD_PASS(crd_store_put_text(store, "", "class_names", info->class_names));
    return crd_store_put_reals(store, "", "class_values", info->classes, info->class_values);
}

static crd_status write_member(crd_store *store, const char *group, const crd_member_info *member)
{
    CRD_PASS(crd_store_put_numbers(store, group, "seed", 1, &member->seed));
    CRD_PASS(crd_store_put_numbers(store, group, "epoch", 1, &member->epoch));
    return crd_store_put_reals(store, group, "check_nll", 1, &member->check_nll);
}

/* Another program may have left out what it doesn't know. */
static crd_status read_member(crd_store *store, const char *group, crd_member_info *member)
{
    *member = (crd_member_info){.check_nll = (double)NAN};
    if (crd_store_has_attribute(store, group, "seed"))
        CRD_PASS(crd_store_get_numbers(store, group, "seed", 1, &member->seed));
    if (crd_store_has_attribute(store, group, "epoch"))
        CRD_PASS(crd_store_get_numbers(store, group, "epoch", 1, &member->epoch));
    return crd_store_has_attribute(store, group, "check_nll")
               ? crd_store_get_reals(store, group, "check_nll", 1, &member->check_nll)
               : CRD_OK;
}

static crd_status write_model(crd_store *store, const crd_model *model)
{
    const crd_model_info *info = &model->info;
    char checksum[CHECKSUM_TEXT];
    checksum_of(model, checksum);
    CRD_PASS(crd_store_put_text(store, "", "format", format_name));
    CRD_PASS(put_integer(store, "version", version_of(model)));
    CRD_PASS(crd_store_put_text(store, "", "kind", crd_kind_name(info->kind)));
    CRD_PASS(put_integer(store, "filters", info->filters));
    CRD_PASS(put_integer(store, "groups", info->groups));
    if (info->members > 1) CRD_PASS(put_integer(store, "members", info->members));
    if (classes_stated(info)) CRD_PASS(write_classes(store, info));
    if (crd_model_chunk_known(info)) CRD_PASS(crd_store_put_numbers(store, "", "chunk", 3, info->chunk));
    CRD_PASS(crd_store_put_reals(store, "", "calibration", 1, &info->calibration));
    CRD_PASS(crd_store_put_text(store, "", "norm", info->norm));
    if (info->config != NULL) CRD_PASS(crd_store_put_text(store, "", "config", info->config));
    CRD_PASS(crd_store_put_text(store, "", "checksum", checksum));
    if (info->heads_redrawn > 0) CRD_PASS(crd_store_put_numbers(store, "", "heads_redrawn", 1, &info->heads_redrawn));
    if (info->training.voxels > 0) CRD_PASS(write_training(store, &info->training));
    if (model->pieces.count > 0) CRD_PASS(write_pieces(store, &model->pieces));
    CRD_PASS(crd_heldout_write(store, &info->heldout));
    CRD_PASS(crd_systematic_write(store, info->classes, &info->systematic));
    CRD_PASS(crd_provenance_write(store, &model->provenance));
    for (int m = 0; m < info->members; m++) {
        char group[GROUP_TEXT];
        group_of(model, m, group);
        CRD_PASS(crd_store_put_layout(store, group, &model->net.model, crd_model_member(model, m)));
        if (info->members > 1) CRD_PASS(write_member(store, group, &info->member[m]));
    }
    return CRD_OK;
}

crd_status crd_model_write(const crd_model *model, const char *path, crd_model_extra *extra, void *context)
{
    crd_status status = CRD_OK;
    crd_store *store = NULL;
    CRD_TRY(check_finite(model, path));
    CRD_TRY(crd_store_create(path, &store));
    CRD_TRY(write_model(store, model));
    if (extra != NULL) CRD_TRY(extra(context, store));
    CRD_TRY(crd_store_commit(store));
done:
    crd_store_close(&store);
    return status;
}

crd_status crd_model_save(const crd_model *model, const char *path)
{
    return crd_model_write(model, path, NULL, NULL);
}

static crd_status get_integer(crd_store *store, const char *name, int64_t *value)
{
    return crd_store_get_numbers(store, "", name, 1, value);
}

/* Is it a model at all, and of a version this program knows? */
static crd_status check_format(crd_store *store)
{
    crd_status status = CRD_OK;
    char *format = NULL;
    int64_t version = 0;
    if (!crd_store_has_attribute(store, "", "format"))
        CRD_FAIL(CRD_ERR_FORMAT, "%s is an HDF5 file, but no model of credence: it lacks the attribute 'format'",
                 crd_store_path(store));
    CRD_TRY(crd_store_get_text(store, "", "format", &format));
    if (strcmp(format, format_name) != 0)
        CRD_FAIL(CRD_ERR_FORMAT, "%s is no model of credence: its format is '%s' instead of '%s'",
                 crd_store_path(store), format, format_name);
    CRD_TRY(get_integer(store, "version", &version));
    if (version < FIRST_VERSION || version > NEWEST_VERSION)
        CRD_FAIL(CRD_ERR_UNSUPPORTED,
                 "the model %s is of version %" PRId64
                 ", and this program knows versions %d to %d; use a newer credence",
                 crd_store_path(store), version, (int)FIRST_VERSION, (int)NEWEST_VERSION);
done:
    crd_free(&format);
    return status;
}

static crd_status read_size(crd_store *store, const char *name, int *out)
{
    int64_t value = 0;
    CRD_PASS(get_integer(store, name, &value));
    if (value < 1 || value > INT32_MAX)
        return crd_fail(CRD_ERR_FORMAT, "the attribute '%s' of %s is %" PRId64 ", which can't be", name,
                        crd_store_path(store), value);
    *out = (int)value;
    return CRD_OK;
}

static crd_status read_kind(crd_store *store, crd_kind *out)
{
    crd_status status = CRD_OK;
    char *kind = NULL;
    CRD_TRY(crd_store_get_text(store, "", "kind", &kind));
    if (strcmp(kind, crd_kind_name(CRD_BCNN)) == 0)
        *out = CRD_BCNN;
    else if (strcmp(kind, crd_kind_name(CRD_MCDN)) == 0)
        *out = CRD_MCDN;
    else
        CRD_FAIL(CRD_ERR_FORMAT, "the model %s is of the unknown kind '%s': it must be bcnn or mcdn",
                 crd_store_path(store), kind);
done:
    crd_free(&kind);
    return status;
}

/* Into an array of `size`; stays as it is where the file has no such attribute. */
static crd_status read_text(crd_store *store, const char *name, char *out, size_t size)
{
    crd_status status = CRD_OK;
    char *text = NULL;
    if (!crd_store_has_attribute(store, "", name)) return CRD_OK;
    CRD_TRY(crd_store_get_text(store, "", name, &text));
    if (strlen(text) >= size)
        CRD_FAIL(CRD_ERR_FORMAT, "the attribute '%s' of %s is too long", name, crd_store_path(store));
    snprintf(out, size, "%s", text);
done:
    crd_free(&text);
    return status;
}

/* A file that doesn't say what its classes' values are has them numbered. */
static crd_status read_classes(crd_store *store, crd_model_info *info)
{
    if (!crd_store_has_attribute(store, "", "classes")) return CRD_OK;
    CRD_PASS(read_size(store, "classes", &info->classes));
    if (info->classes < 2 || info->classes > CRD_CLASSES_MAX)
        return crd_fail(CRD_ERR_FORMAT, "the attribute 'classes' of %s is %d, and must be 2 to %d",
                        crd_store_path(store), info->classes, (int)CRD_CLASSES_MAX);
    for (int i = 0; i < info->classes; i++) info->class_values[i] = i;
    if (crd_store_has_attribute(store, "", "class_values"))
        CRD_PASS(crd_store_get_reals(store, "", "class_values", info->classes, info->class_values));
    return read_text(store, "class_names", info->class_names, sizeof info->class_names);
}

/* A file that doesn't say how many they are is one network. */
static crd_status read_members(crd_store *store, crd_model_info *info)
{
    info->members = 1;
    if (!crd_store_has_attribute(store, "", "members")) return CRD_OK;
    CRD_PASS(read_size(store, "members", &info->members));
    if (info->members <= CRD_MEMBERS_MAX) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "the attribute 'members' of %s is %d, and must be 1 to %d", crd_store_path(store),
                    info->members, (int)CRD_MEMBERS_MAX);
}

/* Everything but the parameters. *config is the caller's to free. */
/* What a checkpoint has beside the model, whose first number is the step. */
static crd_status read_checkpoint_step(crd_store *store, int64_t *step)
{
    enum { MOST = 64 };
    int64_t count, numbers[MOST];
    if (!crd_store_has(store, "optimizer") || !crd_store_has(store, CRD_CHECKPOINT_PLACE)) return CRD_OK;
    CRD_PASS(crd_store_get_shape(store, CRD_CHECKPOINT_PLACE, 1, &count));
    if (count < 1 || count > MOST) return CRD_OK;
    CRD_PASS(crd_store_get_integers(store, CRD_CHECKPOINT_PLACE, count, "a checkpoint", numbers));
    *step = numbers[0];
    return CRD_OK;
}

static crd_status read_info(crd_store *store, crd_model_info *info, char **config)
{
    memset(info, 0, sizeof *info);
    CRD_PASS(check_format(store));
    CRD_PASS(read_kind(store, &info->kind));
    CRD_PASS(read_size(store, "filters", &info->filters));
    if (crd_store_has_attribute(store, "", "groups")) CRD_PASS(read_size(store, "groups", &info->groups));
    if (crd_store_has_attribute(store, "", "chunk"))
        CRD_PASS(crd_store_get_numbers(store, "", "chunk", 3, info->chunk));
    if (crd_store_has_attribute(store, "", "calibration")) {
        CRD_PASS(crd_store_get_reals(store, "", "calibration", 1, &info->calibration));
        if (!(info->calibration > 0) || !isfinite(info->calibration))
            return crd_fail(CRD_ERR_FORMAT, "the attribute 'calibration' of %s is %g, and must be above 0",
                            crd_store_path(store), info->calibration);
    }
    CRD_PASS(read_members(store, info));
    CRD_PASS(read_classes(store, info));
    CRD_PASS(read_text(store, "norm", info->norm, sizeof info->norm));
    if (crd_store_has_attribute(store, "", "config")) CRD_PASS(crd_store_get_text(store, "", "config", config));
    info->config = *config;
    if (crd_store_has_attribute(store, "", "heads_redrawn")) {
        CRD_PASS(crd_store_get_numbers(store, "", "heads_redrawn", 1, &info->heads_redrawn));
        if (info->heads_redrawn < 0)
            return crd_fail(CRD_ERR_FORMAT, "the attribute 'heads_redrawn' of %s is below 0", crd_store_path(store));
    }
    CRD_PASS(crd_heldout_read(store, &info->heldout));
    CRD_PASS(read_checkpoint_step(store, &info->checkpoint_step));
    CRD_PASS(crd_systematic_read(store, info->classes == 0 ? 2 : info->classes, &info->systematic));
    return crd_store_has(store, "training") ? read_training(store, &info->training) : CRD_OK;
}

static crd_status check_checksum(crd_store *store, const crd_model *model)
{
    crd_status status = CRD_OK;
    char found[CHECKSUM_TEXT], *stated = NULL;
    if (!crd_store_has_attribute(store, "", "checksum")) return CRD_OK;
    CRD_TRY(crd_store_get_text(store, "", "checksum", &stated));
    checksum_of(model, found);
    if (strcmp(stated, found) != 0)
        CRD_FAIL(CRD_ERR_FORMAT,
                 "the content of the model %s doesn't have the checksum that it states: the file is damaged, or was "
                 "changed by another program (which then has to remove the attribute 'checksum')",
                 crd_store_path(store));
done:
    crd_free(&stated);
    return status;
}

static crd_status read_pieces(crd_store *store, crd_model *model)
{
    crd_status status = CRD_OK;
    crd_pieces pieces = {0};
    int64_t shape[4], total = 0;
    CRD_TRY(crd_store_get_shape(store, pieces_name, 4, shape));
    memcpy(pieces.size, shape + 1, sizeof pieces.size);
    pieces.count = shape[0];
    CRD_TRY(crd_net_check_chunk(&model->net, pieces.size));
    CRD_TRY(crd_product(crd_piece_voxels(&pieces), pieces.count, 1, &total));
    if (pieces.count < 1 || pieces.count > CRD_PIECES_MAX || total > CRD_PIECE_VOXELS_MAX) {
        CRD_FAIL(CRD_ERR_FORMAT, "the model %s has %" PRId64 " pieces of %" PRId64 " voxels in all, which can't be",
                 crd_store_path(store), pieces.count, total);
    }
    CRD_TRY(crd_alloc(total, sizeof(float), "the model's pieces", &pieces.voxels));
    CRD_TRY(crd_store_get_halves(store, pieces_name, 4, shape, "a model with pieces", pieces.voxels));
    for (int64_t i = 0; i < total; i++) {
        if (!isfinite(pieces.voxels[i])) {
            CRD_FAIL(CRD_ERR_NUMERIC,
                     "a piece of the model %s holds a value that isn't a finite number: the file is damaged",
                     crd_store_path(store));
        }
    }
    crd_model_take_pieces(model, &pieces);
done:
    crd_free(&pieces.voxels);
    return status;
}

static crd_status read_parameters(crd_store *store, crd_model *model)
{
    char needed_by[96], classes[32] = "";
    if (model->info.classes > 2) snprintf(classes, sizeof classes, " for %d classes", model->info.classes);
    snprintf(needed_by, sizeof needed_by, "a %s with %d filters and %d groups%s", crd_kind_name(model->info.kind),
             model->info.filters, model->info.groups, classes);
    for (int m = 0; m < model->info.members; m++) {
        char group[GROUP_TEXT];
        group_of(model, m, group);
        CRD_PASS(crd_store_get_layout(store, group, &model->net.model, needed_by, crd_model_member(model, m)));
        if (model->info.members > 1) CRD_PASS(read_member(store, group, &model->info.member[m]));
    }
    if (crd_store_has(store, pieces_name)) CRD_PASS(read_pieces(store, model));
    CRD_PASS(crd_provenance_read(store, &model->provenance));
    CRD_PASS(check_finite(model, crd_store_path(store)));
    return check_checksum(store, model);
}

/* Settings that don't go together are the file's fault here, so the sentence names it. */
static crd_status make_model(const char *path, const crd_model_info *info, crd_model **out)
{
    const crd_status status = crd_model_make_empty(info, out);
    if (status != CRD_ERR_ARGUMENT) return status;
    const crd_error why = *crd_last_error();
    return crd_fail(CRD_ERR_FORMAT, "the model %s can't be used: %.800s", path, why.message);
}

crd_status crd_model_read(const char *path, crd_model_extra *extra, void *context, crd_model **out)
{
    crd_status status = CRD_OK;
    crd_store *store = NULL;
    crd_model *model = NULL;
    crd_model_info info;
    char *config = NULL;
    *out = NULL;
    if (crd_file_is_other(path, signature)) CRD_FAIL(CRD_ERR_FORMAT, "%s is no model of credence", path);
    CRD_TRY(crd_store_open(path, &store));
    CRD_TRY(read_info(store, &info, &config));
    CRD_TRY(make_model(path, &info, &model));
    CRD_TRY(read_parameters(store, model));
    if (extra != NULL) CRD_TRY(extra(context, store));
    CRD_TRY(crd_store_check(store));
    *out = model;
    model = NULL;
done:
    crd_store_close(&store);
    crd_model_free(&model);
    crd_free(&config);
    return status;
}

crd_status crd_model_load(const char *path, crd_model **out)
{
    return crd_model_read(path, NULL, NULL, out);
}

bool crd_model_recognise(const char *path)
{
    crd_store *store = NULL;
    char *format = NULL;
    if (crd_file_is_other(path, signature) || crd_store_open(path, &store) != CRD_OK) return false;
    const bool model = crd_store_has_attribute(store, "", "format") &&
                       crd_store_get_text(store, "", "format", &format) == CRD_OK && strcmp(format, format_name) == 0;
    crd_free(&format);
    crd_store_close(&store);
    return model;
}
