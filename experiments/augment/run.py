#!/usr/bin/env python3
"""What augmentation adds to a training step.

Trainings that differ in --augment alone take turns, so that a machine that is busier for a while slows all of them. The time of a step is the
mean of the distances between the lines of a training's log, without the first steps and without those that are more than three times the
median (there the state is checked and saved).

    run.py --out build/augment --device cuda             a GPU: half a minute
    run.py --out build/augment --steps 40 --rounds 1     two cores: to see that it runs

Every training is a line of OUT/rows.csv; the table comes out as Markdown. Needs nothing but Python and the credence program."""
import argparse
import csv
import json
import os
import statistics
import subprocess
import sys

WAYS = ("none", "flips", "full")
FIELDS = ("round", "augment", "chunk", "batch", "milliseconds", "waited_seconds")


def step_time(log, skip):
    with open(log) as file:
        seconds = [json.loads(line)["seconds"] for line in file if '"bce"' in line]
    steps = [after - before for before, after in zip(seconds, seconds[1:])][skip:]
    return 1000 * statistics.mean(s for s in steps if s <= 3 * statistics.median(steps))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--chunk", default="48,96,96")
    parser.add_argument("--batch", default="1")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shape", default="128,192,192", help="of the phantom to learn from")
    parser.add_argument("--credence", default=os.path.join("build", "credence"))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    data = os.path.join(options.out, "data")

    def credence(*words):
        return subprocess.run([options.credence, *words], check=True, stdout=subprocess.PIPE).stdout

    if not os.path.exists(data + "/phantom.json"):
        credence("phantom", "graphite", "--shape", options.shape, "--format", "npy", "--quiet", "-o", data)
    times = {way: [] for way in WAYS}
    with open(os.path.join(options.out, "rows.csv"), "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for number in range(options.rounds):
            for way in WAYS:
                model = os.path.join(options.out, way + ".h5")
                told = json.loads(credence("train", "--scan", data + "/scan.npy", "--label", data + "/label.npy", "--norm", "levels", "--augment", way,
                                           "--chunk", options.chunk, "--batch", options.batch, "--max-steps", str(options.steps),
                                           "--valid-fraction", "0", "--keep", "last", "--no-intervals", "--device", options.device,
                                           "--quiet", "--json", "-o", model))
                times[way].append(step_time(model[:-3] + ".log.jsonl", options.steps // 5))
                writer.writerow((number, way, options.chunk, options.batch, f"{times[way][-1]:.3f}", f"{told['waited_seconds']:.3f}"))
                file.flush()
    print("| augmentation | ms a step, round by round | median | against none |\n|---|---|---|---|")
    for way in WAYS:
        rounds = ", ".join(f"{t:.2f}" for t in times[way])
        share = statistics.median(a / b - 1 for a, b in zip(times[way], times["none"]))
        print(f"| {way} | {rounds} | {statistics.median(times[way]):.2f} | {100 * share:+.1f} % |")


if __name__ == "__main__":
    sys.exit(main())
