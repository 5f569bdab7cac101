/* How good a model is where it didn't learn, as train and info say it. */
#ifndef CLI_HELDOUT_H
#define CLI_HELDOUT_H

#include "credence/model.h"
#include "json.h"

/* Under the key "heldout"; null where nothing was held back. An exit code. */
int cli_json_heldout(cli_json *json, const crd_heldout *heldout);
/* A few lines about a model of so many classes, each begun with `lead`; nothing where nothing was held back. */
void cli_print_heldout(const char *lead, int classes, const crd_heldout *heldout);

#endif
