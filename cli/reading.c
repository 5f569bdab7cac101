#include "reading.h"

#include <string.h>

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
    if (crd_spacing_parse(reading->spacing, out->spacing, space->unit) != CRD_OK) {
        return cli_usage(context->command, "--spacing: %s", crd_last_error()->message);
    }
    if (space->unit[0] != '\0') out->unit = space->unit;
    return CLI_DONE;
}
