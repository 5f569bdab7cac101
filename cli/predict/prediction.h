/* What came of a prediction, for programs and for people. */
#ifndef CLI_PREDICTION_H
#define CLI_PREDICTION_H

#include "command.h"
#include "credence/predict.h"
#include "json.h"

/* Its fields, into an object that is open. */
void cli_json_prediction(cli_json *json, const crd_predict_options *options, const crd_predict_result *r);
/* One line, on a terminal several. */
void cli_print_prediction(const crd_predict_options *options, const crd_predict_result *r);
/* What to do with a run. */
void cli_print_after_prediction(const cli_context *context, const char *run);

#endif
