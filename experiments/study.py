"""What the studies share: trains networks in many ways, predicts phantoms unlike the one they learnt from in several modes, and
keeps every figure.

Trainings and predictions run side by side, since a small network doesn't fill a GPU. Every figure is a row of OUT/figures.csv, and a
row that is there isn't made again: start the same command again and it goes on with what is missing. Needs nothing but Python and
the credence program; ways to end a training (`arm`) need h5py, and some of them PyTorch, too (norms/last_part.py)."""
import argparse
import collections
import csv
import ctypes
import glob
import heapq
import json
import os
import shutil
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = ("study", "grey", "augment", "chunk", "batch", "steps", "lr", "arm", "kind", "seed", "more")
FIGURES = ("accuracy", "nll", "p_u_given_i", "p_a_given_c", "ece", "aurc", "uncertainty", "fraction", "fraction_mean", "truth",
           "largest", "calibration")
MODES = {
    "step 2": {"mode": "overlap", "step": "2"},
    "step 2, raw": {"mode": "overlap", "step": "2", "no-calibration": "true"},
    "step 3": {"mode": "overlap", "step": "3"},
    "training": {"mode": "seamless", "norms": "training"},
    "tiles": {"mode": "seamless", "norms": "training", "tile": "48,64,64"},  # so small that the certificate has borders to look at
    "scan": {"mode": "seamless", "norms": "scan"},
}
KINDS = ("bcnn", "mcdn")
PARTS = {"last": "chunk"}  # last_part.py's names of arms that have another one here
LISTED = 40  # checkpoints of a training of which means are taken

# Units, the scan to learn from, scans to be tested on, the modes of a unit, when its turn comes (the smaller, the sooner), and options that
# say what the label means. A scan is a dictionary: options of `credence phantom graphite`, or of the `family` it names. With `truth` (a label volume)
# it is that geometry imaged by the phantoms' camera; with `scan` and `label` it is a real scan. Such files are parts (`bbox`) of those in --real.
Plan = collections.namedtuple("Plan", "units training tests modes turn label", defaults=[()])


def unit(study, grey, augment, chunk, batch, steps, kind, seed, lr="0.003", arm="chunk", more=""):
    """`more` are other options of `credence train`; a first word without a dash names another program (--other)."""
    return dict(zip(KEYS, (study, grey, augment, chunk, str(batch), str(steps), lr, arm, kind, str(seed), more)))


def name_of(u):
    words = (u[key].replace("--", "").replace("/", "") for key in KEYS)
    return "-".join(word for word in words if word).replace(",", "x").replace(" ", "_")


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

    def start(self, command, errors):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL)
        self.children.add(child)
        return child

    def call(self, command, log, watch=None):
        """`watch` is called every now and then until the command ends."""
        with open(log, "a") as errors:
            child = self.start(command, errors)
            while watch is not None and child.poll() is None:
                watch()
                time.sleep(.02)
            out = child.communicate()[0]
            self.children.discard(child)
        if child.returncode != 0:
            raise RuntimeError(f"exit {child.returncode}: {' '.join(command)}; see {log}")
        return out


def serve(path):
    """Predicts what lines of JSON on standard input ask for, by libcredence.so: a GPU is got ready once, not for each."""
    lib = ctypes.CDLL(path)
    lib.crd_last_error.restype = ctypes.c_void_p
    entry = (ctypes.c_size_t * 6).in_dll(lib, "crd_predict_settings")  # struct crd_settings, whose last member is the options' size
    table, size = ctypes.c_void_p(ctypes.addressof(entry)), ctypes.c_size_t(entry[5])
    for line in sys.stdin:
        options = ctypes.create_string_buffer(entry[5])
        status = lib.crd_settings_begin(table, options, size)
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


