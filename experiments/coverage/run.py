#!/usr/bin/env python3
"""How often does the 90 % interval of a volume fraction hold the truth?

Networks learn from one phantom of each family; phantoms of the same material with another share of it, other noise, contrast, blur,
rings and size of grains, whose truth is known exactly, are then segmented by each of them, and the interval in every manifest is
held against that truth. Nothing that judges was used to fit anything.

    run.py --out build/coverage                       100 phantoms, 3 trainings of each family, 2 recipes (a GPU: minutes)
    run.py --out build/coverage --scale tiny          seconds, to see that it runs

Every prediction is a line of OUT/rows.csv, written when it is done, and a line that is there isn't made again; --seconds ends early, and the
same command goes on. The tables come out as Markdown: one model, and three of them pooled (their samples together, their offsets averaged
change by change); the whole interval, the samples' part of it alone, and the systematic part alone. Needs nothing but Python and the
credence program.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time

LARGE = ["--norm", "levels", "--augment", "full", "--chunk", "48,96,96"]
# What is trained, on scans of which shape, and how it is tried: samples, and phantoms of which shape; of an ensemble one training.
SCALES = {
    "full": {"count": 50, "recipes": {
        "large": {"train": [*LARGE, "--batch", "2", "--max-steps", "1500"], "trained": "96,160,160", "tested": "96,128,128", "samples": 24},
        "small": {"train": ["--preset", "small"], "trained": "96,160,160", "tested": "64,96,96", "samples": 16},
        "ensemble": {"train": [*LARGE, "--batch", "2", "--max-steps", "1500", "--members", "3"], "trained": "96,160,160",
                     "tested": "96,128,128", "samples": 24, "trainings": 1}}},
    "cores": {"count": 10, "recipes": {
        "small": {"train": [], "trained": "64,128,128", "tested": "48,96,96", "samples": 16}}},
    "tiny": {"count": 2, "recipes": {
        "large": {"train": ["--norm", "levels", "--chunk", "8,16,16", "--filters", "4", "--batch", "4", "--max-steps", "70"],
                  "trained": "16,32,32", "tested": "16,32,32", "samples": 4}}},
}
TRAINED = {"graphite": {"fraction": .60}, "weld": {"fraction": .18}}
FIELDS = ["recipe", "family", "training", "phantom", "truth", "mean", "mean_probability", "low", "high", "systematic", "samples"]
FIRST_SEED = 52000  # of the phantoms that judge: no others were looked at when the rule was chosen
NINETY = 1.6448536269514722
MEDIAN_SIZE = .6744897501960817


def other_scan(family, number):
    """Settings of a phantom unlike the one that was learnt from, in everything at once."""
    draw = random.Random(f"judge {family} {number}").uniform
    graphite = family == "graphite"
    settings = {
        "seed": FIRST_SEED + number,
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
        self.count = options.phantoms or SCALES[options.scale]["count"]
        self.recipes = {name: recipe for name, recipe in SCALES[options.scale]["recipes"].items()
                        if not options.recipes or name in options.recipes}
        self.rows_path = os.path.join(options.out, "rows.csv")
        self.lock = threading.Lock()
        self.end = time.monotonic() + options.seconds
        os.makedirs(options.out, exist_ok=True)
        os.makedirs(options.scratch or options.out, exist_ok=True)
        # A prediction takes all that a GPU has, unless it is told what the others need.
        self.share = () if options.device == "cpu" else ("--max-gpu-memory", "6G", "--threads", "2")
        self.rows = self.read_rows()
        self.done = {tuple(row[key] for key in FIELDS[:4]) for row in self.rows}

    def read_rows(self):
        """What earlier calls left; a line that was cut off is dropped."""
        if not os.path.exists(self.rows_path):
            with open(self.rows_path, "w", newline="") as file:
                csv.writer(file).writerow(FIELDS)
            return []
        with open(self.rows_path, newline="") as file:
            text = file.read()
        if not text.endswith("\n"):
            text = text[:text.rfind("\n") + 1]
            with open(self.rows_path, "w", newline="") as file:
                file.write(text)
        return list(csv.DictReader(text.splitlines()))

    def path(self, *names):
        return os.path.join(self.options.scratch or self.options.out, *names)

    def model(self, recipe, family, seed):
        return os.path.join(self.options.out, f"{recipe}-{family}-{seed}.h5")

    def credence(self, *words):
        done = subprocess.run([self.options.credence, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"credence {words[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def phantom(self, family, name, shape, settings):
        folder = self.path(name)
        if not os.path.exists(os.path.join(folder, "phantom.json")):
            words = [word for key, value in settings.items() for word in (f"--{key}", value)]
            self.credence("phantom", family, "-o", folder, "--shape", shape, "--format", "npy", "--threads", 1, "--quiet", *words)

    def train(self, recipe, family, seed):
        model, options = self.model(recipe, family, seed), self.recipes[recipe]
        if os.path.exists(model):
            return
        scan = f"{family}-train-{options['trained']}"
        begin = time.monotonic()
        part = self.path(f"{recipe}-{family}-{seed}.part.h5")
        self.credence("train", "--scan", self.path(scan, "scan.npy"), "--label", self.path(scan, "label.npy"), "--seed", seed,
                      "--device", self.options.device, *options["train"], "-o", part, "--quiet")
        shutil.copy(part, model + ".part")
        os.replace(model + ".part", model)
        print(f"{recipe}, {family}, training {seed}: {time.monotonic() - begin:.0f} s", file=sys.stderr)

    def predict(self, recipe, family, seed, number):
        key = (recipe, family, str(seed), str(number))
        if key in self.done or time.monotonic() > self.end:
            return
        options = self.recipes[recipe]
        name = f"{family}-{number}-{options['tested']}"
        run = self.path("run-" + "-".join(key))
        self.phantom(family, name, options["tested"], other_scan(family, number))
        self.credence("predict", "--model", self.model(recipe, family, seed), "--scan", self.path(name, "scan.npy"), "--samples",
                      options["samples"], "--seed", seed, "--device", self.options.device, *self.share, "--format", "npy", "-o", run,
                      "--overwrite", "--quiet")
        with open(self.path(name, "phantom.json")) as file:
            truth = json.load(file)["volume_fraction"]
        with open(os.path.join(run, "manifest.json")) as file:
            found = json.load(file)["volume_fraction"]
        shutil.rmtree(run)
        row = dict(zip(FIELDS, [*key, truth, found["mean"], found["mean_probability"], *found["interval90"],
                                found["interval_systematic"], " ".join(map(repr, found["samples"]))]))
        with self.lock:
            self.rows.append({name: "" if value is None else str(value) for name, value in row.items()})
            with open(self.rows_path, "a", newline="") as file:
                csv.DictWriter(file, FIELDS).writerow(self.rows[-1])

    def side_by_side(self, workers, function, jobs):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for done in [pool.submit(function, *job) for job in jobs]:
                done.result()

    def run(self):
        for recipe, options in self.recipes.items():
            seeds = range(1, min(self.options.trainings, options.get("trainings", math.inf)) + 1)
            shape, tested = options["trained"], options["tested"]
            self.side_by_side(len(TRAINED), self.phantom, [(f, f"{f}-train-{shape}", shape, dict(TRAINED[f], seed=1)) for f in TRAINED])
            with concurrent.futures.ThreadPoolExecutor(self.options.makers) as makers:  # beside the trainings
                made = [makers.submit(self.phantom, f, f"{f}-{i}-{tested}", tested, other_scan(f, i))
                        for i in range(self.count) for f in TRAINED]
                self.side_by_side(self.options.trainers, self.train, [(recipe, f, s) for f in TRAINED for s in seeds])
                for phantom in made:
                    phantom.result()
            self.side_by_side(self.options.predictors, self.predict,
                              [(recipe, f, s, i) for i in range(self.count) for f in TRAINED for s in seeds])

    def offsets(self, recipe, family, seed):
        """Of the foreground's logit, change by change; None where the model has none."""
        found = json.loads(self.credence("info", self.model(recipe, family, seed), "--json")).get("intervals")
        return found and [shift["offsets"][1] for shift in found["shifts"]]


