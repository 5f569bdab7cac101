#!/usr/bin/env python3
"""Rate, temperature of the KL term, and members at equal time, on four materials.

    run.py graphite weld                   phantoms
    run.py berea weave --real DIR          the geometry of a rock imaged by the phantoms' camera, and a woven composite with its hand label

DIR holds berea/geometry.tif (400^3, 1 grain, 0 pore) and weave/volume.tif, weave/label.tif (150^3; class 2, the tows of one direction, is told from the
rest). All trainings are as long; an ensemble's members share the time. The truth is exact but for weave, where it is another part of the hand label.

The shell script beside this one looked at the same question with the preset before. ../study.py says more."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import study  # noqa: E402
from study import TESTS, Plan, unit  # noqa: E402

STEPS = 1200
MEMBERS = 3
RATES = ("0.001", "0.01")
TEMPERATURES = ("10", "1000")
CAMERA = {"contrast": .2}


def recipes(material):
    def units(seeds):
        way = ("levels", "full", "32,64,64", 1)
        for seed in seeds:
            yield unit(material, *way, STEPS, "bcnn", seed)
            yield unit(material, *way, STEPS // MEMBERS, "bcnn", seed, more=f"--members {MEMBERS}")
            for rate in RATES:
                yield unit(material, *way, STEPS, "bcnn", seed, rate)
            for temperature in TEMPERATURES:
                yield unit(material, *way, STEPS, "bcnn", seed,
                           more=f"--kl-initial 1 --kl-step 0 --kl-batches 1638 --kl-temperature {temperature}")
            yield unit(material, *way, STEPS, "mcdn", seed)
    return units


def rock(box, seed, **settings):
    return {"truth": "berea/geometry.tif", "bbox": box, "seed": seed, **CAMERA, **settings}


def weave(box):
    return {"scan": "weave/volume.tif", "label": "weave/label.tif", "bbox": box}


WELD = {"family": "weld", "shape": "64,96,96"}
ELSEWHERE = "200:264,200:296,200:296"
study.PHANTOMS.update({
    "graphite-learnt": {"shape": "64,128,128", "seed": 1},
    "weld-learnt": {"family": "weld", "shape": "64,128,128", "seed": 1},
    "berea-learnt": rock("0:64,0:128,0:128", 1),
    "weave-learnt": weave("0:96,0:150,0:150"),
})
SETS = {
    "graphite": {name: {**TESTS[name], "shape": "64,96,96"} for name in ("like", "f71", "faint")},
    "weld": {"weld-like": {**WELD, "seed": 101}, "weld-f28": {**WELD, "seed": 102, "fraction": .28},
             "weld-faint": {**WELD, "seed": 103, "contrast": .14}},
    "berea": {"berea-like": rock(ELSEWHERE, 101), "berea-faint": rock(ELSEWHERE, 102, contrast=.14),
              "berea-other": rock("300:364,40:136,240:336", 103, noise=.04)},
    "weave": {"weave-end": weave("104:150,0:150,0:150")},
}
PLANS = {name: Plan(recipes(name), name + "-learnt", tests, lambda _: ("training",), 1, ("--foreground", "2") if name == "weave" else ())
         for name, tests in SETS.items()}

if __name__ == "__main__":
    study.main(PLANS, __doc__, "recipe")
