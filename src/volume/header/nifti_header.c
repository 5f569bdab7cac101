#include "volume/header/nifti_header.h"

#include <math.h>
#include <nifti2_io.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "volume/own_keys.h"
#include "volume/types.h"
#include "volume/units.h"

enum { EXTENDER = 4, EXTENSION_HEAD = 8, EXTENSION_ALIGN = 16 };

static const struct {
    int code, stored;
} types[] = {
    {DT_UINT8, CRD_U8},  {DT_INT8, CRD_I8},     {DT_UINT16, CRD_U16},  {DT_INT16, CRD_I16},        {DT_UINT32, CRD_U32},
    {DT_INT32, CRD_I32}, {DT_FLOAT32, CRD_F32}, {DT_FLOAT64, CRD_F64}, {DT_INT64, CRD_STORED_I64}, {DT_UINT64, CRD_U64},
};

/* ---- reading ---- */

size_t crd_nifti_is(const unsigned char *head, size_t count)
{
    int32_t size;
    if (count < CRD_NIFTI_1) return 0;
    memcpy(&size, head, sizeof size);
    const int32_t swapped = (int32_t)__builtin_bswap32((uint32_t)size);
    if (size == CRD_NIFTI_1 || swapped == CRD_NIFTI_1) {
        return memcmp(head + 344, "n+1", 4) == 0 || memcmp(head + 344, "ni1", 4) == 0 ? CRD_NIFTI_1 : 0;
    }
    if (size == CRD_NIFTI_2 || swapped == CRD_NIFTI_2) {
        return memcmp(head + 4, "n+2", 4) == 0 || memcmp(head + 4, "ni2", 4) == 0 ? CRD_NIFTI_2 : 0;
    }
    return 0;
}

/* What libnifti would print about, or compute with unchecked. */
static crd_status check(const char *path, const int64_t dim[8], int type, double offset, crd_nifti_header *out)
{
    size_t i = 0;
    if (dim[0] < 3 || dim[0] > 7 || (dim[0] > 3 && dim[4] > 1) || (dim[0] > 4 && dim[5] > 1) ||
        (dim[0] > 5 && dim[6] > 1) || (dim[0] > 6 && dim[7] > 1)) {
        return crd_fail(
            CRD_ERR_UNSUPPORTED,
            "%s holds a NIfTI image of %lld dimensions (%lld x %lld x %lld x %lld ...); a volume has three, and "
            "1 in all others",
            path, (long long)dim[0], (long long)dim[1], (long long)dim[2], (long long)dim[3], (long long)dim[4]);
    }
    for (int axis = 1; axis <= 3; axis++) {
        int64_t voxels;
        if (dim[axis] < 1 || crd_product(dim[1], dim[2], dim[3], &voxels) != CRD_OK || voxels > INT64_MAX / 64) {
            return crd_fail(CRD_ERR_FORMAT, "%s can't hold a volume of shape (%lld, %lld, %lld)", path,
                            (long long)dim[3], (long long)dim[2], (long long)dim[1]);
        }
        out->info.shape[3 - axis] = dim[axis];
    }
    while (i < sizeof types / sizeof types[0] && types[i].code != type) i++;
    if (i == sizeof types / sizeof types[0]) {
        return crd_fail(CRD_ERR_UNSUPPORTED, "%s holds values of NIfTI type %d; credence reads integers and floats",
                        path, type);
    }
    out->stored = types[i].stored;
    if (!(offset >= 0.0 && offset <= 0x1p31 - 65.0)) {
        return crd_fail(CRD_ERR_FORMAT, "%s has a broken NIfTI header: its voxels begin at byte %g", path, offset);
    }
    out->offset = (int64_t)offset;
    return CRD_OK;
}

/* A float that stands for a decimal number: 0.65f is read as 0.65. */
static double as_written(double value)
{
    for (int digits = 6; digits <= 9; digits++) {
        crd_text text = {0};
        char *words = NULL;
        double back = 0.0;
        crd_text_number(&text, value, digits, "0");
        const bool good = crd_text_finish(&text, &words) == CRD_OK && crd_parse_real(words, strlen(words), &back);
        crd_free(&words);
        crd_text_free(&text);
        if (good && (float)back == (float)value) return back;
    }
    return value;
}

