#include "base/bytes.h"

#include <ctype.h>
#include <string.h>

#include "base/number.h"

uint64_t crd_fnv1a(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t crd_little_endian(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

crd_status crd_parse_bytes(const char *text, const char *name, int64_t *out)
{
    static const char letters[] = "KMGT";
    double number;
    const size_t length = strspn(text, "0123456789.");
    const char *unit = text + length;
    double factor = 1.0;
    const char *letter = *unit != '\0' ? strchr(letters, toupper((unsigned char)*unit)) : NULL;
    if (letter != NULL) {
        for (const char *p = letters; p <= letter; p++) factor *= 1024.0;
        unit++;
    }
    if (strcmp(unit, "iB") == 0 || strcmp(unit, "B") == 0) unit += strlen(unit);
    if (length == 0 || *unit != '\0' || !crd_parse_real(text, length, &number) || number * factor < 1.0 ||
        number * factor > 0x1p62) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s must be a size such as 4G or 900M, or auto, not '%s'", name, text);
    }
    if (letter == NULL && number < 1e6) {
        return crd_fail(CRD_ERR_ARGUMENT, "%s %s means %s bytes; did you mean %sG?", name, text, text, text);
    }
    *out = (int64_t)(number * factor);
    return CRD_OK;
}

crd_status crd_check_bytes(const char *name, const char *text)
{
    int64_t bytes;
    return strcmp(text, "auto") == 0 ? CRD_OK : crd_parse_bytes(text, name, &bytes);
}
