#!/usr/bin/env python3
"""Trains networks in many ways, predicts phantoms unlike the one they learnt from in several modes, and keeps every figure.

    run.py grid                       grey levels x augmentation at chunk 48,96,96
    run.py preset                     what the preset `small` could be, at the time that it takes on two cores
    run.py cells                      as `grid`, smaller
    run.py longer                     the preset again, with ten minutes on two cores
    run.py short                      the preset again, in a third of the time
    run.py arms                       norms in the last part of a training: the chunk's, running ones, frozen ones
    run.py grid preset --seconds 280  both, as far as they come in that time

Trainings and predictions run side by side, since a small network doesn't fill a GPU. Every figure is a row of OUT/figures.csv, and a
row that is there isn't made again: start the same command again and it goes on with what is missing.
Needs nothing but Python and the credence program; `arms` needs PyTorch and h5py, too (last_part.py).
"""
import argparse
import csv
import ctypes
import heapq
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = ("study", "grey", "augment", "chunk", "batch", "steps", "lr", "arm", "kind", "seed")
FIGURES = ("accuracy", "nll", "p_u_given_i", "p_a_given_c", "ece", "aurc", "uncertainty", "fraction", "fraction_mean", "truth",
           "largest")
TRAIN = {"large": {"shape": "128,192,192"}, "small": {"shape": "64,128,128"}}
TESTS = {
    "like": {"seed": 101},
    "f45": {"seed": 102, "fraction": .45},
    "f71": {"seed": 103, "fraction": .71},
    "noisy": {"seed": 104, "noise": .045},
    "faint": {"seed": 105, "contrast": .14},
    "fine": {"seed": 106, "grain-size": 9},
    "blurred": {"seed": 107, "blur": 1.4},
    "coarse": {"seed": 108, "grain-size": 22},
}
MODES = {
    "step 3": {"mode": "overlap"},
    "training": {"mode": "seamless", "norms": "training"},
    "scan": {"mode": "seamless", "norms": "scan"},
}
KINDS = ("bcnn", "mcdn")


def unit(study, grey, augment, chunk, batch, steps, kind, seed, lr="0.003", arm="chunk"):
    return dict(zip(KEYS, (study, grey, augment, chunk, str(batch), str(steps), lr, arm, kind, str(seed))))


def grid(seeds, scale):
    """The best and today's first, so that a run that is cut short still tells them apart."""
    chunk, steps = ("48,96,96", 1500) if scale == "full" else ("16,32,32", 3)
    for (grey, augment), seed, kind in itertools.product(
            (("levels", "full"), ("scan", "flips"), ("scan", "full"), ("levels", "flips")), seeds, KINDS):
        yield unit("grid", grey, augment, chunk, 4, steps, kind, seed)


# Chunk, batch, steps, rate: about 98 million voxels each, which is what 1,500 steps of 4 chunks of 16,32,32 are.
CANDIDATES = (("16,32,32", 4, 1500, "0.003"), ("24,48,48", 1, 1780, "0.003"), ("24,48,48", 2, 890, "0.003"),
              ("32,64,64", 1, 750, "0.003"), ("32,64,64", 2, 375, "0.003"), ("24,48,48", 1, 1780, "0.0015"),
              ("32,64,64", 1, 750, "0.0015"), ("48,96,96", 1, 222, "0.003"))


def preset(seeds, scale):
    def steps(count):
        return count if scale == "full" else 3
    for seed, kind in itertools.product(seeds, KINDS):
        chunk, batch, count, lr = CANDIDATES[0]
        yield unit("preset", "scan", "flips", chunk, batch, steps(count), kind, seed, lr)
        for chunk, batch, count, lr in CANDIDATES:
            yield unit("preset", "levels", "full", chunk, batch, steps(count), kind, seed, lr)


# Chunk, batch, steps: about ten minutes on two cores each.
LONGER = (("24,48,48", 1, 6000), ("32,64,64", 1, 4000), ("32,64,64", 2, 2000))


