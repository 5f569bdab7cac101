#!/usr/bin/env python3
"""Which statistics should the norms have where every voxel is computed once, and do grey levels and augmentation earn their place?

    run.py grid                       grey levels x augmentation at chunk 48,96,96
    run.py preset                     what the preset `small` could be, in three minutes on two cores
    run.py cells                      as `grid`, smaller
    run.py short                      the preset again, in a third of the time
    run.py wide                       chunk 48,96,96 again: both kinds of grey levels, on fresh phantoms, too
    run.py grid preset --seconds 280  both, as far as they come in that time

../study.py says more."""
import itertools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import study  # noqa: E402
from study import KINDS, SIX, TESTS, Plan, unit  # noqa: E402

CELLS = (("levels", "full"), ("scan", "flips"), ("scan", "full"), ("levels", "flips"))


def grid(seeds):
    """The best and today's first, so that a run that is cut short still tells them apart."""
    for (grey, augment), seed, kind in itertools.product(CELLS, seeds, KINDS):
        yield unit("grid", grey, augment, "48,96,96", 4, 1500, kind, seed)


# Chunk, batch, steps, rate: about 98 million voxels each, which is what 1,500 steps of 4 chunks of 16,32,32 are.
CANDIDATES = (("16,32,32", 4, 1500, "0.003"), ("24,48,48", 1, 1780, "0.003"), ("24,48,48", 2, 890, "0.003"),
              ("32,64,64", 1, 750, "0.003"), ("32,64,64", 2, 375, "0.003"), ("24,48,48", 1, 1780, "0.0015"),
              ("32,64,64", 1, 750, "0.0015"), ("48,96,96", 1, 222, "0.003"))


def preset(seeds):
    for seed, kind in itertools.product(seeds, KINDS):
        chunk, batch, steps, lr = CANDIDATES[0]
        yield unit("preset", "scan", "flips", chunk, batch, steps, kind, seed, lr)
        for chunk, batch, steps, lr in CANDIDATES:
            yield unit("preset", "levels", "full", chunk, batch, steps, kind, seed, lr)


def short(seeds):
    """A third of the time."""
    for seed, kind in itertools.product(seeds, KINDS):
        yield unit("short", "scan", "flips", "16,32,32", 4, 500, kind, seed)
        for chunk, batch, steps, lr in CANDIDATES[:4]:
            yield unit("short", "levels", "full", chunk, batch, steps // 3, kind, seed, lr)


def cells(seeds):
    """Grey levels x augmentation, shorter and with smaller chunks than `grid`."""
    for seed, (grey, augment), kind in itertools.product(seeds, CELLS, KINDS):
        yield unit("cells", grey, augment, "32,64,64", 4, 1000, kind, seed)


def wide(seeds):
    for (grey, augment), seed, kind in itertools.product(itertools.product(("phases", "levels"), ("full", "flips")), seeds, KINDS):
        yield unit("wide", grey, augment, "48,96,96", 4, 1500, kind, seed, more="--no-intervals")


def modes_of_wide(u):
    return ("training", "step 3") if u["augment"] == "full" else ("training",)


def both(_):
    return "training", "step 3"


# Those that tell most of a pull towards the share that was learnt from, once more.
FRESH = {"new-" + name: {**TESTS[name], "seed": TESTS[name]["seed"] + 100} for name in ("like", "f45", "f71")}
PLANS = {
    "grid": Plan(grid, "large", TESTS, lambda _: ("training", "step 3", "scan"), 1),
    "preset": Plan(preset, "small", SIX, both, .6),
    "short": Plan(short, "small", {name: SIX[name] for name in ("like", "f45", "f71", "faint")}, both, 1.5),
    "wide": Plan(wide, "large", {**TESTS, **FRESH}, modes_of_wide, 1),
    "cells": Plan(cells, "large", {name: TESTS[name] for name in tuple(TESTS)[:7]}, both, 1),
}

if __name__ == "__main__":
    study.main(PLANS, __doc__, "norms")
