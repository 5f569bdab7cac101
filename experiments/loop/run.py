#!/usr/bin/env python3
"""Is it worth painting where `credence view` proposes?

On phantoms, whose truth is known in every voxel, a painter with that truth goes through the viewer's loop over its HTTP interface: held-out
boxes first, four boxes at random, a training; then in each round four more boxes, a training that goes on from the last model, a
prediction of the whole scan, an exam. The boxes come in three ways from the same start: as the viewer proposes them (uncertainty beyond
what edges explain, unlike what is labelled), by mean uncertainty, and at random. All have the same number of boxes of one size.

    run.py --out build/loop-study --scale cores       5 phantoms, 5 rounds (two cores: 20 minutes of processor time)
    run.py --out build/loop-study --scale full        larger ones and longer trainings (a GPU)
    run.py --out build/loop-study --scale tiny        seconds, to see that it runs

Every round is a row of OUT/rounds.csv: voxels that were learnt from, the error in the exam boxes with its interval, and the error over all
voxels that no box of any kind holds. A phantom whose rows are there isn't done again. The table comes out as Markdown. Needs nothing but
Python and the credence program.
"""
import argparse
import array
import csv
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ORDERS = ("excess", "mean", "random")
# Materials that differ in what is rare and where it is hard to see.
PHANTOMS = {
    "fine": ("graphite", {"grain-size": 7}),
    "noisy": ("graphite", {"grain-size": 10, "noise": .04, "cupping": .3}),
    "sparse": ("graphite", {"grain-size": 12, "fraction": .3}),
    "weld": ("weld", {}),
    "sound weld": ("weld", {"fraction": .08}),
}
# Shape, boxes' size, held-out boxes, boxes a round, rounds, phantoms; options of trainings, steps of the first and of later ones; of predictions.
SCALES = {
    "full": ((96, 256, 256), (16, 32, 32), 10, 4, 5, 5, {"preset": "small"}, 1500, 600, {"samples": 24}),
    "cores": ((48, 96, 96), (8, 16, 16), 6, 4, 5, 5, {"preset": "small", "chunk": "16,32,32", "filters": 8, "no-intervals": True, "threads": 1},
              200, 100, {"samples": 6, "mode": "seamless", "threads": 1}),
    "tiny": ((24, 56, 64), (8, 8, 8), 2, 2, 2, 1, {"chunk": "16,16,16", "filters": 4, "batch": 2, "no-intervals": True, "threads": 1}, 8, 4, {"samples": 2, "threads": 1}),
}
FIELDS = ["phantom", "order", "round", "voxels", "error", "exam_error", "exam_low", "exam_high", "exam_nll", "seconds"]


def read_npy(path):
    """Shape and values of an array of bytes in C order."""
    with open(path, "rb") as file:
        file.seek(8)
        header = file.read(int.from_bytes(file.read(2), "little")).decode()
        values = array.array("B", file.read())
    return [int(n) for n in header[header.index("(") + 1:header.index(")")].split(",")], values


class Viewer:
    """A running `credence view` and its requests."""

    def __init__(self, program, scan, project):
        self.process = subprocess.Popen([program, "view", scan, "--project", project, "--cache", "none", "--no-browser"], stdout=subprocess.PIPE, text=True)
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/#key=(\w+)", said)):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"credence view ended: {said}")
            said += line
        self.port, self.key = int(found[1]), found[2]

    def ask(self, path, method="GET", body=None):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        line.request(method, "/api/1/" + path, json.dumps(body) if body is not None else None,
                     {"X-Credence-Key": self.key, **({"Content-Type": "application/json"} if body is not None else {})})
        answer = line.getresponse()
        data = json.loads(answer.read() or b"null")
        line.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {data}")
        return data

    def job(self, what, options):
        job = self.ask("jobs", "POST", {"do": what, "options": options})
        while job["state"] == "running":
            time.sleep(0.1)
            job = self.ask(f"jobs/{job['number']}")
        if job["state"] != "done":
            raise RuntimeError(f"{job['command']}: {job['state']}: {job['error']}")
        return job

    def proposals(self, order, run, count):
        """Once they are about that run."""
        while True:
            answer = self.ask(f"proposals?order={order}&count={count}")
            if answer["ready"] and (run is None or answer["run"] == run):
                return [proposal["box"] for proposal in answer["proposals"]]
            time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()


def ends_of(box):
    return [tuple(map(int, part.split(":"))) for part in box.split(",")]


