"""What is replaced is brought onto the disk exactly once before it takes its name: by the calls of each command, as the layer
counts them."""
import os
import re
import sys
import tempfile
from collections import Counter

try:
    import running
    import tasks
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def final_name(path):
    """Of a temporary file that of the one it becomes, less points in front."""
    folder, name = os.path.split(path)
    return os.path.join(folder, re.sub(r"\.tmp.*", "", name).lstrip("."))


def count(words, folder):
    """({file: how often it was synced}, {file: how often it took its name}) of a command."""
    census = os.path.join(folder, "census")
    ended = running.run([running.PROGRAM, *words], folder, census=census)
    check(ended.code == 0, f"{words}: {ended.err[-300:]}")
    synced, named = Counter(), Counter()
    for family, file, calls in running.read_census(census):
        passing = family == "rename" and ".tmp" in os.path.basename(file)  # one temporary name after another
        if family in ("sync", "rename") and not passing:
            (synced if family == "sync" else named)[final_name(file)] += calls
    return synced, named


def once(words, folder, *files):
    """Of nothing is more synced than takes a name, and each of `files` as often."""
    synced, named = count(words, folder)
    for file in named:
        enough = synced[file] == named[file] if file in files else synced[file] <= named[file]
        check(enough or os.path.isdir(os.path.join(folder, file)),
              f"{words[0]}: {file} is synced {synced[file]} times and takes its name {named[file]} times")
    check(set(files) <= set(named), f"{words[0]}: {set(files) - set(named)} take no name")


def main():
    cannot = running.why_not()
    if cannot:
        print("skipped:", cannot)
        return 77
    with tempfile.TemporaryDirectory(prefix="credence-syncs-") as folder:
        train = tasks.Train("one")
        train.prepare(folder)
        for _ in range(2):  # here and below: the second one replaces the first
            once(train.words(False), folder, "out/model.h5", "out/model.ckpt.h5")
    with tempfile.TemporaryDirectory(prefix="credence-syncs-") as folder:
        tasks.scan(folder)
        tasks.model(folder)
        suffixes = ["npy", "h5", "raw", "nrrd", "nhdr", "mha", "mhd"]
        said = running.run([running.PROGRAM, "--version"], folder).out
        suffixes += ["tif", "ome.tif"] if "TIFF volumes: yes" in said else []
        suffixes += ["nii", "nii.gz"] if "NIfTI volumes: yes" in said else []
        for suffix in suffixes:
            made = f"{suffix.replace('.', '_')}.{suffix}"
            for _ in range(2):
                once(["convert", "scan.npy", made, "--dtype", "i16"], folder, made)
        once(["convert", "scan.npy", "made.zarr"], folder)
        predict = ["predict", "--model", "model.h5", "--scan", "scan.npy", "-o", "run", "--step", "2", "--samples", "2", "--save-samples", "bits"]
        results = [f"run/scan_{name}.npy" for name in ("prob", "seg", "unc", "samples")] + ["run/probe.h5", "run/manifest.json"]
        once(predict, folder, *results)
        once(predict + ["--overwrite"], folder, *results)
        once(["validate", "run", "--label", "run/scan_seg.npy"], folder, "run/validation.json")
        once(["measure", "run"], folder, "run/measure.json", "run/measure.csv")
        once(["surface", "run", "-o", "surface.ply"], folder, "surface.ply")
        if "PNG pictures and slices: yes" in said:
            once(["report", "run", "-o", "page.html"], folder, "page.html")
    print(f"{failures} failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
