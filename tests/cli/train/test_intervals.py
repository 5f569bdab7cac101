"""`credence train` tries the network on made-up changes of its scan, and `predict` widens intervals by what was found: offsets against
predictions of scans that NumPy changed, intervals against their definition, the same bytes after an interruption."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
SHAPE = (8, 24, 24)  # one chunk: what is tried is the scan as a whole, and so is what is predicted
NET = ["--device", "cpu", "--filters", "8", "--chunk", "8,24,24", "--step", "1", "--batch", "1", "--threads", "2", "--norm", "levels",
       "--augment", "full", "--valid-fraction", "0", "--max-steps", "270", "--seed", "3"]
NINETY, MEDIAN_SIZE = 1.6448536269514722, .6744897501960817
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def near(found, expected, tolerance, what):
    error = np.max(np.abs(np.asarray(found, float) - np.asarray(expected, float)))
    check(error <= tolerance, f"{what}: {found} and not {expected}")


def run(*words, code=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    check(done.returncode == code, f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
    return done


def train_words(output, *words):
    """The same pair nine times, for fewer ends of epochs; a tenth of the work pays for one chunk."""
    return ["train", *["--scan", "scan.npy", "--label", "label.npy"] * 9, "-o", output, *NET, *words]


def predict(model, scan, *words):
    run("predict", "--model", model, "--scan", scan, "-o", "run", "--overwrite", "--format", "npy", "--device", "cpu", *words)
    with open("run/manifest.json") as file:
        return json.load(file)


def volume(role):
    with open("run/manifest.json") as file:
        return [np.load(os.path.join("run", out["file"])) for out in json.load(file)["outputs"] if out["role"] == role]


def make_data():
    noise = np.random.default_rng(5)
    z, y, x = np.meshgrid(*[np.arange(n) for n in SHAPE], indexing="ij")
    label = (((z % 16) - 8) ** 2 + ((y % 18) - 9) ** 2 + ((x % 17) - 8) ** 2 < 52).astype(np.uint8)
    np.save("label.npy", label)
    np.save("scan.npy", (label * 2000 + noise.normal(8000, 700, SHAPE)).astype(np.uint16))


def blurred(v, width):
    """Convolution with a Gaussian that ends at three widths; beyond its faces the piece goes on as in a mirror."""
    radius = min(int(np.ceil(3 * width)), 4)
    weights = np.exp(-.5 * (np.arange(-radius, radius + 1) / width) ** 2)
    weights /= weights.sum()
    for axis in range(3):
        padded = np.pad(v, [(radius, radius) if a == axis else (0, 0) for a in range(3)], "symmetric")
        v = sum(w * np.take(padded, range(k, k + v.shape[axis]), axis) for k, w in enumerate(weights))
    return v


def changed(v, deviation, name):
    """The change of that name, in plain NumPy."""
    parts = {} if name == "none" else {word: float(value) for word, value in (part.split() for part in name.split(", "))}
    if "blur" in parts:
        v = blurred(v, parts["blur"])
    if "sharpen" in parts:
        v = v + parts["sharpen"] * (v - blurred(v, 1.0))
    if "bend" in parts:
        inside = np.clip(v, -1, 1)
        v = inside + parts["bend"] * (1 - inside ** 2) + (v - inside) * (1 - 2 * parts["bend"] * inside)
    for axis in range(3):
        wave = np.cos(2 * np.pi * (np.arange(SHAPE[axis]) / (2 * SHAPE[axis]) + axis / 3))
        v = v + parts.get("drift", 0) * deviation * .8 * wave.reshape([-1 if a == axis else 1 for a in range(3)])
    return v


def offset(model, scan, label):
    """By its definition, with crd_predict's own samples; mean of p (1 - p) for the limit of many of them."""
    predict(model, scan, "--samples", 4, "--save-samples", "f32", "--std")
    samples = np.stack(volume("sample")).astype(float)
    mean = samples.mean(0)
    doubt = (mean * (1 - mean) + samples.var(0) / 3).mean()
    return (label.mean() - (samples > .5).mean()) / doubt


