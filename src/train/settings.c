/* The settings of training as one table, and the presets. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backend/choose.h"
#include "base/error.h"
#include "base/settings/paper_keys.h"
#include "base/settings/row.h"
#include "chunk/scan.h"
#include "credence/train.h"
#include "net/class_names.h"
#include "net/net.h"
#include "volume/setting_rows.h"

#define AT(FIELD) .offset = offsetof(crd_train_options, FIELD)
#define SEED_MAX  9007199254740991.0

static const crd_setting rows[] = {
    {.name = "scan",
     .kind = CRD_SETTING_LIST,
     .scope = CRD_SCOPE_INPUT,
     AT(scan),
     .argument = "FILE",
     .group = "Data",
     .help = "scans to learn from: one or several, each with its label"},
    {.name = "label",
     .kind = CRD_SETTING_LIST,
     .scope = CRD_SCOPE_INPUT,
     AT(label),
     .argument = "FILE",
     .help = "the hand label of the scan at the same place in the list"},
    {.name = "valid-scan",
     .kind = CRD_SETTING_LIST,
     .scope = CRD_SCOPE_INPUT,
     AT(valid_scan),
     .argument = "FILE",
     .help = "a scan to check on, never learnt from; repeat for several"},
    {.name = "valid-label",
     .kind = CRD_SETTING_LIST,
     .scope = CRD_SCOPE_INPUT,
     AT(valid_label),
     .argument = "FILE",
     .help = "its hand label"},
    {.name = "valid-fraction",
     .kind = CRD_SETTING_REAL,
     AT(valid_fraction),
     .initial = "0.1",
     .low = 0,
     .high = 0.5,
     .argument = "F",
     .help = "share of the labels that is held back at most, in blocks, where no --valid-scan is given: half to check "
             "on, half for an exam at the end; 0: none, and no figure is claimed"},
    {.name = "classes",
     .kind = CRD_SETTING_REALS,
     AT(classes),
     .unsaid = true,
     .argument = "V,V",
     .help = "label values of the classes to tell apart, in their order, 2 to 16 of them; without it, all values in "
             "all labels"},
    {.name = "class-names",
     .kind = CRD_SETTING_TEXT,
     AT(class_names),
     .check = crd_check_class_names,
     .unsaid = true,
     .argument = "NAME,NAME",
     .help = "names of the classes, in their order, for tables and file names"},
    CRD_FOREGROUND_ROW(crd_train_options, "label values that mean foreground, all others the background: two classes "
                                          "of many. Of two values the larger is the foreground without it"),
    CRD_IGNORE_ROW(crd_train_options),
    {.name = "mask",
     .kind = CRD_SETTING_LIST,
     AT(mask),
     .argument = "FILE|cylinder|none",
     .help = "learn inside only: a volume (nonzero is inside; raw: u8), or the circle inscribed in y,x. One for all "
             "scans, or one for each in their order"},
    {.name = "valid-mask",
     .kind = CRD_SETTING_LIST,
     AT(valid_mask),
     .unsaid = true,
     .argument = "FILE|cylinder|none",
     .help = "the same for the scans to check on; without it the one --mask, where there is one for all"},
    {.name = "norm",
     .kind = CRD_SETTING_TEXT,
     AT(norm),
     .check = crd_check_norm,
     .initial = "scan",
     .argument = "levels|scan|none|MEAN,STD",
     .help =
         "how grey values are normalised: by two grey levels of each scan, by its mean and deviation, not at all, or "
         "by these numbers. The preset small: levels"},
    CRD_SHAPE_ROW(crd_train_options, CRD_SCOPE_INPUT, 0, NULL, "raw files: voxels along z, y and x"),
    CRD_TYPE_ROW(crd_train_options, CRD_SCOPE_INPUT, "type of raw scans, such as u16le"),
    {.name = "label-type",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     AT(label_type),
     .check = crd_check_type,
     .argument = "TYPE",
     .help = "type of raw labels; without it u8"},
    CRD_OFFSET_ROW(crd_train_options, CRD_SCOPE_INPUT, "bytes to skip at the start of raw scans"),
    {.name = "label-offset",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_INPUT,
     AT(label_offset),
     .initial = "0",
     .low = 0,
     .high = 9007199254740991.0,
     .argument = "BYTES",
     .help = "bytes to skip at the start of raw labels"},
    CRD_SPACING_ROW(crd_train_options, CRD_SCOPE_RESULT, "in the files"),

    {.name = "output",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_PLACE,
     AT(output),
     .argument = "FILE",
     .short_name = 'o',
     .group = "Result",
     .help = "the model file, such as model.h5"},
    {.name = "log",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_PLACE,
     AT(log),
     .argument = "FILE",
     .help = "where the log goes; without it beside the model"},
    {.name = "checkpoint-every",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_PLACE,
     AT(checkpoint_every),
     .initial = "100",
     .low = 1,
     .high = 1e9,
     .argument = "N",
     .help = "steps between checkpoints; one is also made after each epoch"},
    {.name = "resume",
     .kind = CRD_SETTING_FLAG,
     .scope = CRD_SCOPE_PLACE,
     AT(resume),
     .help = "go on from the checkpoint beside the model"},

    {.name = "preset",
     .kind = CRD_SETTING_CHOICE,
     .scope = CRD_SCOPE_INPUT,
     AT(preset),
     .initial = "small",
     .choices = "small|toy|graphite|weld",
     .group = "Network",
     .help = "a set of values for the options below: ours for small data, or one of the paper's"},
    {.name = "kind",
     .kind = CRD_SETTING_CHOICE,
     AT(kind),
     .initial = "bcnn",
     .choices = "bcnn|mcdn",
     .help = "Bayesian network, or Monte Carlo dropout network"},
    {.name = "filters",
     .kind = CRD_SETTING_INT,
     AT(filters),
     .initial = "16",
     .low = 1,
     .high = 1024,
     .argument = "N",
     .help = "base width of the network"},
    {.name = "groups",
     .kind = CRD_SETTING_INT,
     AT(groups),
     .initial = "4",
     .low = 1,
     .high = 1024,
     .argument = "N",
     .help = "groups of each group norm"},
    {.name = "prior",
     .kind = CRD_SETTING_CHOICE,
     AT(prior),
     .initial = "normal",
     .unsaid = true,
     .choices = "normal|mixture|spike-slab",
     .help = "the weights' prior: a normal around 0, or a mixture of a wide and a narrow one, by default a very narrow "
             "one (mixture) or a spike of a hundredth of the slab's width (spike-slab)"},
    {.name = "prior-std",
     .kind = CRD_SETTING_REAL,
     AT(prior_std),
     .initial = "1",
     .low = 1e-6,
     .high = 1e6,
     .argument = "S",
     .help = "standard deviation of the weights' prior; of a mixture, of its wide part"},
    {.name = "prior-narrow",
     .kind = CRD_SETTING_REAL,
     AT(prior_narrow),
     .initial = "0",
     .unsaid = true,
     .low = 0,
     .high = 1e6,
     .argument = "S",
     .help = "standard deviation of a mixture's narrow part; 0: exp(-6) of the wide one's (mixture) or a hundredth of "
             "it (spike-slab)"},
    {.name = "prior-share",
     .kind = CRD_SETTING_REAL,
     AT(prior_share),
     .initial = "0.5",
     .unsaid = true,
     .low = 0.001,
     .high = 0.999,
     .argument = "P",
     .help = "share of a mixture's wide part"},
    {.name = "estimator",
     .kind = CRD_SETTING_CHOICE,
     AT(estimator),
     .initial = "flipout",
     .choices = "flipout|independent|mean",
     .help = "how weights are drawn in a mini-batch"},
    {.name = "members",
     .kind = CRD_SETTING_INT,
     AT(members),
     .initial = "1",
     .unsaid = true,
     .low = 1,
     .high = CRD_MEMBERS_MAX,
     .argument = "N",
     .help =
         "train an ensemble: N networks that differ in their seed, in one model. A prediction's samples are of each "
         "of them in turn"},
    {.name = "init",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_INPUT,
     AT(init),
     .argument = "MODEL",
     .help = "start from this model's weights in place of random ones"},

    {.name = "chunk",
     .kind = CRD_SETTING_TRIPLE,
     AT(chunk),
     .mark = offsetof(crd_train_options, chunk_given),
     .check = crd_check_chunk,
     .initial = "32,64,64",
     .low = 8,
     .high = 1048576,
     .argument = "z,y,x",
     .group = "Training",
     .help = "size of the pieces it learns from; multiples of 8. The default is smaller where a scan is"},
    {.name = "step",
     .kind = CRD_SETTING_INT,
     AT(step),
     .initial = "3",
     .low = 1,
     .high = 1048576,
     .argument = "N",
     .help = "pieces begin at every 1/N of their size"},
    {.name = "batch",
     .kind = CRD_SETTING_INT,
     AT(batch),
     .initial = "4",
     .low = 1,
     .high = 65536,
     .argument = "N",
     .help = "pieces in a mini-batch; the preset small: 1, unless --chunk is given"},
    {.name = "epochs",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_FINISH,
     AT(epochs),
     .initial = "0",
     .low = 0,
     .high = 1e9,
     .argument = "N",
     .help = "passes over the data at most; 0: as many as --max-steps take, or 100 where that is 0, too"},
    {.name = "max-steps",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_FINISH,
     AT(max_steps),
     .initial = "0",
     .low = 0,
     .high = 4e9,
     .argument = "N",
     .help = "stop after this many mini-batches; 0: no such limit; the preset small: 3600, or 1500 where --chunk is "
             "given, unless --epochs is given"},
    {.name = "lr",
     .kind = CRD_SETTING_REAL,
     AT(lr),
     .initial = "0.003",
     .low = 1e-12,
     .high = 10,
     .argument = "RATE",
     .help = "Adam's learning rate"},
    {.name = "lr-decay-start",
     .kind = CRD_SETTING_INT,
     AT(lr_decay_start),
     .initial = "-1",
     .low = -1,
     .high = 1e9,
     .argument = "EPOCH",
     .help = "decay the rate from this epoch on; -1: never"},
    {.name = "kl-initial",
     .kind = CRD_SETTING_REAL,
     AT(kl_initial),
     .initial = "0.5",
     .low = 0,
     .high = 1,
     .argument = "K0",
     .help = "weight of the KL term in the first epochs"},
    {.name = "kl-step",
     .kind = CRD_SETTING_REAL,
     AT(kl_step),
     .initial = "0.5",
     .low = 0,
     .high = 1,
     .argument = "K1",
     .help = "what that weight gains in each epoch after --kl-start, up to 1"},
    {.name = "kl-start",
     .kind = CRD_SETTING_INT,
     AT(kl_start),
     .initial = "1",
     .low = 0,
     .high = 1e9,
     .argument = "EPOCH",
     .help = "last epoch with the first weight"},
    {.name = "kl-batches",
     .kind = CRD_SETTING_INT,
     AT(kl_batches),
     .initial = "0",
     .low = 0,
     .high = 1e12,
     .argument = "M",
     .help = "M, divides the KL term; 0: the mini-batches of an epoch"},
    {.name = "kl-temperature",
     .kind = CRD_SETTING_REAL,
     AT(kl_temperature),
     .initial = "1",
     .low = 1e-6,
     .high = 1e12,
     .argument = "T",
     .help = "T, divides the KL term, too: 1 is the paper's, larger gives less uncertainty. The preset small has a "
             "constant weight of 1, M 1638 and T 100, unless one of these --kl options is given"},
    {.name = "no-shuffle",
     .kind = CRD_SETTING_FLAG,
     AT(no_shuffle),
     .help = "take the pieces in file order, and as they are"},
    {.name = "augment",
     .kind = CRD_SETTING_CHOICE,
     AT(augment),
     .initial = "none",
     .choices = "none|flips|full",
     .help = "flips: mirror pieces at random, and turn them by 90 degrees about z; full: change their grey values, too "
             "(noise, blur, sharpness, brightness, contrast, drift). The preset small has full, unless --no-shuffle or "
             "--estimator mean is given"},
    {.name = "no-pieces",
     .kind = CRD_SETTING_FLAG,
     AT(no_pieces),
     .help = "leave out of the model the small pieces of the scans that its norms are frozen at in a prediction, for "
             "scans that must not travel; the paper's presets do"},
    {.name = "no-intervals",
     .kind = CRD_SETTING_FLAG,
     AT(no_intervals),
     .unsaid = true,
     .help = "don't try the network on made-up changes of the scans at the end, which is what a prediction widens the "
             "intervals of its volume fractions by"},
    {.name = "valid-samples",
     .kind = CRD_SETTING_INT,
     AT(valid_samples),
     .initial = "0",
     .low = 0,
     .high = 1000,
     .argument = "N",
     .help = "check with this many samples, too, after each epoch; 0: as --keep needs, 8 or none"},
    {.name = "keep",
     .kind = CRD_SETTING_CHOICE,
     AT(keep),
     .initial = "last",
     .choices = "best|last",
     .help = "which state becomes the model: the one that does best on what is held back to check on, among those with "
             "the whole KL term, or the last. The preset small has best, the paper's have last"},

    {.name = "seed",
     .kind = CRD_SETTING_INT,
     AT(seed),
     .initial = "1",
     .low = 0,
     .high = SEED_MAX,
     .argument = "N",
     .group = "Machine",
     .help = "everything random follows from it"},
    CRD_THREADS_ROW(crd_train_options, 4096, NULL, "threads to use; 0: one per core. The result doesn't depend on it"),
    {.name = "readers",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_PROCESS,
     AT(readers),
     .initial = "0",
     .low = 0,
     .high = 256,
     .argument = "N",
     .help = "threads that read pieces ahead of the network; 0: 1 on the CPU, on a GPU half of --threads, at most 8. "
             "The result doesn't depend on it"},
    {.name = "at-once",
     .kind = CRD_SETTING_INT,
     .scope = CRD_SCOPE_PROCESS,
     AT(at_once),
     .initial = "0",
     .low = 0,
     .high = CRD_MEMBERS_MAX,
     .argument = "N",
     .help =
         "members of an ensemble that are trained side by side; 0: 1 on the CPU, on a GPU as many as fill it, at most "
         "8. The result doesn't depend on it"},
    {.name = "device",
     .kind = CRD_SETTING_TEXT,
     .scope = CRD_SCOPE_MACHINE,
     AT(device),
     .check = crd_check_device,
     .initial = "auto",
     .argument = "auto|cpu|cuda[:N]",
     .help = "where the network runs; cuda:0,1 or cuda:all: several GPUs share the examples of a mini-batch"},
    {.name = "precision",
     .kind = CRD_SETTING_CHOICE,
     .scope = CRD_SCOPE_MACHINE,
     AT(precision),
     .initial = "auto",
     .choices = "auto|f32|bf16|fp16",
     .help = "arithmetic of the network; auto: f32 on the CPU, bf16 on a GPU"},
    {.name = "isa",
     .kind = CRD_SETTING_CHOICE,
     .scope = CRD_SCOPE_MACHINE,
     AT(isa),
     .initial = "auto",
     .choices = "auto|portable|avx2|avx512|sm80",
     .argument = "PATH",
     .help = "instruction path: portable, avx2 or avx512 on the CPU, sm80 on a GPU"},
};

const crd_settings crd_train_settings = {.title = "train",
                                         .rows = rows,
                                         .count = sizeof rows / sizeof rows[0],
                                         .aliases = crd_paper_keys,
                                         .alias_count = CRD_PAPER_KEY_COUNT,
                                         .size = sizeof(crd_train_options)};

typedef struct preset {
    const char *name, *json;
} preset;

/* The paper's values; ours for small data are the table's defaults and the groups below. */
static const preset presets[] = {
    {"small", "{\"keep\": \"best\", \"norm\": \"levels\"}"},
    {"graphite", "{\"chunk\": [88, 176, 176], \"batch\": 3, \"lr\": 1e-4, \"epochs\": 2, \"kl-start\": 1,"
                 " \"kl-initial\": 0.5, \"kl-step\": 0.5, \"kl-temperature\": 1, \"no-pieces\": true}"},
    {"weld", "{\"chunk\": [88, 176, 176], \"batch\": 3, \"lr\": 1e-3, \"epochs\": 7, \"kl-start\": 1,"
             " \"kl-initial\": 0, \"kl-step\": 0.25, \"kl-temperature\": 1, \"no-pieces\": true}"},
    {"toy", "{\"chunk\": [16, 32, 32], \"batch\": 16, \"lr\": 1e-3, \"epochs\": 5, \"kl-start\": 1,"
            " \"kl-initial\": 0, \"kl-step\": 0.5, \"kl-temperature\": 1, \"no-pieces\": true}"},
};

