"""`credence report`, sentence by sentence: what it opens with, its numbers beside those of the files it is made from, what a
paper needs, and that the page stays small."""
import html
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np

    import run_folder
    from png import pixels, pixels_of
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
MOST_BYTES = 15e6
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def run(*words):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    check(done.returncode == 0, f"{words}: {done.stderr}")
    return done.stdout


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def page_of(*words):
    """(the page's source, its words)"""
    run("report", *words, "-o", "page.html", "--quiet")
    with open("page.html", encoding="utf-8") as file:
        source = file.read()
    words = re.sub(r"<(script|style).*?</\1>", " ", source, flags=re.S)
    return source, " ".join(html.unescape(re.sub(r"<[^>]*>", " ", words)).split())


def svg_texts(source, title):
    """What is written in the plot of that title: [(anchor, text)]."""
    plot = re.search(r"<figcaption>" + re.escape(title) + r"</figcaption>(<svg.*?</svg>)", source, re.S)
    check(plot, f"there is no plot '{title}'")
    return re.findall(r'<text class="tick" text-anchor="(\w+)"[^>]*>([^<]*)</text>', plot[1]) if plot else []


def opening():
    """A model that held labels back, and a prediction in tiles."""
    run("phantom", "graphite", "-o", "p", "--shape", "32,48,48", "--grain-size", "8", "--spacing", "2,1,1,um", "--format", "npy", "-q")
    run("train", "--scan", "p/scan.npy", "--label", "p/truth.npy", "-o", "model.h5", "--filters", "4", "--chunk", "8,16,16", "--batch", "2",
        "--max-steps", "40", "--norm", "levels", "--seed", "7", "-q")
    run("predict", "--model", "model.h5", "--scan", "p/scan.npy", "-o", "run", "--mode", "seamless", "--tile", "16,24,24", "--halo", "16",
        "--samples", "6", "--seed", "5", "-q")
    source, words = page_of("run", "--label", "p/truth.npy")
    manifest, figures, heldout = load("run/manifest.json"), load("run/validation.json"), json.loads(run("info", "--json", "model.h5"))["heldout"]

    # Scan, segmentation and uncertainty of the middle slice come first, then one sentence, then numbers.
    first = re.findall(r'<img [^>]*alt="([^"]*)"', source)[:3]
    middle = "z = 16"
    for alt, what in zip(first, ("scan", "segmentation", "uncertainty")):
        check(what in alt.lower() and middle in alt, f"not the middle slice's {what}: {alt}")
    places = [source.index(mark) for mark in ("<img ", '<p class="verdict">', '<div class="numbers">', "<table", "<svg")]
    check(places == sorted(places), f"another order than pictures, sentence, numbers, tables, plots: {places}")
    verdict = html.unescape(re.sub(r"<[^>]*>", "", re.search(r'<p class="verdict">(.*?)</p>', source)[1])).replace("\u00a0", " ")
    share = 100 * manifest["volume_fraction"]["segmentation"]
    check(re.fullmatch(rf"{share:.1f} % of the volume is foreground[^.]*(\d\.\d[^.]*)*\.", verdict), f"no sentence of verdict: {verdict}")
    check("parts of the label that the model never saw" in verdict, f"the verdict flatters: {verdict}")

    # The numbers that matter, with their intervals.
    numbers = re.search(r'<div class="numbers">(.*?)</div></div>', source, re.S)[1]
    numbers = html.unescape(re.sub(r"<[^>]*>", " ", numbers)).replace("\u00a0", " ")
    low, high = (100 * v for v in manifest["volume_fraction"]["interval90"])
    for text in (f"{share:.2f} %", f"90 % range {low:.2f} to {high:.2f} %", f"{heldout['dice']:.3f}",
                 f"90 % interval {heldout['dice_interval'][0]:.3f} to {heldout['dice_interval'][1]:.3f}", f"{figures['dice']:.3f}"):
        check(text in numbers, f"the numbers lack {text}: {numbers}")
    certificate = manifest["certificate"]
    check(certificate["places"] > 0, "tiles without a border")
    largest = certificate["largest_probability"]
    check(("0.001" if largest < 0.001 else f"{largest:.2g}") in numbers and "at the borders of tiles" in numbers, f"the certificate {largest}: {numbers}")

    # Physical units, and a scale bar of the right length: the pictures differ by it alone from those without spacing.
    check("32 × 48 × 48 voxels (z, y, x) of 2 × 1 × 1 µm, in all 64 × 48 × 48 µm" in words, "the size in the heading")
    with_bar = pixels_of(source, "The scan,")
    for name in os.listdir("run"):
        if name.endswith(".npy.json"):
            about = load("run/" + name)
            with open("run/" + name, "w", encoding="utf-8") as file:
                json.dump({key: value for key, value in about.items() if key not in ("spacing", "unit")}, file)
    os.rename("p/scan.npy.json", "spacing")
    bare = pixels_of(page_of("run")[0], "The scan,")
    os.rename("spacing", "p/scan.npy.json")
    check(with_bar.shape == bare.shape, "a picture's size depends on the spacing")
    if with_bar.shape == bare.shape:
        rows, columns = np.nonzero((with_bar != bare).any(-1))
        check(len(rows) > 50 and rows.min() > bare.shape[0] / 2 and columns.min() > bare.shape[1] / 2, "no scale bar in the corner")
        bar = (with_bar[rows.max() - 3] == 255).all(-1)  # a white line with a dark rim
        length = max(map(len, "".join("x" if white else " " for white in bar).split())) * 48 / bare.shape[1]
        check(any(abs(length - told) < 0.2 for told in (5, 10)), f"a scale bar of {length} µm, where a voxel has one")

    # What the model was trained on, and how good it is where it didn't learn.
    check(re.search(r"trained on scans of 73\W?728 voxels of 2 × 1 × 1 µm", words), "what it was trained on")
    exam = re.search(r"In the exam.*?Negative log-likelihood [0-9.]+", words)
    for value in (f"{100 * heldout['accuracy']:.1f} %", f"{heldout['threshold_dice']:.3f}", f"{heldout['nll']:.3f}") if exam else ():
        check(value in exam[0], f"the exam lacks {value}: {exam[0]}")
    check(exam, "no exam")

    # A paragraph to paste: method, citation, settings, result.
    method = html.unescape(re.search(r'<blockquote class="method">(.*?)</blockquote>', source, re.S)[1]).replace("\u00a0", " ")
    for text in ("LaBonte, Martinez & Roberts, arXiv:1910.10793", "credence " + manifest["program"], "4 base filters", "40 steps (seed 7)",
                 "6 samples", "(seed 5)", "percentiles 33-67", f"foreground is {share:.1f} %", f"{heldout['dice']:.3f}", "computed once"):
        check(text in method, f"the paragraph lacks {text}: {method}")
    check(FOLDER not in source and os.path.realpath(FOLDER) not in source, "the page has an absolute path")

    # Regions are framed, and lead to their place.
    regions = re.findall(r"<article>.*?</article>", source, re.S)
    links = [re.search(r'href="http://127\.0\.0\.1:8471/#at=(\d+),(\d+),(\d+)&amp;zoom=4"', region) for region in regions]
    check(regions and all(links), "a region without a link")
    for region, link in zip(regions, links):
        centre = re.search(r"<dt>centre z, y, x</dt><dd>(\d+), (\d+), (\d+)</dd>", region)
        check(centre and link and centre.groups() == link.groups(), "a link leads elsewhere")

    # Bins say how many voxels they are of, axes of whole numbers have whole ticks.
    counted = [text for anchor, text in svg_texts(source, "Reliability: is a probability of 0.9 right nine times in ten?") if anchor == "start"]
    filled = [n for n in figures["reliability"]["count"] if n > 0]
    values = [float(re.sub("[kM]", "", text)) * {"k": 1e3, "M": 1e6}.get(text[-1], 1) for text in counted]
    check(len(values) == len(filled) and all(abs(v - n) <= 0.06 * n for v, n in zip(values, filled)), f"{counted} for bins of {filled}")
    ticks = [text for anchor, text in svg_texts(source, "Volume fraction over the samples") if anchor == "end"]
    ticks += [text for anchor, text in svg_texts(source, "Were there enough samples?") if anchor == "middle"]
    check(len(ticks) > 3 and all(text.isdigit() for text in ticks), f"ticks of whole numbers: {ticks}")
    for plateau in ("Where the lines are flat", "Straight pieces are voxels of equal uncertainty"):
        check(plateau in words, f"a plateau isn't explained: {plateau}")
    return source