def offsets_by_prediction():
    """Every change without noise, made by NumPy and predicted as a scan of its own, levels found anew."""
    label, scan = np.load("label.npy"), np.load("scan.npy").astype(float)
    manifest = predict("model.h5", "scan.npy", "--samples", 2)
    middle, unit = manifest["scan"]["normalised_by"]
    with h5py.File("model.h5") as file:
        names, offsets = file["intervals"].attrs["names"].split(";"), file["intervals/offsets"][()]
        check(file["intervals"].attrs["voxels"] == label.size, "labelled voxels")
        near(file["intervals"].attrs["median"], np.median(np.abs(offsets), 0), 0, "the median")
    near(offsets[:, 0], -offsets[:, 1], 1e-12, "two classes are opposite")
    tried = [(name, value) for name, value in zip(names, offsets[:, 1]) if "noise" not in name]
    check(len(names) == 16 and len(tried) >= 6, f"changes: {names}")
    for name, value in tried:
        np.save("changed.npy", changed((scan - middle) / unit, scan.std() / unit, name).astype(np.float32))
        near(offset("model.h5", "changed.npy", label), value, .01, name)


def intervals():
    """In the manifest, on the last line, in --json, with a box and a mask; without /intervals as before."""
    scan = np.load("scan.npy")
    np.save("other.npy", (scan + np.random.default_rng(6).normal(0, 500, SHAPE)).astype(np.uint16))
    mask = np.zeros(SHAPE, np.uint8)
    mask[:, 8:, :17] = 1
    np.save("mask.npy", mask)
    median = h5py.File("model.h5")["intervals"].attrs["median"][1]
    for words, part in (((), np.s_[:]), (("--bbox", "2:7,0:24,6:20"), np.s_[2:7, 0:24, 6:20]), (("--mask", "mask.npy"), None)):
        manifest = predict("model.h5", "other.npy", "--samples", 6, *words)
        found = manifest["volume_fraction"]
        p = volume("probability")[0].astype(float)
        inside = mask.astype(bool) if part is None else np.ones(p.shape, bool)
        spread = (p * (1 - p))[inside].mean()
        near(found["interval_systematic"], median / MEDIAN_SIZE * spread, 1e-6, f"the term {words}")
        low, high = np.percentile(found["samples"], [5, 95])
        mean, term = found["mean"], found["interval_systematic"]
        expected = (mean - np.hypot(mean - low, NINETY * term), mean + np.hypot(high - mean, NINETY * term))
        near(found["interval90"], np.clip(expected, 0, 1), 1e-12, f"the interval {words}")
        check(found["interval90"][0] <= low and found["interval90"][1] >= high, "narrower than the samples'")
        classes = manifest["classes"]
        near(classes[0]["interval90"], 1 - np.array(found["interval90"][::-1]), 1e-15, "the background's")
        check(classes[0]["interval_systematic"] == classes[1]["interval_systematic"] == term, "the classes' terms")
    said = run("predict", "--model", "model.h5", "--scan", "other.npy", "-o", "run", "--overwrite", "--device", "cpu", "--samples", 6).stdout
    with open("run/manifest.json") as file:
        found = json.load(file)["volume_fraction"]
    low, high = found["interval90"]
    check(f"{100 * found['mean']:.1f} % (90 % interval {100 * low:.1f} to {100 * high:.1f})" in said, f"the last line: {said}")
    figures = json.loads(run("predict", "--model", "model.h5", "--scan", "other.npy", "-o", "run", "--resume", "--json", "--device", "cpu",
                             "--samples", 6).stdout)
    near(figures["interval90"], [low, high], 1e-15, "--json of a run that was complete")
    check(" 90 % interval" in run("info", "run").stdout, "info of a run with intervals")
    shutil.copy("model.h5", "without.h5")
    with h5py.File("without.h5", "r+") as file:
        del file["intervals"]
    found = predict("without.h5", "other.npy", "--samples", 6)["volume_fraction"]
    near(found["interval90"], np.percentile(found["samples"], [5, 95]), 1e-12, "without intervals, those of the samples")
    check(found["interval_systematic"] is None, "no term is known")
    said = run("predict", "--model", "without.h5", "--scan", "other.npy", "-o", "run", "--overwrite", "--device", "cpu", "--samples", 6).stdout
    check("90 % interval" not in said, f"claimed without intervals: {said}")
    said = run("info", "run").stdout
    check("5-95 % of the samples" in said and "90 % interval" not in said, f"info of a run without intervals: {said}")
    shutil.copy("model.h5", "damaged.h5")
    with h5py.File("damaged.h5", "r+") as file:
        file["intervals/offsets"][7, 1] += 1
    check("damaged" in run("predict", "--model", "damaged.h5", "--scan", "other.npy", "-o", "no", code=1).stderr, "a damaged group")


