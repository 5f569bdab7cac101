/* zarr.json: an array of zarr version 3, its chain of codecs, and shards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "volume/types.h"
#include "volume/zarr/layout.h"

enum { MOST_SUMS = 8, WORD_BYTES = 40 };

static crd_status broken(const char *shown, const char *what)
{
    return crd_zarr_broken(shown, 3, what);
}

/* Extensions stand as {"name": ..., "configuration": {...}} or, without a configuration, as their name alone. */
static const char *name_of(const cJSON *item)
{
    const char *name = cJSON_GetStringValue(cJSON_IsString(item) ? item : crd_zarr_get(item, "name"));
    return name != NULL ? name : "?";
}

static const cJSON *setting(const cJSON *item, const char *key)
{
    return crd_zarr_get(crd_zarr_get(item, "configuration"), key);
}

static bool is(const cJSON *item, const char *name)
{
    return strcmp(name_of(item), name) == 0;
}

/* ---- type and value to fill with ---- */

/* That of a bool isn't ours to write; it comes last. */
static const struct {
    const char *name;
    int stored;
} types[] = {{"int8", CRD_I8},     {"uint8", CRD_U8},    {"int16", CRD_I16},          {"uint16", CRD_U16},
             {"int32", CRD_I32},   {"uint32", CRD_U32},  {"int64", CRD_STORED_I64},   {"uint64", CRD_U64},
             {"float32", CRD_F32}, {"float64", CRD_F64}, {"float16", CRD_STORED_F16}, {"bool", CRD_U8}};

static crd_status take_type(const char *shown, const cJSON *type, crd_zarr_layout *out)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (!is(type, types[i].name)) continue;
        out->stored = types[i].stored;
        return CRD_OK;
    }
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s holds values of type '%.40s'; credence reads bool, integers and floats",
                    shown, name_of(type));
}

/* "0x7fc00000": the bits of a float; only NaN has more than one form, so any of those will do. */
static bool take_bits(const char *word, int stored, double *out)
{
    const size_t digits = 2 * crd_stored_size(stored);
    if (strncmp(word, "0x", 2) != 0 || strspn(word + 2, "0123456789abcdefABCDEF") != digits ||
        word[2 + digits] != '\0') {
        return false;
    }
    const uint64_t bits = strtoull(word + 2, NULL, 16);
    const uint32_t low = (uint32_t)bits;
    const uint16_t half = (uint16_t)bits;
    float single = 0.0f;
    if (stored == (int)CRD_F64) {
        memcpy(out, &bits, sizeof bits);
        return true;
    }
    if (stored == (int)CRD_F32) memcpy(&single, &low, sizeof single);
    if (stored == CRD_STORED_F16) crd_widen(stored, &half, 1, &single);
    *out = (double)single;
    return stored == (int)CRD_F32 || stored == CRD_STORED_F16;
}

static crd_status take_fill(const char *shown, const cJSON *fill, crd_zarr_layout *out)
{
    const char *word = cJSON_GetStringValue(fill);
    if (word != NULL && take_bits(word, out->stored, &out->fill)) return CRD_OK;
    return crd_zarr_take_fill(shown, fill, out);
}

/* ---- codecs ---- */

static crd_status take_endian(const char *shown, const cJSON *codec, size_t size, bool *swap)
{
    const char *endian = cJSON_GetStringValue(setting(codec, "endian"));
    const bool big = endian != NULL && strcmp(endian, "big") == 0;
    if (size > 1 && !big && (endian == NULL || strcmp(endian, "little") != 0)) {
        return broken(shown, "its codec 'bytes' doesn't say which byte comes first");
    }
    *swap = size > 1 && big != (CRD_BIG_ENDIAN != 0);
    return CRD_OK;
}