/* Values of `small` that mean something together only: who sets one of the named options gets none of them. */
typedef struct group {
    const char *json;
    const char *names[6];
} group;

static const group groups[] = {
    {"{\"kl-initial\": 1, \"kl-step\": 0, \"kl-batches\": 1638, \"kl-temperature\": 100}",
     {"kl-initial", "kl-step", "kl-start", "kl-batches", "kl-temperature", NULL}},
    {"{\"batch\": 1}", {"batch", "chunk", NULL}},
    {"{\"max-steps\": 3600}", {"epochs", "max-steps", "chunk", NULL}},
    {"{\"max-steps\": 1500}", {"epochs", "max-steps", NULL}},
    {"{\"augment\": \"full\"}", {"augment", "no-shuffle", NULL}},
};

static bool any_given(const crd_train_options *options, const bool *given, const char *const *names)
{
    for (; *names != NULL; names++) {
        const crd_setting *row = crd_settings_find(&crd_train_settings, *names);
        if (given != NULL && row != NULL && given[row - rows]) return true;
        if (strcmp(*names, "chunk") == 0 && options->chunk_given) return true;
    }
    return false;
}

static crd_status apply_groups(crd_train_options *options, bool *given)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        if (any_given(options, given, groups[i].names)) continue;
        if (strstr(groups[i].json, "augment") != NULL && strcmp(options->estimator, "mean") == 0) continue;
        CRD_PASS(crd_settings_from_json(&crd_train_settings, options, groups[i].json, "small", given));
    }
    return CRD_OK;
}

crd_status crd_train_apply_preset(crd_train_options *options, bool *given)
{
    for (size_t i = 0; i < crd_train_settings.count && given != NULL; i++) {
        given[i] |= !crd_setting_there(&crd_train_settings, &rows[i], options); /* an older program's */
    }
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (options->preset == NULL || strcmp(presets[i].name, options->preset) != 0) continue;
        if (i == 0) CRD_PASS(apply_groups(options, given));
        return crd_settings_from_json(&crd_train_settings, options, presets[i].json, presets[i].name, given);
    }
    return crd_fail(CRD_ERR_ARGUMENT, "there is no preset '%s'; choose small, toy, graphite or weld",
                    options->preset != NULL ? options->preset : "");
}
