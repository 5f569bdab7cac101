#!/usr/bin/env python3
"""How far the two grey levels of a scan move with the share of a phase, with noise, contrast, blur and grain size.

    run.py [--out FOLDER] [--credence PROGRAM]          a minute on two cores; needs NumPy

Makes phantoms whose truth is known, finds their levels by Otsu's threshold (--norm levels) and as two phases (--norm phases), by the rules of
src/volume/levels.c written down once more, and holds them against the grey values deep within the two phases of the truth, two voxels
and more from the other. No network takes part. The table comes out as Markdown, in units of half of the contrast between those: how far off the
middle of the levels lies, and half of their distance."""
import argparse
import os
import subprocess

import numpy as np

GRAPHITE = ["graphite", "--shape", "96,128,128"]
WELD = ["weld", "--shape", "96,128,128"]
SCANS = [(f"graphite, {share}", GRAPHITE + ["--fraction", share, "--seed", str(seed)])
         for share, seeds in ((".35", (410, 411)), (".45", (102, 202)), (".50", (101, 201, 311, 312)), (".60", (501, 502)),
                              (".71", (103, 203, 301, 302))) for seed in seeds]
SCANS += [(f"graphite, {share}, {name}", GRAPHITE + ["--fraction", share, "--seed", str(seed), *words]) for share, seed in ((".50", 204), (".71", 404))
          for name, words in (("noisier", ["--noise", ".045"]), ("fainter", ["--contrast", ".14"]), ("blurred", ["--blur", "1.4"]),
                              ("finer", ["--grain-size", "9"]))]
SCANS += [(f"weld, {share}", WELD + ["--fraction", share, "--seed", "1"]) for share in (".10", ".18", ".28")]
SCANS += [("weld, .18, noisier", WELD + ["--seed", "5", "--noise", ".06"])]


def gather(voxels):
    """Counts and values between bounds that outliers don't move."""
    low, high = np.percentile(voxels, [1, 99])
    around = (high - low) / 2
    counts, edges = np.histogram(np.clip(voxels, low - around, high + around), 1024)
    return counts.astype(float), (edges[:-1] + edges[1:]) / 2


def otsu(counts, values):
    weight, total = counts.cumsum()[:-1], (counts * values).cumsum()
    rest = counts.sum() - weight
    with np.errstate(invalid="ignore", divide="ignore"):
        dark, light = total[:-1] / weight, (total[-1] - total[:-1]) / rest
        best = np.nanargmax(weight * rest * (light - dark) ** 2)
    return dark[best], light[best]


def phases(counts, values):
    """Two normal distributions of one width that add up to the counts: expectation and maximisation by turns."""
    first = otsu(counts, values)
    middle, half, total = sum(first) / 2, (first[1] - first[0]) / 2, counts.sum()
    x = (values - middle) / half
    part = counts * (x > 0)
    means = (0, 0)
    for _ in range(501):
        share, before = part.sum() / total, means
        means = ((counts - part) @ x / (total - part.sum()), part @ x / part.sum())
        variance = max((counts @ x**2 - (total - part.sum()) * means[0] ** 2 - part.sum() * means[1] ** 2) / total, 1e-6)
        if abs(means[0] - before[0]) + abs(means[1] - before[1]) < 1e-6:
            break
        slope = (means[1] - means[0]) / variance
        part = counts / (1 + np.exp(-(slope * x + np.log(share / (1 - share)) - slope * (means[0] + means[1]) / 2)))
    centre, width = np.clip(sum(means) / 2, -1, 1), np.clip((means[1] - means[0]) / 2, .6, 1.25)
    return middle + half * (centre - width), middle + half * (centre + width)


def deep(phase):
    """What is left after two layers of voxels are taken off."""
    for _ in range(2):
        for axis in range(3):
            phase = phase & np.roll(phase, 1, axis) & np.roll(phase, -1, axis)
    return phase


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--out", default=root + "/build/experiments/levels", help="the phantoms")
    parser.add_argument("--credence", default=root + "/build/credence")
    options = parser.parse_args()
    print("| phantom | middle, levels | phases | half of the distance, levels | phases |\n|---|---|---|---|---|")
    for number, (name, words) in enumerate(SCANS):
        folder = f"{options.out}/{number}"
        if not os.path.exists(folder + "/truth.npy"):
            subprocess.run([options.credence, "phantom", *words, "--format", "npy", "--quiet", "-o", folder], check=True)
        scan, truth = np.load(folder + "/scan.npy").astype(float), np.load(folder + "/truth.npy") != 0
        dark, light = sorted((scan[deep(~truth)].mean(), scan[deep(truth)].mean()))
        counts, values = gather(scan)
        found = [(((a + b) - (dark + light)) / (light - dark), (b - a) / (light - dark)) for a, b in (otsu(counts, values), phases(counts, values))]
        print(f"| {name} | {found[0][0]:+.3f} | {found[1][0]:+.3f} | {found[0][1]:.3f} | {found[1][1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