/* `all` is the order until now, of all axes, and becomes that after one more transposition. */
static crd_status transpose(const char *shown, const cJSON *codec, int rank, int all[CRD_ZARR_AXES])
{
    const cJSON *order = setting(codec, "order");
    int before[CRD_ZARR_AXES];
    unsigned seen = 0;
    memcpy(before, all, sizeof before);
    for (int i = 0; i < rank; i++) {
        const cJSON *item = cJSON_GetArrayItem(order, i);
        const double axis = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
        if (cJSON_GetArraySize(order) != rank || !(axis >= 0.0 && axis < rank) || axis != floor(axis)) {
            return broken(shown, "its codec 'transpose' has no order of its axes");
        }
        seen |= 1u << (int)axis;
        all[i] = before[(int)axis];
    }
    return seen == (1u << rank) - 1 ? CRD_OK : broken(shown, "its codec 'transpose' has an axis twice");
}

/* Axes of size 1 don't matter. */
static void take_order(const int all[CRD_ZARR_AXES], crd_zarr_layout *out)
{
    int count = 0;
    for (int i = 0; i < out->rank; i++) {
        if (all[i] >= out->rank - 3) out->order[count++] = all[i] - (out->rank - 3);
    }
    out->turned = out->order[0] != 0 || out->order[1] != 1;
}

/* What follows the bytes: at most one that packs, and checksums before and behind it. */
static crd_status take_packing(const char *shown, const cJSON *codec, crd_zarr_layout *out)
{
    if (is(codec, "crc32c")) {
        if (++out->outer_sums + out->inner_sums <= MOST_SUMS) return CRD_OK;
        return broken(shown, "it has more checksums than make sense");
    }
    if (out->codec != CRD_ZARR_RAW) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has its chunks packed twice, which credence doesn't undo", shown);
    }
    CRD_PASS(crd_zarr_codec_find(shown, name_of(codec), &out->codec));
    out->inner_sums = out->outer_sums;
    out->outer_sums = 0;
    return CRD_OK;
}

static crd_status take_index_codecs(const char *shown, const cJSON *codecs, crd_zarr_layout *out)
{
    const int count = cJSON_GetArraySize(codecs);
    const cJSON *last = cJSON_GetArrayItem(codecs, 1);
    if (count < 1 || count > 2 || !is(cJSON_GetArrayItem(codecs, 0), "bytes") || (count == 2 && !is(last, "crc32c"))) {
        return crd_fail(CRD_ERR_UNSUPPORTED,
                        "%s has shards whose index is coded in another way than bytes with or without crc32c", shown);
    }
    out->index_sum = count == 2;
    return take_endian(shown, cJSON_GetArrayItem(codecs, 0), 8, &out->index_swap);
}

static crd_status take_codecs(const char *shown, const cJSON *codecs, bool inner, crd_zarr_layout *out);

/* Chunks of chunks: what the grid called a chunk is a file. */
static crd_status take_shards(const char *shown, const cJSON *codec, const cJSON *shape, crd_zarr_layout *out)
{
    const cJSON *location = setting(codec, "index_location");
    const char *where = location != NULL ? cJSON_GetStringValue(location) : "end";
    int64_t file[3];
    memcpy(file, out->chunk, sizeof file);
    CRD_PASS(crd_zarr_take_shape(shown, shape, setting(codec, "chunk_shape"), "inner chunk_shape", out));
    for (int i = 0; i < 3; i++) {
        if (file[i] % out->chunk[i] != 0) return broken(shown, "its shards aren't whole numbers of chunks");
        out->shard[i] = file[i] / out->chunk[i];
    }
    if (where == NULL || (strcmp(where, "start") != 0 && strcmp(where, "end") != 0)) {
        return broken(shown, "its shards have their index neither at the start nor at the end");
    }
    out->sharded = true;
    out->index_first = strcmp(where, "start") == 0;
    CRD_PASS(take_index_codecs(shown, setting(codec, "index_codecs"), out));
    return take_codecs(shown, setting(codec, "codecs"), true, out);
}

