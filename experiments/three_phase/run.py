#!/usr/bin/env python3
"""Three phases from the label to the figures: an electrode of particle, binder and pore.

Networks learn from the imperfect hand label of one phantom and segment others, whose truth is known exactly: one like it, and one with two thirds
of its contrast. Two kinds of network, and for the Bayesian one the three priors, all trained equally long.

    run.py --out build/three_phase                    two cores: five minutes a network, and there are twelve
    run.py --out build/three_phase --scale tiny       seconds, to see that it runs
    run.py --out build/three_phase --scale large --device cuda --jobs 4      test volumes of 256 x 512 x 512, a GPU: minutes

Every prediction is a line of OUT/rows.csv, written when it is done, and a line that is there isn't made again; --seconds ends early, and the same
command goes on. The tables come out as Markdown. Needs nothing but Python and the credence program; the last network of each kind keeps
its run folder and its page, OUT/NAME.html.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

NAMES = ["pore", "particle", "binder"]
SCALES = {
    "large": {"trained": "128,256,256", "tested": "256,512,512", "samples": 48,
              "train": ["--norm", "levels", "--augment", "full", "--chunk", "48,96,96", "--batch", "2", "--max-steps", "1000"]},
    "cores": {"trained": "64,128,128", "tested": "64,128,128", "samples": 24, "train": ["--preset", "small"]},
    "tiny": {"trained": "16,32,32", "tested": "16,32,32", "samples": 4,
             "train": ["--norm", "levels", "--chunk", "8,16,16", "--filters", "4", "--batch", "2", "--max-steps", "40"]},
}
TESTS = {"like training": [], "faint": ["--contrast", "0.2"]}
NETWORKS = {"bcnn, normal prior": ["--kind", "bcnn"],
            "mcdn": ["--kind", "mcdn"],
            "bcnn, scale mixture": ["--kind", "bcnn", "--prior", "mixture"],
            "bcnn, spike and slab": ["--kind", "bcnn", "--prior", "spike-slab"]}
FIELDS = ["network", "seed", "test", "accuracy", "dice", *(f"dice_{name}" for name in NAMES), "p_accurate_given_certain",
          "p_uncertain_given_inaccurate", "ece", "nll", "aurc", "held", "off", "train_seconds", "predict_seconds"]


class Bench:
    def __init__(self, options):
        self.options, self.scale = options, SCALES[options.scale]
        self.table = os.path.join(options.out, "rows.csv")
        self.lock, self.begin = threading.Lock(), time.time()
        self.rows = []
        if os.path.exists(self.table):
            with open(self.table, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def path(self, *parts):
        return os.path.join(self.options.out, *parts)

    def out_of_time(self):
        return self.options.seconds and time.time() - self.begin > self.options.seconds

    def run(self, *words):
        words = [self.options.credence, *words]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{done.stderr}")
        return done.stdout

    def phantom(self, name, shape, seed, more=()):
        if not os.path.exists(self.path(name, "phantom.json")):
            self.run("phantom", "electrode", "-o", self.path(name), "--shape", shape, "--seed", str(seed), "--format", "npy",
                     "--spacing", "0.4,0.4,0.4,um", "-q", *more)

    def make_scans(self):
        self.phantom("train", self.scale["trained"], 1)
        for number, (test, more) in enumerate(TESTS.items()):
            self.phantom(f"test{number}", self.scale["tested"], 11 + number, more)

    def done(self, network, seed, test):
        return any(r["network"] == network and r["seed"] == str(seed) and r["test"] == test for r in self.rows)

    def device(self):
        return ["--device", self.options.device, *(["--threads", str(self.options.threads)] if self.options.threads else [])]

    def share(self):
        """A prediction takes all that a GPU has, unless it is told what the others need."""
        return [] if self.options.jobs == 1 or self.options.device == "cpu" else ["--max-gpu-memory", "16G"]

    def train(self, network, seed, model):
        begin = time.time()
        if not os.path.exists(model):
            self.run("train", "--scan", self.path("train", "scan.npy"), "--label", self.path("train", "label.npy"), "-o", model,
                     *self.scale["train"], *(["--max-steps", str(self.options.steps)] if self.options.steps else []), *NETWORKS[network], "--seed", str(seed), "--class-names", ",".join(NAMES), *self.device(), "-q",
                     *(["--resume"] if os.path.exists(model[:-3] + ".ckpt.h5") else []))
        return time.time() - begin

    def unit(self, network, seed):
        tests = [t for t in TESTS if not self.done(network, seed, t)]
        if not tests or self.out_of_time():
            return
        tag = f"{network.replace(', ', '-').replace(' ', '-')}-{seed}"
        model = self.path(f"{tag}.h5")
        trained = self.train(network, seed, model)
        for test in tests:
            if self.out_of_time():
                return
            self.predict(network, seed, test, tag, model, trained)

    def predict(self, network, seed, test, tag, model, trained):
        scan = f"test{list(TESTS).index(test)}"
        folder, begin = self.path(f"{tag}-{scan}"), time.time()
        truth = self.path(scan, "truth.npy")
        self.run("predict", "--model", model, "--scan", self.path(scan, "scan.npy"), "-o", folder, "--samples", str(self.scale["samples"]),
                 "--seed", str(seed), "--overwrite", "-q", *self.device(), *self.share())
        predicted = time.time() - begin
        figures = json.loads(self.run("validate", folder, "--label", truth, "--json", "--core", "-q"))
        with open(os.path.join(folder, "manifest.json")) as file:
            classes = json.load(file)["classes"]
        truths = [c["label_fraction"] for c in figures["classes"]]
        row = {"network": network, "seed": seed, "test": test, "accuracy": figures["accuracy"], "dice": figures["dice"],
               **{f"dice_{c['name']}": c["dice"] for c in figures["classes"]}, **{key: figures["pavpu"][key] for key in FIELDS if
                                                                                 key in figures["pavpu"]},
               **{key: figures["calibration"][key] for key in ("ece", "nll", "aurc")},
               "held": sum(c["interval90"][0] <= t <= c["interval90"][1] for c, t in zip(classes, truths)),
               "off": max(abs(c["mean"] - t) for c, t in zip(classes, truths)),
               "train_seconds": round(trained, 1), "predict_seconds": round(predicted, 1)}
        with self.lock:
            self.rows.append({key: str(value) for key, value in row.items()})
            fresh = not os.path.exists(self.table)
            with open(self.table, "a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                if fresh:
                    writer.writeheader()
                writer.writerow(row)
        if seed == self.options.seeds and self.options.scale != "large":
            self.run("report", folder, "--label", truth, "-o", self.path(f"{tag}-{scan}.html"), "-q")
        else:
            shutil.rmtree(folder)

    def tables(self):
        columns = [("mean Dice", "dice"), *((name, f"dice_{name}") for name in NAMES), ("accuracy", "accuracy"),
                   ("P(A\\|C)", "p_accurate_given_certain"), ("P(U\\|I)", "p_uncertain_given_inaccurate"), ("ECE", "ece"), ("NLL", "nll"),
                   ("AURC", "aurc"), ("share off by", "off")]
        for test in TESTS:
            print(f"\n{test}:\n\n| network | seeds | {' | '.join(title for title, _ in columns)} | intervals hold |")
            print("|---" * (len(columns) + 3) + "|")
            for network in NETWORKS:
                rows = [r for r in self.rows if r["network"] == network and r["test"] == test]
                if not rows:
                    continue
                cells = []
                for _, key in columns:
                    values = [float(r[key]) for r in rows]
                    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
                    cells.append(f"{statistics.mean(values):.4f}{spread}")
                held = sum(int(r["held"]) for r in rows)
                print(f"| {network} | {len(rows)} | {' | '.join(cells)} | {held} of {len(NAMES) * len(rows)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--scale", choices=SCALES, default="cores")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--networks", type=int, default=len(NETWORKS), help="how many of the four, in their order")
    parser.add_argument("--jobs", type=int, default=1, help="networks side by side")
    parser.add_argument("--threads", type=int, default=0, help="of each; 0: the program's choice")
    parser.add_argument("--steps", type=int, default=0, help="of every training; 0: the scale's")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seconds", type=float, default=0, help="begin nothing new after that; 0: go on to the end")
    parser.add_argument("--credence", default="build/credence")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    bench = Bench(options)
    bench.make_scans()
    units = [(network, seed) for network in list(NETWORKS)[:options.networks] for seed in range(1, options.seeds + 1)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one in [pool.submit(bench.unit, *unit) for unit in units]:
            one.result()
    bench.tables()


main()
