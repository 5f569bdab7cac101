"""The five things that are disturbed: predict, train, convert, measure, view. Each makes its inputs, is run and run again in
a folder of its own, and says what came out of it without what differs from run to run (seconds)."""
import hashlib
import json
import os
import re
import shutil
import subprocess

import numpy as np

import running
from painting import Painting

BUILD = os.environ.get("CREDENCE_BUILD", "build")
TIMED = {"times", "seconds", "examples_per_second", "elapsed", "date", "started", "finished"}


def untimed(value):
    if isinstance(value, dict):
        return {key: untimed(item) for key, item in value.items() if key not in TIMED}
    return [untimed(item) for item in value] if isinstance(value, list) else value


def digest(path, base):
    """Of a file; of JSON without its times, and wherever `base`, the folder of it all, lies."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        if path.endswith(".json"):
            content = json.dumps(untimed(json.loads(content)), sort_keys=True).replace(base, "BASE").encode()
        elif path.endswith(".jsonl"):
            content = json.dumps([untimed(json.loads(line)) for line in content.splitlines()], sort_keys=True).encode()
    except ValueError:
        pass  # a power cut has left it half
    return hashlib.sha256(content).hexdigest()[:16]


def tree(base, name, leave_out):
    """{name: digest} of all files below the folder `name` of `base`."""
    found, folder = {}, os.path.join(base, name)
    for above, folders, names in os.walk(folder):
        for name in names:
            if not name.endswith(leave_out):
                path = os.path.join(above, name)
                found[os.path.relpath(path, folder)] = digest(path, base)
        for name in folders:
            found[os.path.relpath(os.path.join(above, name), folder) + "/"] = ""
    return found


def scan(folder, name="scan.npy", shape=(24, 20, 18), seed=1):
    noise = np.random.default_rng(seed)
    np.save(os.path.join(folder, name), (noise.normal(0, 300, shape).cumsum(0) + 9000).clip(0, 65535).astype(np.uint16))


def whole(words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr}")


def model(folder, filters=4, chunk="16,16,16"):
    whole([os.path.abspath(os.path.join(BUILD, "tests", "make_model")), "model.h5", "bcnn", str(filters), chunk], folder)


class Task:
    """One command over inputs of its own."""
    inputs = ()

    def __init__(self, variant):
        self.variant = variant

    def prepare(self, folder):
        scan(folder)

    def words(self, again):
        """`again`: a run went before."""
        raise NotImplementedError

    def run(self, folder, again, faults=(), census=None, record=None):
        return running.run([running.PROGRAM, *self.words(again)], folder, faults, census, record)

    def result(self, folder):
        return tree(folder, "out", ("log.jsonl",))

    def follow(self, sentence, folder):
        """Does what the sentence of a run without faults says; False: it says nothing that can be done."""
        return False


class Predict(Task):
    overlap = ["--step", "2", "--samples", "4"]
    seamless = ["--mode", "seamless", "--norms", "scan", "--tile", "16,16,16", "--halo", "8", "--samples", "2"]
    variants = {"npy": overlap + ["--intervals", "33-67"], "tiles-tif": seamless + ["--format", "tif"], "zarr": overlap + ["--format", "zarr"],
                "tiles-npy": seamless, "h5": overlap + ["--format", "h5"], "tiles-zarr": seamless + ["--format", "zarr"],
                "bits": overlap + ["--save-samples", "bits", "--format", "nii.gz"], "tiles-mhd": seamless + ["--format", "mhd"],
                "zarr3": overlap + ["--format", "zarr3"]}

    def prepare(self, folder):
        scan(folder)
        model(folder)

    def words(self, again):
        return ["predict", "--model", "model.h5", "--scan", "scan.npy", "-o", "out", "--threads", "2", *self.variants[self.variant], *(["--resume"] if again else [])]


class Train(Task):
    variants = {"one": [], "two": ["--members", "2"], "valid": ["--valid-scan", "scan.npy", "--valid-label", "label.npy"]}

    def prepare(self, folder):
        z, y, x = np.meshgrid(np.arange(16), np.arange(24), np.arange(24), indexing="ij")
        label = ((z - 8) ** 2 + (y % 16 - 8) ** 2 + (x % 16 - 8) ** 2 < 30).astype(np.uint8)
        noise = np.random.default_rng(4).normal(8000, 900, label.shape)
        np.save(os.path.join(folder, "scan.npy"), (label * 2000 + noise).astype(np.uint16))
        np.save(os.path.join(folder, "label.npy"), label)

    def words(self, again):
        return ["train", "--scan", "scan.npy", "--label", "label.npy", "-o", "out/model.h5", "--filters", "4", "--chunk", "8,16,16", "--step", "2", "--batch", "2",
                "--epochs", "2", "--checkpoint-every", "2", "--max-steps", "6", "--threads", "2", "--kl-batches", "50", *self.variants[self.variant],
                *(["--resume"] if again else [])]

    def result(self, folder):
        return tree(folder, "out", (".progress.png",))  # a picture that can't be drawn is a warning


class Convert(Task):
    """A scan into another format; formats that are read are made from the same voxels first."""
    variants = {f"{source}-{target}": (source, target) for source, target in (
        ("npy", "tif"), ("npy", "nii.gz"), ("npy", "zarr"), ("h5", "npy"), ("npy", "h5"), ("npy", "zarr3"), ("tif", "nrrd"), ("zarr", "mhd"),
        ("nii.gz", "npy"), ("many", "npy"), ("npy", "slices"), ("slices", "npy"), ("zarr3", "tif"), ("mhd", "nhdr"))}

    def prepare(self, folder):
        source = self.variants[self.variant][0]
        scan(folder, "first.npy", (1200, 4, 4) if source == "many" else (40, 36, 33))  # too many for one look into a folder
        whole([running.PROGRAM, "convert", "first.npy", self.name("scan", source), "--compress", "2", *self.form(source)], folder)
        os.mkdir(os.path.join(folder, "out"))

    @staticmethod
    def name(name, form):
        return f"{name}/s_*.tif" if form in ("slices", "many") else f"{name}.zarr" if form == "zarr3" else f"{name}.{form}"

    @staticmethod
    def form(form):
        return ["--format", "zarr3"] if form == "zarr3" else []

    def words(self, again):
        source, target = self.variants[self.variant]
        return ["convert", self.name("scan", source), "out/" + self.name("made", target), "--spacing", "2,1,1,um", "--compress", "2", *self.form(target)]

    def follow(self, sentence, folder):
        there = re.match(r"credence: (\S+?)/? is there already; remove it or choose another name", sentence)
        if there:
            shutil.rmtree(os.path.join(folder, there[1]))
        return bool(there)


class Measure(Task):
    variants = {"usual": [], "slow": ["--properties", "all"], "fraction": ["--properties", "fraction,components"]}

    def prepare(self, folder):
        scan(folder)
        model(folder)
        whole([running.PROGRAM, "predict", "--model", "model.h5", "--scan", "scan.npy", "-o", "out", "--step", "4", "--samples", "3", "--save-samples", "bits"], folder)

    def words(self, again):
        return ["measure", "out", "--threads", "2", *self.variants[self.variant], *(["--resume"] if again else [])]


class View(Task):
    """A server that is painted with; painting.py."""
    variants = {"strokes": None}

    def prepare(self, folder):
        scan(folder, shape=(70, 80, 90))

    def run(self, folder, again, faults=(), census=None, record=None):
        self.painting = self.painting if again else Painting(folder)
        return self.painting.session(faults, census, record)

    def result(self, folder):
        return tree(folder, "scan.view", ("labels.journal",))


TASKS = {"predict": Predict, "train": Train, "convert": Convert, "measure": Measure, "view": View}
