#include "volume/array/npy_header.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "volume/types.h"

enum { MAGIC_BYTES = 6, HEADER_ALIGN = 64 };
static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

/* What numpy calls the types we read: kind and bytes. */
static const struct {
    const char *name;
    int stored;
} descriptions[] = {
    {"u1", CRD_U8},  {"b1", CRD_U8},  {"i1", CRD_I8},         {"u2", CRD_U16},        {"i2", CRD_I16}, {"u4", CRD_U32},
    {"i4", CRD_I32}, {"u8", CRD_U64}, {"i8", CRD_STORED_I64}, {"f2", CRD_STORED_F16}, {"f4", CRD_F32}, {"f8", CRD_F64},
};

bool crd_npy_is(const unsigned char *head, size_t count)
{
    return count >= MAGIC_BYTES && memcmp(head, magic, MAGIC_BYTES) == 0;
}

crd_status crd_npy_prefix(const char *path, const unsigned char *prefix, size_t count, size_t *start, size_t *length)
{
    if (!crd_npy_is(prefix, count)) return crd_fail(CRD_ERR_FORMAT, "%s doesn't begin like a NumPy file", path);
    if (count < CRD_NPY_PREFIX) return crd_fail(CRD_ERR_FORMAT, "%s is cut off within its NumPy header", path);
    const int major = prefix[6], minor = prefix[7];
    if (major < 1 || major > 3) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s has NumPy format version %d.%d; versions 1.0 to 3.0 are known", path,
                        major, minor);
    }
    if (major == 1) {
        *start = 10;
        *length = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    } else {
        *start = 12;
        *length = (size_t)prefix[8] | (size_t)prefix[9] << 8 | (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (*length > CRD_NPY_HEADER_LIMIT) {
        return crd_fail(CRD_ERR_FORMAT, "%s claims a NumPy header of %zu bytes, which is no volume's", path, *length);
    }
    return CRD_OK;
}

bool crd_npy_type(const char *text, int *stored, bool *swap)
{
    const bool big = text[0] == '>' || (text[0] == '=' && CRD_BIG_ENDIAN) || (text[0] == '|' && CRD_BIG_ENDIAN);
    if (text[0] == '\0' || strchr("<>|=", text[0]) == NULL) return false;
    for (size_t i = 0; i < sizeof descriptions / sizeof descriptions[0]; i++) {
        if (strcmp(text + 1, descriptions[i].name) != 0) continue;
        *stored = descriptions[i].stored;
        *swap = big != (CRD_BIG_ENDIAN != 0);
        return true;
    }
    return false;
}

void crd_npy_type_name(crd_type type, char out[4])
{
    static const char *const names[CRD_TYPE_COUNT] = {
        [CRD_U8] = "u1",  [CRD_I8] = "i1",  [CRD_U16] = "u2", [CRD_I16] = "i2", [CRD_U32] = "u4",
        [CRD_I32] = "i4", [CRD_F32] = "f4", [CRD_F64] = "f8", [CRD_U64] = "u8",
    };
    const char order = crd_type_size(type) == 1 ? '|' : CRD_BIG_ENDIAN ? '>' : '<';
    snprintf(out, 4, "%c%s", order, names[type]);
}

/* A reader over the dictionary's text. Every step looks at `end`; the text may hold anything. */
typedef struct cursor {
    const char *path;
    const char *at, *end;
} cursor;

static void skip_space(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(cursor *c, char wanted)
{
    skip_space(c);
    if (c->at == c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    const size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return false;
    c->at += length;
    return true;
}

static crd_status broken(const cursor *c, const char *what)
{
    return crd_fail(CRD_ERR_FORMAT, "%s has a broken NumPy header: %s", c->path, what);
}

/* A quoted string without escapes, which the header never needs. */
static crd_status take_string(cursor *c, char *out, size_t room)
{
    size_t used = 0;
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return broken(c, "a quoted text is missing");
    const char quote = *c->at++;
    for (; c->at < c->end && *c->at != quote; c->at++) {
        if (used + 1 >= room || !isprint((unsigned char)*c->at) || *c->at == '\\') {
            return broken(c, "a quoted text is too long or has odd characters");
        }
        out[used++] = *c->at;
    }
    if (c->at == c->end) return broken(c, "a quoted text doesn't end");
    c->at++;
    out[used] = '\0';
    return CRD_OK;
}

static crd_status take_shape(cursor *c, crd_npy_header *out)
{
    out->dim_count = 0;
    if (!take(c, '(')) return broken(c, "the shape is no tuple");
    while (!take(c, ')')) {
        int64_t value = 0;
        skip_space(c);
        if (c->at == c->end || !isdigit((unsigned char)*c->at)) return broken(c, "the shape holds no plain numbers");
        for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++) {
            if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c->at - '0', &value)) {
                return broken(c, "a number in the shape is too large");
            }
        }
        (void)take(c, 'L'); /* long integers of Python 2 */
        if (out->dim_count == CRD_NPY_DIMS) return broken(c, "the shape has too many dimensions for a volume");
        out->dims[out->dim_count++] = value;
        if (!take(c, ',')) {
            if (!take(c, ')')) return broken(c, "the shape doesn't end");
            break;
        }
    }
    return CRD_OK;
}

