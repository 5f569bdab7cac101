/* What a volume or a model is, as info and convert show it. */
#ifndef CLI_DESCRIBE_H
#define CLI_DESCRIBE_H

#include "credence/volume.h"
#include "json.h"

/* Does the volume say how large its voxels are? */
bool cli_has_spacing(const crd_volume_info *info);
/* Members of the object that is open: all but what must be measured. */
void cli_json_volume(cli_json *json, const char *path, const crd_volume_info *info);

/* info_model.c: a model, to `json`, or as text where that is NULL; gives an exit code. */
int cli_describe_model(const char *path, cli_json *json);

#endif