class Averages:
    """Copies of the checkpoints of a training's last half, and their means."""

    def __init__(self, folder, steps):
        self.folder, self.steps, self.seen, self.kept, self.count = folder, steps, None, [], 0

    def watch(self):
        path = self.folder + "/model.ckpt.h5"
        try:
            about = os.stat(path)
        except FileNotFoundError:
            return
        if about.st_ino == self.seen:
            return
        self.seen = about.st_ino
        copy = f"{self.folder}/state{self.count}.h5"
        try:
            os.link(path, copy)
        except OSError:
            return
        self.kept.append(copy)
        self.count += 1
        if self.count >= 2 + LISTED // 2:  # no longer in the last half
            os.remove(self.kept.pop(0))

    def write(self, model, share, path):
        """A copy of the model with the mean parameters of the last `share` of the steps; its checksum goes (docs/MODEL.md)."""
        import h5py
        import numpy as np
        shutil.copy(model, path)
        states = []
        for copy in self.kept:
            with h5py.File(copy) as file:
                if file["state/place"][0] > (1 - share) * self.steps or copy == self.kept[-1]:
                    states.append(copy)
        sums = {}
        for copy in states:
            with h5py.File(copy) as file:
                def add(name, item):
                    if name.split("/")[0] in ("encoder", "decoder", "head") and hasattr(item, "shape"):
                        sums[name] = sums.get(name, 0) + np.array(item, dtype=np.float64)
                file.visititems(add)
        with h5py.File(path, "r+") as file:
            file.attrs.pop("checksum", None)
            for name, total in sums.items():
                file[name][...] = (total / len(states)).astype(np.float32)
        return len(states)

    def clear(self):
        for copy in self.kept:
            os.remove(copy)