def fraction_measured(*words):
    found = json.loads(run("measure", "run", "--properties", "fraction", "--json", "--quiet", *words).stdout)
    return next(p for p in found["properties"] if p["name"] == "volume_fraction" and p["phase"] == 1)


def followers():
    """measure and report say what the manifest says, and claim nothing where it can't."""
    found = predict("model.h5", "other.npy", "--samples", 6, "--save-samples", "bits")["volume_fraction"]
    measured = fraction_measured()
    near(measured["interval"], found["interval90"], 1e-9, "measure's interval")
    check(measured["coverage_shown"] is True, "measure's mark")
    for words in (("--bbox", "0:8,0:24,0:20"), ("--interval", "25-75"), ("--mask", "mask.npy")):
        check(fraction_measured(*words)["coverage_shown"] is False, f"measure claims it with {words}")
    run("report", "run", "-o", "page.html")
    with open("page.html") as page:
        low, high = found["interval90"]
        text = page.read()
        check(f"foreground; 90 % interval {100 * low:.2f} to {100 * high:.2f}\u00a0%" in text, "report's interval")
        check(f"foreground (90 % interval {100 * low:.1f} to {100 * high:.1f})" in text, "the interval in the report's sentence")
    predict("without.h5", "other.npy", "--samples", 6, "--save-samples", "bits")
    check(fraction_measured()["coverage_shown"] is False, "measure claims what the model doesn't know")
    run("report", "run", "-o", "page.html")
    with open("page.html") as page:
        text = page.read()
        check("foreground; 90 % interval" not in text and "foreground (90 % interval" not in text, "report claims what the model doesn't know")


def transport():
    """The interval of D_rel: what it is where the probability is cut at both ends of the offset, added in squares."""
    manifest = predict("model.h5", "other.npy", "--samples", 20, "--save-samples", "bits")
    p = volume("probability")[0].astype(float)
    offset = NINETY * manifest["volume_fraction"]["interval_systematic"] / (p * (1 - p)).mean()
    for name, sign in (("low", 1), ("high", -1)):
        np.save(f"cut_{name}.npy", (p > 1 / (1 + np.exp(-sign * offset))).astype(np.uint8))

    def measured(source, *words):
        found = json.loads(run("measure", *source, "--properties", "transport", "--axis", "zx", "--json", "--quiet", "--phase", 0, *words).stdout)
        return {q["name"]: q for q in found["properties"]}

    found, cuts = measured(["run"]), measured(["cut_low.npy", "cut_high.npy"], "--samples", 2)
    for axis in "zx":
        d = found[f"d_rel_{axis}"]
        values = cuts[f"d_rel_{axis}"]["values"]
        check(d["segmentation"] > 0 and values[0] > values[1], f"nothing to see along {axis}: {d['segmentation']} {values}")
        low, high = np.percentile(d["values"], [5, 95])
        expected = (max(d["median"] - np.hypot(d["median"] - low, max(d["segmentation"] - values[1], 0)), 0),
                    d["median"] + np.hypot(high - d["median"], max(values[0] - d["segmentation"], 0)))
        near(d["interval"], expected, 1e-7, f"D_rel along {axis}")
        check(d["coverage_shown"] is True and 0.8 < d["coverage"]["held"] / d["coverage"]["phantoms"] <= 1, f"its coverage: {d['coverage']}")
        f = found[f"formation_factor_{axis}"]
        near(f["interval"][0], 1 / expected[1], 1e-9, "the formation factor's")
        check(f["coverage_shown"] and not found[f"tortuosity_factor_{axis}"]["coverage_shown"], "who is shown")
    for words in (("--bbox", "0:8,0:24,0:20"), ("--interval", "25-75"), ("--mask", "mask.npy"), ("--samples", 19), ("--conductivity", "0=1")):
        other = measured(["run"], *words)["d_rel_z"]
        check(other["coverage_shown"] is False and other["coverage"] is None, f"measure claims it with {words}")


