"""`credence predict` with models of more than two classes: every volume and every figure against NumPy, made anew from the
samples that the run saved, in both modes; and the same bytes however the work is divided."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
BUILD = os.environ.get("CREDENCE_BUILD", "build")
FOLDER = tempfile.mkdtemp()
os.chdir(FOLDER)
NAMES, VALUES = ["nickel", "pore", "ysz"], [255, 0, 128]  # not in the order of their values
SHAPE = (24, 32, 40)
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def make_data():
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(*(np.arange(n) for n in SHAPE), indexing="ij")
    number = (z // 8 + y // 11 + x // 13) % 3
    np.save("scan.npy", (number * 4000 + noise.normal(8000, 1500, SHAPE)).astype(np.uint16))
    np.save("three.npy", np.array([0, 128, 255], np.uint8)[number])
    np.save("two.npy", (number == 1).astype(np.uint8))
    np.save("gaps.npy", np.array([-300, 7, 70000], np.int32)[number])
    np.save("real.npy", np.array([0.1, 2.5, -1], np.float64)[number])
    np.save("sixteen.npy", (number * 5 + z // 5 % 5 + (number == 2) * (x % 2)).astype(np.uint8).clip(0, 15))
    np.save("mask.npy", ((x + y) % 7 > 1).astype(np.uint8))


def call(words, ranks=0, most_bytes=0):
    def limit():
        if most_bytes > 0:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    if ranks > 0:
        words = ["mpirun", "-n", str(ranks)] + words
    return subprocess.run(words, capture_output=True, text=True, preexec_fn=limit,
                          env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none"))


def train(model, label, *more):
    done = call([PROGRAM, "train", "--scan", "scan.npy", "--label", label, "-o", model, "--filters", "8", "--chunk", "8,16,16",
                 "--batch", "3", "--epochs", "40", "--max-steps", "60", "--lr", "0.02", "--threads", "2", "--quiet", *more])
    check(done.returncode == 0, f"training {model}: {done.stderr}")


MODES = {"seamless": ["--mode", "seamless", "--tile", "8,16,16", "--halo", "8"], "overlap": ["--mode", "overlap", "--step", "2"]}
ALL = ["--unc-by-class", "--percentiles", "5,50", "--std", "--bounds", "10-90", "--intervals", "33-67,5-95", "--entropy"]


def predict(run, *more, model="three.h5", ranks=0, most_bytes=0):
    return call([PROGRAM, "predict", "--model", model, "--scan", "scan.npy", "-o", run, "--samples", "5", "--threads", "2", *more],
                ranks, most_bytes)


def fine(done, what):
    check(done.returncode == 0, f"{what}: {done.stderr}")
    return done.returncode == 0


def load(run, name):
    return np.load(f"{run}/scan_{name}.npy")


def manifest(run):
    return json.load(open(f"{run}/manifest.json"))


def contents(run):
    return {name: open(f"{run}/{name}", "rb").read() for name in sorted(os.listdir(run)) if name.endswith((".npy", ".h5"))}


def near(got, wanted, what, most=3e-7):
    error = np.abs(got.astype(np.float64) - wanted).max()
    check(got.shape == wanted.shape and error <= most, f"{what}: {error} apart")


def entropy(p, axis):
    return -(p * np.log2(np.maximum(p, 1e-300))).sum(axis)


def check_outputs(run, names, values, samples, aggregated, inside=None):
    """All that ALL asks for; aggregated: percentiles are of the saved samples, not means over chunks of such."""
    p = np.stack([load(run, f"prob_{n}") for n in names])
    x = np.stack([[load(run, f"sample_{s}_{n}") for n in names] for s in range(samples)]).astype(np.float64)
    inside = np.ones(p.shape[1:], bool) if inside is None else inside
    best = p.argmax(0)  # the first of the largest
    widths = {i: np.stack([load(run, f"unc_{i}{n}") for n in names]) for i in ("", "5-95_")}
    near(x.mean(0), p.astype(np.float64), f"{run}: samples and probability")
    near(p.sum(0, dtype=np.float64), inside.astype(np.float64), f"{run}: probabilities add up to 1", 5e-7)
    check((load(run, "seg") == np.where(inside, np.array(values)[best], 0)).all(), f"{run}: segmentation")
    for text, name in (("", "unc"), ("5-95_", "unc_5-95")):
        chosen = np.take_along_axis(widths[text], best[None], 0)[0]
        check((load(run, name) == chosen).all(), f"{run}: {name} is that of the predicted class")
    if aggregated:
        percent = lambda a: np.percentile(x, a, axis=0)
        near(widths[""], percent(67) - percent(33), f"{run}: width")
        near(widths["5-95_"], percent(95) - percent(5), f"{run}: wide width")
        for k, n in enumerate(names):
            near(load(run, f"p5_{n}"), percent(5)[k], f"{run}: p5 {n}")
            near(load(run, f"p50_{n}"), percent(50)[k], f"{run}: p50 {n}")
            near(load(run, f"std_{n}"), x.std(0)[k], f"{run}: std {n}", 1e-6)
            for side, a in (("lower", 10), ("upper", 90)):
                q = percent(a)[k]
                sure = np.abs(q - 0.5) > 1e-6
                check((load(run, f"seg_{side}_{n}") == (q > 0.5))[sure].all(), f"{run}: {side} bound of {n}")
        near(load(run, "aleatoric"), entropy(x, 1).mean(0), f"{run}: aleatoric", 2e-6)
    check_entropy(run, p)
    ranked = np.sort(x[:, :, inside], 1)  # what is saved is rounded to 2^-24, by which a class may come before another
    undecided = (ranked[:, -1] - ranked[:, -2] <= 2.0 ** -23).mean(1).max()
    about = manifest(run)
    check([c["name"] for c in about["classes"]] == names and [c["value"] for c in about["classes"]] == values, f"{run}: classes")
    check("volume_fraction" not in about, f"{run}: no foreground")
    for k, c in enumerate(about["classes"]):
        near(np.array(c["segmentation"]), np.array((best == k)[inside].mean()), f"{run}: fraction of {c['name']}", 1e-12)
        near(np.array(c["mean_probability"]), p[k][inside].mean(dtype=np.float64), f"{run}: probability of {c['name']}", 1e-9)
        fractions = np.array(c["samples"])
        check(c["mean_cut"] == c["mean"] and abs(c["mean"] - fractions.mean()) < 1e-12, f"{run}: mean of {c['name']}")
        near(np.array(c["interval90"]), np.percentile(fractions, [5, 95]), f"{run}: interval of {c['name']}", 1e-12)
        near(np.array(c["intervals"]["33-67"]), np.percentile(fractions, [33, 67]), f"{run}: 33-67 of {c['name']}", 1e-12)
        if about["mode"] == "seamless":
            near(fractions, (x.argmax(1) == k)[:, inside].mean(1), f"{run}: samples of {c['name']}", 1e-12 + undecided)
    check(np.allclose(np.sum([c["samples"] for c in about["classes"]], 0), 1, atol=1e-8), f"{run}: fractions add up to 1")
    uncertainty = load(run, "unc")[inside].astype(np.float64)
    check(about["uncertainty"]["count"] == inside.sum() and abs(about["uncertainty"]["mean"] - uncertainty.mean()) < 1e-9,
          f"{run}: mean uncertainty")
    check(about["uncertainty"]["max"] == uncertainty.max(), f"{run}: largest uncertainty")
    doubt = (1 - p[:, inside].astype(np.float64).max(0)).mean()
    check(abs(about["likeness"]["expected_error"] - doubt) < 1e-8, f"{run}: expected error")
    for output in about["outputs"]:
        name = output.get("class")
        check(name is None or output["file"].endswith(f"_{name}.npy"), f"{run}: class of {output['file']}")
    check(sum("class" in o for o in about["outputs"] if o["role"] == "probability") == len(names), f"{run}: classes of volumes")
    check({o["file"] for o in about["outputs"]} == {f for f in os.listdir(run) if f.endswith(".npy")}, f"{run}: volumes")
    with h5py.File(f"{run}/probe.h5") as probe:
        voxel, values = probe["voxel"][:], probe["probability"][:]
        check(values.shape == (len(voxel), samples, len(names)), f"{run}: probe {values.shape}")
        if about["mode"] == "seamless" and about["plan"]["shape"] == list(SHAPE):
            near(values, x.reshape(samples, len(names), -1)[:, :, voxel].transpose(2, 0, 1), f"{run}: probe", 1e-7)


def check_entropy(run, p):
    h, a, e = (load(run, n).astype(np.float64) for n in ("entropy", "aleatoric", "epistemic"))
    near(h, entropy(p.astype(np.float64), 0), f"{run}: entropy")
    check(a.min() >= 0 and e.min() >= 0, f"{run}: no part is negative")
    near(a + e, h, f"{run}: entropy is the sum of its parts", 3e-6)


def modes():
    for mode, words in MODES.items():
        if fine(predict(mode, *words, *ALL, "--save-samples", "f32"), mode):
            check_outputs(mode, NAMES, VALUES, 5, mode == "seamless")
            check(load(mode, "seg").dtype == np.uint8 and len(np.unique(load(mode, "seg"))) == 3, f"{mode}: all classes occur")
    if fine(predict("samples", "--aggregate", "samples", "--step", "2", *ALL, "--save-samples", "f32"), "samples"):
        check_outputs("samples", NAMES, VALUES, 5, True)
    box = ["--bbox", "5:17,3:32,0:21", "--mask", "mask.npy"]
    mask = np.load("mask.npy")[5:17, 3:32, :21] != 0
    for mode, words in MODES.items():
        run = f"{mode}.box"
        if fine(predict(run, *words, *box, *ALL, "--save-samples", "f32"), run):
            check_outputs(run, NAMES, VALUES, 5, mode == "seamless", mask)
            check(all((load(run, n)[~mask] == 0).all() for n in ("seg", "unc", "prob_ysz", "entropy")), f"{run}: outside")
    # A halo that leaves nothing out against one tile for everything.
    whole = [predict(run, "--mode", "seamless", "--tile", tile, "--halo", "24") for run, tile in
             (("tiled", "24,24,24"), ("whole", "24,32,40"))]
    if all(fine(done, "whole") for done in whole):
        for name in ["unc"] + [f"prob_{n}" for n in NAMES]:
            near(load("tiled", name), load("whole", name).astype(np.float64), f"tiles: {name}", 2e-6)
    done = predict("said", "--preview", "--json")
    if fine(done, "preview"):
        said = json.loads(done.stdout)
        check([c["name"] for c in said["classes"]] == NAMES and "volume_fraction" not in said, f"said: {done.stdout}")
    done = predict("said", "--preview", "--overwrite")
    check(done.returncode == 0 and "volume fractions" in done.stdout and all(f"{n} 0." in done.stdout for n in NAMES),
          f"last line: {done.stdout}")


def bits():
    """Planes of the class's number, over two words; and small types."""
    box, last = ["--bbox", "0:8,0:16,0:16"], ["--samples", "1", "--first-sample", "72"]
    many = ["--samples", "70", "--first-sample", "3"]
    for mode, words in (*MODES.items(), ("aggregate", ["--aggregate", "samples", "--step", "2"])):
        runs = [predict(f"{mode}.{kind}", *words, *box, *which, "--save-samples", kind)
                for kind, which in (("f32", many), ("bits", many), ("u8", last))]
        if not all(fine(done, f"{mode} {box}") for done in runs):
            continue
        x = np.stack([[load(f"{mode}.f32", f"sample_{s}_{n}") for n in NAMES] for s in range(3, 73)])
        number = x.argmax(1)
        for plane in (0, 1):
            words = [load(f"{mode}.bits", f"samples_b{plane}{tail}") for tail in ("", "_64")]
            got = np.stack([words[s // 64] >> np.uint64(s % 64) & np.uint64(1) for s in range(70)])
            check(words[0].dtype == np.uint64 and (got == number >> plane & 1).all(), f"{mode}: bits {plane}")
        measured = [call([PROGRAM, "measure", f"{mode}.{kind}", "--properties", "fraction", "--quiet"]) for kind in ("f32", "bits")]
        if all(fine(done, f"measuring {mode}") for done in measured):
            rows = [[line for line in open(f"{mode}.{kind}/measure.csv") if "volume_fraction" in line] for kind in ("f32", "bits")]
            check(len(rows[0]) > 0 and rows[0] == rows[1], f"{mode}: measured by values and by bits: {rows}")
        check((load(f"{mode}.u8", "sample_72_pore") == np.rint(x[-1][1].astype(np.float64) * 255)).all(), f"{mode}: u8")
    done = predict("small", *MODES["seamless"], "--dtype", "u16", "--entropy")
    if fine(done, "u16"):
        exact, scale = load("seamless", "entropy"), {o["file"]: o["scale"] for o in manifest("small")["outputs"]}
        near(load("small", "entropy") * scale["scan_entropy.npy"], exact.astype(np.float64), "u16", 1.01 / 65535)
        check(abs(scale["scan_entropy.npy"] * 65535 - 2) < 1e-12, f"entropies of three classes reach up to 2: {scale}")
        check(load("small", "seg").dtype == np.uint8 and scale["scan_seg.npy"] == 1, "a segmentation has no scale")


def divided():
    """Threads, memory, interruptions and processes leave no trace."""
    for mode, words in MODES.items():
        words = [*words, *ALL, "--save-samples", "bits", "--format", "npy"]
        if not fine(predict(f"{mode}.one", *words), mode):
            continue
        wanted = contents(f"{mode}.one")
        done = predict(f"{mode}.full", *words, "--trust", most_bytes=60000)  # models are read through shared memory, which is a file, too
        # Volumes of tiles get their room at the start, when the scan's fingerprint may not be known yet: then there is nothing to go on with.
        sentence = "can't be given its" if mode == "seamless" else "--resume goes on"
        check(done.returncode == 1 and sentence in done.stderr, f"{mode}: a full disk: {done.stderr}")
        fine(predict(f"{mode}.full", *words, "--resume", "--threads", "1"), f"{mode}: resumed")
        check(contents(f"{mode}.full") == wanted, f"{mode}: resumed")
        fine(predict(f"{mode}.again", *words, "--resume", "--max-memory", "150M"), f"{mode}: little memory")
        check(contents(f"{mode}.again") == wanted, f"{mode}: little memory")
        grown = [*words[:-1], "zarr"]
        if fine(predict(f"{mode}.zarr", *grown), f"{mode}: zarr"):
            for name in ("seg", "unc", "prob_pore", "samples_b1"):
                call([PROGRAM, "convert", f"{mode}.zarr/scan_{name}.zarr", f"{mode}.zarr.{name}.npy"])
                check((np.load(f"{mode}.zarr.{name}.npy") == load(f"{mode}.one", name)).all(), f"{mode}: zarr {name}")
        version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
        sanitized = any(line.startswith("CREDENCE_SANITIZE:") and line.strip()[-1] != "=" for line in
                        open(os.path.join(BUILD, "CMakeCache.txt")))
        if shutil.which("mpirun") is None or "clusters (MPI): yes" not in version or sanitized:
            print("skipped: several processes, which this build or machine hasn't got")
            continue
        for ranks in (2, 3):
            fine(predict(f"{mode}.{ranks}", *words, ranks=ranks), f"{mode}: {ranks} processes")
            check(contents(f"{mode}.{ranks}") == wanted, f"{mode}: {ranks} processes")


def other_models():
    train("gaps.h5", "gaps.npy", "--max-steps", "4")
    train("real.h5", "real.npy", "--max-steps", "4")
    train("sixteen.h5", "sixteen.npy", "--max-steps", "10", "--class-names", ",".join(f"c.{k}_x-" for k in range(16)))
    train("mcdn.h5", "three.npy", "--max-steps", "10", "--kind", "mcdn")
    train("two.h5", "two.npy", "--max-steps", "10")
    for model, names, values, kind in (("gaps.h5", ["-300", "7", "70000"], [-300, 7, 70000], np.int32),
                                       ("real.h5", ["-1", "0.1", "2.5"], [-1, 0.1, 2.5], np.float64),
                                       ("sixteen.h5", [f"c.{k}_x-" for k in range(16)], list(range(16)), np.uint8),
                                       ("mcdn.h5", ["0", "128", "255"], [0, 128, 255], np.uint8)):
        for mode, words in MODES.items():
            run = f"{model}.{mode}"
            if fine(predict(run, *words, *ALL, "--save-samples", "f32", "--bbox", "0:8,0:32,0:24", model=model), run):
                check_outputs(run, names, values, 5, mode == "seamless")
                check(load(run, "seg").dtype == kind, f"{run}: {load(run, 'seg').dtype}")
    for form in ("tif", "nrrd", "nii", "mha", "h5", "zarr", "raw"):
        done = predict(f"gaps.as.{form}", "--preview", "--format", form, model="gaps.h5")
        check(done.returncode == 0, f"values beyond 16 bits as {form}: {done.stderr}")
    if fine(predict("sixteen.bits", *MODES["seamless"], "--save-samples", "bits", model="sixteen.h5"), "16 classes"):
        check(sum("samples_b" in name for name in os.listdir("sixteen.bits")) == 4, "16 classes need four bits")
    # Two classes have both parts of the entropy, too, and nothing else changes.
    for mode, words in MODES.items():
        runs = [predict(f"two.{mode}{tail}", *words, *more, model="two.h5") for tail, more in (("", []), (".e", ["--entropy"]))]
        if all(fine(done, "two") for done in runs):
            p = load(f"two.{mode}", "prob")
            check_entropy(f"two.{mode}.e", np.stack([1 - p.astype(np.float64), p]))
            check(all((load(f"two.{mode}", n) == load(f"two.{mode}.e", n)).all() for n in ("prob", "seg", "unc")), f"two: {mode}")
            about = manifest(f"two.{mode}")
            check("entropy" not in about["settings"] and "volume_fraction" in about, "two classes are recorded as before")
    done = predict("warned", "--preview", "--unc-by-class", model="two.h5")
    check(done.returncode == 0 and "of two classes both have" in done.stderr, f"--unc-by-class: {done.stderr}")


def other_ways():
    done = predict("apart", "--draws", "per-chunk", "--step", "1", "--entropy")
    if fine(done, "per-chunk"):
        check(all("samples" not in c and "mean_probability" in c for c in manifest("apart")["classes"]), "draws of chunks")
    done = predict("refused", "--draws", "per-chunk", "--save-samples", "bits")
    check(done.returncode == 1 and "no realisations to keep" in done.stderr, f"bits of chunks: {done.stderr}")
    if fine(predict("mean", *MODES["seamless"], "--estimator", "mean", "--entropy"), "mean"):
        check((load("mean", "unc") == 0).all() and load("mean", "epistemic").max() < 3e-6, "one sample has no spread")
    if fine(predict("sharper", *MODES["seamless"], "--no-calibration"), "no calibration"):
        check(load("sharper", "prob_pore").shape == SHAPE, "no calibration")
    train("named.h5", "three.npy", "--max-steps", "2", "--class-names", "5-95,a,b")
    done = predict("refused", "--intervals", "33-67,5-95", "--unc-by-class", "--preview", model="named.h5")
    check(done.returncode != 0 and "two volumes would have the name scan_unc_5-95.npy" in done.stderr, f"names: {done.stderr}")
    check(not os.path.exists("refused/manifest.json"), "refused before anything is computed")


make_data()
train("three.h5", "three.npy", "--classes", "255,0,128", "--class-names", "nickel,pore,ysz")
modes()
bits()
divided()
other_models()
other_ways()
shutil.rmtree(FOLDER)
sys.exit(bool(failures))
