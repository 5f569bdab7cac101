#!/usr/bin/env python3
"""Is it worth weighting the classes of the cross entropy where one of them is rare?

Networks learn from the hand label of an electrode whose binder is a few percent of all voxels, and segment another one with exact truth: with
every labelled voxel alike, and with weights w_k = 1 / (K share_k), whose mean over the labelled voxels is 1. Equal steps, order and draws.

    run.py --out build/class_weights --credence PROGRAM

The product has no such weights. PROGRAM is credence with one change: softmax_loss_voxels (src/ops/softmax.inc), where a gradient is wanted,
multiplies loss[i] and slope[c][i] of each labelled voxel by its class's number in the environment's CREDENCE_CLASS_WEIGHTS, "0.7,0.6,10.3"; unset,
or ones, it gives the same bytes as before. What is checked on, calibration and exam stay as they are.

Every prediction is a line of OUT/rows.csv, written when it is done, and a line that is there isn't made again. The table comes out as Markdown.
Needs NumPy beside the program.
"""
import argparse
import csv
import filecmp
import json
import os
import shutil
import statistics
import subprocess
import sys

import numpy

NAMES = ["pore", "particle", "binder"]
ARMS = ["none", "balanced"]
FIELDS = ["arm", "seed", "accuracy", "dice", *(f"dice_{n}" for n in NAMES), "ece", "nll", *(f"bias_{n}" for n in NAMES), "calibration"]


class Bench:
    def __init__(self, options):
        self.options = options
        self.table = os.path.join(options.out, "rows.csv")
        self.rows = []
        if os.path.exists(self.table):
            with open(self.table, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def path(self, *parts):
        return os.path.join(self.options.out, *parts)

    def run(self, *words, weights=None):
        words = [self.options.credence, *words, "-q"]
        environment = {**os.environ, **({"CREDENCE_CLASS_WEIGHTS": ",".join(map(repr, weights))} if weights else {})}
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{done.stderr}")
        return done.stdout

    def phantom(self, name, seed):
        if not os.path.exists(self.path(name, "phantom.json")):
            self.run("phantom", "electrode", "-o", self.path(name), "--shape", self.options.shape, "--seed", str(seed), "--format", "npy",
                     "--binder-fraction", str(self.options.binder))

    def balanced(self):
        label = numpy.load(self.path("train", "label.npy"))
        shares = numpy.bincount(label.ravel(), minlength=len(NAMES)) / label.size
        return [float(1 / (len(NAMES) * share)) for share in shares]

    def unit(self, arm, seed):
        if any(r["arm"] == arm and r["seed"] == str(seed) for r in self.rows):
            return
        model, folder = self.path(f"{arm}-{seed}.h5"), self.path(f"{arm}-{seed}")
        if not os.path.exists(model):
            self.run("train", "--scan", self.path("train", "scan.npy"), "--label", self.path("train", "label.npy"), "-o", model, "--max-steps",
                     str(self.options.steps), "--seed", str(seed), "--class-names", ",".join(NAMES), "--no-intervals", "--device", "cpu",
                     weights=self.balanced() if arm == "balanced" else None)
        self.run("predict", "--model", model, "--scan", self.path("test", "scan.npy"), "-o", folder, "--samples", str(self.options.samples),
                 "--seed", str(seed), "--overwrite", "--device", "cpu")
        figures = json.loads(self.run("validate", folder, "--label", self.path("test", "truth.npy"), "--json"))
        with open(os.path.join(folder, "manifest.json")) as file:
            fractions = json.load(file)["classes"]
        row = {"arm": arm, "seed": seed, "accuracy": figures["accuracy"], "dice": figures["dice"],
               **{f"dice_{c['name']}": c["dice"] for c in figures["classes"]},
               **{key: figures["calibration"][key] for key in ("ece", "nll")},
               **{f"bias_{c['name']}": f["mean"] - c["label_fraction"] for c, f in zip(figures["classes"], fractions)},
               "calibration": json.loads(self.run("info", model, "--json"))["calibration"]}
        shutil.rmtree(folder)
        self.rows.append({key: str(value) for key, value in row.items()})
        fresh = not os.path.exists(self.table)
        with open(self.table, "a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            if fresh:
                writer.writeheader()
            writer.writerow(row)

    def check_program(self, seed):
        if filecmp.cmp(self.path(f"none-{seed}.h5"), self.path(f"balanced-{seed}.h5"), shallow=False):
            sys.exit(f"{self.options.credence} takes no CREDENCE_CLASS_WEIGHTS: both models are the same")

    def print_table(self):
        print(f"| weights | seeds | {' | '.join(FIELDS[2:])} |")
        print("|---" * len(FIELDS) + "|")
        for arm in ARMS:
            rows = [r for r in self.rows if r["arm"] == arm]
            cells = []
            for key in FIELDS[2:]:
                values = [float(r[key]) for r in rows]
                spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
                cells.append(f"{statistics.mean(values):.4f}{spread}" if values else "")
            print(f"| {arm} | {len(rows)} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--arms", type=int, default=len(ARMS), help="1: without weights only")
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--shape", default="64,128,128", help="of both electrodes")
    parser.add_argument("--binder", type=float, default=0.03, help="share of all voxels that are binder")
    parser.add_argument("--credence", default="build/credence")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    bench = Bench(options)
    bench.phantom("train", 1)
    bench.phantom("test", 11)
    for seed in range(1, options.seeds + 1):
        for arm in ARMS[:options.arms]:
            bench.unit(arm, seed)
        if options.arms == len(ARMS):
            bench.check_program(seed)
    bench.print_table()


main()
