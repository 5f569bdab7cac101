#include "reading.h"

#include <string.h>

#include "credence/number.h"

static bool parse_spacing(const char *text, double spacing[3], char *unit, size_t unit_bytes)
{
    for (int i = 0; i < 3; i++) {
        const size_t width = strcspn(text, ",");
        if (!crd_parse_real(text, width, &spacing[i]) || !(spacing[i] > 0)) return false;
        if (i < 2 && text[width] != ',') return false;
        text += width + (text[width] == ',');
    }
    if (strlen(text) >= unit_bytes || strchr(text, ',') != NULL) return false;
    memcpy(unit, text, strlen(text) + 1);
    return true;
}

int cli_reading_options(const cli_context *context, const cli_reading *reading, cli_reading_space *space,
                        crd_volume_options *out)
{
    memset(out, 0, sizeof *out);
    memset(space, 0, sizeof *space);
    memcpy(out->shape, reading->shape, sizeof out->shape);
    out->type = reading->type;
    out->offset = reading->offset;
    if (reading->type != NULL) {
        crd_type type;
        if (crd_type_parse(reading->type, &type, NULL) != CRD_OK) {
            return cli_usage(context->command, "--type: %s", crd_last_error()->message);
        }
    }
    if (reading->spacing == NULL) return CLI_DONE;
    if (!parse_spacing(reading->spacing, out->spacing, space->unit, sizeof space->unit)) {
        return cli_usage(context->command,
                         "--spacing must be three positive numbers and a unit such as 0.65,0.65,0.65,um, "
                         "not '%s'",
                         reading->spacing);
    }
    if (space->unit[0] != '\0') out->unit = space->unit;
    return CLI_DONE;
}
