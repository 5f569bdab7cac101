/* NIfTI-1 and NIfTI-2: .nii and .nii.gz, and pairs of .hdr and .img to read. libnifti knows the header; voxels are read
 * and written box by box by our own code, packed ones too. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/monitor.h"
#include "volume/array/array.h"
#include "volume/format.h"
#include "volume/header/nifti_header.h"
#include "volume/optional.h"
#include "volume/outside_link.h"
#include "volume/types.h"

enum { DEFAULT_LEVEL = 4 };

typedef struct nifti_state {
    crd_array *array;
    char *header; /* the file that the header was read from; NULL while writing */
} nifti_state;

static void free_state(nifti_state **state)
{
    if (*state == NULL) return;
    crd_array_close(&(*state)->array);
    crd_free(&(*state)->header);
    crd_free(state);
}

static crd_array *array_of(const crd_volume *volume)
{
    return ((const nifti_state *)volume->state)->array;
}

static bool nifti_sniff(const char *path, const unsigned char *head, size_t count)
{
    unsigned char first[CRD_NIFTI_2];
    (void)path;
    if (!crd_is_gzip(head, count)) return crd_nifti_is(head, count) > 0;
    return crd_nifti_is(first, crd_unpack_head(head, count, first, sizeof first)) > 0;
}

/* The file whose first bytes are the header: "a.hdr" of "a.img". */
static crd_status header_path(const char *path, char **out)
{
    CRD_PASS(crd_strdup(path, out));
    char *dot = strrchr(*out, '.');
    if (!crd_path_ends_in(path, ".img") && !crd_path_ends_in(path, ".img.gz")) return CRD_OK;
    if (crd_path_ends_in(path, ".gz")) {
        *dot = '\0';
        dot = strrchr(*out, '.');
    }
    memcpy(dot, ".hdr", 4);
    return CRD_OK;
}

/* "a.img" or "a.img.gz" of "a.hdr". */
static crd_status image_path(const char *header, char **out)
{
    const char *slash = strrchr(header, '/'), *dot = strrchr(slash != NULL ? slash : header, '.');
    const int stem = dot != NULL ? (int)(dot - header) : (int)strlen(header);
    const size_t bytes = (size_t)stem + 16;
    CRD_PASS(crd_alloc((int64_t)bytes, 1, "a file name", out));
    snprintf(*out, bytes, "%.*s.img", stem, header);
    if (access(*out, F_OK) == 0) return CRD_OK;
    snprintf(*out, bytes, "%.*s.img.gz", stem, header);
    if (access(*out, F_OK) == 0) return CRD_OK;
    return crd_fail(CRD_ERR_FORMAT, "%s keeps its voxels in a file with the suffix .img, which isn't there", header);
}

static crd_status begins_packed(crd_array *array, int64_t file_bytes, bool *packed)
{
    unsigned char first[3] = {0};
    CRD_PASS(crd_array_peek(array, CRD_PACKING_NONE, 0, first, file_bytes < 3 ? (size_t)file_bytes : 3));
    *packed = crd_is_gzip(first, sizeof first);
    return CRD_OK;
}

static crd_status read_header(const char *path, crd_array *array, crd_packing packing, crd_nifti_header *out)
{
    crd_status status = CRD_OK;
    unsigned char head[CRD_NIFTI_2], *text = NULL;
    CRD_TRY(crd_array_peek(array, packing, 0, head, CRD_NIFTI_1));
    const size_t bytes = crd_nifti_is(head, CRD_NIFTI_1);
    if (bytes == 0) CRD_FAIL(CRD_ERR_FORMAT, "%s doesn't begin like a NIfTI file", path);
    CRD_TRY(crd_array_peek(array, packing, 0, head, bytes));
    CRD_TRY(crd_nifti_parse(path, head, bytes, out));
    const int64_t between = out->offset - (int64_t)bytes;
    if (out->pair || between < 4 || between > CRD_NIFTI_EXTENSIONS) goto done;
    CRD_TRY(crd_alloc(between, 1, "NIfTI extensions", &text));
    CRD_TRY(crd_array_peek(array, packing, (int64_t)bytes, text, (size_t)between));
    crd_nifti_take_extensions(text, (size_t)between, out);
done:
    crd_free(&text);
    return status;
}

static void tell(const crd_volume *volume, const crd_nifti_header *header, int64_t spare, const crd_monitor *monitor)
{
    if (spare > 0) {
        crd_warn(monitor, "%s has %lld bytes behind its voxels; they are ignored", volume->file, (long long)spare);
    }
    if (header->turned) {
        crd_info(monitor, "%s is turned or mirrored in its space; credence keeps the voxels' edges and not the turn",
                 volume->file);
    }
    if (header->intercept != 0.0) {
        crd_warn(
            monitor,
            "%s says that its values are to be multiplied by %g and %g added; they are read as stored, and what is "
            "added is lost",
            volume->file, header->info.scale, header->intercept);
    }
    if (header->stored == CRD_STORED_I64) {
        crd_info(monitor, "%s holds 64-bit integers, which are read as f64 (exact up to 2^53)", volume->file);
    }
}