static void take_space(const nifti_image *nim, const double edges[3], crd_nifti_header *out)
{
    static const struct {
        int code;
        const char *unit;
    } units[] = {{NIFTI_UNITS_METER, "m"}, {NIFTI_UNITS_MM, "mm"}, {NIFTI_UNITS_MICRON, "um"}};
    crd_volume_info *info = &out->info;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (nim->xyz_units == units[i].code) memcpy(info->unit, units[i].unit, strlen(units[i].unit) + 1);
    }
    /* Nobody said anything: all ones are what writers put there. */
    const bool said = nim->qform_code > 0 || nim->sform_code > 0 || info->unit[0] != '\0' || edges[0] != 1.0 ||
                      edges[1] != 1.0 || edges[2] != 1.0;
    for (int i = 0; i < 3; i++) {
        const double edge = fabs(edges[i]);
        info->spacing[2 - i] = !said ? 0.0 : out->version == 1 ? as_written(edge) : edge;
    }
    if (nim->sform_code > 0) {
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++)
                out->turned = out->turned ||
                              (i != k ? fabs((double)nim->sto_xyz.m[i][k]) > 1e-6 : (double)nim->sto_xyz.m[i][k] < 0.0);
        }
    } else if (nim->qform_code > 0) {
        out->turned = nim->qfac < 0.0 || fabs(nim->quatern_b) + fabs(nim->quatern_c) + fabs(nim->quatern_d) > 1e-6;
    }
}

static crd_status convert(const char *path, nifti_image *nim, const double edges[3], crd_nifti_header *out)
{
    if (nim == NULL) return crd_fail(CRD_ERR_FORMAT, "%s has a broken NIfTI header", path);
    take_space(nim, edges, out);
    out->info.type = crd_stored_widened(out->stored);
    out->info.scale = 1.0;
    out->intercept = isfinite(nim->scl_inter) && nim->scl_slope != 0.0 ? nim->scl_inter : 0.0;
    if (isfinite(nim->scl_slope) && nim->scl_slope != 0.0) {
        out->info.scale = out->version == 1 ? as_written(nim->scl_slope) : nim->scl_slope;
    }
    nifti_image_free(nim);
    return CRD_OK;
}

static crd_status parse_1(const char *path, const void *head, crd_nifti_header *out)
{
    nifti_1_header h;
    int64_t dim[8];
    memcpy(&h, head, sizeof h);
    out->swap = h.sizeof_hdr != CRD_NIFTI_1;
    if (out->swap) swap_nifti_header(&h, 1);
    for (int i = 0; i < 8; i++) dim[i] = h.dim[i];
    CRD_PASS(check(path, dim, h.datatype, (double)h.vox_offset, out));
    out->pair = h.magic[1] == 'i';
    const double edges[3] = {(double)h.pixdim[1], (double)h.pixdim[2], (double)h.pixdim[3]};
    h.sizeof_hdr = CRD_NIFTI_1;
    return convert(path, nifti_convert_n1hdr2nim(h, NULL), edges, out);
}

static crd_status parse_2(const char *path, const void *head, crd_nifti_header *out)
{
    nifti_2_header h;
    int64_t dim[8];
    memcpy(&h, head, sizeof h);
    out->swap = h.sizeof_hdr != CRD_NIFTI_2;
    if (out->swap) swap_nifti_header(&h, 2);
    memcpy(dim, h.dim, sizeof dim);
    CRD_PASS(check(path, dim, h.datatype, (double)h.vox_offset, out));
    out->pair = h.magic[1] == 'i';
    double edges[3];
    memcpy(edges, h.pixdim + 1, sizeof edges);
    return convert(path, nifti_convert_n2hdr2nim(h, NULL), edges, out);
}