class Study:
    def __init__(self, plans, options):
        self.plans, self.o = plans, options
        deadline = time.time() + options.seconds
        # Who begins to train at the very end isn't predicted with any more.
        self.trainings, self.predictions = Work(deadline - min(20, options.seconds / 8)), Work(deadline)
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

    def part(self, name, source, box, target):
        """A part of a real file."""
        os.makedirs(self.data(name), exist_ok=True)
        self.predictions.call([self.o.credence, "convert", os.path.join(self.o.real, source), f"{self.data(name)}/{target}.npy", "--bbox",
                               box, "--quiet"], self.log("phantoms"))
        return f"{self.data(name)}/{target}.npy"

    def make_scan(self, name, settings):
        if os.path.exists(self.data(name) + "/made"):
            return
        settings = dict(settings)
        family, box = settings.pop("family", "graphite"), settings.pop("bbox", None)
        if "scan" in settings:
            self.part(name, settings["scan"], box, "scan")
            shutil.copy(self.part(name, settings["label"], box, "label"), self.data(name) + "/truth.npy")
        else:
            if "truth" in settings:
                family, settings["truth"] = "image", self.part(name, settings["truth"], box, "geometry")
            options = [word for key, value in settings.items() for word in ("--" + key, str(value))]
            self.predictions.call([self.o.credence, "phantom", family, *options, "--format", "npy", "--quiet", "-o", self.data(name)],
                                  self.log("phantoms"))
        open(self.data(name) + "/made", "w").close()

    def train_command(self, u, model, *more):
        data, words = self.data(self.plans[u["study"]].training), u["more"].replace("DATA", self.o.scratch + "/data").split()
        program = self.o.credence
        if words and words[0][0] != "-":
            program, words = dict(pair.split("=", 1) for pair in self.o.other)[words[0]], words[1:]
        return [program, "train", "--scan", data + "/scan.npy", "--label", data + "/label.npy", "--norm", u["grey"], "--augment",
                u["augment"], "--kind", u["kind"], "--seed", u["seed"], "--chunk", u["chunk"], "--batch", u["batch"], "--device",
                self.o.device, "--threads", "2", "--readers", "1" if u["chunk"] < "32" else "2", "--quiet",
                *self.plans[u["study"]].label, *words, "-o", model, *more]

    def train(self, u, arms):
        """Gives the models of the arms."""
        folder = os.path.join(self.o.scratch, name_of(u))
        os.makedirs(folder, exist_ok=True)
        began, model = time.time(), folder + "/model.h5"
        means = {arm: float(arm[4:]) / 100 for arm in arms if arm.startswith("mean")}
        averages = Averages(folder, int(u["steps"]))
        command = self.train_command(u, model, "--max-steps", u["steps"], "--lr", u["lr"])
        if means:
            command += ["--checkpoint-every", str(max(1, int(u["steps"]) // LISTED))]
        self.trainings.call(command, self.log("train"), averages.watch if means else None)
        self.say("trained", name_of(u), f"{time.time() - began:.1f} s")
        models = {"chunk": model}
        for arm, share in means.items():
            path, raw = f"{folder}/{arm}.h5", f"{folder}/{arm}-raw.h5"
            count = averages.write(model, share, raw)
            # One step that leads nowhere, for a calibration of its own.
            again = {**u, "more": " ".join(w for w in u["more"].split() if not w.isalpha())}
            self.trainings.call([*self.train_command(again, path, "--max-steps", "1", "--lr", "1e-12", "--keep", "last"), "--init",
                                 raw], self.log("train"))
            self.say("averaged", name_of(u), arm, count)
            models[arm] = path
        averages.clear()
        for other in glob.glob(folder + "/*.ckpt.h5") + glob.glob(folder + "/*.best.h5"):
            os.remove(other)
        ends = [arm for arm in arms if arm not in models]
        if ends:
            models.update(self.last_parts(u, model, ends))
        if name_of(u) in self.o.keep.split(","):
            shutil.copy(model, os.path.join(self.o.out, name_of(u) + ".h5"))
        return models

    def last_parts(self, u, model, which):
        """The ways to end a training that credence doesn't have, for half as many steps again."""
        device = "cpu" if self.o.device == "cpu" else "cuda"
        plan = self.plans[u["study"]]
        tests = [word for test in plan.tests for word in ("--test", f"{test}={self.data(test)}")]
        began = time.time()
        out = self.trainings.call([self.o.python, HERE + "/norms/last_part.py", model, self.data(plan.training) + "/scan.npy",
                                   self.data(plan.training) + "/label.npy", "--augment", u["augment"], "--chunk", u["chunk"],
                                   "--batch", u["batch"], "--steps", str(int(u["steps"]) // 2), "--seed", u["seed"], "--device",
                                   device, "--arms", ",".join(PARTS.get(arm, arm) for arm in which), *tests], self.log("last_part"))
        self.say("ended", name_of(u), "in", *which, f"{time.time() - began:.1f} s")
        for line in out.decode().splitlines():
            row = {**dict.fromkeys(FIGURES, ""), **u, **json.loads(line), "mode": "kept"}
            if self.table.key(row) not in self.table.rows:
                self.table.add(row)
        return {arm: os.path.join(os.path.dirname(model), PARTS.get(arm, arm) + ".h5") for arm in which}

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
                                     *self.plans[u["study"]].label, "--threads", "2", "--quiet", "--json"], self.log("validate"))
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
                        "truth": figures["label_fraction"], "largest": certificate.get("largest_probability", ""),
                        "calibration": manifest["model"].get("calibration", "")})
        shutil.rmtree(folder, ignore_errors=True)

    def missing(self, u):
        plan = self.plans[u["study"]]
        return [(test, mode) for mode in plan.modes(u) for test in plan.tests
                if self.table.key({**u, "test": test, "mode": mode}) not in self.table.rows]

    def follow(self, priority, units):
        """Trains once, ends it in the ways of `units`, and hands the predictions on."""
        wanted = [u for u in units if self.missing(u)]
        if not wanted:
            return
        models = self.train({**wanted[0], "arm": "chunk"}, [u["arm"] for u in wanted])
        for u in wanted:
            for test, mode in self.missing(u):
                self.predictions.put(priority, self.predict, u, models[u["arm"]], test, mode)

    def make_phantoms(self):
        shapes = {}
        for name in self.o.studies:
            plan = self.plans[name]
            shapes.update(plan.tests)
            shapes[plan.training] = PHANTOMS[plan.training]
        shapes.update({name: PHANTOMS[name] for name in self.o.also.split(",") if name})
        for name, settings in shapes.items():
            if "bbox" not in settings:
                settings = {"shape": "96,128,128", **settings}
                if self.o.scale == "tiny":
                    settings["shape"] = "32,64,64"
            self.predictions.put(0, self.make_scan, name, settings)
        while not self.predictions.finished() and time.time() < self.predictions.deadline:
            time.sleep(.1)
        self.say("phantoms are there")

    def run(self):
        for _ in range(self.o.predictors):
            threading.Thread(target=self.predictions.thread, daemon=True).start()
        self.make_phantoms()
        seeds = self.o.seeds.split(",")
        for place, name in enumerate(self.o.studies):
            families = {}
            for u in self.plans[name].units(seeds):
                if self.o.scale == "tiny":
                    u.update(steps=str(4 + int(u["batch"])), chunk="16,32,32")
                families.setdefault(name_of({**u, "arm": "chunk"}), []).append(u)
            for i, units in enumerate(families.values()):
                priority = self.plans[name].turn * (i + .5) / len(families) + (10 * place if self.o.in_turn else 0)
                self.trainings.put(priority, self.follow, priority, units)
        for _ in range(self.o.trainers):
            threading.Thread(target=self.trainings.thread, daemon=True).start()
        while time.time() < self.predictions.deadline and not (self.trainings.finished() and self.predictions.finished()):
            time.sleep(.1)
        for pool in (self.trainings, self.predictions):
            pool.deadline = 0
            for child in list(pool.children):
                child.kill()
        self.say(f"{len(self.table.rows)} rows, {len(self.trainings.heap)} trainings and {len(self.predictions.heap)} "
                 "predictions left")