static crd_status take_codecs(const char *shown, const cJSON *codecs, bool inner, crd_zarr_layout *out)
{
    int all[CRD_ZARR_AXES] = {0, 1, 2, 3, 4};
    const cJSON *codec = cJSON_GetArrayItem(codecs, 0);
    bool turned = false;
    if (!cJSON_IsArray(codecs)) return broken(shown, "its codecs are no list");
    for (; codec != NULL && is(codec, "transpose"); codec = codec->next, turned = true) {
        CRD_PASS(transpose(shown, codec, out->rank, all));
    }
    take_order(all, out);
    if (codec == NULL || !is(codec, "bytes")) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has its chunks coded by '%.40s'%s, which credence doesn't undo", shown,
                        codec != NULL ? name_of(codec) : "nothing",
                        inner    ? " in shards"
                        : turned ? " behind 'transpose'"
                                 : "");
    }
    CRD_PASS(take_endian(shown, codec, crd_stored_size(out->stored), &out->swap));
    for (codec = codec->next; codec != NULL; codec = codec->next) CRD_PASS(take_packing(shown, codec, out));
    return CRD_OK;
}

/* ---- the rest ---- */

static crd_status take_names(const char *shown, const cJSON *encoding, crd_zarr_layout *out)
{
    const cJSON *separator = setting(encoding, "separator");
    const char *word = cJSON_GetStringValue(separator);
    out->prefixed = is(encoding, "default");
    if (!out->prefixed && !is(encoding, "v2")) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s names its chunks by '%.40s', which credence doesn't know", shown,
                        name_of(encoding));
    }
    if (separator != NULL && (word == NULL || (strcmp(word, ".") != 0 && strcmp(word, "/") != 0))) {
        return broken(shown, "its separator is neither . nor /");
    }
    out->separator = word != NULL ? word[0] : out->prefixed ? '/' : '.';
    return CRD_OK;
}

/* What a reader doesn't know it must refuse, unless it is said to be harmless. */
static crd_status check_keys(const char *shown, const cJSON *root)
{
    static const char *const known[] = {
        "zarr_format",        "node_type",  "shape",  "data_type",  "chunk_grid",
        "chunk_key_encoding", "fill_value", "codecs", "attributes", "storage_transformers",
        "dimension_names"};
    const cJSON *item = NULL;
    if (cJSON_GetArraySize(crd_zarr_get(root, "storage_transformers")) > 0) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has storage transformers, which credence doesn't know", shown);
    }
    cJSON_ArrayForEach(item, root)
    {
        bool found = cJSON_IsFalse(crd_zarr_get(item, "must_understand"));
        for (size_t i = 0; i < sizeof known / sizeof known[0] && !found; i++) {
            found = strcmp(item->string, known[i]) == 0;
        }
        if (!found) {
            return crd_fail(CRD_ERR_UNSUPPORTED, "%s says '%.*s' of itself, which credence doesn't understand", shown,
                            WORD_BYTES, item->string);
        }
    }
    return CRD_OK;
}

crd_status crd_zarr_layout3_take(const char *shown, const cJSON *root, crd_zarr_layout *out)
{
    const cJSON *version = crd_zarr_get(root, "zarr_format"), *grid = crd_zarr_get(root, "chunk_grid");
    const cJSON *shape = crd_zarr_get(root, "shape"), *codecs = crd_zarr_get(root, "codecs");
    const char *type = cJSON_GetStringValue(crd_zarr_get(root, "node_type"));
    if (!cJSON_IsNumber(version) || version->valuedouble != 3.0 || type == NULL || strcmp(type, "array") != 0) {
        return broken(shown, "it describes no array of zarr version 3");
    }
    CRD_PASS(check_keys(shown, root));
    CRD_PASS(take_type(shown, crd_zarr_get(root, "data_type"), out));
    if (!is(grid, "regular")) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has chunks on a grid of the kind '%.40s'; credence reads regular ones",
                        shown, name_of(grid));
    }
    CRD_PASS(crd_zarr_take_shape(shown, shape, setting(grid, "chunk_shape"), "chunk_shape", out));
    CRD_PASS(take_names(shown, crd_zarr_get(root, "chunk_key_encoding"), out));
    CRD_PASS(crd_zarr_check_names(shown, crd_zarr_get(root, "dimension_names"), out->rank));
    CRD_PASS(take_fill(shown, crd_zarr_get(root, "fill_value"), out));
    if (cJSON_GetArraySize(codecs) == 1 && is(cJSON_GetArrayItem(codecs, 0), "sharding_indexed")) {
        return take_shards(shown, cJSON_GetArrayItem(codecs, 0), shape, out);
    }
    return take_codecs(shown, codecs, false, out);
}