static crd_status take_type(cursor *c, crd_npy_header *out)
{
    char text[32];
    skip_space(c);
    if (c->at < c->end && *c->at == '[') {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s holds records, not plain numbers, and is no volume", c->path);
    }
    CRD_PASS(take_string(c, text, sizeof text));
    if (crd_npy_type(text, &out->stored, &out->swap)) return CRD_OK;
    return crd_fail(CRD_ERR_UNSUPPORTED, "%s holds values of NumPy type '%s'; credence reads bool, integers and floats",
                    c->path, text);
}

crd_status crd_npy_parse(const char *path, const char *text, size_t length, crd_npy_header *out)
{
    cursor c = {.path = path, .at = text, .end = text + length};
    bool type_seen = false, order_seen = false, shape_seen = false;
    char key[32];
    *out = (crd_npy_header){0};
    if (!take(&c, '{')) return broken(&c, "it is no dictionary");
    while (!take(&c, '}')) {
        CRD_PASS(take_string(&c, key, sizeof key));
        if (!take(&c, ':')) return broken(&c, "a key has no value");
        if (strcmp(key, "descr") == 0 && !type_seen) {
            CRD_PASS(take_type(&c, out));
            type_seen = true;
        } else if (strcmp(key, "fortran_order") == 0 && !order_seen) {
            out->fortran = take_word(&c, "True");
            if (!out->fortran && !take_word(&c, "False")) return broken(&c, "fortran_order is neither True nor False");
            order_seen = true;
        } else if (strcmp(key, "shape") == 0 && !shape_seen) {
            CRD_PASS(take_shape(&c, out));
            shape_seen = true;
        } else {
            return crd_fail(CRD_ERR_FORMAT, "%s has a NumPy header with the key '%s' unknown or twice", path, key);
        }
        if (!take(&c, ',')) {
            if (!take(&c, '}')) return broken(&c, "the dictionary doesn't end");
            break;
        }
    }
    skip_space(&c);
    if (c.at != c.end) return broken(&c, "something follows the dictionary");
    if (!type_seen || !order_seen || !shape_seen) return broken(&c, "descr, fortran_order or shape is missing");
    return CRD_OK;
}

size_t crd_npy_write(const crd_volume_info *info, char *out, size_t room)
{
    char type[4];
    const size_t prefix = MAGIC_BYTES + 4;
    memcpy(out, magic, MAGIC_BYTES);
    crd_npy_type_name(info->type, type);
    const int text =
        snprintf(out + prefix, room - prefix, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld, %lld), }",
                 type, (long long)info->shape[0], (long long)info->shape[1], (long long)info->shape[2]);
    const size_t used = prefix + (size_t)text + 1;
    const size_t total = (used + HEADER_ALIGN - 1) / HEADER_ALIGN * HEADER_ALIGN;
    memset(out + used - 1, ' ', total - used);
    out[total - 1] = '\n';
    out[6] = 1;
    out[7] = 0;
    out[8] = (char)((total - prefix) & 0xff);
    out[9] = (char)((total - prefix) >> 8);
    return total;
}