# Phantoms to learn from, and to check on.
PHANTOMS = {"large": {"shape": "128,192,192", "seed": 1}, "small": {"shape": "64,128,128", "seed": 1},
            "other": {"shape": "64,128,128", "seed": 77}}
# Phantoms that differ from those in one thing each.
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
SIX = {name: TESTS[name] for name in ("like", "f45", "f71", "noisy", "faint", "fine")}


def main(plans, about, name):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(HERE)
    parser.add_argument("studies", nargs="+", choices=list(plans))
    parser.add_argument("--out", default=f"{root}/build/experiments/{name}", help="figures and logs")
    parser.add_argument("--scratch", help="phantoms, models, volumes; OUT/scratch")
    parser.add_argument("--credence", default=root + "/build/credence")
    parser.add_argument("--other", action="append", default=[], metavar="NAME=PROGRAM", help="another credence program, for the units that name one")
    parser.add_argument("--real", default="", metavar="DIR", help="folder of the real scans, for the studies that name some")
    parser.add_argument("--library", help="libcredence.so, to predict by few processes that last")
    parser.add_argument("--python", default=sys.executable, help="of last_part.py: one that has PyTorch")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--trainers", type=int, default=6, help="trainings side by side")
    parser.add_argument("--predictors", type=int, default=10, help="predictions side by side")
    parser.add_argument("--keep", default="", metavar="UNIT,UNIT", help="models to be kept in OUT, by the names in times.txt")
    parser.add_argument("--also", default="other", help=argparse.SUPPRESS)
    parser.add_argument("--in-turn", action="store_true", help="one study after the other, not all of them together")
    parser.add_argument("--scale", choices=("full", "tiny"), default="full", help="tiny: to see that it runs")
    options = parser.parse_args()
    options.scratch = options.scratch or options.out + "/scratch"
    return Study(plans, options).run()


if __name__ == "__main__" and sys.argv[1:2] == ["--serve"]:
    serve(sys.argv[2])
