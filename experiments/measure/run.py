#!/usr/bin/env python3
"""How often does the interval of each property hold the truth?

A network learns from one phantom of each family. Other phantoms, whose truth is known in every voxel, are segmented by it: `alike`,
another piece of the same material scanned in the same way, and `unlike`, another share of the material, noise, contrast, blur and size
of grains at once. `credence measure` gives each property of every realisation, and its 5-95 % interval is held against the property of
the truth, measured in the same way.

That is what the segmentation doesn't know. Two other things are kept apart: what voxels do to a property (how much it changes when the
truth is taken at twice the voxel's edge), and what the piece doesn't show (its deviation over pieces of one material, beside the size
error that is stated).

    run.py --out build/measure-study                  30 phantoms of each kind (a GPU and a few cores: minutes)
    run.py --out build/measure-study --scale tiny     seconds, to see that it runs

Every measured phantom adds rows to OUT/rows.csv, and isn't measured again. The tables come out as Markdown. Needs Python, NumPy and the
credence program.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "coverage"))
from run import other_scan  # noqa: E402  the phantoms of the study of volume fractions

SCALES = {  # phantoms of each family and kind, their shape, that of the training scan, options of training, samples
    "full": (15, "96,128,128", "96,160,160", ["--chunk", "32,64,64", "--max-steps", "2000"], 24),
    "tiny": (2, "24,32,32", "48,64,64", ["--chunk", "16,32,32", "--max-steps", "4"], 4),
}
TRAINED = {"graphite": {"fraction": .60}, "weld": {"fraction": .18}}
KINDS = ("alike", "unlike")
PROPERTIES = ["volume_fraction", "specific_surface", "mean_curvature", "euler_6", "largest_share", "percolating_share_z",
              "mean_intercept_x", "thickness_mean", "d_rel_z", "tortuosity_factor_z"]
FIELDS = ["family", "kind", "phantom", "property", "truth", "truth_coarse", "segmentation", "median", "std", "low", "high",
          "size_error"]


class Study:
    def __init__(self, options):
        self.options = options
        self.count, self.shape, self.train_shape, self.train_options, self.samples = SCALES[options.scale]
        self.rows_path = os.path.join(options.out, "rows.csv")
        self.lock = threading.Lock()
        self.begin = time.monotonic()
        os.makedirs(self.data(), exist_ok=True)
        os.makedirs(options.out, exist_ok=True)
        self.rows = []
        if os.path.exists(self.rows_path):
            with open(self.rows_path, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def data(self, *names):
        return os.path.join(self.options.scratch or self.options.out, *names)

    def credence(self, *words):
        done = subprocess.run([self.options.credence, *map(str, words), "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"credence {words[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def phantom(self, family, name, shape, settings):
        folder = self.data(name)
        if not os.path.exists(os.path.join(folder, "phantom.json")):
            words = [word for key, value in settings.items() for word in (f"--{key}", value)]
            self.credence("phantom", family, "-o", folder, "--shape", shape, "--format", "npy", "--threads", 1, *words)

    def train(self, family):
        scan, model = self.data(f"{family}-train"), self.data(f"{family}.h5")
        self.phantom(family, f"{family}-train", self.train_shape, dict(TRAINED[family], seed=1))
        if not os.path.exists(model):
            self.credence("train", "--scan", f"{scan}/scan.npy", "--label", f"{scan}/label.npy", "--seed", 1, "--device",
                          self.options.device, *self.train_options, "-o", model + ".part.h5")
            os.replace(model + ".part.h5", model)

    def measure(self, *inputs):
        text = self.credence("measure", *inputs, "--json", "--properties", "all", "--axis", "z", "--lags", 1, "--phase", 1,
                             "--spacing", "1,1,1,voxel", "--threads", 1, "--tolerance", 1e-3)
        return {p["name"]: p for p in json.loads(text)["properties"]}

    def coarse(self, name):
        """The truth at twice the voxel's edge, measured in the units of the fine one."""
        fine = np.load(self.data(name, "truth.npy"))
        z, y, x = (n // 2 * 2 for n in fine.shape)
        blocks = fine[:z, :y, :x].reshape(z // 2, 2, y // 2, 2, x // 2, 2).sum((1, 3, 5), dtype=int)
        ties = np.indices(blocks.shape).sum(0) % 2  # half of the blocks that are half full
        path = self.data(name, "coarse.npy")
        np.save(path, (2 * blocks + ties > 8).astype("u1"))
        text = self.credence("measure", path, "--json", "--properties", "all", "--axis", "z", "--lags", 1, "--phase", 1, "--spacing",
                             "2,2,2,voxel", "--threads", 1, "--tolerance", 1e-3)
        return {p["name"]: p["segmentation"] for p in json.loads(text)["properties"]}

    def one(self, family, kind, number):
        if self.options.seconds and time.monotonic() - self.begin > self.options.seconds:
            return
        if any(r["family"] == family and r["kind"] == kind and r["phantom"] == str(number) for r in self.rows):
            return
        name = f"{family}-{kind}-{number}"
        settings = other_scan(family, number) if kind == "unlike" else dict(TRAINED[family], seed=500 + number)
        self.phantom(family, name, self.shape, settings)
        run = self.data(f"run-{name}")
        self.credence("predict", "--model", self.data(f"{family}.h5"), "--scan", self.data(name, "scan.npy"), "--samples",
                      self.samples, "--seed", 1, "--device", self.options.device, "--format", "npy", "--save-samples", "bits",
                      "-o", run, "--overwrite")
        found = self.measure(run)
        truth = self.measure(self.data(name, "truth.npy"))
        coarse = self.coarse(name)
        rows = [dict(zip(FIELDS, [family, kind, number, p, truth[p]["segmentation"], coarse[p], found[p]["segmentation"],
                                  found[p]["median"], found[p]["std"], *found[p]["interval"], truth[p]["size_error"]]))
                for p in PROPERTIES]
        shutil.rmtree(run)
        shutil.rmtree(self.data(name))
        with self.lock:
            self.rows += [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
            with open(self.rows_path + ".new", "w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                writer.writeheader()
                writer.writerows(self.rows)
            os.replace(self.rows_path + ".new", self.rows_path)

    def side_by_side(self, workers, function, jobs):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for done in [pool.submit(function, *job) for job in jobs]:
                done.result()

    def run(self):
        self.side_by_side(len(TRAINED), self.train, [(f,) for f in TRAINED])
        self.side_by_side(self.options.workers, self.one,
                          [(f, k, i) for i in range(self.count) for f in TRAINED for k in KINDS])


def number(text):
    return float(text) if text not in ("", "None") else math.nan


def mean(values):
    return sum(values) / len(values) if values else math.nan


def least_held(count):
    """The fewest of `count` that a 90 % interval holds in all but one study of forty."""
    total = 0.0
    for held in range(count + 1):
        total += math.comb(count, held) * .9 ** held * .1 ** (count - held)
        if total > .025:
            return held
    return count


def line(name, rows, pieces):
    """A property of some phantoms; `pieces` are those of one material."""
    some = [r for r in rows if math.isfinite(number(r["truth"])) and math.isfinite(number(r["low"]))]
    if len(some) < 3:
        return f"| {name} | {len(some)} | - | | | | | | |"
    truth = [number(r["truth"]) for r in some]
    scale = mean([abs(t) for t in truth]) or 1.0
    held = sum(number(r["low"]) <= t <= (number(r["high"]) if r["high"] else math.inf) for r, t in zip(some, truth))
    error = [number(r["median"]) - t for r, t in zip(some, truth)]
    error = [e for e in error if math.isfinite(e)]
    rms = math.sqrt(mean([e * e for e in error]))
    width = mean([number(r["high"]) - number(r["low"]) for r in some if r["high"]])
    voxel = mean([number(r["truth_coarse"]) - t for r, t in zip(some, truth) if math.isfinite(number(r["truth_coarse"]))])
    own = [number(r["truth"]) for r in pieces if math.isfinite(number(r["truth"]))]
    spread = math.sqrt(sum((v - mean(own)) ** 2 for v in own) / (len(own) - 1)) if len(own) > 1 else math.nan
    stated = mean([number(r["size_error"]) for r in pieces if r["size_error"]])
    percent = [f"{100 * v / scale:+.1f}" if math.isfinite(v) else "-" for v in (mean(error), voxel)]
    others = [f"{100 * v / scale:.1f}" if math.isfinite(v) else "-" for v in (rms, width, spread, stated)]
    return (f"| {name} | {len(some)} | {held} ({100 * held / len(some):.0f} %){' *' if held >= least_held(len(some)) else ''} | "
            f"{percent[0]} | {others[0]} | {others[1]} | {percent[1]} | {others[2]} | {others[3]} |")


def tables(rows):
    for kind in KINDS:
        print(f"\n{kind}: percents of the property's mean truth; * as often as 90 % intervals do\n")
        print("| property | phantoms | the interval holds | bias | rms error | width | at twice the voxel | over pieces | size error |")
        print("|---|---|---|---|---|---|---|---|---|")
        for family in [*TRAINED, None]:
            for p in PROPERTIES:
                some = [r for r in rows if r["kind"] == kind and family in (None, r["family"]) and r["property"] == p]
                alike = [r for r in rows if r["kind"] == "alike" and r["family"] == family and r["property"] == p]
                print(line(f"{family or 'both'}, {p}", some, alike))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of the results, and of the data without --scratch")
    parser.add_argument("--scratch", help="folder of the data")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="phantoms side by side")
    parser.add_argument("--seconds", type=float, help="begin no phantom after so many")
    parser.add_argument("--credence", default=os.path.join("build", "credence"))
    options = parser.parse_args()
    study = Study(options)
    study.run()
    tables(study.rows)


if __name__ == "__main__":
    main()