def runs_of(row, origin):
    """First and end of each run of ones."""
    begin = None
    for x, value in enumerate(row):
        if value and begin is None:
            begin = x
        if not value and begin is not None:
            yield origin + begin, origin + x
            begin = None
    if begin is not None:
        yield origin + begin, origin + len(row)


def paint(viewer, box, truth):
    """The truth into a box: in each slice class 0 all over, then one polygon around all runs of class 1. It goes from each run to the next and all
    the way back, so that what it draws between them encloses nothing."""
    shape, values = truth
    (z0, z1), (y0, y1), (x0, x1) = ends_of(box)

    def polygon(z, value, points):
        viewer.ask("labels", "POST", {"do": "polygon", "axis": 0, "slice": z, "value": value, "points": [8 * v for point in points for v in point]})

    for z in range(z0, z1):
        polygon(z, 0, [(y0, x0), (y0, x1), (y1, x1), (y1, x0)])
        starts, points = [], []
        for y in range(y0, y1):
            row = values[(z * shape[1] + y) * shape[2] + x0:(z * shape[1] + y) * shape[2] + x1]
            for first, end in runs_of(row, x0):
                starts.append((y, first))
                points += [(y, first), (y, end), (y + 1, end), (y + 1, first), (y, first)]
        if points:
            polygon(z, 1, points + starts[-2::-1])


