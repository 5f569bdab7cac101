#!/usr/bin/env python3
"""How often does the interval of each property hold the truth?

Networks learn from one phantom of each family, by several trainings. Other phantoms, whose truth is known in every voxel, are segmented
by them in turn: `alike`, another piece of the same material scanned in the same way, and `unlike`, another share of the material, noise,
contrast, blur and size of grains at once. `credence measure` gives each property of every realisation, and its 5-95 % interval is held
against the property of the truth, measured in the same way.

That is what the segmentation doesn't know. Two other things are kept apart: what voxels do to a property (how much it changes when the
truth is taken at twice the voxel's edge), and what the piece doesn't show (its deviation over pieces of one material, beside the size
error that is stated).

A network errs on a scan as a whole, as if the logit were off by the same amount in every voxel, and a model knows how much (`train`
tries it on made-up changes of its scans). So the mean probability is also cut where that offset, 1.645 times up and down, puts one
half, and the properties of both cuts are noted: the wider interval adds their distances from the segmentation's in squares.

    run.py --out build/measure-study                  60 phantoms of each kind (a GPU and 16 cores: minutes)
    run.py --out build/measure-study --scale cores    30 phantoms of each kind, one training of each family (two cores: an hour)
    run.py --out build/measure-study --scale tiny     seconds, to see that it runs

Every measured phantom adds rows to OUT/rows.csv, and isn't measured again; --seconds ends early, and the same command goes on. The
tables come out as Markdown. Needs nothing but Python and the credence program.
"""
import argparse
import array
import concurrent.futures
import csv
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "coverage"))
from run import LARGE, MEDIAN_SIZE, NINETY, other_scan, quantile  # noqa: E402  the study of volume fractions

SCALES = {  # phantoms of each family, alike and unlike; their shape, that of the training scan; trainings, their options; samples
    "full": ((30, 30), "96,128,128", "96,160,160", 3, [*LARGE, "--batch", "2", "--max-steps", "1500"], 24),
    "cores": ((15, 15), "64,96,96", "64,128,128", 1, ["--preset", "small"], 24),
    "tiny": ((2, 2), "16,32,32", "24,48,48", 1, ["--norm", "levels", "--chunk", "8,16,16", "--filters", "4", "--batch", "4", "--max-steps", "70"], 4),
}
TRAINED = {"graphite": {"fraction": .60}, "weld": {"fraction": .18}}
KINDS = ("alike", "unlike")
# What is measured of which phase: voids of a weld don't join its faces, so transport there is that of the metal.
OF_PHASE = ["volume_fraction", "specific_surface", "mean_curvature", "euler_6", "largest_share", "mean_intercept_x", "thickness_mean"]
OF_JOINED = ["percolating_share_z", "d_rel_z", "tortuosity_factor_z"]
JOINED = {"graphite": 1, "weld": 0}
PROPERTIES = [*OF_PHASE, *OF_JOINED]
BY_SAMPLES = "volume_fraction_samples"  # what the samples alone say; measure states the wider interval of the manifest
FIELDS = ["family", "kind", "training", "phantom", "property", "truth", "truth_coarse", "segmentation", "median", "std", "low", "high",
          "cut_low", "cut_high", "size_error"]


def read_npy(path):
    """Shape and values of an array of bytes or 32-bit floats in C order."""
    with open(path, "rb") as file:
        file.seek(8)
        header = file.read(int.from_bytes(file.read(2), "little")).decode()
        values = array.array("f" if "f4" in header else "B")
        values.frombytes(file.read())
    return [int(n) for n in header[header.index("(") + 1:header.index(")")].split(",")], values


def write_npy(path, shape, values):
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))}), }}".encode()
    header = header.ljust(117) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(values))


