#include "base/settings/paper_keys.h"

/* First what both commands take, then what training takes, then prediction; the rest belongs to its other networks and
 * its folders and means nothing here. Its epochs of the KL weight count from one later. */
const crd_setting_alias crd_paper_keys[] = {
    {.key = "window", .name = "chunk"},
    {.key = "norm", .name = "norm", .words = {"none", "scan"}},
    {.key = "weights_path", .name = "init"},
    {.key = "weights_path", .name = "model"},

    {.key = "bayesian", .name = "kind", .words = {"mcdn", "bcnn"}},
    {.key = "prior_std", .name = "prior-std"},
    {.key = "epochs", .name = "epochs"},
    {.key = "batch_size", .name = "batch"},
    {.key = "initial_learning_rate", .name = "lr"},
    {.key = "lr_decay_start_epoch", .name = "lr-decay-start"},
    {.key = "kl_alpha", .name = "kl-initial"},
    {.key = "kl_alpha_increase_per_epoch", .name = "kl-step"},
    {.key = "kl_start_epoch", .name = "kl-start", .add = -1},

    {.key = "mc_samples", .name = "samples"},
    {.key = "border_trim", .name = "trim"},
    {.key = "lower_percentile", .name = "intervals", .upper = "upper_percentile"},
    {.key = "upper_percentile"},

    {.key = "initial_epoch"},
    {.key = "num_gpus"},
    {.key = "num_percentiles"},
    {.key = "alpha"},
    {.key = "vnet"},
    {.key = "kernel_size"},
    {.key = "activation"},
    {.key = "padding"},
    {.key = "ensemble"},
    {.key = "*_dir"},
};

_Static_assert(sizeof crd_paper_keys / sizeof crd_paper_keys[0] == CRD_PAPER_KEY_COUNT,
               "CRD_PAPER_KEY_COUNT must be the number of rows");
