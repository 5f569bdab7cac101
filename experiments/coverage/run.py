#!/usr/bin/env python3
"""How often does the 90 % interval of a volume fraction hold the truth?

Networks learn from one phantom of each family; phantoms of the same material with another share of it, other noise, contrast, blur,
rings and size of grains, whose truth is known exactly, are then segmented by each of them, and the interval in every manifest is
held against that truth. Nothing that judges was used to fit anything.

    run.py --out build/coverage                       100 phantoms, 3 trainings of each family (a GPU: minutes)
    run.py --out build/coverage --scale tiny          seconds, to see that it runs

Every prediction is a row of OUT/rows.csv, and a row that is there isn't made again. The table comes out as Markdown. Needs nothing but
Python and the credence program.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import random
import shutil
import subprocess
import sys
import threading

SCALES = {  # phantoms of each family, their shape, that of the training scan, options of training, samples
    "full": (50, "96,128,128", "96,160,160", ["--chunk", "32,64,64", "--max-steps", "2000"], 24),
    "small": (10, "48,96,96", "64,128,128", [], 16),
    "tiny": (2, "24,32,32", "48,64,64", ["--chunk", "16,32,32", "--max-steps", "4"], 4),
}
TRAINED = {"graphite": {"fraction": .60}, "weld": {"fraction": .18}}
FIELDS = ["family", "training", "phantom", "truth", "mean", "mean_cut", "mean_probability", "low", "high", "sample_low",
          "sample_high"]


def other_scan(family, number):
    """Settings of a phantom unlike the one that was learnt from, in everything at once."""
    draw = random.Random(f"{family} {number}").uniform
    graphite = family == "graphite"
    settings = {
        "seed": 1000 + number,
        "contrast": .2 * draw(.65, 1.3),
        "brightness": (.45 if graphite else .4) * draw(.85, 1.15),
        "noise": .022 * draw(.6, 2.0),
        "noise-correlated": .025 * draw(.6, 1.8),
        "blur": draw(.5, 1.3),
        "rings": (.03 if graphite else .02) * draw(.3, 2.0),
        "cupping": (.15 if graphite else .06) * draw(.3, 1.5),
        "drift": (.03 if graphite else .02) * draw(.3, 1.5),
        "fraction": draw(.45, .72) if graphite else draw(.08, .28),
    }
    settings["grain-size" if graphite else "void-size"] = draw(9, 20) if graphite else draw(3.5, 7)
    return settings


class Study:
    def __init__(self, options):
        self.options = options
        self.count, self.shape, self.train_shape, self.train_options, self.samples = SCALES[options.scale]
        self.rows_path = os.path.join(options.out, "rows.csv")
        self.lock = threading.Lock()
        os.makedirs(options.out, exist_ok=True)
        self.rows = []
        if os.path.exists(self.rows_path):
            with open(self.rows_path, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def path(self, *names):
        return os.path.join(self.options.out, *names)

    def credence(self, *words):
        done = subprocess.run([self.options.credence, *map(str, words), "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"credence {words[0]} failed: {done.stderr.strip()}")

    def phantom(self, family, name, shape, settings):
        folder = self.path(name)
        if not os.path.exists(os.path.join(folder, "phantom.json")):
            words = [word for key, value in settings.items() for word in (f"--{key}", value)]
            self.credence("phantom", family, "-o", folder, "--shape", shape, "--format", "npy", "--threads", 1, *words)

    def train(self, family, seed):
        scan = self.path(f"{family}-train")
        self.phantom(family, f"{family}-train", self.train_shape, dict(TRAINED[family], seed=1))
        model = self.path(f"{family}-{seed}.h5")
        if not os.path.exists(model):
            self.credence("train", "--scan", f"{scan}/scan.npy", "--label", f"{scan}/label.npy", "--seed", seed, "--device",
                          self.options.device, *self.train_options, "-o", model + ".part.h5")
            os.replace(model + ".part.h5", model)

    def predict(self, family, seed, number):
        name = f"{family}-test-{number}"
        if any(r["family"] == family and r["training"] == str(seed) and r["phantom"] == str(number) for r in self.rows):
            return
        run = self.path(f"run-{family}-{seed}-{number}")
        self.credence("predict", "--model", self.path(f"{family}-{seed}.h5"), "--scan", self.path(name, "scan.npy"), "--samples",
                      self.samples, "--seed", seed, "--device", self.options.device, "--format", "npy", "-o", run, "--overwrite")
        with open(self.path(name, "phantom.json")) as file:
            truth = json.load(file)["volume_fraction"]
        with open(os.path.join(run, "manifest.json")) as file:
            found = json.load(file)["volume_fraction"]
        values = sorted(found["samples"])
        row = dict(zip(FIELDS, [family, seed, number, truth, found["mean"], found["mean_cut"], found["mean_probability"],
                                *found["interval90"], quantile(values, .05), quantile(values, .95)]))
        shutil.rmtree(run)
        with self.lock:
            self.rows.append({key: str(value) for key, value in row.items()})
            with open(self.rows_path, "w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                writer.writeheader()
                writer.writerows(self.rows)

    def side_by_side(self, workers, function, jobs):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for done in [pool.submit(function, *job) for job in jobs]:
                done.result()

    def run(self):
        seeds = range(1, self.options.trainings + 1)
        self.side_by_side(os.cpu_count(), self.phantom, [(f, f"{f}-test-{i}", self.shape, other_scan(f, i))
                                                         for f in TRAINED for i in range(self.count)])
        self.side_by_side(self.options.trainers, self.train, [(f, s) for f in TRAINED for s in seeds])
        self.side_by_side(self.options.predictors, self.predict,
                          [(f, s, i) for f in TRAINED for s in seeds for i in range(self.count)])


def quantile(values, share):
    place = share * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def slope(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mx) ** 2 for a in x)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / spread if spread > 0 else math.nan


def figures(rows, low, high):
    """Coverage, mean width over the root mean square error, and Gneiting's interval score of nominal 90 % intervals."""
    held, width, score = 0, 0.0, 0.0
    for truth, a, b in zip((float(r["truth"]) for r in rows), low, high):
        held += a <= truth <= b
        width += b - a
        score += b - a + 20.0 * (max(0.0, a - truth) + max(0.0, truth - b))
    n = len(rows)
    rms = math.sqrt(sum((float(r["mean"]) - float(r["truth"])) ** 2 for r in rows) / n)
    return held / n, width / n, width / n / rms if rms > 0 else math.nan, score / n