def longer(seeds, scale):
    """What the preset could be if it took ten minutes, beside what it is."""
    for seed, kind in itertools.product(seeds, KINDS):
        yield unit("longer", "scan", "flips", "16,32,32", 4, 1500 if scale == "full" else 3, kind, seed)
        for chunk, batch, steps in LONGER:
            yield unit("longer", "levels", "full", chunk, batch, steps if scale == "full" else 3, kind, seed)


def short(seeds, scale):
    """A third of the time, as the demonstration takes."""
    for seed, kind in itertools.product(seeds, KINDS):
        yield unit("short", "scan", "flips", "16,32,32", 4, 500 if scale == "full" else 2, kind, seed)
        for chunk, batch, count, lr in CANDIDATES[:4]:
            yield unit("short", "levels", "full", chunk, batch, count // 3 if scale == "full" else 2, kind, seed, lr)


def cells(seeds, scale):
    """Grey levels x augmentation, shorter and with smaller chunks than `grid`."""
    chunk, steps = ("32,64,64", 1000) if scale == "full" else ("16,32,32", 3)
    for seed, (grey, augment), kind in itertools.product(
            seeds, (("levels", "full"), ("scan", "flips"), ("scan", "full"), ("levels", "flips")), KINDS):
        yield unit("cells", grey, augment, chunk, 4, steps, kind, seed)


# Chunk, batch, steps with the norms of the chunk, steps of the last part.
ARMS = (("24,48,48", 1, 4000, 2000), ("32,64,64", 1, 2700, 1300))


def arms(seeds, scale):
    """One training with the norms of the chunk, and three ways to end it."""
    for seed, (chunk, batch, steps, _), kind in itertools.product(seeds, ARMS, KINDS):
        for arm in ("chunk", "running", "frozen"):
            yield unit("arms", "levels", "full", chunk, batch, steps if scale == "full" else 3, kind, seed, arm=arm)


STUDIES = {  # units, the training phantom, tests, modes, and when its turn comes: the smaller, the sooner
    "grid": (grid, "large", tuple(TESTS), ("training", "step 3", "scan"), 1),
    "preset": (preset, "small", ("like", "f45", "f71", "noisy", "faint", "fine"), ("training", "step 3"), .6),
    "longer": (longer, "small", ("like", "f45", "f71", "noisy", "faint", "fine"), ("training", "step 3"), .7),
    "short": (short, "small", ("like", "f45", "f71", "faint"), ("training", "step 3"), 1.5),
    "arms": (arms, "small", ("like", "f45", "f71", "noisy", "faint", "fine"), ("training", "step 3"), .9),
    "cells": (cells, "large", tuple(TESTS)[:7], ("training", "step 3"), 1),
}


def name_of(u):
    return "-".join(u[key] for key in KEYS).replace(",", "x")


class Table:
    """OUT/figures.csv: one row for each unit, test and mode."""

    def __init__(self, path):
        self.path, self.lock, self.rows = path, threading.Lock(), set()
        self.head = (*KEYS, "test", "mode", *FIGURES)
        if os.path.exists(path):
            with open(path, newline="") as file:
                self.rows = {self.key(row) for row in csv.DictReader(file)}
        else:
            with open(path, "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(self.head)

    def key(self, row):
        return tuple(row[key] for key in (*KEYS, "test", "mode"))

    def add(self, row):
        with self.lock, open(self.path, "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([row[key] for key in self.head])
            self.rows.add(self.key(row))


class Work:
    """Tasks by priority for several threads, until the time is up."""

    def __init__(self, deadline):
        self.deadline, self.ready, self.heap, self.count, self.busy = deadline, threading.Condition(), [], 0, 0
        self.children = set()

    def put(self, priority, task, *arguments):
        with self.ready:
            self.count += 1
            heapq.heappush(self.heap, (priority, self.count, task, arguments))
            self.ready.notify()

    def finished(self):
        with self.ready:
            return not self.heap and self.busy == 0

    def thread(self):
        while time.time() < self.deadline:
            with self.ready:
                if not self.heap:
                    self.ready.wait(.1)
                    continue
                _, _, task, arguments = heapq.heappop(self.heap)
                self.busy += 1
            try:
                task(*arguments)
            except Exception as reason:  # one unit less; the others go on
                if time.time() < self.deadline:
                    print(f"{task.__name__}: {reason}", file=sys.stderr, flush=True)
            with self.ready:
                self.busy -= 1

    def call(self, command, log, **more):
        with open(log, "a") as errors:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, **more)
            self.children.add(child)
            out = child.communicate()[0]
            self.children.discard(child)
        if child.returncode != 0:
            raise RuntimeError(f"exit {child.returncode}: {' '.join(command)}; see {log}")
        return out


def serve(path):
    """Predicts what lines of JSON on standard input ask for, by libcredence.so: a GPU is got ready once, not for each."""
    lib = ctypes.CDLL(path)
    lib.crd_last_error.restype = ctypes.c_void_p
    table = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(lib, "crd_predict_settings")))
    for line in sys.stdin:
        options = ctypes.create_string_buffer(1 << 14)  # more than any struct of options takes
        status = lib.crd_settings_default(table, options)
        for name, value in json.loads(line).items():
            status = status or lib.crd_settings_set(table, options, name.encode(), value.encode())
        status = status or lib.crd_predict(options, None, None)
        # crd_error begins with the status, and the sentence follows.
        print("" if status == 0 else ctypes.string_at(lib.crd_last_error() + 4).decode(), flush=True)
        lib.crd_settings_clear(table, options)


