#!/usr/bin/env python3
"""What the preset `small` should be.

    run.py heldout      what holding back labels, --keep best and the calibration cost a short training
    run.py recipes      chunk, batch, rate, grey values, augmentation, means of the last states: ten minutes on two cores each
    run.py chosen       the one that was chosen, beside the preset before it and its neighbours: grey values and augmentation
    run.py near         rate, temperature of the KL term, length and members around the chosen one
    run.py arms         the chosen one, going on with norms that run or are frozen; needs PyTorch
    run.py demo         trainings of a minute
    run.py changes      the chosen one, its grey values changed in other ways; needs programs built with those (--other)
    run.py fresh        the chosen one and flips alone, by both kinds of grey levels, on phantoms that decided nothing

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


CHOSEN = ("levels", "full", "32,64,64", 1, 3600)
BEFORE = ("scan", "flips", "16,32,32", 4, 1500)  # the preset until then


def chosen(seeds):
    for seed, kind in itertools.product(seeds, KINDS):
        yield unit("chosen", *CHOSEN, kind, seed)
        yield unit("chosen", "levels", "flips", *CHOSEN[2:], kind, seed)
        yield unit("chosen", *BEFORE, kind, seed)
    for seed, (grey, augment), kind in itertools.product(seeds, (("scan", "full"), ("scan", "flips")), KINDS):
        yield unit("chosen", grey, augment, *CHOSEN[2:], kind, seed)


def modes_of_chosen(u):
    """The preset before was made for step 3; the one that was chosen is tried that way, too, and in tiles that are far too small."""
    way = (u["grey"], u["augment"], u["chunk"], int(u["batch"]))
    return ("training", "tiles", "step 3") if way == CHOSEN[:4] else ("step 3",) if way == BEFORE[:4] else ("training",)


def near(seeds):
    for seed, kind in itertools.product(seeds, KINDS):
        for lr in ("0.0015", "0.006"):
            yield unit("near", *CHOSEN, kind, seed, lr)
        yield unit("near", *CHOSEN[:4], 1200, kind, seed, more="--members 3")
        yield unit("near", *CHOSEN[:4], 7200, kind, seed)
        for temperature in ("30", "300") if kind == "bcnn" else ():
            yield unit("near", *CHOSEN, kind, seed,
                       more=f"--kl-initial 1 --kl-step 0 --kl-batches 1638 --kl-temperature {temperature}")


def arms(seeds):
    for seed, kind, arm in itertools.product(seeds[:2], KINDS, ("last", "running", "frozen")):
        yield unit("arms", *CHOSEN[:4], 2400, kind, seed, arm=arm)


def demo(seeds):
    for seed, kind in itertools.product(seeds, KINDS):
        yield unit("demo", "scan", "flips", "16,32,32", 4, 500, kind, seed)
        for augment, chunk, steps in (("full", "32,64,64", 500), ("flips", "32,64,64", 500), ("flips", "24,48,48", 1000)):
            yield unit("demo", "levels", augment, chunk, 1, steps, kind, seed)


# Programs whose `--augment full` differs: half of the pieces as they are, ranges two thirds as wide, both.
CHANGES = ("half", "narrow", "both")


def changes(seeds):
    for seed, kind, name in itertools.product(seeds, KINDS, CHANGES):
        yield unit("changes", *CHOSEN, kind, seed, more=name)


def fresh(seeds):
    for seed, kind, grey, augment in itertools.product(seeds, KINDS, ("phases", "levels"), ("full", "flips")):
        yield unit("fresh", grey, augment, *CHOSEN[2:], kind, seed)


def modes_of_fresh(u):
    return ("training", "step 3") if (u["grey"], u["augment"]) == ("phases", "full") else ("training",)


FRESH = {"new-" + name: {**settings, "seed": settings["seed"] + 100} for name, settings in TESTS.items()}
SHORT = {"new": {"shape": "48,96,96", "seed": 2024}, "dim": {"shape": "48,96,96", "seed": 2025, "contrast": .15, "noise": .035},
         "like": TESTS["like"]}
PLANS = {
    "heldout": Plan(heldout, "small", SHORT, lambda u: ("step 2", "step 2, raw"), .8),
    "recipes": Plan(recipes, "small", SIX, modes_of_recipe, 1),
    "chosen": Plan(chosen, "small", TESTS, modes_of_chosen, .6),
    "near": Plan(near, "small", SIX, lambda u: ("training",), 1),
    "arms": Plan(arms, "small", SIX, lambda u: ("training",), .3),
    "changes": Plan(changes, "small", TESTS, lambda u: ("training",), .6),
    "fresh": Plan(fresh, "small", FRESH, modes_of_fresh, .6),
    "demo": Plan(demo, "small", SHORT, lambda u: ("training", "step 2"), .9),
}

if __name__ == "__main__":
    study.main(PLANS, __doc__, "preset")
