#include "describe.h"

bool cli_has_spacing(const crd_volume_info *info)
{
    return info->spacing[0] > 0 && info->spacing[1] > 0 && info->spacing[2] > 0;
}

void cli_json_volume(cli_json *json, const char *path, const crd_volume_info *info)
{
    cli_json_text(json, "path", path);
    cli_json_text(json, "format", info->format);
    cli_json_ints(json, "shape", info->shape, 3);
    cli_json_text(json, "type", crd_type_name(info->type));
    if (cli_has_spacing(info)) {
        cli_json_reals(json, "spacing", info->spacing, 3);
    } else {
        cli_json_text(json, "spacing", NULL);
    }
    cli_json_text(json, "unit", info->unit[0] != '\0' ? info->unit : NULL);
    cli_json_ints(json, "origin", info->origin, 3);
    cli_json_real(json, "scale", info->scale);
}
