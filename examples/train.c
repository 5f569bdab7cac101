/* Trains a network on one scan and its hand label, with the library alone:
 *
 *     cc train.c -o train $(pkg-config --cflags --libs credence)
 *     ./train scan.tif label.tif model.h5
 */
#include <credence/train.h>
#include <stdio.h>

static int failed(void)
{
    fprintf(stderr, "%s\n", crd_last_error()->message);
    return 1;
}

/* Messages and progress come through callbacks; returning false would stop, and leave a checkpoint. */
static void say(void *context, crd_level level, const char *text)
{
    (void)context;
    fprintf(stderr, "%s%s\n", level == CRD_LEVEL_WARNING ? "warning: " : "", text);
}

static bool show(void *context, const crd_progress *progress)
{
    (void)context;
    fprintf(stderr, "\r%s %lld of %lld ", progress->stage, (long long)progress->done, (long long)progress->total);
    return true;
}

int main(int argc, char **argv)
{
    static const crd_monitor monitor = {.message = say, .progress = show};
    crd_train_options options;
    crd_train_result result;
    if (argc != 4) {
        fprintf(stderr, "usage: train SCAN LABEL MODEL\n");
        return 2;
    }
    if (crd_settings_default(&crd_train_settings, &options) != CRD_OK) return failed();
    if (crd_settings_set(&crd_train_settings, &options, "scan", argv[1]) != CRD_OK ||
        crd_settings_set(&crd_train_settings, &options, "label", argv[2]) != CRD_OK ||
        crd_settings_set(&crd_train_settings, &options, "output", argv[3]) != CRD_OK ||
        crd_train_apply_preset(&options, NULL) != CRD_OK || crd_train(&options, &monitor, &result) != CRD_OK) {
        crd_settings_clear(&crd_train_settings, &options);
        return failed();
    }
    printf("%lld steps, %.2f %% of the voxels it never learnt from are right\n", (long long)result.steps,
           100 * result.valid_accuracy);
    crd_settings_clear(&crd_train_settings, &options);
    return 0;
}
