/* What `credence info` says about a model. */
#ifndef CLI_INFO_MODEL_H
#define CLI_INFO_MODEL_H

#include "json.h"

/* To `json`, or as text where that is NULL; gives an exit code. */
int cli_describe_model(const char *path, cli_json *json);

#endif
