"""`credence validate` and `compare` of runs of three classes and more, against NumPy written the obvious way."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import h5py  # noqa: F401 (run_folder wants it)
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_folder  # noqa: E402

PROGRAM = os.environ["CREDENCE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory(prefix="credence-validate-classes-")
failures = 0


def path(name):
    return os.path.join(FOLDER.name, name)


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def near(actual, expected, what, tolerance=2e-9):
    if np.isnan(expected):
        check(actual is None, f"{what}: {actual}, not n/a")
    else:
        check(actual is not None and abs(actual - expected) <= tolerance * max(1, abs(expected)),
              f"{what}: {actual}, not {expected}")


def run(*arguments, code=0):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    check(done.returncode == code, f"{arguments}: exit {done.returncode}, {done.stderr}")
    return done


def validate(*arguments):
    done = run("validate", *arguments, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else None


def share(a, b):
    return a / b if b else np.nan


def cubes(values, edge, stride):
    windows = np.lib.stride_tricks.sliding_window_view(values, (edge,) * 3)[::stride, ::stride, ::stride]
    return windows.reshape(-1, edge ** 3)


def pavpu(right, unc, valid, threshold, edge, stride):
    keep = cubes(valid, edge, stride).all(1)
    accurate = cubes(right, edge, stride)[keep].mean(1) >= 7 / 8
    uncertain = cubes(np.rint(unc * 2.0 ** 32), edge, stride)[keep].sum(1) >= threshold * 2.0 ** 32 * edge ** 3
    ac, au = (accurate & ~uncertain).sum(), (accurate & uncertain).sum()
    ic, iu = (~accurate & ~uncertain).sum(), (~accurate & uncertain).sum()
    return {"n_ac": ac, "n_au": au, "n_ic": ic, "n_iu": iu, "p_accurate_given_certain": share(ac, ac + ic),
            "p_uncertain_given_inaccurate": share(iu, iu + ic), "pavpu3d": share(ac + iu, ac + au + ic + iu)}


def aurc(unc, wrong):
    bins = np.minimum((unc * 65536).astype(int), 65535)
    total = np.bincount(bins, minlength=65536)
    errors = np.bincount(bins, weights=wrong, minlength=65536)
    rate = np.repeat(np.divide(errors, total, out=np.zeros(65536), where=total > 0), total)
    return (np.cumsum(rate) / np.arange(1, len(rate) + 1)).mean()


def distances(seg):
    """To the nearest voxel of another class, up to 17, by looking everywhere within reach."""
    best, shape = np.full(seg.shape, 17.0 ** 2), seg.shape
    for dz in range(17):  # the other half are the same pairs the other way round
        for dy in range(-16, 17):
            for dx in range(-16, 17):
                square = dz * dz + dy * dy + dx * dx
                if square >= 17 ** 2 or abs(dz) >= shape[0] or abs(dy) >= shape[1] or abs(dx) >= shape[2]:
                    continue
                here = tuple(slice(max(0, -d), n - max(0, d)) for d, n in zip((dz, dy, dx), shape))
                there = tuple(slice(max(0, d), n + min(0, d)) for d, n in zip((dz, dy, dx), shape))
                for one, other in ((here, there), (there, here)):
                    best[one] = np.where((seg[one] != seg[other]) & (square < best[one]), square, best[one])
    return np.minimum(np.floor(np.sqrt(best)), 17).astype(int)


def scaled(name):
    volume = np.load(name)
    return volume / 65535.0 if volume.dtype == "u2" else volume.astype("f8")


def compare(out, folder, names, values, label, valid, what, edge=2, stride=1, far=True):
    """`label` holds numbers of classes; only where `valid` do they mean anything."""
    count = len(names)
    prob = np.stack([scaled(f"{folder}/scan_prob_{name}.npy") for name in names])
    stored = np.load(f"{folder}/scan_seg.npy")
    seg = np.select([stored == np.asarray(v, stored.dtype) for v in values], range(count), -1)
    unc = np.load(f"{folder}/scan_unc.npy").astype("f8")
    s, t, right = seg[valid], label[valid], (seg == label) & valid
    n = len(t)
    matrix = np.array([[((t == i) & (s == j)).sum() for j in range(count)] for i in range(count)])
    check(out["confusion"] == matrix.tolist(), f"{what}: matrix {out['confusion']}, not {matrix.tolist()}")
    check(out["voxels"] == n and out["ignored"] == valid.size - n, what + ": voxels")
    check([(c["name"], c["value"]) for c in out["classes"]] == list(zip(names, values)), f"{what}: {out['classes']}")
    dice = [share(2 * matrix[k, k], matrix[k].sum() + matrix[:, k].sum()) for k in range(count)]
    iou = [share(matrix[k, k], matrix[k].sum() + matrix[:, k].sum() - matrix[k, k]) for k in range(count)]
    for k in range(count):
        near(out["classes"][k]["dice"], dice[k], f"{what}: Dice of {names[k]}")
        near(out["classes"][k]["iou"], iou[k], f"{what}: IoU of {names[k]}")
        near(out["classes"][k]["volume_fraction"], (s == k).mean(), f"{what}: share of {names[k]}")
        near(out["classes"][k]["label_fraction"], (t == k).mean(), f"{what}: labelled share of {names[k]}")
    near(out["dice"], np.nanmean(dice), what + ": mean Dice")
    near(out["iou"], np.nanmean(iou), what + ": mean IoU")
    near(out["accuracy"], (s == t).mean(), what + ": accuracy")
    check([out[key] for key in ("tp", "fp", "fn", "tn", "volume_fraction", "label_fraction")] == [None] * 6,
          what + ": what only two classes have is null")
    u = unc[valid]
    near(out["uncertainty"]["mean"], u.mean(), what + ": mean uncertainty")
    near(out["uncertainty"]["variance"], u.var(), what + ": variance")
    threshold = out["pavpu"]["uncertainty_threshold"]
    near(threshold, u.mean(), what + ": threshold")
    for key, value in pavpu(right, unc, valid, threshold, edge, stride).items():
        near(out["pavpu"][key], value, f"{what}: {key}", 1e-12)
    p = prob[:, valid]
    confidence = np.take_along_axis(p, s[None], 0)[0]
    bins = np.clip(np.floor((confidence - 1 / count) * 15 / (1 - 1 / count)), 0, 14).astype(int)
    ece = 0
    for b in range(15):
        mine = bins == b
        check(abs(out["reliability"]["count"][b] - mine.sum()) <= 0, f"{what}: bin {b}")
        near(out["reliability"]["low"][b], 1 / count + (1 - 1 / count) * b / 15, f"{what}: bin {b} begins")
        if mine.any():
            ece += mine.mean() * abs((s == t)[mine].mean() - confidence[mine].mean())
            near(out["reliability"]["accuracy"][b], (s == t)[mine].mean(), f"{what}: accuracy of bin {b}")
    near(out["calibration"]["ece"], ece, what + ": ECE")
    truth = np.stack([t == k for k in range(count)])
    near(out["calibration"]["brier"], 0.5 * ((p - truth) ** 2).sum(0).mean(), what + ": Brier")
    chosen = np.clip(np.take_along_axis(p, t[None], 0)[0], 1e-7, 1 - 1e-7)
    near(out["calibration"]["nll"], -np.log(chosen).mean(), what + ": NLL")
    near(out["calibration"]["aurc"], aurc(u, s != t), what + ": AURC")
    near(out["risk_coverage"]["risk"][-1], (s != t).mean(), what + ": risk at full coverage")
    if not far:
        return
    away = distances(seg)[valid]
    for d in range(1, 18):
        mine = away == d
        check(out["distance"]["count"][d - 1] == mine.sum(), f"{what}: {d} voxels away")
        if mine.any():
            near(out["distance"]["error"][d - 1], (s != t)[mine].mean(), f"{what}: error {d} voxels away")
            near(out["distance"]["uncertainty"][d - 1], u[mine].mean(), f"{what}: uncertainty {d} voxels away")
    check(out["slices"]["volume_fraction"] == [] and out["slices"]["label_fraction"] == [], what + ": slices")
    for z in range(0, valid.shape[0], 5):
        near(out["slices"]["accuracy"][z], share(right[z].sum(), valid[z].sum()), f"{what}: accuracy of slice {z}")
        for k in range(count):
            near(out["classes"][k]["slice_volume_fraction"][z], share(((seg[z] == k) & valid[z]).sum(), valid[z].sum()),
                 f"{what}: slice {z}")
            near(out["classes"][k]["slice_label_fraction"][z], share(((label[z] == k) & valid[z]).sum(), valid[z].sum()),
                 f"{what}: label of slice {z}")


run("phantom", "electrode", "-o", path("e"), "--shape", "24,40,52", "--format", "npy", "-q")
truth = np.load(path("e/truth.npy"))
names, values = ["pore", "particle", "binder"], [0, 1, 2]
everything = np.ones(truth.shape, bool)
run_folder.make_classes(path("run"), path("e/scan.npy"), path("e/truth.npy"), names, values)
out = validate(path("run"), "--label", path("e/truth.npy"))
compare(out, path("run"), names, values, truth, everything, "three classes")
check(json.load(open(path("run/validation.json"))) == out, "validation.json is what was printed")
for threads in (1, 3):
    check(validate(path("run"), "--label", path("e/truth.npy"), "--threads", threads) == out, f"{threads} threads")
for more, edge, stride in (((), 2, 1), (("--edge", 3, "--stride", 2), 3, 2)):
    out = validate(path("run"), "--label", path("e/truth.npy"), "--core", *more)
    compare(out, path("run"), names, values, truth, everything, f"core {more}", edge, stride, far=False)

# Values that are no numbers of classes, in another order; what isn't labelled; a mask; probabilities as u16.
values = [128, 0, 255]
run_folder.make_classes(path("gaps"), path("e/scan.npy"), path("e/truth.npy"), names, values, probability="u2", seed=2)
label = np.array([128, 0, 255], "u1")[truth]
np.save(path("gaps.npy"), label)
out = validate(path("gaps"), "--label", path("gaps.npy"))
compare(out, path("gaps"), names, values, truth, everything, "gaps")
label[:, :9] = 7
np.save(path("part.npy"), label)
inside = np.zeros(truth.shape, "u1")
inside[2:, :, 3:40] = 1
np.save(path("inside.npy"), inside)
known = label != 7
out = validate(path("gaps"), "--label", path("part.npy"), "--ignore", 7)
compare(out, path("gaps"), names, values, truth, known, "ignored")
out = validate(path("gaps"), "--label", path("part.npy"), "--ignore", 7, "--mask", path("inside.npy"))
compare(out, path("gaps"), names, values, truth, known & (inside != 0), "masked")
check("7" in run("validate", path("gaps"), "--label", path("part.npy"), code=1).stderr, "a value of no class is refused")
done = run("validate", path("gaps"), "--label", path("gaps.npy"), "--foreground", 255, code=1)
check("--foreground" in done.stderr, f"--foreground is refused: {done.stderr}")

# A class that the test label lacks, one that neither has, and values that aren't whole.
values = [-1.5, 0.25, 3, 1000]
names = ["pore", "particle", "binder", "metal"]
run_folder.make_classes(path("absent"), path("e/scan.npy"), path("e/truth.npy"), names, values, seed=3, absent=(3,))
label = np.array(values, "f4")[truth]
np.save(path("absent.npy"), label)
out = validate(path("absent"), "--label", path("absent.npy"))
compare(out, path("absent"), names, values, truth, everything, "neither has it")
check(out["classes"][3]["dice"] is None, "a class that neither has has no Dice")
without = np.where(truth == 2, 1, truth)
np.save(path("absent.npy"), np.array(values, "f4")[without])
out = validate(path("absent"), "--label", path("absent.npy"))
compare(out, path("absent"), names, values, without, everything, "the label lacks it")
check(out["classes"][2]["dice"] == 0, "a class that is only predicted has Dice 0")

# Sixteen classes.
names, values = [f"c{k}" for k in range(16)], list(range(16))
many = np.digitize(np.load(path("e/scan.npy")), np.quantile(np.load(path("e/scan.npy")), np.arange(1, 16) / 16)).astype("u1")
np.save(path("many.npy"), many)
run_folder.make_classes(path("sixteen"), path("e/scan.npy"), path("many.npy"), names, values, samples=4)
out = validate(path("sixteen"), "--label", path("many.npy"), "--core")
compare(out, path("sixteen"), names, values, many, everything, "sixteen", far=False)

# What people read.
text = run("validate", path("run"), "--label", path("e/truth.npy")).stdout
for words in ("mean Dice", "binder", "segmented as"):
    check(words in text, f"the text says '{words}': {text}")
run_folder.make_classes(path("other"), path("e/scan.npy"), path("e/truth.npy"), ["pore", "particle", "binder"], [0, 1, 2],
                        kind="mcdn", seed=5, spread=1.4)
text = run("compare", path("run"), path("other"), "--label", path("e/truth.npy")).stdout
for words in ("Dice of each class", "pore", "particle", "binder", "is ahead"):
    check(words in text, f"compare says '{words}': {text}")
rows = run("compare", path("run"), path("other"), "--csv").stdout.splitlines()
check(len(rows) == 3 and rows[1].count(",") == rows[0].count(","), f"the table for spreadsheets: {rows}")
both = json.loads(run("compare", path("run"), path("other"), "--json").stdout)
check([len(v["classes"]) for v in both] == [3, 3] and all(len(v["confusion"]) == 3 for v in both), "compare --json")

check("measure: std" in run("validate", path("run"), "--label", path("e/truth.npy"), "--measure", "std", code=1).stderr, "--measure std")

# A run in short.
text = run("info", path("run")).stdout
for words in ("credence run", "bcnn, 16 samples", "5-95 % of the samples", "binder"):
    check(words in text, f"info says '{words}': {text}")
short, manifest = json.loads(run("info", path("run"), "--json").stdout), json.load(open(path("run/manifest.json")))
check(short["format"] == "credence-run" and short["shape"] == list(truth.shape), f"info --json: {short}")
check([(c["name"], c["value"], c["mean"], c["interval90"]) for c in short["classes"]] ==
      [(c["name"], c["value"], c["mean"], c["interval90"]) for c in manifest["classes"]], f"info --json has the classes: {short}")

# A segmentation with a value that is no class's.
strange = np.load(path("run/scan_seg.npy"))
strange[5, 5, 5] = 9
np.save(path("run/scan_seg.npy"), strange)
done = run("validate", path("run"), "--label", path("e/truth.npy"), code=1)
check("values that none of the run's 3 classes has" in done.stderr, f"a strange segmentation: {done.stderr}")
sys.exit(failures > 0)