def table(rows):
    print("| family, training | phantoms | rms error | slope | the interval holds | its width / rms error | its score |")
    print("|---|---|---|---|---|---|---|")
    groups = [(f, s) for f in TRAINED for s in sorted({r["training"] for r in rows})] + [(f, None) for f in TRAINED] + [(None, None)]
    for family, seed in groups:
        some = [r for r in rows if family in (None, r["family"]) and seed in (None, r["training"])]
        if not some:
            continue
        error = [float(r["mean"]) - float(r["truth"]) for r in some]
        rms = math.sqrt(sum(e * e for e in error) / len(error))
        held, _, width, score = figures(some, *[[float(r[end]) for r in some] for end in ("low", "high")])
        name = "all" if family is None else f"{family}, {'all' if seed is None else seed}"
        print(f"| {name} | {len(some)} | {rms:.4f} | {slope([float(r['truth']) for r in some], error):+.2f} | "
              f"{100 * held:.0f} % | {width:.2f} | {score:.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of data and results")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--trainings", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--trainers", type=int, default=6, help="trainings side by side")
    parser.add_argument("--predictors", type=int, default=10, help="predictions side by side")
    parser.add_argument("--credence", default=os.path.join("build", "credence"))
    options = parser.parse_args()
    study = Study(options)
    study.run()
    table(study.rows)


if __name__ == "__main__":
    main()
