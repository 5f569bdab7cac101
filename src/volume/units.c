#include "volume/units.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"

/* Spellings seen in files: ImageJ writes "\u00B5m" as those six ASCII characters before the m, older TIFF tools the
 * bare Latin-1 byte, OME the character itself; Greek mu looks the same and is another character. */
static const struct unit_row {
    const char *name;
    double um;
    const char *spellings; /* lower case, between spaces */
} unit_rows[] = {
    {"pm", 1e-6, " pm picometer picometre picometers picometres "},
    {"A", 1e-4, " a angstrom angstroms \xc3\xa5 \xc3\x85 "},
    {"nm", 1e-3, " nm nanometer nanometre nanometers nanometres "},
    {"um", 1.0,
     " um micron microns micrometer micrometre micrometers micrometres \xc2\xb5m \xce\xbcm \xb5m \\u00b5m \\u03bcm "
     "u \xc2\xb5 \xce\xbc "},
    {"mm", 1e3, " mm millimeter millimetre millimeters millimetres "},
    {"cm", 1e4, " cm centimeter centimetre centimeters centimetres "},
    {"m", 1e6, " m meter metre meters metres "},
    {"inch", 25400.0, " inch inches in \" "},
    {"", 0.0, " pixel pixels px voxel voxels none unknown "},
};

void crd_unit_normalise(const char *text, char out[CRD_UNIT_BYTES])
{
    char word[32] = " ";
    size_t used = 1, kept = 0;
    memset(out, 0, CRD_UNIT_BYTES);
    if (text == NULL) return;
    while (*text == ' ' || *text == '\t') text++;
    for (const char *c = text; *c != '\0' && used < sizeof word - 2; c++) {
        word[used++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    while (used > 1 && (word[used - 1] == ' ' || word[used - 1] == '\n' || word[used - 1] == '\r')) used--;
    word[used] = ' ';
    word[used + 1] = '\0';
    if (used > 1 && memchr(word + 1, ' ', used - 1) == NULL) {
        for (size_t i = 0; i < sizeof unit_rows / sizeof unit_rows[0]; i++) {
            if (strstr(unit_rows[i].spellings, word) == NULL) continue;
            memcpy(out, unit_rows[i].name, strlen(unit_rows[i].name));
            return;
        }
    }
    for (const char *c = text; *c != '\0' && kept < CRD_UNIT_BYTES - 1; c++) {
        if ((unsigned char)*c >= 0x20 && *c != 0x7f) out[kept++] = *c;
    }
    if (kept == CRD_UNIT_BYTES - 1) { /* perhaps cut inside a character: drop its beginning */
        while (kept > 0 && ((unsigned char)out[kept - 1] & 0xc0) == 0x80) out[--kept] = '\0';
        if (kept > 0 && (unsigned char)out[kept - 1] >= 0xc0) out[--kept] = '\0';
    }
    crd_clean_line(out);
    while (kept > 0 && out[kept - 1] == ' ') out[--kept] = '\0';
}

double crd_unit_in_um(const char *unit)
{
    for (size_t i = 0; i < sizeof unit_rows / sizeof unit_rows[0]; i++) {
        if (strcmp(unit, unit_rows[i].name) == 0) return unit_rows[i].um;
    }
    return 0.0;
}