static crd_status tell_image(const char *header, const char *image, const crd_monitor *monitor)
{
    char *folder = NULL;
    CRD_PASS(crd_folder_of(header, &folder));
    crd_tell_link(header, folder, image, monitor);
    crd_free(&folder);
    return CRD_OK;
}

static crd_status nifti_open(crd_volume *volume, const crd_volume_options *options, const crd_monitor *monitor)
{
    crd_status status = CRD_OK;
    nifti_state *state = NULL;
    crd_nifti_header header;
    char *image = NULL;
    int64_t file_bytes = 0, spare = 0;
    bool packed = false;
    (void)options;
    CRD_TRY(crd_alloc(1, sizeof *state, "a volume", &state));
    CRD_TRY(header_path(volume->file, &state->header));
    CRD_TRY(crd_array_open(state->header, volume->cache_bytes, &volume->cache, &state->array, &file_bytes));
    CRD_TRY(begins_packed(state->array, file_bytes, &packed));
    CRD_TRY(read_header(state->header, state->array, packed ? CRD_PACKING_GZIP : CRD_PACKING_NONE, &header));
    if (header.pair) {
        crd_array_close(&state->array);
        CRD_TRY(image_path(state->header, &image));
        CRD_TRY(tell_image(state->header, image, monitor));
        CRD_TRY(crd_array_open(image, volume->cache_bytes, &volume->cache, &state->array, &file_bytes));
        CRD_TRY(begins_packed(state->array, file_bytes, &packed));
    }
    crd_array_place place = {.packing = packed ? CRD_PACKING_GZIP : CRD_PACKING_NONE,
                             .offset = header.offset,
                             .stored = header.stored,
                             .swap = header.swap};
    memcpy(place.shape, header.info.shape, sizeof place.shape);
    CRD_TRY(crd_array_set_place(state->array, &place, &spare));
    crd_array_tell_packed(state->array, monitor);
    tell(volume, &header, spare, monitor);
    volume->info = header.info;
    volume->state = state;
    state = NULL;
done:
    free_state(&state);
    crd_free(&image);
    return status;
}

static crd_status nifti_read(crd_volume *volume, const crd_box *box, void *voxels)
{
    return crd_array_read(array_of(volume), box, voxels);
}

static crd_status nifti_create(crd_volume *volume, const crd_volume_options *options)
{
    crd_status status = CRD_OK;
    nifti_state *state = NULL;
    char *head = NULL;
    size_t bytes = 0;
    const bool packed = crd_path_ends_in(volume->file, ".gz");
    if (!packed && !crd_path_ends_in(volume->file, ".nii")) {
        CRD_FAIL(CRD_ERR_UNSUPPORTED, "%s: credence writes NIfTI as .nii or .nii.gz; choose such a name", volume->file);
    }
    if (!packed && options->compress > 0) {
        CRD_FAIL(CRD_ERR_ARGUMENT, "%s: a NIfTI file that is compressed has the suffix .nii.gz; choose such a name",
                 volume->file);
    }
    CRD_TRY(crd_nifti_write(volume->file, &volume->info, &head, &bytes));
    const crd_array_plan plan = {
        .temporary = volume->write_path,
        .shown = volume->file,
        .info = &volume->info,
        .packing = packed ? CRD_PACKING_GZIP : CRD_PACKING_NONE,
        .level = options->compress > 0 ? options->compress : DEFAULT_LEVEL,
        .head = head,
        .head_bytes = bytes,
        .pack_head = true,
        .staged = volume->staged,
    };
    CRD_TRY(crd_alloc(1, sizeof *state, "a volume", &state));
    CRD_TRY(crd_array_create(&plan, &state->array));
    volume->in_order = packed;
    volume->state = state;
    state = NULL;
done:
    free_state(&state);
    crd_free(&head);
    return status;
}

static crd_status nifti_write(crd_volume *volume, const crd_box *box, const void *voxels)
{
    return crd_array_write(array_of(volume), box, voxels);
}

static crd_status nifti_sync(crd_volume *volume)
{
    return crd_array_sync(array_of(volume));
}

static crd_status nifti_finish(crd_volume *volume)
{
    int64_t packed_bytes;
    CRD_PASS(crd_array_end_stream(array_of(volume), &packed_bytes));
    return crd_array_finish(array_of(volume));
}

static const char *nifti_file(const crd_volume *volume, int64_t index)
{
    const nifti_state *state = volume->state;
    return index == 0 ? crd_array_file(state->array) : index == 1 ? state->header : NULL;
}

static void nifti_close(crd_volume *volume)
{
    nifti_state *state = volume->state;
    free_state(&state);
    volume->state = NULL;
}

const crd_format crd_format_nifti = {
    .name = "nifti",
    .suffixes = CRD_NIFTI_SUFFIXES,
    .kinds = CRD_NIFTI_KINDS,
    .only_read = CRD_NIFTI_ONLY_READ,
    .library = "libnifti",
    .any_order = true,
    .sniff = nifti_sniff,
    .open = nifti_open,
    .read = nifti_read,
    .create = nifti_create,
    .write = nifti_write,
    .sync = nifti_sync,
    .finish = nifti_finish,
    .other_file = nifti_file,
    .close = nifti_close,
};