def quantile(values, share):
    place = share * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def slope(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mx) ** 2 for a in x)
    return sum((a - mx) * (b - my) for a, b in zip(x, y)) / spread if spread > 0 else math.nan


def widened(mean, low, high, term):
    """As predict does it."""
    below = mean - math.hypot(mean - low, NINETY * term)
    above = mean + math.hypot(high - mean, NINETY * term)
    return max(min(below, low), 0), min(max(above, high), 1)


class Case:
    """One phantom seen by one network, or by several together."""

    def __init__(self, truth, samples, term, interval=None):
        values = sorted(samples)
        low, high = quantile(values, .05), quantile(values, .95)
        self.truth, self.mean = truth, sum(values) / len(values)
        self.intervals = {"samples alone": (low, high)}
        if term is not None:
            self.intervals["systematic alone"] = widened(self.mean, self.mean, self.mean, term)
            self.intervals["interval90"] = interval or widened(self.mean, low, high, term)


def single(row):
    return Case(float(row["truth"]), list(map(float, row["samples"].split())), float(row["systematic"]) if row["systematic"] else None,
                (float(row["low"]), float(row["high"])))


def pooled(rows, offsets):
    """The samples of several networks together. The mean of p (1 - p) is the mean of theirs, which each one's term tells."""
    samples = [float(value) for row in rows for value in row["samples"].split()]
    if any(own is None for own in offsets) or any(not row["systematic"] for row in rows):
        return Case(float(rows[0]["truth"]), samples, None)
    size = [statistics.median(map(abs, own)) / MEDIAN_SIZE for own in offsets]
    spread = statistics.mean(float(row["systematic"]) / own for row, own in zip(rows, size) if own > 0)
    together = statistics.median(abs(statistics.mean(values)) for values in zip(*offsets)) / MEDIAN_SIZE
    return Case(float(rows[0]["truth"]), samples, together * spread)