crd_status crd_nifti_parse(const char *path, const void *head, size_t bytes, crd_nifti_header *out)
{
    const size_t needed = crd_nifti_is(head, bytes);
    memset(out, 0, sizeof *out);
    if (needed == 0) return crd_fail(CRD_ERR_FORMAT, "%s doesn't begin like a NIfTI file", path);
    if (bytes < needed) return crd_fail(CRD_ERR_FORMAT, "%s is cut off within its NIfTI header", path);
    nifti_set_debug_level(0);
    out->version = needed == CRD_NIFTI_1 ? 1 : 2;
    CRD_PASS(out->version == 1 ? parse_1(path, head, out) : parse_2(path, head, out));
    if (!out->pair && out->offset < (int64_t)needed) out->offset = (int64_t)needed + EXTENDER;
    return CRD_OK;
}

void crd_nifti_take_extensions(const unsigned char *text, size_t bytes, crd_nifti_header *header)
{
    crd_volume_info said = {.scale = 1.0};
    unsigned found = 0;
    crd_volume_info *info = &header->info;
    if (bytes < EXTENDER || text[0] == 0) return;
    for (size_t at = EXTENDER; bytes - at > EXTENSION_HEAD;) {
        int32_t size, code;
        memcpy(&size, text + at, sizeof size);
        memcpy(&code, text + at + 4, sizeof code);
        if (header->swap) size = (int32_t)__builtin_bswap32((uint32_t)size);
        if (header->swap) code = (int32_t)__builtin_bswap32((uint32_t)code);
        if (size <= EXTENSION_HEAD || (size_t)size > bytes - at) return;
        if (code == NIFTI_ECODE_COMMENT) {
            crd_own_keys_read((const char *)text + at + EXTENSION_HEAD, (size_t)size - EXTENSION_HEAD, &said, &found);
        }
        at += (size_t)size;
    }
    /* A header that another program changed since is believed rather than the comment. */
    const double factor = found & CRD_OWN_UNIT ? crd_unit_in_um(said.unit) / crd_unit_in_um(info->unit) : 1.0;
    if (found & CRD_OWN_SPACING) {
        bool same = isfinite(factor) && factor > 0.0;
        for (int i = 0; i < 3; i++) same = same && fabs(said.spacing[i] * factor / info->spacing[i] - 1.0) < 1e-6;
        if (same) {
            memcpy(info->spacing, said.spacing, sizeof info->spacing);
            if (found & CRD_OWN_UNIT) memcpy(info->unit, said.unit, sizeof info->unit);
        }
    } else if ((found & CRD_OWN_UNIT) && info->unit[0] == '\0') {
        memcpy(info->unit, said.unit, sizeof info->unit);
    }
    if ((found & CRD_OWN_SCALE) && fabs(said.scale / info->scale - 1.0) < 1e-6) info->scale = said.scale;
    if (found & CRD_OWN_ORIGIN) memcpy(info->origin, said.origin, sizeof info->origin);
}

/* ---- writing ---- */

/* The unit of the three that NIfTI has, and the factor to it; 0 where it is none of length. */
static int choose_unit(const char *unit, double *factor)
{
    const double um = crd_unit_in_um(unit);
    *factor = 1.0;
    if (strcmp(unit, "mm") == 0) return NIFTI_UNITS_MM;
    if (strcmp(unit, "m") == 0) return NIFTI_UNITS_METER;
    if (!(um > 0.0)) return NIFTI_UNITS_UNKNOWN;
    *factor = um;
    return NIFTI_UNITS_MICRON;
}

static void fill(const crd_volume_info *info, int64_t head, int version, nifti_image *nim)
{
    double factor;
    size_t type = 0;
    while (types[type].stored != (int)info->type) type++;
    nim->datatype = types[type].code;
    nim->nbyper = (int)crd_type_size(info->type);
    nim->dim[0] = nim->ndim = 3;
    nim->nvox = 1;
    for (int i = 1; i < 8; i++) {
        nim->dim[i] = i <= 3 ? info->shape[3 - i] : 1;
        nim->nvox *= nim->dim[i];
        nim->pixdim[i] = 1.0;
    }
    nim->nx = nim->dim[1], nim->ny = nim->dim[2], nim->nz = nim->dim[3];
    nim->nt = nim->nu = nim->nv = nim->nw = 1;
    nim->xyz_units = choose_unit(info->unit, &factor);
    nim->qfac = 1.0;
    nim->pixdim[0] = 1.0;
    if (info->spacing[0] > 0.0) {
        for (int i = 1; i <= 3; i++) nim->pixdim[i] = info->spacing[3 - i] * factor;
        nim->qform_code = NIFTI_XFORM_SCANNER_ANAT;
        nim->qoffset_x = (double)info->origin[2] * nim->pixdim[1];
        nim->qoffset_y = (double)info->origin[1] * nim->pixdim[2];
        nim->qoffset_z = (double)info->origin[0] * nim->pixdim[3];
    }
    nim->dx = nim->pixdim[1], nim->dy = nim->pixdim[2], nim->dz = nim->pixdim[3];
    nim->scl_slope = info->scale;
    nim->nifti_type = version == 1 ? NIFTI_FTYPE_NIFTI1_1 : NIFTI_FTYPE_NIFTI2_1;
    nim->iname_offset = head;
}

