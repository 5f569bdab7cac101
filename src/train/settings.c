/* The settings of training as one table, and the presets. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "credence/train.h"

#define AT(FIELD) .offset = offsetof(crd_train_options, FIELD)
#define SEED_MAX 9007199254740991.0

static const crd_setting rows[] = {
    {.name = "scan", .kind = CRD_SETTING_LIST, AT(scan), .argument = "FILE", .group = "Data",
     .help = "a scan to learn from; repeat for several"},
    {.name = "label", .kind = CRD_SETTING_LIST, AT(label), .argument = "FILE",
     .help = "the hand label of the scan at the same place in the list"},
    {.name = "valid-scan", .kind = CRD_SETTING_LIST, AT(valid_scan), .argument = "FILE",
     .help = "a scan to check on, never learnt from; repeat for several"},
    {.name = "valid-label", .kind = CRD_SETTING_LIST, AT(valid_label), .argument = "FILE", .help = "its hand label"},
    {.name = "valid-fraction", .kind = CRD_SETTING_REAL, AT(valid_fraction), .initial = "0.1", .low = 0, .high = 0.5,
     .argument = "F", .help = "share of each scan held back to check on where no --valid-scan is given; 0: none"},
    {.name = "foreground", .kind = CRD_SETTING_REALS, AT(foreground), .argument = "V,V",
     .help = "label values that mean foreground; without it, the larger of two"},
    {.name = "ignore", .kind = CRD_SETTING_REALS, AT(ignore), .argument = "V,V",
     .help = "label values that mean 'not labelled'"},
    {.name = "mask", .kind = CRD_SETTING_TEXT, AT(mask), .argument = "FILE|cylinder",
     .help = "learn inside only: a volume (nonzero is inside), or the circle inscribed in y,x"},
    {.name = "norm", .kind = CRD_SETTING_TEXT, AT(norm), .initial = "scan", .argument = "scan|none|MEAN,STD",
     .help = "how grey values are normalised"},
    {.name = "shape", .kind = CRD_SETTING_TRIPLE, AT(shape), .argument = "z,y,x", .low = 0, .high = 1e12,
     .help = "shape of raw files"},
    {.name = "type", .kind = CRD_SETTING_TEXT, AT(type), .argument = "TYPE", .help = "type of raw scans, such as u16le"},

    {.name = "output", .kind = CRD_SETTING_TEXT, AT(output), .argument = "FILE", .short_name = 'o', .group = "Result",
     .help = "the model file, such as model.h5"},
    {.name = "log", .kind = CRD_SETTING_TEXT, AT(log), .argument = "FILE",
     .help = "where the log goes; without it beside the model"},
    {.name = "checkpoint-every", .kind = CRD_SETTING_INT, AT(checkpoint_every), .initial = "100", .low = 1, .high = 1e9,
     .argument = "N", .help = "steps between checkpoints; one is also made after each epoch"},
    {.name = "resume", .kind = CRD_SETTING_FLAG, AT(resume), .help = "go on from the checkpoint beside the model"},

    {.name = "preset", .kind = CRD_SETTING_CHOICE, AT(preset), .initial = "small", .choices = "small|toy|graphite|weld",
     .argument = "NAME", .group = "Network",
     .help = "a set of values for the options below: ours for small data, or one of the paper's"},
    {.name = "kind", .kind = CRD_SETTING_CHOICE, AT(kind), .initial = "bcnn", .choices = "bcnn|mcdn",
     .argument = "KIND", .help = "Bayesian network, or Monte Carlo dropout network"},
    {.name = "filters", .kind = CRD_SETTING_INT, AT(filters), .initial = "16", .low = 1, .high = 1024, .argument = "N",
     .help = "base width of the network"},
    {.name = "groups", .kind = CRD_SETTING_INT, AT(groups), .initial = "4", .low = 1, .high = 1024, .argument = "N",
     .help = "groups of each group norm"},
    {.name = "prior-std", .kind = CRD_SETTING_REAL, AT(prior_std), .initial = "1", .low = 1e-6, .high = 1e6,
     .argument = "S", .help = "standard deviation of the weights' prior"},
    {.name = "estimator", .kind = CRD_SETTING_CHOICE, AT(estimator), .initial = "flipout",
     .choices = "flipout|independent|mean", .argument = "NAME", .help = "how weights are drawn in a mini-batch"},
    {.name = "init", .kind = CRD_SETTING_TEXT, AT(init), .argument = "MODEL",
     .help = "start from this model's weights in place of random ones"},

    {.name = "chunk", .kind = CRD_SETTING_TRIPLE, AT(chunk), .initial = "16,32,32", .low = 8, .high = 1048576,
     .argument = "z,y,x", .group = "Training", .help = "size of the pieces it learns from; multiples of 8"},
    {.name = "step", .kind = CRD_SETTING_INT, AT(step), .initial = "3", .low = 1, .high = 1048576, .argument = "N",
     .help = "pieces begin at every 1/N of their size"},
    {.name = "batch", .kind = CRD_SETTING_INT, AT(batch), .initial = "4", .low = 1, .high = 65536, .argument = "N",
     .help = "pieces in a mini-batch"},
    {.name = "epochs", .kind = CRD_SETTING_INT, AT(epochs), .initial = "8", .low = 1, .high = 1e9, .argument = "N",
     .help = "passes over the data"},
    {.name = "max-steps", .kind = CRD_SETTING_INT, AT(max_steps), .initial = "0", .low = 0, .high = 4e9,
     .argument = "N", .help = "stop after this many mini-batches; 0: no such limit"},
    {.name = "lr", .kind = CRD_SETTING_REAL, AT(lr), .initial = "0.001", .low = 1e-12, .high = 10, .argument = "RATE",
     .help = "Adam's learning rate"},
    {.name = "lr-decay-start", .kind = CRD_SETTING_INT, AT(lr_decay_start), .initial = "-1", .low = -1, .high = 1e9,
     .argument = "EPOCH", .help = "decay the rate from this epoch on; -1: never"},
    {.name = "kl-initial", .kind = CRD_SETTING_REAL, AT(kl_initial), .initial = "0.5", .low = 0, .high = 1,
     .argument = "K0", .help = "weight of the KL term in the first epochs"},
    {.name = "kl-step", .kind = CRD_SETTING_REAL, AT(kl_step), .initial = "0.5", .low = 0, .high = 1,
     .argument = "K1", .help = "what that weight gains in each epoch after --kl-start, up to 1"},
    {.name = "kl-start", .kind = CRD_SETTING_INT, AT(kl_start), .initial = "1", .low = 0, .high = 1e9,
     .argument = "EPOCH", .help = "last epoch with the first weight"},
    {.name = "kl-batches", .kind = CRD_SETTING_INT, AT(kl_batches), .initial = "0", .low = 0, .high = 1e12,
     .argument = "M", .help = "divides the KL term; 0: the mini-batches of an epoch"},
    {.name = "kl-temperature", .kind = CRD_SETTING_REAL, AT(kl_temperature), .initial = "100", .low = 1e-6, .high = 1e12,
     .argument = "T", .help = "divides the KL term, too: 1 is the paper's, larger gives less uncertainty"},
    {.name = "no-shuffle", .kind = CRD_SETTING_FLAG, AT(no_shuffle), .help = "take the pieces in file order"},
    {.name = "augment", .kind = CRD_SETTING_CHOICE, AT(augment), .initial = "none", .choices = "none|flips",
     .argument = "HOW", .help = "flips: mirror pieces at random, and turn them by 90 degrees about z"},
    {.name = "valid-samples", .kind = CRD_SETTING_INT, AT(valid_samples), .initial = "0", .low = 0, .high = 10000,
     .argument = "N", .help = "check with this many samples, too, after each epoch"},

    {.name = "seed", .kind = CRD_SETTING_INT, AT(seed), .initial = "1", .low = 0, .high = SEED_MAX, .argument = "N",
     .group = "Machine", .help = "everything random follows from it"},
    {.name = "threads", .kind = CRD_SETTING_INT, AT(threads), .initial = "0", .low = 0, .high = 4096, .argument = "N",
     .help = "threads to use; 0: one per core. The result doesn't depend on it"},
    {.name = "isa", .kind = CRD_SETTING_CHOICE, AT(isa), .initial = "auto", .choices = "auto|portable|avx2|avx512",
     .argument = "PATH", .help = "instruction path of the CPU"},
};

const crd_settings crd_train_settings = {.title = "train", .rows = rows, .count = sizeof rows / sizeof rows[0]};

/* The paper's values; ours for small data are the table's defaults. */
typedef struct preset {
    const char *name, *json;
} preset;