class Server:
    """A process that serves, of the thread that asks."""
    mine = threading.local()

    @classmethod
    def predict(cls, library, settings, work, log):
        child = getattr(cls.mine, "child", None)
        if child is None or child.poll() is not None:
            with open(log, "a") as errors:
                child = cls.mine.child = subprocess.Popen([sys.executable, __file__, "--serve", library], text=True,
                                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
            work.children.add(child)
        child.stdin.write(json.dumps(settings) + "\n")
        child.stdin.flush()
        answer = child.stdout.readline()
        if answer != "\n":
            raise RuntimeError(answer.strip() or "the library ended")


class Study:
    def __init__(self, options):
        self.o = options
        deadline = time.time() + options.seconds
        # Who begins to train at the very end isn't predicted with any more.
        self.trainings, self.predictions = Work(deadline - min(30, options.seconds / 8)), Work(deadline)
        os.makedirs(options.out, exist_ok=True)
        os.makedirs(options.scratch, exist_ok=True)
        self.table = Table(os.path.join(options.out, "figures.csv"))
        self.times = open(os.path.join(options.out, "times.txt"), "a")
        self.began, self.lock = time.time(), threading.Lock()

    def say(self, *words):
        with self.lock:
            print(f"{time.time() - self.began:7.1f}", *words, file=self.times, flush=True)

    def log(self, name):
        return os.path.join(self.o.out, name + ".log")

    def data(self, name):
        return os.path.join(self.o.scratch, "data", name)

    def phantom(self, name, settings):
        if os.path.exists(self.data(name) + "/phantom.json"):
            return
        options = [word for key, value in settings.items() for word in ("--" + key, str(value))]
        self.predictions.call([self.o.credence, "phantom", "graphite", *options, "--format", "npy", "--quiet", "-o",
                               self.data(name)], self.log("phantoms"))

    def train(self, u):
        folder = os.path.join(self.o.scratch, name_of(u))
        training = STUDIES[u["study"]][1]
        os.makedirs(folder, exist_ok=True)
        began, model = time.time(), folder + "/model.h5"
        if u["arm"] == "chunk" or u["study"] != "arms":
            self.trainings.call(
                [self.o.credence, "train", "--scan", self.data(training) + "/scan.npy", "--label",
                 self.data(training) + "/label.npy", "--norm", u["grey"], "--augment", u["augment"], "--kind", u["kind"],
                 "--seed", u["seed"], "--chunk", u["chunk"], "--batch", u["batch"], "--max-steps", u["steps"], "--lr",
                 u["lr"], "--device", self.o.device, "--threads", "2", "--readers", "2", "--quiet", "-o", model], self.log("train"))
        for other in ("/model.ckpt.h5", "/model.best.h5"):
            if os.path.exists(folder + other):
                os.remove(folder + other)
        if name_of(u) in self.o.keep.split(","):
            shutil.copy(model, os.path.join(self.o.out, name_of(u) + ".h5"))
        self.say("trained", name_of(u), f"{time.time() - began:.1f} s")
        return model

    def predict(self, u, model, test, mode):
        folder = os.path.join(os.path.dirname(model), f"{u['arm']}-{test}-{mode.replace(' ', '')}")
        shutil.rmtree(folder, ignore_errors=True)
        began = time.time()
        settings = {"model": model, "scan": self.data(test) + "/scan.npy", "samples": str(self.o.samples), "output": folder,
                    "device": self.o.device, "threads": "2", "max-memory": "6G", **MODES[mode]}
        if self.o.device != "cpu":
            settings["max-gpu-memory"] = "6G"
        if self.o.library:
            Server.predict(self.o.library, settings, self.predictions, self.log("predict"))
        else:
            words = [word for name, value in settings.items() for word in ("--" + name, value)]
            self.predictions.call([self.o.credence, "predict", *words, "--quiet"], self.log("predict"))
        predicted = time.time()
        out = self.predictions.call([self.o.credence, "validate", folder, "--label", self.data(test) + "/truth.npy",
                                     "--threads", "2", "--quiet", "--json"], self.log("validate"))
        self.say("predicted", name_of(u), test, mode, f"{predicted - began:.1f} + {time.time() - predicted:.1f} s")
        figures = json.loads(out)
        with open(folder + "/manifest.json") as file:
            manifest = json.load(file)
        certificate = manifest.get("certificate") or {}
        self.table.add({**u, "test": test, "mode": mode, "accuracy": figures["accuracy"],
                        "nll": figures["calibration"]["nll"], "ece": figures["calibration"]["ece"],
                        "aurc": figures["calibration"]["aurc"],
                        "p_u_given_i": figures["pavpu"]["p_uncertain_given_inaccurate"],
                        "p_a_given_c": figures["pavpu"]["p_accurate_given_certain"],
                        "uncertainty": figures["uncertainty"]["mean"], "fraction": manifest["volume_fraction"]["mean"],
                        "fraction_mean": manifest["volume_fraction"].get("mean_probability", ""),
                        "truth": figures["label_fraction"], "largest": certificate.get("largest_probability", "")})
        shutil.rmtree(folder, ignore_errors=True)

    def tests(self, study):
        return STUDIES[study][2][:2 if self.o.scale == "tiny" else None]

    def missing(self, u):
        return [(test, mode) for mode in STUDIES[u["study"]][3] for test in self.tests(u["study"])
                if self.table.key({**u, "test": test, "mode": mode}) not in self.table.rows]

    def follow(self, priority, units, base):
        """Trains `base`, ends it in the ways of `units`, and hands the predictions on."""
        wanted = [u for u in units if self.missing(u)]
        if not wanted:
            return
        model = self.train(base)
        if base["study"] == "arms":
            self.last_parts(base, model, [u["arm"] for u in wanted])
        for u in wanted:
            path = model if base["study"] != "arms" else model.replace("model.h5", u["arm"] + ".h5")
            for test, mode in self.missing(u):
                self.predictions.put(priority, self.predict, u, path, test, mode)

    def last_parts(self, base, model, which):
        training = STUDIES["arms"][1]
        steps = next(last for chunk, _, _, last in ARMS if chunk == base["chunk"]) if self.o.scale == "full" else 2
        device = "cpu" if self.o.device == "cpu" else "cuda"
        tests = [word for test in self.tests("arms") for word in ("--test", f"{test}={self.data(test)}")]
        began = time.time()
        out = self.trainings.call([self.o.python, HERE + "/last_part.py", model, self.data(training) + "/scan.npy",
                                   self.data(training) + "/label.npy", "--augment", base["augment"], "--chunk",
                                   base["chunk"], "--batch", base["batch"], "--steps", str(steps), "--seed", base["seed"],
                                   "--device", device, "--arms", ",".join(which), *tests], self.log("last_part"))
        self.say("ended", name_of(base), "in", *which, f"{time.time() - began:.1f} s")
        for line in out.decode().splitlines():
            row = {**dict.fromkeys(FIGURES, ""), **base, **json.loads(line), "mode": "kept"}
            if self.table.key(row) not in self.table.rows:
                self.table.add(row)

    def run(self):
        work = [threading.Thread(target=self.predictions.thread, daemon=True) for _ in range(self.o.predictors)]
        for thread in work:
            thread.start()
        needed = {STUDIES[name][1] for name in self.o.studies}
        tests = {test for name in self.o.studies for test in STUDIES[name][2]}
        for name in needed:
            shape = {"shape": "32,64,64"} if self.o.scale == "tiny" else TRAIN[name]
            self.predictions.put(0, self.phantom, name, {**shape, "seed": 1})
        for name in tests:
            shape = "32,64,64" if self.o.scale == "tiny" else "96,128,128"
            self.predictions.put(1, self.phantom, name, {"shape": shape, **TESTS[name]})
        while not self.predictions.finished() and time.time() < self.predictions.deadline:
            time.sleep(.1)
        self.say("phantoms are there")
        seeds = self.o.seeds.split(",")
        for place, name in enumerate(self.o.studies):
            families = {}
            for u in STUDIES[name][0](seeds, self.o.scale):
                families.setdefault(name_of({**u, "arm": "chunk"}), []).append(u)
            for i, units in enumerate(families.values()):
                priority = STUDIES[name][4] * (i + .5) / len(families) + (10 * place if self.o.in_turn else 0)
                self.trainings.put(priority, self.follow, priority, units, {**units[0], "arm": "chunk"})
        work = [threading.Thread(target=self.trainings.thread, daemon=True) for _ in range(self.o.trainers)]
        for thread in work:
            thread.start()
        while time.time() < self.predictions.deadline and not (self.trainings.finished() and self.predictions.finished()):
            time.sleep(.1)
        for pool in (self.trainings, self.predictions):
            pool.deadline = 0
            for child in list(pool.children):
                child.kill()
        self.say(f"{len(self.table.rows)} rows, {len(self.trainings.heap)} trainings and {len(self.predictions.heap)} "
                 "predictions left")


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(HERE))
    parser.add_argument("studies", nargs="+", choices=list(STUDIES))
    parser.add_argument("--out", default=root + "/build/experiments/norms", help="figures and logs")
    parser.add_argument("--scratch", help="phantoms, models, volumes; OUT/scratch")
    parser.add_argument("--credence", default=root + "/build/credence")
    parser.add_argument("--library", help="libcredence.so, to predict by few processes that last")
    parser.add_argument("--python", default=sys.executable, help="of last_part.py: one that has PyTorch")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--trainers", type=int, default=6, help="trainings side by side")
    parser.add_argument("--predictors", type=int, default=10, help="predictions side by side")
    parser.add_argument("--keep", default="", metavar="UNIT,UNIT", help="models to be kept in OUT, by the names in times.txt")
    parser.add_argument("--in-turn", action="store_true", help="one study after the other, not all of them together")
    parser.add_argument("--scale", choices=("full", "tiny"), default="full", help="tiny: to see that it runs")
    options = parser.parse_args()
    options.scratch = options.scratch or options.out + "/scratch"
    return Study(options).run()


if __name__ == "__main__":
    main()
