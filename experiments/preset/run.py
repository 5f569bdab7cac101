#!/usr/bin/env python3
"""What the preset `small` should be.

    run.py heldout      what holding back labels, --keep best and the calibration cost a short training
    run.py recipes      chunk, batch, rate, grey values, augmentation, means of the last states: ten minutes on two cores each

Several studies run together, as far as they come in --seconds; ../study.py says more."""
import itertools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import study  # noqa: E402
from study import KINDS, SIX, TESTS, Plan, unit  # noqa: E402

# Ways to hold back labels: options of `credence train`.
ALL = "--valid-scan DATA/other/scan.npy --valid-label DATA/other/label.npy --keep last"
FEW = "--valid-fraction 0.04"
HELD = ("", "--keep last", "--valid-fraction 0 --keep last", FEW, FEW + " --keep last", ALL, "old")


def heldout(seeds):
    """The demonstration's training; `seeds` is how many of them there are, at least six."""
    many = [str(i + 1) for i in range(max(8, len(seeds)))]
    for seed, more in itertools.product(many, HELD):
        yield unit("heldout", "scan", "flips", "16,32,32", 4, 500, "bcnn", seed, more=more)
    for seed, more in itertools.product(many[:4], (HELD[0], HELD[1], HELD[2], "old")):
        yield unit("heldout", "scan", "flips", "16,32,32", 4, 500, "mcdn", seed, more=more)
    for seed, more in itertools.product(many[:4], HELD[:4]):
        yield unit("heldout", "scan", "flips", "16,32,32", 4, 1500, "bcnn", seed, more=more)


# Grey values, augmentation, chunk, batch, steps, rate, arms: about ten minutes on two cores, but for the first.
RECIPES = (("scan", "flips", "16,32,32", 4, 1500, "0.003", ("chunk",)),
           ("levels", "full", "32,64,64", 1, 3600, "0.003", ("chunk", "mean25", "mean50")),
           ("levels", "full", "32,64,64", 2, 1800, "0.003", ("chunk", "mean50")),
           ("levels", "full", "24,48,48", 2, 3600, "0.003", ("chunk", "mean50")),
           ("levels", "full", "32,64,64", 1, 3600, "0.0015", ("chunk", "mean50")),
           ("scan", "full", "32,64,64", 1, 3600, "0.003", ("chunk", "mean50")),
           ("levels", "flips", "32,64,64", 1, 3600, "0.003", ("chunk", "mean50")),
           ("scan", "flips", "32,64,64", 1, 3600, "0.003", ("chunk", "mean50")),
           ("scan", "flips", "16,32,32", 4, 4500, "0.003", ("chunk", "mean50")),
           ("levels", "full", "48,96,96", 1, 1070, "0.003", ("chunk", "mean50")))


def recipes(seeds):
    for seed, recipe, kind in itertools.product(seeds, RECIPES, KINDS):
        for arm in recipe[6]:
            yield unit("recipes", *recipe[:5], kind, seed, recipe[5], arm)


def modes_of_recipe(u):
    return ("training", "step 3") if u["arm"] == "chunk" or u["chunk"] == "16,32,32" else ("training",)


SHORT = {"new": {"shape": "48,96,96", "seed": 2024}, "dim": {"shape": "48,96,96", "seed": 2025, "contrast": .15, "noise": .035},
         "like": TESTS["like"]}
PLANS = {
    "heldout": Plan(heldout, "small", SHORT, lambda u: ("step 2", "step 2, raw"), .8),
    "recipes": Plan(recipes, "small", SIX, modes_of_recipe, 1),
}

if __name__ == "__main__":
    study.main(PLANS, __doc__, "preset")