def three_classes():
    """One offset, one term and one interval for each."""
    label = np.load("label.npy")
    label[:, :, 12:] *= 2
    np.save("label3.npy", label)
    np.save("scan3.npy", (label * 1500 + np.random.default_rng(8).normal(8000, 500, SHAPE)).astype(np.uint16))
    run(*[{"scan.npy": "scan3.npy", "label.npy": "label3.npy"}.get(word, word) for word in train_words("three.h5")])
    with h5py.File("three.h5") as file:
        offsets, median = file["intervals/offsets"][()], file["intervals"].attrs["median"]
    check(offsets.shape == (16, 3), f"offsets of three classes: {offsets.shape}")
    found = predict("three.h5", "scan3.npy", "--samples", 4, "--save-samples", "f32")
    near([c["interval_systematic"] for c in found["classes"]],
         median / MEDIAN_SIZE * [(p * (1 - p)).mean() for p in volume("probability")], 1e-6, "the terms of three classes")
    doubt = [(p * (1 - p)).mean() for p in volume("probability")]
    shares = [(label == value).mean() for value in range(3)]
    for i, c in enumerate(found["classes"]):
        low, high = np.percentile(c["samples"], [5, 95])
        mean, term = c["mean"], c["interval_systematic"]
        expected = (mean - np.hypot(mean - low, NINETY * term), mean + np.hypot(high - mean, NINETY * term))
        near(c["interval90"], np.clip(expected, 0, 1), 1e-12, f"the interval of class {i}")
        near(offsets[0, i], (shares[i] - mean) / doubt[i], .1 * abs(offsets[0, i]), f"the offset of class {i}")


def info():
    said = run("info", "model.h5").stdout
    check("intervals" in said and "16 made-up changes" in said, f"info: {said}")
    found = json.loads(run("info", "model.h5", "--json").stdout)["intervals"]
    check(len(found["shifts"]) == 16 and found["shifts"][0]["name"] == "none" and found["samples"] == 4, "info --json")


def same_bytes():
    """Resumed after kill -9 while changes are tried, with another number of threads, and by ranks; without; too short."""
    first = open("model.h5", "rb").read()
    begun = subprocess.Popen([PROGRAM, *train_words("killed.h5", "--checkpoint-every", "90")], stderr=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL)
    while begun.poll() is None and not steps_done("killed.log.jsonl", 269):
        time.sleep(.02)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    check(not os.path.exists("killed.h5"), "it was over before it was killed")
    run(*train_words("killed.h5", "--checkpoint-every", "90", "--resume"))
    check(open("killed.h5", "rb").read() == first, "other bytes after kill -9")
    run(*train_words("without2.h5", "--no-intervals"))
    with h5py.File("without2.h5") as without, h5py.File("model.h5") as model:
        check("intervals" not in without, "--no-intervals")
        check(without["head/point/bias"][()] == model["head/point/bias"][()], "--no-intervals changes the network")
    short = run(*[word if word != "270" else "60" for word in train_words("short.h5")])
    check("too short" in short.stderr and "intervals" not in h5py.File("short.h5"), f"a short training: {short.stderr}")
    if shutil.which("mpirun") and "clusters (MPI): yes" in run("--version").stdout:
        words = [word for word in train_words("ranks.h5")]
        words[words.index("--threads") + 1] = "1"
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                           OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                           OMPI_MCA_btl_vader_single_copy_mechanism="none")
        done = subprocess.run(["mpirun", "-n", "3", PROGRAM, *words], capture_output=True, text=True, env=environment)
        check(done.returncode == 0 and open("ranks.h5", "rb").read() == first, f"other bytes by 3 ranks: {done.stderr[-300:]}")


def steps_done(log, number):
    try:
        with open(log) as file:
            return any(f'"step":{number}' in line.replace(" ", "") for line in file)
    except FileNotFoundError:
        return False


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    make_data()
    run(*train_words("model.h5"))
    for test in (offsets_by_prediction, intervals, followers, transport, three_classes, info, same_bytes):
        if not failures:
            test()
    os.chdir("/")
sys.exit(1 if failures else 0)