/* What the header's own numbers can't give back. */
static unsigned extras_needed(const crd_volume_info *info, int version)
{
    double factor;
    const int unit = choose_unit(info->unit, &factor);
    unsigned needed = crd_own_keys_needed(info, CRD_OWN_ORIGIN);
    bool exact = factor == 1.0;
    for (int i = 0; i < 3; i++)
        exact = exact && (version == 2 || as_written((double)(float)info->spacing[i]) == info->spacing[i]);
    if (!exact) needed |= crd_own_keys_needed(info, CRD_OWN_SPACING);
    if (factor != 1.0 || unit == NIFTI_UNITS_UNKNOWN) needed |= crd_own_keys_needed(info, CRD_OWN_UNIT);
    if (version == 1 && as_written((double)(float)info->scale) != info->scale) needed |= CRD_OWN_SCALE;
    return needed;
}

crd_status crd_nifti_write(const char *path, const crd_volume_info *info, char **out, size_t *bytes)
{
    crd_status status = CRD_OK;
    crd_text words = {0};
    nifti_image *nim = NULL;
    char *file = NULL;
    int version = 1;
    for (int i = 0; i < 3; i++) version = info->shape[i] > INT16_MAX ? 2 : version;
    const size_t head = version == 1 ? CRD_NIFTI_1 : CRD_NIFTI_2;
    crd_own_keys_write(info, extras_needed(info, version), "=", "\n", &words);
    CRD_TRY(words.status);
    size_t comment = words.length > 0 ? EXTENSION_HEAD + (size_t)words.length : 0;
    comment = (comment + EXTENSION_ALIGN - 1) / EXTENSION_ALIGN * EXTENSION_ALIGN;
    /* Voxels begin at a multiple of 16, as NIfTI wants it; 352 and 544 are. */
    *bytes = head + EXTENDER + comment;
    CRD_TRY(crd_alloc((int64_t)*bytes, 1, "a NIfTI header", &file));
    nifti_set_debug_level(0);
    nim = nifti_simple_init_nim();
    if (nim == NULL) CRD_FAIL(CRD_ERR_MEMORY, "not enough memory to write %s", path);
    fill(info, (int64_t)*bytes, version, nim);
    nifti_1_header one;
    nifti_2_header two;
    const int failed = version == 1 ? nifti_convert_nim2n1hdr(nim, &one) : nifti_convert_nim2n2hdr(nim, &two);
    if (failed) CRD_FAIL(CRD_ERR_INTERNAL, "%s can't be described by a NIfTI header", path);
    memcpy(two.magic, "n+2\0\r\n\032\n", sizeof two.magic); /* libnifti writes the first four bytes only */
    memcpy(file, version == 1 ? (const void *)&one : &two, head);
    if (comment > 0) {
        const int32_t size = (int32_t)comment, code = NIFTI_ECODE_COMMENT;
        file[head] = 1;
        memcpy(file + head + EXTENDER, &size, sizeof size);
        memcpy(file + head + EXTENDER + 4, &code, sizeof code);
        memcpy(file + head + EXTENDER + EXTENSION_HEAD, words.data, (size_t)words.length);
    }
    *out = file;
    file = NULL;
done:
    nifti_image_free(nim);
    crd_text_free(&words);
    crd_free(&file);
    return status;
}