static const preset presets[] = {
    {"small", "{}"},
    {"graphite", "{\"chunk\": [88, 176, 176], \"batch\": 3, \"lr\": 1e-4, \"epochs\": 2, \"kl-start\": 1,"
                 " \"kl-initial\": 0.5, \"kl-step\": 0.5, \"kl-temperature\": 1}"},
    {"weld", "{\"chunk\": [88, 176, 176], \"batch\": 3, \"lr\": 1e-3, \"epochs\": 7, \"kl-start\": 1,"
             " \"kl-initial\": 0, \"kl-step\": 0.25, \"kl-temperature\": 1}"},
    {"toy", "{\"chunk\": [16, 32, 32], \"batch\": 16, \"lr\": 1e-3, \"epochs\": 5, \"kl-start\": 1,"
            " \"kl-initial\": 0, \"kl-step\": 0.5, \"kl-temperature\": 1}"},
};

crd_status crd_train_apply_preset(crd_train_options *options, unsigned char *given)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (options->preset != NULL && strcmp(presets[i].name, options->preset) == 0) {
            return crd_settings_from_json(&crd_train_settings, options, presets[i].json, presets[i].name, given);
        }
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no preset '%s'; choose small, toy, graphite or weld",
                    options->preset != NULL ? options->preset : "");
}
