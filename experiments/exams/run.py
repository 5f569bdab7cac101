#!/usr/bin/env python3
"""Does the exam at the end of a training tell how well the model does on another scan of the same kind?

Each training learns from a phantom of its own and looks once, at its end, at blocks of the label that it held back: the exam. Its Dice has a
90 % interval over the blocks. A fresh phantom of the same settings is then segmented, and its Dice, over the whole of it, is held against that
interval: against its hand label, which errs as the exam's does, and against its exact truth.

    run.py --out build/exams                        20 trainings, the preset small (a GPU: minutes)
    run.py --out build/exams --scale cores          two cores: less than an hour
    run.py --out build/exams --scale tiny           seconds, to see that it runs

Every training is a line of OUT/rows.csv, written when it is done, and a line that is there isn't made again; --seconds ends early, and the same
command goes on. The table comes out as Markdown. Needs nothing but Python and the credence program.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import shutil
import subprocess
import sys
import threading
import time

# Trainings, shape of the phantoms, options of training, samples.
SCALES = {
    "full": (20, "64,128,128", ["--preset", "small"], 16),
    "cores": (20, "48,96,96", ["--preset", "small", "--max-steps", "500"], 16),
    "tiny": (2, "32,64,64", ["--chunk", "16,32,32", "--filters", "4", "--max-steps", "30", "--valid-fraction", "0.1"], 4),
}
FAMILIES = {"graphite": ["--fraction", ".60"], "weld": ["--fraction", ".18"]}
FIELDS = ["family", "seed", "exam", "low", "high", "blocks", "label", "truth", "accuracy_exam", "accuracy_truth"]
FRESH = 7000  # seeds of the phantoms that judge begin here


class Study:
    def __init__(self, options):
        self.options = options
        self.count, self.shape, self.train_options, self.samples = SCALES[options.scale]
        self.table = os.path.join(options.out, "rows.csv")
        self.lock, self.begin = threading.Lock(), time.time()
        os.makedirs(options.out, exist_ok=True)
        self.rows = []
        if os.path.exists(self.table):
            with open(self.table, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def credence(self, *words):
        done = subprocess.run([self.options.credence, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"credence {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def phantom(self, folder, family, seed):
        self.credence("phantom", family, *FAMILIES[family], "--seed", seed, "--shape", self.shape, "--format", "npy", "--threads", 1,
                      "--quiet", "-o", folder)

    def dice(self, run, label):
        figures = json.loads(self.credence("validate", run, "--label", label, "--core", "--threads", 1, "--quiet", "--json"))
        return figures["dice"], figures["accuracy"]

    def one(self, family, seed):
        if time.time() - self.begin > self.options.seconds or any((row["family"], row["seed"]) == (family, str(seed)) for row in self.rows):
            return
        folder = os.path.join(self.options.scratch or self.options.out, f"{family}-{seed}")
        learnt, fresh, model, run = (os.path.join(folder, name) for name in ("learnt", "fresh", "model.h5", "run"))
        os.makedirs(folder, exist_ok=True)
        self.phantom(learnt, family, seed)
        self.phantom(fresh, family, FRESH + seed)
        machine = ["--device", self.options.device, "--threads", self.options.threads, "--quiet"]
        trained = json.loads(self.credence("train", "--scan", learnt + "/scan.npy", "--label", learnt + "/label.npy", *self.train_options,
                                           "--seed", seed, *machine, "-o", model, "--json"))
        exam = trained["heldout"]
        self.credence("predict", "--model", model, "--scan", fresh + "/scan.npy", "--samples", self.samples, "--format", "npy", *machine, "-o", run,
                      "--overwrite")
        label, _ = self.dice(run, fresh + "/label.npy")
        truth, accuracy = self.dice(run, fresh + "/truth.npy")
        low, high = exam["dice_interval"] or (None, None)
        row = dict(zip(FIELDS, (family, str(seed), exam["dice"], low, high, exam["blocks"], label, truth, exam["accuracy"], accuracy)))
        with self.lock:
            new = not os.path.exists(self.table)
            with open(self.table, "a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                if new:
                    writer.writeheader()
                writer.writerow(row)
            self.rows.append({key: "" if value is None else str(value) for key, value in row.items()})
        shutil.rmtree(folder)

    def run(self):
        families = list(FAMILIES)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            for done in [pool.submit(self.one, families[i % len(families)], i + 1) for i in range(self.count)]:
                done.result()

    def print_table(self):
        print("| family | trainings | holds the Dice against the hand label | against the truth | mean width | rms of exam minus Dice |")
        print("|---|---|---|---|---|---|")
        for family in (*FAMILIES, "all"):
            rows = [row for row in self.rows if family in (row["family"], "all")]
            judged = [row for row in rows if row["low"] and row["high"]]
            if not judged:
                continue
            held = {key: sum(float(row["low"]) <= float(row[key]) <= float(row["high"]) for row in judged) for key in ("label", "truth")}
            width = sum(float(row["high"]) - float(row["low"]) for row in judged) / len(judged)
            rms = (sum((float(row["exam"]) - float(row["label"])) ** 2 for row in judged) / len(judged)) ** .5
            print(f"| {family} | {len(rows)} | {held['label']} of {len(judged)} | {held['truth']} of {len(judged)} | {width:.4f} | {rms:.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of the table")
    parser.add_argument("--scratch", help="folder of phantoms and models; without it, the same")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", default="2", help="threads of each training")
    parser.add_argument("--jobs", type=int, default=6, help="trainings side by side")
    parser.add_argument("--seconds", type=float, default=1e9, help="no training begins after so many")
    parser.add_argument("--credence", default=os.path.join("build", "credence"))
    study = Study(parser.parse_args())
    study.run()
    study.print_table()
    return 0


if __name__ == "__main__":
    sys.exit(main())
