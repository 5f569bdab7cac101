"""`credence report`: the page is well formed, needs nothing from outside, and every picture and plot is there. With
CREDENCE_LONG=1 and a chromium, a browser opens it, too."""
import base64
import html
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zlib

try:
    import numpy as np

    import run_folder
    from png import chunks, pixels_of, undone
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory(prefix="credence-report-")
VOID = {"meta", "img", "br"}
VIEWER = re.compile(r"http://127\.0\.0\.1:8471/#at=\d+,\d+,\d+&zoom=4")
failures = 0


def path(name):
    return os.path.join(FOLDER.name, name)


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


class Page(html.parser.HTMLParser):
    """Keeps the stack of open tags, the pictures, and all text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.pictures, self.words, self.problems, self.headings = [], [], [], [], []
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        for name, value in attributes:
            if name in ("src", "href") and not value.startswith(("data:image/png;base64,", "#")) and not VIEWER.fullmatch(value):
                self.problems.append(f"{tag} {name}={value[:60]}")
        if tag in ("link", "iframe", "object"):
            self.problems.append(f"a {tag}")
        if tag == "img":
            self.pictures.append(values)
        if tag == "svg" and not values.get("aria-label"):
            self.problems.append("a plot without words")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes something else, at {self.getpos()}")

    def handle_data(self, data):
        self.words.append(data)
        if self.open and self.open[-1] in ("h1", "h2", "h3", "figcaption"):
            self.headings.append(data)


def look_at(name):
    with open(path(name), encoding="utf-8") as file:
        text = file.read()
    page = Page(text)
    check(not page.problems, f"{name}: {page.problems[:5]}")
    rest = VIEWER.sub("", text.replace("&amp;", "&"))
    check("http:" not in rest and "https:" not in rest and "url(" not in rest, f"{name} points outside")
    for plot in re.findall(r"<svg.*?</svg>", text, re.S):
        xml.etree.ElementTree.fromstring(plot)
        check("nan" not in plot.lower().replace("nance", "") and "inf" not in plot.lower(), f"{name}: a plot without numbers")
    for picture in page.pictures:
        data = base64.b64decode(picture["src"].split(",", 1)[1], validate=True)
        check(data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND", f"{name}: a picture is no PNG")
        width, height = struct.unpack(">II", data[16:24])
        check((str(width), str(height)) == (picture["width"], picture["height"]), f"{name}: a picture's size")
        pixels = zlib.decompress(b"".join(body for kind, body in chunks(data) if kind == b"IDAT"))
        check(len(pixels) == height * (3 * width + 1), f"{name}: a picture's pixels")
        check(len(picture["alt"]) > 10, f"{name}: a picture without words")
    beside = os.listdir(path(name.replace(".html", "_pictures")))
    check(len(beside) == len(page.pictures) > 0, f"{name}: {len(beside)} files, {len(page.pictures)} pictures")
    page.text = " ".join(" ".join(page.words).split())
    return page


def stack_of(name):
    """The volumes that the slider shows, and what the page says of them."""
    text = open(path(name), encoding="utf-8").read()
    facts = json.loads(html.unescape(re.search(r'data-facts="([^"]*)"', text)[1]))
    packed = re.findall(r'<script type="text/plain" id="stack-(\w+)">([^<]*)</script>', text)
    return facts, {what: undone(base64.b64decode(data)).reshape(facts["shape"]) for what, data in packed}


def report(name, *arguments):
    result = run("report", *arguments, "-o", path(name), "-q")
    check(result.returncode == 0, f"{name}: {result.stderr}")
    return look_at(name) if result.returncode == 0 else None


if "PNG pictures and slices: no" in run("--version").stdout:
    result = run("report", FOLDER.name, "-o", path("x.html"))
    check(result.returncode == 1 and "built without libpng" in result.stderr, result.stderr)
    print("skipped: no libpng")
    sys.exit(1 if failures else 77)

result = run("phantom", "graphite", "-o", path("phantom"), "--shape", "24,48,40", "--format", "npy", "-q")
check(result.returncode == 0, result.stderr)
scan, truth = path("phantom/scan.npy"), path("phantom/truth.npy")
run_folder.make(path("a"), scan, truth, warnings=["Beware of <the> \"dog\" & its bite."])
run_folder.make(path("b"), scan, truth, kind="mcdn", spread=0.3, intervals=(), seed=2)

one = report("one.html", path("a"), "--label", truth)
figures = json.load(open(path("a/validation.json")))
for words in ("Read this first", 'Beware of <the> "dog" & its bite.', "In short", "What the uncertainty says", "Slices across y",
              "uncertainty 5-95", "most wrong voxels", "beyond what the share of edges explains", "How the run was made", "credence-run", "0.65"):
    check(words in one.text, f"one.html lacks: {words}")
for title in ("How uncertain the voxels are", "Volume fraction over the samples", "Were there enough samples?", "Slice by slice",
              "PAvPU3D over the threshold", "Away from the predicted boundary"):
    check(title in one.headings, f"one.html lacks the plot: {title}")
check(f"{figures['pavpu']['pavpu3d']:.4f}" in one.text, "PAvPU3D isn't in the table")
check("not an error bar" in one.text, "the page doesn't say what the interval isn't")
facts, stack = stack_of("one.html")
check(facts["shape"] == facts["whole"] == [24, 48, 40] and facts["steps"] == [1, 1, 1], f"the slider's facts: {facts}")
check(sorted(stack) == ["scan", "seg0", "unc0"], f"the slider's volumes: {sorted(stack)}")
check((stack["seg0"] == np.load(path("a/scan_seg.npy"))).all(), "the slider has another segmentation")
width = np.load(path("a/scan_unc.npy"))
high = width.reshape(-1)[stack["unc0"].reshape(-1) == 255].min()
check(np.abs(stack["unc0"] / 255 - np.minimum(width / high, 1)).max() < 0.02, "the slider has another uncertainty")
check(np.corrcoef(stack["scan"].reshape(-1), np.load(scan).reshape(-1))[0, 1] > 0.99, "the slider has another scan")
report("small.html", path("a"), "--label", truth, "--small")
text = open(path("small.html"), encoding="utf-8").read()
check("stack-" not in text.split("<script>")[0] and 'data-facts="' not in text, "--small leaves the slices in")
check("/" + FOLDER.name.strip("/") not in text, "the page has an absolute path")
before = open(path("one.html"), "rb").read()
report("one.html", path("a"), "--label", truth)
check(open(path("one.html"), "rb").read() == before, "the same run gives another page")

# A raw scan is read as the run read it: a header to skip, the other byte order.
manifest = json.load(open(path("a/manifest.json")))
voxels = np.load(scan)
with open(path("headed.raw"), "wb") as file:
    file.write(bytes(7003) + voxels.astype(voxels.dtype.newbyteorder(">")).tobytes())
shutil.copytree(path("a"), path("headed"))
manifest["scan"]["path"] = path("headed.raw")
manifest["settings"].update(shape=list(voxels.shape), type=f"{voxels.dtype.kind}{8 * voxels.itemsize}be", offset=7003)
json.dump(manifest, open(path("headed/manifest.json"), "w"))
headed = report("headed.html", path("headed"), "--label", truth)
check("can't be opened" not in headed.text, "headed.html: the raw scan isn't found")
check([p["src"] for p in headed.pictures] == [p["src"] for p in one.pictures], "a raw scan gives other pictures")

# Half of the slices along z have no label, the middle one and the last quarter among them.
part = np.load(truth)
part[part.shape[0] // 2 :] = 9
np.save(path("part.npy"), part)
partly = report("partly.html", path("a"), "--label", path("part.npy"), "--ignore", "9")
for words, wanted in (("middle", "no label here"), ("a quarter down", "% of those labelled")):
    caption = re.search(r"z = \d+ [^=]*?" + words + r"[^=]*?(?=z =|scan)", partly.text)
    check(caption and wanted in caption.group(), f"partly.html: {caption and caption.group()}")

two = report("two.html", path("a"), path("b"), "--title", "A <b>title</b>")
check("A <b>title</b>" in two.headings, "the title isn't escaped")
for words in ("Run A: segmentation", "Run B: segmentation", "Run B (mcdn) Slice by slice", "Monte Carlo dropout", "Run A (bcnn): Beware"):
    check(words in two.text, f"two.html lacks: {words}")
check("The two runs in words" not in two.text, "two.html compares with a run that has no figures")
check(sorted(stack_of("two.html")[1]) == ["scan", "seg0", "seg1", "unc0", "unc1"], "two.html: the slider's volumes")
check("where the two segmentations differ" in two.text, "two.html doesn't show where the runs differ")
both = report("deep/er/both.html", path("a"), path("b"), "--label", truth) # folders that are missing are made
text = open(path("deep/er/both.html")).read()
spoken = subprocess.run([PROGRAM, "compare", path("a"), path("b")], capture_output=True, text=True).stdout.splitlines()
check("The two runs in words" in both.text and " ".join(spoken[-1].split()) in both.text, "both.html and compare differ")
check(text.count('class="plot"') == 2 * text.count('class="pair"') > 10, "plots don't stand in pairs")
for anchor in re.findall(r'href="#([^"]*)"', text):
    check(f'id="{anchor}"' in text, f"nothing is called {anchor}")
# What one run's mask leaves out counts in no agreement, whichever of the two has it.
seg_of = {name: next(file for file in sorted(os.listdir(path(name))) if "_seg." in file) for name in "ab"}
segs = [np.load(os.path.join(path(name), seg_of[name])) for name in "ab"]
shutil.copytree(path("b"), path("masked"))
inside = np.zeros(segs[0].shape, np.uint8)
inside[:, : inside.shape[1] // 3] = 1
np.save(path("inside.npy"), inside)
manifest = json.load(open(path("masked/manifest.json")))
manifest["settings"]["mask"] = path("inside.npy")
json.dump(manifest, open(path("masked/manifest.json"), "w"))
np.save(os.path.join(path("masked"), seg_of["b"]), segs[1] * inside)
for i, runs in enumerate(((path("a"), path("masked")), (path("masked"), path("a")))):
    agreed = f"They agree in {100 * (segs[0] == segs[1])[inside == 1].mean():.1f} % of the voxels"
    said = report(f"agreed_{i}.html", *runs).text
    check(agreed in said, f"{runs}: not {agreed}: {re.findall('They agree in.{9}', said)}")
    # Whose mask it is stands at each key, and its corner isn't where the two differ.
    whose = f"mask of Run {'AB'[runs.index(path('masked'))]}"
    check(said.count(whose) == 2 and said.count("mask of Run") == 2, f"{runs}: the key says {re.findall('mask of Run .', said)}")
    differ = pixels_of(open(path(f"agreed_{i}.html"), encoding="utf-8").read(), "Where the two segmentations differ")
    grey = (differ[..., 0] == differ[..., 1]) & (differ[..., 1] == differ[..., 2])
    middle = inside.shape[0] // 2
    outside = slice(int(grey.shape[0] * 0.36), int(grey.shape[0] * 0.8))
    check(not (segs[0] == segs[1])[middle][inside[middle] == 0].all() and grey[outside].all(), f"{runs}: they differ outside of the mask, too")
    check(not grey[: outside.start].all(), f"{runs}: they differ nowhere")
# A mask of the figures is drawn, but the run's shares are of all of it.
for name, words in (("a", "of the volume is foreground"), ("masked", "of what the mask holds is foreground")):
    page = report(f"counted_{name}.html", path(name), "--label", truth, "--mask", path("inside.npy"))
    check(words in page.text and "mask: inside.npy" in page.text, f"{name}: whose mask it is")
    check(("counts nowhere" in page.text) == (name == "masked") != ("as the run had no such mask" in page.text), f"{name}: what the mask is for")
    check(("only voxels inside the mask" in page.text) == (name == "masked"), f"{name}: a mask in the paragraph to paste")
check("in the label" in report("beside.html", path("a"), "--label", truth).text, "the label's share isn't beside the run's")
check("in the label" not in report("apart.html", path("a"), "--label", truth, "--mask", path("inside.npy")).text,
      "the label's share inside a mask stands beside the run's of all")
# Of a scan that is a part of another one, whose files say where: it is found all the same.
shutil.copytree(path("a"), path("part"))
for name in os.listdir(path("part")):
    if name.endswith(".npy.json"):
        json.dump({**json.load(open(path("part/" + name))), "origin": [2, 3, 4]}, open(path("part/" + name), "w"))
check([p["src"] for p in report("part.html", path("part")).pictures] == [p["src"] for p in report("again.html", path("a")).pictures],
      "an origin in the files moves the run in its scan")
# A volume fraction beyond what the samples say is explained.
manifest = json.load(open(path("b/manifest.json")))
check(("lies outside the range" in both.text) == (not manifest["volume_fraction"]["intervals"]["33-67"][0] <=
      manifest["volume_fraction"]["segmentation"] <= manifest["volume_fraction"]["intervals"]["33-67"][1] or
      "lies outside the range" in one.text), "outside the range or not?")
manifest["volume_fraction"]["intervals"]["33-67"] = [0.001, 0.002]
json.dump(manifest, open(path("b/manifest.json"), "w"))
check("lies outside the range of the samples" in report("outside.html", path("b")).text, "outside.html doesn't explain it")

# What is missing is left out, or said.
for name in os.listdir(path("b")):
    if "unc" in name or "seg" in name or name in ("probe.h5", "validation.json", "manifest.json"):
        os.remove(path("b/" + name))
bare = report("bare.html", path("b"))
check("no manifest.json" in bare.text and "no uncertainty map" in bare.text, "bare.html doesn't say what is missing")
check("Against the label" not in bare.text and "edges explain" not in bare.text, "bare.html shows what isn't there")
manifest = json.load(open(path("a/manifest.json")))
manifest["scan"]["path"] = "/nowhere/scan.npy"
json.dump(manifest, open(path("a/manifest.json"), "w"))
moved = report("moved.html", path("a"))
check("The scan can't be opened" in moved.text and "probability" in moved.headings, "moved.html doesn't say it")
check("The scan can't be opened" not in report("found.html", path("a"), "--scan", scan).text, "--scan isn't used")

# A manifest that somebody made up puts no tag into the page.
tag = "<script src=//a.b></script>"
manifest["scan"] = {"path": tag, "shape": manifest["scan"]["shape"]}
manifest["model"]["kind"], manifest["uncertainty"]["interval"] = "<svg>", tag + "-1"
manifest["warnings"] = [tag]
json.dump(manifest, open(path("a/manifest.json"), "w"))
shutil.copytree(path("a"), path("c"))
for hostile in (report("hostile.html", path("a"), "--scan", scan), report("hostile2.html", path("a"), path("c"))):
    check(tag in hostile.text, "what the manifest says isn't shown")

# Three classes: their colours, their shares with intervals, and what was taken for what.
check(run("phantom", "electrode", "-o", path("e"), "--shape", "24,40,52", "--format", "npy", "-q").returncode == 0, "electrode")
for name, kind in (("k", "bcnn"), ("l", "mcdn")):
    run_folder.make_classes(path(name), path("e/scan.npy"), path("e/truth.npy"), ["pore", "<particle>", "binder"], [0, 1, 2], kind=kind)
page = report("classes.html", path("k"), "--label", path("e/truth.npy"))
words = " ".join(page.words)
for part in ("<particle>", "90 % of the samples", "What was taken for what", "Mean Dice of the classes",
             "class whose mean probability is the largest", "Volume fraction over the samples: binder", "Were there enough samples?"):
    check(part in words, f"classes.html says '{part}'")
check("not labelled" not in words, "a colour for what isn't there")
part = np.load(path("e/truth.npy"))
part[:4] = 9
np.save(path("e/part.npy"), part)
check("not labelled" in report("part_classes.html", path("l"), "--label", path("e/part.npy"), "--ignore", "9").text, "no colour for what isn't labelled")
matrix = json.load(open(path("k/validation.json")))["confusion"]
for row in matrix:
    for count in row:
        check(f"{count:.0f}" in words, f"classes.html has the count {count}")
check("Volume fraction, segmentation" not in words, "what only two classes have isn't there")
facts, stack = stack_of("classes.html")
check((stack["seg0"] == np.load(path("k/scan_seg.npy"))).all() and facts["classes"] == [3], "classes.html: the slider's classes")
# Classes that nobody named are called as their values are.
run_folder.make_classes(path("values"), path("e/scan.npy"), path("e/truth.npy"), ["0", "1", "2"], [0, 1, 2])
values = report("values.html", path("values")).text
for words in (r"of the volume is class 0, [0-9.]+ % class 1 and [0-9.]+ % class 2[;,.]", r"% class 2; samples", "fractions are: class 0 [0-9.]+ %",
              "Volume fraction over the samples: class 1", "class 0 class 1 class 2"):
    check(re.search(words, values), f"a class is called by its number alone: not {words}")
page = report("classes2.html", path("k"), path("l"), "--label", path("e/truth.npy"))
check(" ".join(page.words).count("What was taken for what") == 1, "one heading for both matrices")
report("classes3.html", path("k"))

# A constant map, one slice, odd numbers in the manifest: a page all the same.
os.makedirs(path("flat"))
np.save(path("flat/x_prob.npy"), np.full((1, 9, 7), 0.25, "f4"))
np.save(path("flat/x_seg.npy"), np.zeros((1, 9, 7), "u1"))
np.save(path("flat/x_unc.npy"), np.zeros((1, 9, 7), "f4"))
json.dump({"volume_fraction": {"samples": [0.5, 0.5, 0.5, "x", -1e308, 1e308], "intervals": []}, "warnings": [3], "scan": 7, "plan": {}},
          open(path("flat/manifest.json"), "w"))
np.save(path("zeros.npy"), np.zeros((1, 9, 7), "u1"))
report("flat.html", path("flat"), "--label", path("zeros.npy"))

for words, arguments in (("report needs a run folder", ["-o", path("x.html")]), ("--output", [path("a")])):
    result = run("report", *arguments)
    check(result.returncode == 2 and words in result.stderr, f"{arguments}: {result.stderr}")
result = run("report", path("none"), "-o", path("x.html"))
check(result.returncode == 1 and "can't open the run folder" in result.stderr, result.stderr)
check(not os.path.exists(path("x.html")), "a report that failed left a page")

browser = shutil.which("chromium")
if os.environ.get("CREDENCE_LONG") and browser:
    # A script that counts what was drawn is added to a copy.
    script = """<script>addEventListener('load', () => { const bad = [...document.images].filter(i => !i.naturalWidth).length;
        const wide = document.documentElement.scrollWidth > innerWidth + 1;
        const flat = [...document.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().height < 50).length;
        document.title = `drawn ${document.images.length} bad ${bad} flat ${flat} wide ${wide}`; });</script>"""
    for name in ("one.html", "two.html"):
        with open(path(name), encoding="utf-8") as file:
            text = file.read()
        count = text.count("<img ")
        with open(path("probe.html"), "w", encoding="utf-8") as file:
            file.write(text.replace("</head>", script + "</head>"))
        for width in (420, 800, 1400):
            result = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
                                     "--virtual-time-budget=5000", "--enable-logging=stderr", "--dump-dom",
                                     "file://" + path("probe.html")], capture_output=True, text=True, timeout=120)
            said = re.search(r"<title>(.*?)</title>", result.stdout)
            check(said and said.group(1) == f"drawn {count} bad 0 flat 0 wide false", f"{name} at {width}: {said and said.group(1)}")
            check("CONSOLE" not in result.stderr, f"{name}: {result.stderr[-500:]}")

    # The slider: slices across y, number 7, the map not at all over the scan. Its pixels are those of the stack.
    steer = """<script>addEventListener('load', async () => {
        const inputs = document.querySelectorAll('.steer input');
        document.querySelectorAll('.steer button')[1].click();
        while (!document.querySelector('.slice canvas')) await new Promise(next => setTimeout(next, 20));
        for (const [input, value] of [[inputs[0], 7], [inputs[1], 0]]) { input.value = value; input.dispatchEvent(new Event('input')); }
        await new Promise(next => setTimeout(next, 100));
        const sums = [...document.querySelectorAll('.slice canvas')].map(canvas => {
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return `${canvas.width}x${canvas.height}:${pixels.reduce((sum, value, i) => i % 4 === 0 ? sum + value : sum, 0)}`; });
        document.title = `${sums[0]} ${sums[2]} ${document.querySelector('.where').textContent}`; });</script>"""
    facts, stack = stack_of("one.html")
    with open(path("one.html"), encoding="utf-8") as file, open(path("probe.html"), "w", encoding="utf-8") as out:
        out.write(file.read().replace("</head>", steer + "</head>"))
    result = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom",
                             "file://" + path("probe.html")], capture_output=True, text=True, timeout=120)
    said = re.search(r"<title>(.*?)</title>", result.stdout)
    whole = f"40x24:{int(stack['scan'][:, 7, :].astype(int).sum())}"
    check(said and said[1].startswith(f"{whole} {whole} y = 7"), f"the slider: {said and said[1]}, not {whole}")

print(f"{failures} failures")
sys.exit(failures > 0)