def course(source):
    """The picture of a training's course: in the page's colours, and a panel only for what moves."""
    def picture(name):
        with open(f"{name}.progress.png", "rb") as file:
            return pixels(file.read())

    small = ["--scan", "p/scan.npy", "--label", "p/truth.npy", "--filters", "4", "--chunk", "8,16,16", "--batch", "12", "--step", "1",
             "--epochs", "3", "--augment", "none", "-q"]
    # The cross entropy alone moves; and several curves do, one of them of what is held back.
    run("train", *small, "-o", "still.h5", "--kind", "mcdn", "--kl-initial", "1", "--kl-step", "0", "--valid-fraction", "0")
    run("train", *small, "-o", "moving.h5", "--kl-initial", "0.25", "--kl-step", "0.25", "--kl-start", "0")
    one, several = picture("still"), picture("moving")
    check(len(several) > 1.7 * len(one), f"heights of {len(one)} and {len(several)}: as many panels where one curve moves as where several do")
    for name in "ab":
        colour = re.search(rf"--{name}:#(\w\w)(\w\w)(\w\w)", source).groups()  # the first is that of the light page
        check((several == [int(part, 16) for part in colour]).all(-1).sum() > 500, f"the picture isn't in the page's colour --{name}")


def worst_slices():
    """By the number of wrong voxels, and by their share."""
    run_folder.make("a", "p/scan.npy", "p/truth.npy")
    source, _ = page_of("a", "--label", "p/truth.npy")
    wrong = np.load("a/scan_seg.npy") != np.load("p/truth.npy")
    chosen = {why: int(z) for z, text in re.findall(r"<h4>z = (\d+) <small>([^<]*)</small>", source) for why in re.split(", | · ", text)}
    counts = wrong.sum((1, 2))
    check(counts[chosen["most wrong voxels"]] == counts.max(), f"z = {chosen.get('most wrong voxels')}, and not {counts.argmax()}, has most wrong voxels")
    check(counts[chosen["largest share wrong"]] == counts.max(), "all slices are as large, and another one has the largest share")
    # A sliver of labels, all of it wrong, isn't the worst slice.
    label = np.load("p/truth.npy")
    label[0] = 9
    label[0, 0, :3] = 1 - np.load("a/scan_seg.npy")[0, 0, :3]
    np.save("sliver.npy", label)
    source, _ = page_of("a", "--label", "sliver.npy", "--ignore", "9")
    check(not re.search(r"<h4>z = 0 <small>[^<]*largest share wrong", source), "three wrong voxels are the worst slice")


