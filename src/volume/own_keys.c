#include "volume/own_keys.h"

#include <string.h>

#include "base/number.h"
#include "volume/units.h"

unsigned crd_own_keys_needed(const crd_volume_info *info, unsigned wanted)
{
    unsigned needed = 0;
    if (info->spacing[0] > 0.0) needed |= CRD_OWN_SPACING;
    if (info->unit[0] != '\0') needed |= CRD_OWN_UNIT;
    if (info->scale != 1.0) needed |= CRD_OWN_SCALE;
    if (info->origin[0] != 0 || info->origin[1] != 0 || info->origin[2] != 0) needed |= CRD_OWN_ORIGIN;
    return needed & wanted;
}

void crd_own_keys_write(const crd_volume_info *info, unsigned which, const char *equals, const char *end,
                        crd_text *text)
{
    if (which & CRD_OWN_SPACING) {
        crd_text_print(text, "credence_spacing%s", equals);
        for (int i = 0; i < 3; i++) {
            if (i > 0) crd_text_add(text, ",");
            crd_text_real(text, info->spacing[i]);
        }
        crd_text_add(text, end);
    }
    if (which & CRD_OWN_UNIT) {
        char unit[sizeof info->unit];
        memcpy(unit, info->unit, sizeof unit);
        for (char *c = unit; *c != '\0'; c++) *c = *c == ';' ? ',' : *c;
        crd_text_print(text, "credence_unit%s%s%s", equals, unit, end);
    }
    if (which & CRD_OWN_SCALE) {
        crd_text_print(text, "credence_scale%s", equals);
        crd_text_real(text, info->scale);
        crd_text_add(text, end);
    }
    if (which & CRD_OWN_ORIGIN) {
        crd_text_print(text, "credence_origin%s%lld,%lld,%lld%s", equals, (long long)info->origin[0],
                       (long long)info->origin[1], (long long)info->origin[2], end);
    }
}

static bool take_triple(const char *value, size_t length, double out[3])
{
    for (int i = 0; i < 3; i++) {
        const char *comma = i < 2 ? memchr(value, ',', length) : NULL;
        const size_t part = comma != NULL ? (size_t)(comma - value) : length;
        if ((i < 2 && comma == NULL) || !crd_parse_real(value, part, &out[i])) return false;
        value += part + (i < 2), length -= part + (i < 2);
    }
    return true;
}

void crd_own_keys_take(const char *key, size_t key_length, const char *value, size_t length, crd_volume_info *info,
                       unsigned *found)
{
    static const char prefix[] = "credence_";
    const size_t skipped = sizeof prefix - 1;
    double three[3], scale;
    char word[64];
    if (key_length <= skipped || strncmp(key, prefix, skipped) != 0 || key_length - skipped >= sizeof word) return;
    memcpy(word, key + skipped, key_length - skipped);
    word[key_length - skipped] = '\0';
    if (strcmp(word, "spacing") == 0) {
        if (!take_triple(value, length, three) || !(three[0] > 0.0 && three[1] > 0.0 && three[2] > 0.0)) return;
        memcpy(info->spacing, three, sizeof three);
        *found |= CRD_OWN_SPACING;
    } else if (strcmp(word, "unit") == 0 && length < sizeof word) {
        memcpy(word, value, length);
        word[length] = '\0';
        crd_unit_normalise(word, info->unit);
        *found |= CRD_OWN_UNIT;
    } else if (strcmp(word, "scale") == 0 && crd_parse_real(value, length, &scale) && scale > 0.0) {
        info->scale = scale;
        *found |= CRD_OWN_SCALE;
    } else if (strcmp(word, "origin") == 0 && take_triple(value, length, three)) {
        for (int i = 0; i < 3; i++) {
            if (!(three[i] >= -0x1p53 && three[i] <= 0x1p53)) return;
        }
        for (int i = 0; i < 3; i++) info->origin[i] = (int64_t)three[i];
        *found |= CRD_OWN_ORIGIN;
    }
}

void crd_own_keys_read(const char *text, size_t length, crd_volume_info *info, unsigned *found)
{
    const char *end = text + length;
    while (text < end) {
        const char *stop = text, *equals = NULL;
        for (; stop < end && *stop != ';' && *stop != '\n' && *stop != '\0'; stop++) {
            if (*stop == '=' && equals == NULL) equals = stop;
        }
        while (text < stop && *text == ' ') text++;
        if (equals != NULL && equals >= text) {
            crd_own_keys_take(text, (size_t)(equals - text), equals + 1, (size_t)(stop - equals - 1), info, found);
        }
        text = stop + 1;
    }
}