class Study:
    def __init__(self, options):
        self.options = options
        self.count, self.shape, self.train_shape, self.trainings, self.train_options, self.samples = SCALES[options.scale]
        self.rows_path = os.path.join(options.out, "rows.csv")
        self.lock = threading.Lock()
        self.device = threading.Semaphore(options.predictors)
        self.begin = time.monotonic()
        os.makedirs(self.data(), exist_ok=True)
        os.makedirs(options.out, exist_ok=True)
        self.rows = []
        if os.path.exists(self.rows_path):
            with open(self.rows_path, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def data(self, *names):
        return os.path.join(self.options.scratch or self.options.out, *names)

    def late(self):
        return time.monotonic() - self.begin > self.options.seconds

    def credence(self, *words):
        done = subprocess.run([self.options.credence, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"credence {words[0]} failed: {done.stderr.strip()}")
        return done.stdout

    def phantom(self, family, name, shape, settings):
        folder = self.data(name)
        if not os.path.exists(os.path.join(folder, "phantom.json")):
            words = [word for key, value in settings.items() for word in (f"--{key}", value)]
            self.credence("phantom", family, "-o", folder, "--shape", shape, "--format", "npy", "--threads", 1, "--quiet", *words)

    def model(self, family, training):
        return self.data(f"{family}-{training}.h5")

    def train(self, family, training):
        scan, model = self.data(f"{family}-train"), self.model(family, training)
        if os.path.exists(model):
            return
        begin = time.monotonic()
        part = self.data(f"{family}-{training}.part.h5")
        self.credence("train", "--scan", f"{scan}/scan.npy", "--label", f"{scan}/label.npy", "--seed", training, "--device",
                      self.options.device, "--threads", self.options.threads, *self.train_options, "-o", part, "--quiet")
        os.replace(part, model)
        print(f"{family}, training {training}: {time.monotonic() - begin:.0f} s", file=sys.stderr)

    def offset(self, family, training):
        """By how much the logit is off as a whole, one deviation; None where the model doesn't know."""
        found = json.loads(self.credence("info", self.model(family, training), "--json")).get("intervals")
        return found and statistics.median(abs(shift["offsets"][1]) for shift in found["shifts"]) / MEDIAN_SIZE

    def measure(self, family, edge, *inputs):
        words = ["--json", "--quiet", "--axis", "z", "--lags", 1, "--spacing", f"{edge},{edge},{edge},voxel", "--threads", 1, "--tolerance", 1e-3]
        found = {}
        for phase, names, groups in ((1, OF_PHASE, "fast,thickness"), (JOINED[family], OF_JOINED, "components,transport")):
            text = self.credence("measure", *inputs, "--phase", phase, "--properties", groups, *words)
            found.update({p["name"]: p for p in json.loads(text)["properties"] if p["name"] in names})
        return found

    def coarse(self, name, truth):
        """A file of the truth at twice the voxel's edge. Of the blocks that are half full every second one counts."""
        (depth, height, width), fine = read_npy(truth)
        values = bytearray()
        for z in range(0, depth - 1, 2):
            for y in range(0, height - 1, 2):
                starts = [((z + dz) * height + y + dy) * width for dz in (0, 1) for dy in (0, 1)]
                eight = [fine[start + dx:start + width // 2 * 2:2] for start in starts for dx in (0, 1)]
                values += bytes(2 * sum(some) + ((z // 2 + y // 2 + x) & 1) > 8 for x, some in enumerate(zip(*eight)))
        path = self.data(name, "coarse.npy")
        write_npy(path, (depth // 2, height // 2, width // 2), values)
        return path

    def cut(self, family, training, run):
        """The properties of the mean probability cut where the model's offset, up and down, puts one half."""
        offset = self.offset(family, training)
        if offset is None:
            return None
        shape, probability = read_npy(os.path.join(run, "scan_prob.npy"))
        paths = []
        for sign in (-1, 1):
            least = 1 / (1 + math.exp(sign * NINETY * offset))
            paths.append(os.path.join(run, f"cut{sign}.npy"))
            write_npy(paths[-1], shape, bytes(p > least for p in probability))
        return {name: p["values"] for name, p in self.measure(family, 1, *paths).items()}

    def judge(self, family, kind, number):
        """Makes the phantom, unless it has been measured, and says what it is called."""
        name = f"{family}-{kind}-{number}"
        settings = other_scan(family, number) if kind == "unlike" else dict(TRAINED[family], seed=500 + number)
        if not self.late() and not any((r["family"], r["kind"], r["phantom"]) == (family, kind, str(number)) for r in self.rows):
            self.phantom(family, name, self.shape, settings)
            return name
        return None

    def one(self, family, kind, number):
        name, training = self.judge(family, kind, number), number % self.trainings + 1
        if name is None:
            return
        run = self.data(f"run-{name}")
        with self.device:
            self.credence("predict", "--model", self.model(family, training), "--scan", self.data(name, "scan.npy"), "--samples", self.samples,
                          "--seed", 1, "--device", self.options.device, "--threads", self.options.threads, "--format", "npy",
                          "--save-samples", "bits", "-o", run, "--overwrite", "--quiet")
        found = self.measure(family, 1, run)
        cut = self.cut(family, training, run)
        path = self.data(name, "truth.npy")
        truth = self.measure(family, 1, path)
        coarse = self.measure(family, 2, self.coarse(name, path))
        rows = []
        for p in PROPERTIES:
            these = [[p, found[p]["interval"]]]
            if p == "volume_fraction":
                values = sorted(found[p]["values"])
                these.append([BY_SAMPLES, [quantile(values, .05), quantile(values, .95)]])
            rows += [dict(zip(FIELDS, [family, kind, training, number, as_name, truth[p]["segmentation"], coarse[p]["segmentation"],
                                       found[p]["segmentation"], found[p]["median"], found[p]["std"], *interval,
                                       *(cut[p] if cut else (None, None)), truth[p]["size_error"]])) for as_name, interval in these]
        shutil.rmtree(run)
        shutil.rmtree(self.data(name))
        with self.lock:
            self.rows += [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
            with open(self.rows_path + ".new", "w", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.rows)
            os.replace(self.rows_path + ".new", self.rows_path)

    def side_by_side(self, workers, function, jobs):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for done in [pool.submit(function, *job) for job in jobs]:
                done.result()

    def run(self):
        self.side_by_side(len(TRAINED), self.phantom, [(f, f"{f}-train", self.train_shape, dict(TRAINED[f], seed=1)) for f in TRAINED])
        jobs = [(f, k, i) for i in range(max(self.count)) for f in TRAINED for k, n in zip(KINDS, self.count) if i < n]
        with concurrent.futures.ThreadPoolExecutor(1) as beside:  # phantoms are made while a GPU trains
            made = beside.submit(self.side_by_side, max(1, self.options.workers // 2), self.judge, jobs)
            self.side_by_side(self.options.trainers, self.train, [(f, t + 1) for t in range(self.trainings) for f in TRAINED])
            print(f"trained after {time.monotonic() - self.begin:.0f} s", file=sys.stderr)
            made.result()
        self.side_by_side(self.options.workers, self.one, jobs)
        print(f"all after {time.monotonic() - self.begin:.0f} s", file=sys.stderr)


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


def interval(row, wider):
    low, high = number(row["low"]), number(row["high"]) if row["high"] else math.inf
    if not wider:
        return low, high
    middle, cuts = number(row["segmentation"]), [number(row["cut_low"]), number(row["cut_high"])]
    cuts = [c if math.isfinite(c) else math.inf for c in cuts]
    median = number(row["median"])
    below, above = max(0.0, middle - min(cuts)), max(0.0, max(cuts) - middle)
    return median - math.hypot(median - low, below), median + math.hypot(high - median, above)


def degenerate(row):
    """Nothing that could err: truth and all samples the same."""
    return row["truth"] == row["low"] == row["high"]


def holds(rows, wider):
    held = 0
    for row in rows:
        low, high = interval(row, wider)
        held += low <= number(row["truth"]) <= high
    return held, f"{held} ({100 * held / len(rows):.0f} %){' *' if held >= least_held(len(rows)) else ''}"


def line(name, rows, pieces):
    """A property of some phantoms; `pieces` are those of one material."""
    some = [r for r in rows if math.isfinite(number(r["truth"])) and math.isfinite(number(r["low"])) and not degenerate(r)]
    if len(some) < 3:
        return f"| {name} | {len(some)} | - | | | | | | | | |"
    truth = [number(r["truth"]) for r in some]
    scale = mean([abs(t) for t in truth]) or 1.0
    error = [number(r["median"]) - t for r, t in zip(some, truth)]
    error = [e for e in error if math.isfinite(e)]
    rms = math.sqrt(mean([e * e for e in error])) if error else math.nan
    width = mean([number(r["high"]) - number(r["low"]) for r in some if r["high"]])
    voxel = mean([number(r["truth_coarse"]) - t for r, t in zip(some, truth) if math.isfinite(number(r["truth_coarse"]))])
    known = [r for r in some if (r["cut_low"] or r["cut_high"]) and r["property"] != PROPERTIES[0]]  # that one's is wider already
    own = [number(r["truth"]) for r in pieces if math.isfinite(number(r["truth"]))]
    spread = statistics.stdev(own) if len(own) > 1 else math.nan
    stated = mean([number(r["size_error"]) for r in pieces if r["size_error"]])
    percent = [f"{100 * v / scale:+.1f}" if math.isfinite(v) else "-" for v in (mean(error), voxel)]
    others = [f"{100 * v / scale:.1f}" if math.isfinite(v) else "-" for v in (rms, width, spread, stated)]
    return (f"| {name} | {len(some)} | {holds(some, False)[1]} | {holds(known, True)[1] if len(known) > 2 else '-'} | {percent[0]} | {others[0]} | "
            f"{others[1]} | {percent[1]} | {others[2]} | {others[3]} |")


def tables(rows):
    for kind in KINDS:
        print(f"\n{kind}: percents of the property's mean truth; * as often as 90 % intervals do\n")
        print("| property | phantoms | the interval holds | the wider one | bias | rms error | width | at twice the voxel | over pieces | size error |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for family in [*TRAINED, None]:
            for p in [*PROPERTIES[:1], BY_SAMPLES, *PROPERTIES[1:]]:
                some = [r for r in rows if r["kind"] == kind and family in (None, r["family"]) and r["property"] == p]
                alike = [r for r in rows if r["kind"] == "alike" and r["family"] == family and r["property"] == p]
                print(line(f"{family or 'both'}, {p}", some, alike))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder of the results, and of the data without --scratch")
    parser.add_argument("--scratch", help="folder of the data")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--trainers", type=int, default=6, help="trainings side by side")
    parser.add_argument("--predictors", type=int, default=6, help="predictions side by side")
    parser.add_argument("--threads", type=int, default=0, help="of each training and prediction; 0: all cores")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="phantoms side by side")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no phantom after so many")
    parser.add_argument("--credence", default=os.path.join("build", "credence"))
    parser.add_argument("--tables", action="store_true", help="only the tables of the rows that are there")
    options = parser.parse_args()
    study = Study(options)
    if not options.tables:
        study.run()
    tables(study.rows)


if __name__ == "__main__":
    main()