def bold():
    """What compare calls level isn't bold, and what it calls ahead is."""
    run_folder.make("b", "p/scan.npy", "p/truth.npy", kind="mcdn", spread=0.3, intervals=(), seed=2)
    source, _ = page_of("a", "b", "--label", "p/truth.npy")
    said = run("compare", "a", "b")
    rows = {"Accuracy": "Voxels that are segmented right", "P(accurate": "Cubes that are right where", "P(uncertain": "Wrong cubes that it warns of",
            "PAvPU3D": "Cubes right and certain", "Expected calibration": "Probabilities are off", "Negative log": "Log loss",
            "Area under": "Errors left when"}
    ways = set()
    for row, line in rows.items():
        cells = re.search(rf'<tr><th scope="row">{re.escape(row)}[^<]*</th><td>(.*?)</td><td>(.*?)</td></tr>', source)
        words = re.search(rf"^{re.escape(line)}.*[;] (.*)\.$", said, re.M)
        check(cells and words, f"no row {row} or no line {line}")
        ahead = [bool("<strong>" in cell) for cell in cells.groups()] if cells else []
        wanted = [words[1].startswith(f"{kind} is ahead") for kind in ("bcnn", "mcdn")] if words else []
        check(ahead == wanted, f"{row}: bold {ahead}, compare says {words and words[1]}")
        ways.add(tuple(wanted))
    check(len(ways) > 1, "all figures are level, or all are ahead: nothing is shown")


def size():
    """A scan that can't be packed into the page: reduced, and left out."""
    noise = np.random.default_rng(3)
    shape = (160, 288, 288)
    os.mkdir("large")
    scan = noise.integers(0, 256, shape, dtype="u1")
    np.save("large_scan.npy", scan)
    np.save("large/s_prob.npy", noise.random(shape, "f4"))
    np.save("large/s_seg.npy", (scan > 127).astype("u1"))
    np.save("large/s_unc.npy", noise.random(shape, "f4"))
    with open("large/manifest.json", "w", encoding="utf-8") as file:
        json.dump({"scan": {"path": os.path.abspath("large_scan.npy"), "shape": shape}, "warnings": []}, file)
    source, _ = page_of("large")
    facts = json.loads(html.unescape(re.search(r'data-facts="([^"]*)"', source)[1]))
    check(facts["whole"] == list(shape) and max(facts["steps"]) > 1, f"so many slices aren't reduced: {facts}")
    check(len(source) < MOST_BYTES, f"a page of {len(source)} bytes")
    small, _ = page_of("large", "--small")
    check("data-facts" not in small.split("<script>")[0] and len(small) < len(source) / 2, f"--small has {len(small)} bytes of {len(source)}")


if "PNG pictures and slices: no" in run("--version"):
    print("skipped: no libpng")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="credence-says-") as FOLDER:
    os.chdir(FOLDER)
    course(opening())
    worst_slices()
    bold()
    size()
    os.chdir("/")
print(f"{failures} failures")
sys.exit(failures > 0)
