/* Segments a scan with a model and prints how large the foreground is, and how sure that is.
 *
 *     cc predict.c -o predict $(pkg-config --cflags --libs credence)
 *     ./predict model.h5 scan.tif run
 */
#include <stdio.h>

#include <credence/predict.h>

static void say(void *context, crd_level level, const char *text)
{
    (void)context;
    fprintf(stderr, "%s%s\n", level == CRD_LEVEL_WARNING ? "warning: " : "", text);
}

static bool count(void *context, const crd_progress *progress)
{
    (void)context;
    fprintf(stderr, "\r%s: %lld of %lld %s ", progress->stage, (long long)progress->done, (long long)progress->total,
            progress->unit);
    return true; /* false would stop the run; with `resume` it could be continued */
}

static crd_status predict(const char *model, const char *scan, const char *folder, crd_predict_result *result)
{
    const crd_settings *table = &crd_predict_settings;
    const crd_monitor monitor = {.message = say, .progress = count};
    crd_predict_options options;
    crd_status status = crd_settings_default(table, &options);
    if (status == CRD_OK) status = crd_settings_set(table, &options, "model", model);
    if (status == CRD_OK) status = crd_settings_set(table, &options, "scan", scan);
    if (status == CRD_OK) status = crd_settings_set(table, &options, "output", folder);
    if (status == CRD_OK) status = crd_settings_set(table, &options, "samples", "24");
    if (status == CRD_OK) status = crd_predict(&options, &monitor, result);
    crd_settings_clear(table, &options);
    return status;
}

int main(int argc, char **argv)
{
    crd_predict_result result;
    if (argc != 4) {
        fprintf(stderr, "usage: predict MODEL SCAN FOLDER\n");
        return 2;
    }
    if (predict(argv[1], argv[2], argv[3], &result) != CRD_OK) {
        fprintf(stderr, "\npredict: %s\n", crd_last_error()->message);
        return 1;
    }
    printf("volume fraction %.4f; a third of the networks drawn say less than %.4f, a third more than %.4f\n",
           result.volume_fraction, result.fraction_low, result.fraction_high);
    return 0;
}