/* ---- writing ---- */

static void add_bytes(crd_text *text, size_t size)
{
    crd_text_add(text, "{\"name\": \"bytes\"");
    if (size > 1) crd_text_print(text, ", \"configuration\": {\"endian\": \"%s\"}", CRD_BIG_ENDIAN ? "big" : "little");
    crd_text_add(text, "}");
}

static void add_codecs(crd_text *text, const crd_zarr_layout *layout)
{
    const size_t size = crd_stored_size(layout->stored);
    add_bytes(text, size);
    if (layout->codec == CRD_ZARR_BLOSC) {
        crd_text_print(text,
                       ", {\"name\": \"blosc\", \"configuration\": {\"cname\": \"zstd\", \"clevel\": %d, \"shuffle\": "
                       "\"shuffle\", \"typesize\": %zu, \"blocksize\": 0}}",
                       layout->level, size);
    } else if (layout->codec == CRD_ZARR_ZSTD) {
        crd_text_print(text, ", {\"name\": \"zstd\", \"configuration\": {\"level\": %d, \"checksum\": true}}",
                       layout->level);
    } else if (layout->codec == CRD_ZARR_GZIP) {
        crd_text_print(text, ", {\"name\": \"gzip\", \"configuration\": {\"level\": %d}}", layout->level);
    }
}

void crd_zarr_layout3_write(const crd_zarr_layout *layout, crd_text *text)
{
    size_t type = 0;
    int64_t file[3];
    while (types[type].stored != layout->stored) type++;
    for (int i = 0; i < 3; i++) file[i] = layout->chunk[i] * (layout->sharded ? layout->shard[i] : 1);
    crd_text_add(text, "{\n    \"zarr_format\": 3,\n    \"node_type\": \"array\",\n    \"shape\": ");
    crd_zarr_add_whole(text, layout->shape);
    crd_text_print(text,
                   ",\n    \"data_type\": \"%s\",\n    \"chunk_grid\": {\"name\": \"regular\", \"configuration\": "
                   "{\"chunk_shape\": ",
                   types[type].name);
    crd_zarr_add_whole(text, file);
    crd_text_print(text,
                   "}},\n    \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": "
                   "\"%c\"}},\n    \"fill_value\": ",
                   layout->separator);
    crd_text_real(text, layout->fill);
    crd_text_add(text, ",\n    \"codecs\": [");
    if (layout->sharded) {
        crd_text_add(text, "{\"name\": \"sharding_indexed\", \"configuration\": {\n        \"chunk_shape\": ");
        crd_zarr_add_whole(text, layout->chunk);
        crd_text_add(text, ",\n        \"codecs\": [");
        add_codecs(text, layout);
        crd_text_add(text, "],\n        \"index_codecs\": [");
        add_bytes(text, sizeof(uint64_t));
        crd_text_add(text, ", {\"name\": \"crc32c\"}],\n        \"index_location\": \"end\"}}");
    } else {
        add_codecs(text, layout);
    }
    crd_text_add(text, "],\n    \"dimension_names\": [\"z\", \"y\", \"x\"],\n    \"attributes\": {}\n}\n");
}