class Study:
    def __init__(self, options):
        self.options = options
        (self.shape, self.size, self.held, self.boxes, self.rounds, self.phantoms, self.training, self.steps, self.later, self.prediction) = SCALES[options.scale]
        self.rounds = options.rounds or self.rounds
        self.rows_path = os.path.join(options.out, "rounds.csv")
        os.makedirs(options.out, exist_ok=True)
        self.rows = []
        if os.path.exists(self.rows_path):
            with open(self.rows_path, newline="") as file:
                self.rows = list(csv.DictReader(file))

    def keep(self, rows):
        self.rows += rows
        with open(self.rows_path + ".part", "w", newline="") as file:
            table = csv.DictWriter(file, FIELDS)
            table.writeheader()
            table.writerows(self.rows)
        os.replace(self.rows_path + ".part", self.rows_path)

    def folder(self, name, *more):
        return os.path.join(self.options.out, name.replace(" ", "-"), *more)

    def phantom(self, name):
        family, settings = PHANTOMS[name]
        folder = self.folder(name)
        if not os.path.exists(os.path.join(folder, "phantom.json")):
            words = [str(word) for key, value in settings.items() for word in (f"--{key}", value)]
            subprocess.run([self.options.credence, "phantom", family, "-o", folder, "--shape", ",".join(map(str, self.shape)), "--seed", "5", "--format", "npy",
                            "--quiet", *words], check=True)
        return read_npy(os.path.join(folder, "truth.npy"))

    def error_outside(self, project, run, boxes, truth):
        """Share of wrong voxels where no box is."""
        segmentation = os.path.join(project, "seg.npy")
        subprocess.run([self.options.credence, "convert", os.path.join(project, run, "run", "scan_seg.zarr"), segmentation, "--quiet"], check=True)
        _, found = read_npy(segmentation)
        os.remove(segmentation)
        shape, values = truth
        counted = bytearray(b"\1") * len(values)
        for box in boxes:
            (z0, z1), (y0, y1), (x0, x1) = ends_of(box)
            for z in range(z0, z1):
                for y in range(y0, y1):
                    at = (z * shape[1] + y) * shape[2]
                    counted[at + x0:at + x1] = bytes(x1 - x0)
        wrong = sum(1 for a, b, c in zip(found, values, counted) if c and (a != 0) != (b != 0))
        return wrong / sum(counted)

    def round(self, viewer, project, name, order, number, truth, chosen):
        """Paints the boxes, trains, predicts, and says what came of it."""
        begin = time.monotonic()
        for box in chosen:
            viewer.ask("boxes", "POST", {"role": "train", "box": box})
            paint(viewer, box, truth)
        done = viewer.ask("iterations")["iterations"]
        options = {**self.training, "max-steps": self.later if done else self.steps, **({"iteration": done[-1]["number"]} if done else {})}
        viewer.job("train", options)
        run = viewer.job("predict", self.prediction)["folder"]
        viewer.job("score", self.prediction)
        latest = viewer.ask("iterations")["iterations"][-1]
        score, boxes = latest["score"], [box["box"] for box in viewer.ask("boxes")["boxes"]]
        low, high = score["error_interval"] or (None, None)
        row = {"phantom": name, "order": order, "round": number, "voxels": latest["labels"]["voxels"], "error": f"{self.error_outside(project, run, boxes, truth):.6f}",
               "exam_error": f"{score['error']:.6f}", "exam_low": low, "exam_high": high, "exam_nll": f"{score['nll']:.6f}", "seconds": f"{time.monotonic() - begin:.1f}"}
        print(f"{name}, {order}, round {number}: {row['voxels']} voxels, error {row['error']}, in the exam {row['exam_error']}", file=sys.stderr, flush=True)
        return row, run

    def study(self, name):
        truth, scan = self.phantom(name), self.folder(name, "scan.npy")
        first = self.folder(name, "first")
        shutil.rmtree(first, ignore_errors=True)
        viewer = Viewer(self.options.credence, scan, first)
        try:
            viewer.ask("loop", "PUT", {"size": list(self.size)})
            for _ in range(self.held):
                paint(viewer, viewer.ask("boxes", "POST", {"held_out": True})["box"], truth)
            start, run = self.round(viewer, first, name, "all", 1, truth, viewer.proposals("random", None, self.boxes))
        finally:
            viewer.stop()
        rows = []
        for order in ORDERS:
            project, at = self.folder(name, order), run
            shutil.rmtree(project, ignore_errors=True)
            shutil.copytree(first, project)
            viewer = Viewer(self.options.credence, scan, project)
            rows.append({**start, "order": order})
            try:
                for number in range(2, self.rounds + 1):
                    row, at = self.round(viewer, project, name, order, number, truth, viewer.proposals(order, None if order == "random" else at, self.boxes))
                    rows.append(row)
            finally:
                viewer.stop()
            shutil.rmtree(project)
        shutil.rmtree(first)
        self.keep(rows)

    def run(self):
        begin = time.monotonic()
        for name in self.options.only or list(PHANTOMS)[:self.phantoms]:
            if time.monotonic() - begin < self.options.seconds and not any(row["phantom"] == name for row in self.rows):
                self.study(name)

    # ---- the table ----

    def mean_error(self, name, order, key):
        """Over the rounds that differ, all at the same numbers of boxes."""
        return statistics.mean(float(row[key]) for row in self.rows if row["phantom"] == name and row["order"] == order and int(row["round"]) > 1)

    def table(self):
        names = [name for name in PHANTOMS if any(row["phantom"] == name for row in self.rows)]
        for key, words in (("error", "Wrong voxels outside all boxes"), ("exam_error", "Wrong voxels in the exam boxes")):
            print(f"\n{words}, %, mean over rounds 2 to {self.rounds} (last round):\n")
            print("| phantom | round 1 |" + "".join(f" {order} |" for order in ORDERS) + " excess / random | excess / mean |")
            print("|---|" + "---|" * (3 + len(ORDERS)))
            ratios = {"random": [], "mean": []}
            for name in names:
                means = {order: self.mean_error(name, order, key) for order in ORDERS}
                last = {order: next(float(row[key]) for row in self.rows if row["phantom"] == name and row["order"] == order and int(row["round"]) == self.rounds) for order in ORDERS}
                begin = next(float(row[key]) for row in self.rows if row["phantom"] == name and int(row["round"]) == 1)
                for other, found in ratios.items():
                    found.append(means["excess"] / means[other] if means[other] > 0 else float("nan"))
                print(f"| {name} | {100 * begin:.2f} |" + "".join(f" {100 * means[order]:.2f} ({100 * last[order]:.2f}) |" for order in ORDERS) +
                      f" {ratios['random'][-1]:.2f} | {ratios['mean'][-1]:.2f} |")
            for other, found in ratios.items():
                print(f"\nProposals against {other}: better on {sum(ratio < 1 for ratio in found)} of {len(found)}, ratio of errors {statistics.mean(found):.3f} in the mean.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="build/loop-study")
    parser.add_argument("--scale", choices=SCALES, default="cores")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no further phantom is begun after so long; the same command goes on")
    parser.add_argument("--rounds", type=int, default=0, help="in place of the scale's number of them, 2 at least")
    parser.add_argument("--only", choices=PHANTOMS, action="append", help="these phantoms alone; may be repeated")
    parser.add_argument("--credence", default=os.environ.get("CREDENCE", "build/credence"))
    options = parser.parse_args()
    options.credence = os.path.abspath(options.credence)
    study = Study(options)
    study.run()
    study.table()


if __name__ == "__main__":
    main()
