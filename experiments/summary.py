#!/usr/bin/env python3
"""Tables, in Markdown, of the figures that study.py left: a line for each way to train and to predict, mean ± standard deviation over
the seeds whose tests are complete.

    summary.py figures.csv [--study NAME] [--kind bcnn] [--by test]"""
import argparse
import collections
import csv
import statistics

LINE = ("grey", "augment", "chunk", "batch", "steps", "lr", "more", "arm", "mode")
MEANS = ("accuracy", "nll", "p_u_given_i", "ece", "aurc")


def short(value, digits):
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def spread(values, digits=4):
    if None in values:
        return ""
    text = short(statistics.mean(values), digits)
    return text + (f" ± {short(statistics.stdev(values), digits)}" if len(values) > 1 else "")


def slope(rows):
    """Of the error of the fraction over the true fraction."""
    x, y = [float(r["truth"]) for r in rows], [float(r["fraction"]) - float(r["truth"]) for r in rows]
    mean = statistics.mean(x)
    return sum((a - mean) * b for a, b in zip(x, y)) / sum((a - mean) ** 2 for a in x)


def of_seed(rows):
    figures = {name: statistics.mean(float(r[name]) for r in rows) for name in MEANS}
    figures["rms"] = statistics.mean((float(r["fraction"]) - float(r["truth"])) ** 2 for r in rows) ** .5
    figures["slope"] = slope(rows) if max(float(r["truth"]) for r in rows) - min(float(r["truth"]) for r in rows) > .1 else None
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="+")
    parser.add_argument("--study")
    parser.add_argument("--kind")
    parser.add_argument("--by", choices=("line", "test"), default="line", help="test: NLL and error of the fraction, test by test")
    options = parser.parse_args()
    lines, seen = collections.defaultdict(lambda: collections.defaultdict(dict)), collections.defaultdict(dict)
    for path in options.figures:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                if options.study not in (None, row["study"]) or options.kind not in (None, row["kind"]) or row["ece"] == "":
                    continue
                key = (row["study"], row["kind"], *(row.get(name, "") for name in LINE))
                lines[key][row["seed"]][row["test"]] = row
                seen[row["study"]][row["test"]] = True
    for place, (key, seeds) in enumerate(sorted(lines.items())):
        tests = list(seen[key[0]])
        done = [rows for rows in seeds.values() if len(rows) == len(tests)]
        head = " | ".join(key[1:])
        if options.by == "line":
            if place == 0:
                print("| kind | " + " | ".join(LINE) + " | seeds | accuracy | NLL | P(U\\|I) | ECE | AURC | rms | slope |")
                print("|---" * (len(LINE) + 9) + "|")
            if done:
                of = [of_seed(list(rows.values())) for rows in done]
                print(f"| {head} | {len(done)} |", " | ".join(spread([f[name] for f in of], 2 if name == "slope" else 4)
                                                             for name in (*MEANS, "rms", "slope")), "|")
            continue
        if place == 0:
            print("| kind | " + " | ".join(LINE) + " | " + " | ".join(tests) + " |")
            print("|---" * (len(LINE) + 1 + len(tests)) + "|")
        if done:
            print(f"| {head} |", " | ".join(
                short(statistics.mean(float(rows[test]["nll"]) for rows in done), 3) + " / " +
                f"{statistics.mean(float(rows[test]['fraction']) - float(rows[test]['truth']) for rows in done):+.3f}".replace("0.", ".")
                for test in tests), "|")


if __name__ == "__main__":
    main()
