#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "credence/volume.h"
#include "volume/setting_checks.h"
#include "volume/units.h"

crd_status crd_spacing_parse(const char *text, double spacing[3], char unit[CRD_UNIT_BYTES])
{
    const char *rest = text;
    double edges[3];
    for (int i = 0; i < 3; i++) {
        const size_t width = strcspn(rest, ",");
        if (!crd_parse_real(rest, width, &edges[i]) || !(edges[i] > 0) || (i < 2 && rest[width] != ',')) goto bad;
        rest += width + (rest[width] == ',');
    }
    if (strchr(rest, ',') != NULL) goto bad;
    memcpy(spacing, edges, sizeof edges);
    crd_unit_normalise(rest, unit);
    return CRD_OK;
bad:
    return crd_fail(CRD_ERR_ARGUMENT,
                    "a spacing is three positive numbers and a unit, such as 0.65,0.65,0.65,um, not '%s'", text);
}

crd_status crd_check_spacing(const char *name, const char *text)
{
    double spacing[3];
    char unit[CRD_UNIT_BYTES];
    if (crd_spacing_parse(text, spacing, unit) == CRD_OK) return CRD_OK;
    return crd_fail(CRD_ERR_ARGUMENT, "%s: %s", name, crd_last_error()->message);
}
