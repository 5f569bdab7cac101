/* The OME-XML of a file that is called .ome.tif: one image, one channel, one time, all pages in this file. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "volume/own_keys.h"
#include "volume/tiff/tiff.h"
#include "volume/types.h"
#include "volume/units.h"

/* OME's symbols, in characters that a TIFF description may hold. NULL: none of OME's. */
static const char *ome_unit(const char *unit)
{
    static const char *const units[][2] = {{"pm", "pm"}, {"A", "&#197;"}, {"nm", "nm"}, {"um", "&#181;m"},
                                           {"mm", "mm"}, {"cm", "cm"},    {"m", "m"},   {"inch", "in"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i][0]) == 0) return units[i][1];
    }
    return NULL;
}

static void describe(const crd_volume_info *info, crd_text *text)
{
    static const char *const types[CRD_TYPE_COUNT] = {
        [CRD_U8] = "uint8",  [CRD_I8] = "int8",   [CRD_U16] = "uint16", [CRD_I16] = "int16",  [CRD_U32] = "uint32",
        [CRD_I32] = "int32", [CRD_F32] = "float", [CRD_F64] = "double", [CRD_U64] = "uint64",
    };
    static const char *const axes[3] = {"Z", "Y", "X"};
    const char *unit = ome_unit(info->unit);
    const unsigned own_keys =
        crd_own_keys_needed(info, CRD_OWN_SCALE | CRD_OWN_ORIGIN | (unit != NULL ? 0 : CRD_OWN_UNIT));
    crd_text_add(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<OME xmlns=\"http://www.openmicroscopy.org/Schemas/OME/2016-06\" "
                       "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                       "xsi:schemaLocation=\"http://www.openmicroscopy.org/Schemas/OME/2016-06 "
                       "http://www.openmicroscopy.org/Schemas/OME/2016-06/ome.xsd\">\n");
    if (own_keys != 0) {
        crd_volume_info plain = *info;
        for (char *c = plain.unit; *c != '\0'; c++) *c = *c == '-' || *c == '>' ? '_' : *c; /* would end the comment */
        crd_text_add(text, "<!--\n");
        crd_own_keys_write(&plain, own_keys, "=", "\n", text);
        crd_text_add(text, "-->\n");
    }
    crd_text_print(
        text,
        "<Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\" DimensionOrder=\"XYZCT\" Type=\"%s\" BigEndian=\"%s\" "
        "SizeX=\"%lld\" SizeY=\"%lld\" SizeZ=\"%lld\" SizeC=\"1\" SizeT=\"1\"",
        types[info->type], CRD_BIG_ENDIAN ? "true" : "false", (long long)info->shape[2], (long long)info->shape[1],
        (long long)info->shape[0]);
    for (int i = 2; i >= 0 && info->spacing[0] > 0.0; i--) {
        crd_text_print(text, " PhysicalSize%s=\"", axes[i]);
        crd_text_real(text, info->spacing[i]);
        crd_text_print(text, "\" PhysicalSize%sUnit=\"%s\"", axes[i], unit != NULL ? unit : "pixel");
    }
    crd_text_print(
        text,
        "><Channel ID=\"Channel:0:0\" SamplesPerPixel=\"1\"/><TiffData IFD=\"0\" PlaneCount=\"%lld\"/></Pixels>"
        "</Image>\n</OME>\n",
        (long long)info->shape[0]);
}

size_t crd_tiff_describe_ome(const crd_volume_info *info, char *out, size_t room)
{
    crd_text text = {0};
    char *words = NULL;
    size_t used = 0;
    describe(info, &text);
    if (crd_text_finish(&text, &words) == CRD_OK && strlen(words) < room) {
        used = strlen(words);
        memcpy(out, words, used + 1);
    }
    crd_text_free(&text);
    crd_free(&words);
    return used;
}