def line(name, cases, part):
    """Coverage, mean width over the root mean square error, Gneiting's interval score of nominal 90 % intervals."""
    some = [case for case in cases if part in case.intervals]
    if not some:
        return
    error = [case.mean - case.truth for case in some]
    rms = math.sqrt(sum(e * e for e in error) / len(error))
    held, width, score = 0, 0.0, 0.0
    for case in some:
        low, high = case.intervals[part]
        held += low <= case.truth <= high
        width += high - low
        score += high - low + 20.0 * (max(0.0, low - case.truth) + max(0.0, case.truth - high))
    n = len(some)
    ratio = width / n / rms if rms > 0 else math.nan
    print(f"| {name} | {part} | {n} | {rms:.4f} | {slope([case.truth for case in some], error):+.2f} | {100 * held / n:.0f} % | {ratio:.2f} | "
          f"{score / n:.4f} |")


def tables(study):
    for recipe in study.recipes:
        rows = [row for row in study.rows if row["recipe"] == recipe]
        seeds = sorted({row["training"] for row in rows})
        print(f"\n### {recipe}: {' '.join(study.recipes[recipe]['train'])}\n")
        print("| models | interval | phantoms | rms error | slope | holds the truth | width / rms error | score |")
        print("|---|---|---|---|---|---|---|---|")
        cases = {(f, s): [single(r) for r in rows if (r["family"], r["training"]) == (f, s)] for f in TRAINED for s in seeds}
        together = {}
        for family in TRAINED:
            offsets = [study.offsets(recipe, family, seed) for seed in seeds]
            together[family] = []
            for number in sorted({row["phantom"] for row in rows if row["family"] == family}):
                own = [row for row in rows if (row["family"], row["phantom"]) == (family, number)]
                if len(own) == len(seeds) > 1:
                    together[family].append(pooled(sorted(own, key=lambda row: row["training"]), offsets))
        for part in ("interval90", "samples alone", "systematic alone"):
            for (family, seed), own in cases.items():
                if part == "interval90":
                    line(f"{family}, training {seed}", own, part)
            for family in TRAINED:
                line(f"{family}, one model", [case for (f, _), own in cases.items() if f == family for case in own], part)
            line("all, one model", [case for own in cases.values() for case in own], part)
            for family in TRAINED:
                line(f"{family}, {len(seeds)} pooled", together[family], part)
            line(f"all, {len(seeds)} pooled", [case for own in together.values() for case in own], part)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of models and results")
    parser.add_argument("--scratch", help="folder of phantoms and runs; without it, the same")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--recipes", nargs="*", help="only these")
    parser.add_argument("--trainings", type=int, default=3)
    parser.add_argument("--phantoms", type=int, help="of each family; without it, as the scale says")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--trainers", type=int, default=6, help="trainings side by side")
    parser.add_argument("--predictors", type=int, default=10, help="predictions side by side")
    parser.add_argument("--makers", type=int, default=os.cpu_count(), help="phantoms made side by side")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no prediction begins after so many")
    parser.add_argument("--credence", default=os.path.join("build", "credence"))
    study = Study(parser.parse_args())
    study.run()
    tables(study)


if __name__ == "__main__":
    main()
