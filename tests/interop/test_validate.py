"""Every figure of `credence validate` against NumPy, written the obvious way."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory(prefix="credence-validate-")
failures = 0


def path(name):
    return os.path.join(FOLDER.name, name)


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def near(actual, expected, what, tolerance=2e-9):
    if expected is None or np.isnan(expected):
        check(actual is None, f"{what}: {actual}, not n/a")
    else:
        check(actual is not None and abs(actual - expected) <= tolerance * max(1, abs(expected)),
              f"{what}: {actual}, not {expected}")


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def share(a, b):
    return a / b if b else np.nan


def cubes(values, edge, stride):
    """All cubes as rows: [n, edge**3]."""
    windows = np.lib.stride_tricks.sliding_window_view(values, (edge,) * 3)[::stride, ::stride, ::stride]
    return windows.reshape(-1, edge ** 3)


def pavpu(seg, label, unc, valid, threshold, edge=2, stride=1, accuracy=7 / 8):
    keep = cubes(valid, edge, stride).all(1)
    accurate = cubes(seg == label, edge, stride)[keep].mean(1) >= accuracy
    uncertain = cubes(np.rint(unc * 2.0 ** 32), edge, stride)[keep].sum(1) >= threshold * 2.0 ** 32 * edge ** 3
    ac, au = (accurate & ~uncertain).sum(), (accurate & uncertain).sum()
    ic, iu = (~accurate & ~uncertain).sum(), (~accurate & uncertain).sum()
    return {"n_ac": ac, "n_au": au, "n_ic": ic, "n_iu": iu, "p_accurate_given_certain": share(ac, ac + ic),
            "p_uncertain_given_inaccurate": share(iu, iu + ic), "pavpu3d": share(ac + iu, ac + au + ic + iu)}


def aurc(unc, wrong):
    bins = np.minimum((unc * 65536).astype(int), 65535)
    total = np.bincount(bins, minlength=65536)
    errors = np.bincount(bins, weights=wrong, minlength=65536)
    rate = np.repeat(np.divide(errors, total, out=np.zeros(65536), where=total > 0), total)  # ties averaged
    return (np.cumsum(rate) / np.arange(1, len(rate) + 1)).mean()


def neighbours(unc, valid, axis):
    first = [slice(None)] * 3
    second = [slice(None)] * 3
    first[axis], second[axis] = slice(None, -1), slice(1, None)
    both = valid[tuple(first)] & valid[tuple(second)]
    return unc[tuple(first)][both], unc[tuple(second)][both]


def distances(seg):
    """Distance to the nearest voxel of the other class, up to 17, by looking everywhere within reach."""
    best = np.full(seg.shape, 17.0 ** 2)
    shape = seg.shape
    for dz in range(-16, 17):
        for dy in range(-16, 17):
            for dx in range(-16, 17):
                square = dz * dz + dy * dy + dx * dx
                if square >= 17 ** 2 or abs(dz) >= shape[0] or abs(dy) >= shape[1] or abs(dx) >= shape[2]:
                    continue
                here = tuple(slice(max(0, -d), n - max(0, d)) for d, n in zip((dz, dy, dx), shape))
                there = tuple(slice(max(0, d), n + min(0, d)) for d, n in zip((dz, dy, dx), shape))
                other = seg[here] != seg[there]
                best[here] = np.where(other & (square < best[here]), square, best[here])
    return np.minimum(np.floor(np.sqrt(best)), 17).astype(int)


def compare(out, prob, seg, unc, label, valid, what, edge=2, stride=1, accuracy=7 / 8, threshold=None, maps=()):
    p, u = prob.astype(np.float64), unc.astype(np.float64)
    v = valid
    s, t = seg[v] != 0, label[v] != 0
    tp, fp, fn, tn = (s & t).sum(), (s & ~t).sum(), (~s & t).sum(), (~s & ~t).sum()
    check((out["tp"], out["fp"], out["fn"], out["tn"]) == (tp, fp, fn, tn), f"{what}: counts {out['tp']}")
    near(out["accuracy"], share(tp + tn, v.sum()), what + " accuracy")
    near(out["dice"], share(2 * tp, 2 * tp + fp + fn), what + " dice")
    near(out["iou"], share(tp, tp + fp + fn), what + " iou")
    mean, var = u[v].mean(), u[v].var()
    near(out["uncertainty"]["mean"], mean, what + " mean")
    near(out["uncertainty"]["variance"], var, what + " variance")
    near(out["uncertainty"]["min"], u[v].min(), what + " min")
    near(out["uncertainty"]["max"], u[v].max(), what + " max")
    threshold = out["uncertainty"]["mean"] if threshold is None else threshold
    near(out["pavpu"]["uncertainty_threshold"], threshold, what + " threshold", 0)
    for key, value in pavpu(seg != 0, label != 0, u, v, threshold, edge, stride, accuracy).items():
        near(out["pavpu"][key], value, f"{what} {key}", 1e-12)
    curve = out["pavpu_curve"]
    for i in range(0, len(curve["threshold"]), 9):
        for key, value in pavpu(seg != 0, label != 0, u, v, curve["threshold"][i], edge, stride, accuracy).items():
            near(curve[key][i], value, f"{what} curve[{i}] {key}", 1e-12)
    confidence = np.where(s, p[v], 1 - p[v])
    bins = np.clip(np.floor((confidence - 0.5) * 30), 0, 14).astype(int)
    ece = 0
    for b in range(15):
        mine = bins == b
        check(out["reliability"]["count"][b] == mine.sum(), f"{what} bin {b}")
        if mine.any():
            ece += mine.mean() * abs((s == t)[mine].mean() - confidence[mine].mean())
    near(out["calibration"]["ece"], ece, what + " ece")
    near(out["calibration"]["brier"], ((p[v] - t) ** 2).mean(), what + " brier")
    clipped = np.clip(p[v], 1e-7, 1 - 1e-7)
    near(out["calibration"]["nll"], -np.where(t, np.log(clipped), np.log(1 - clipped)).mean(), what + " nll")
    near(out["calibration"]["aurc"], aurc(u[v], s != t), what + " aurc")
    near(out["risk_coverage"]["risk"][-1], (s != t).mean(), what + " risk at full coverage")
    if "--core" in what:
        return
    products, pairs = 0.0, 0
    for axis, key in enumerate(("along_z", "along_y", "along_x")):
        a, b = neighbours(u, v, axis)
        product = ((a - mean) * (b - mean)).sum()
        products, pairs = products + product, pairs + len(a)
        near(out["geometry"][key], product / len(a) / var if var > 1e-14 else np.nan, f"{what} {key}", 1e-6)
    near(out["geometry"]["autocorrelation"], products / pairs / var if var > 1e-14 else np.nan, what + " auto", 1e-6)
    steps = [np.diff(u, axis=axis)[:-1 if axis else None, :-1 if axis != 1 else None, :-1 if axis != 2 else None]
             for axis in range(3)]
    corner = v[:-1, :-1, :-1] & v[1:, :-1, :-1] & v[:-1, 1:, :-1] & v[:-1, :-1, 1:]
    gradient = np.sqrt(sum(step ** 2 for step in steps))[corner].mean()
    near(out["geometry"]["gradient"], gradient, what + " gradient")
    near(out["geometry"]["gradient_over_mean"], gradient / mean if mean else np.nan, what + " gradient", 1e-7)
    for z in range(seg.shape[0]):
        near(out["slices"]["accuracy"][z], ((seg != 0) == (label != 0))[z][v[z]].mean() if v[z].any() else np.nan, what)
        near(out["slices"]["uncertainty"][z], u[z][v[z]].mean() if v[z].any() else np.nan, f"{what} slice {z}")
    far = distances(seg != 0)
    for k in range(1, 18):
        mine = (far == k) & v
        check(out["distance"]["count"][k - 1] == mine.sum(), f"{what} distance {k}: {out['distance']['count'][k - 1]}")
        near(out["distance"]["uncertainty"][k - 1], u[mine].mean() if mine.any() else np.nan, f"{what} distance {k}")
        near(out["distance"]["error"][k - 1], ((seg != 0) != (label != 0))[mine].mean() if mine.any() else np.nan, what)
    for i, m in enumerate(maps):
        values = m.astype(np.float64)[v]
        near(out["growth"]["mean"][i + 1], values.mean(), f"{what} growth mean")
        near(out["growth"]["share_above"][i + 1], (values > threshold).mean(), f"{what} growth share", 1e-12)
        near(out["growth"]["correlation"][i + 1], np.corrcoef(values, u[v])[0, 1], f"{what} growth correlation", 1e-6)


def validate(prob, seg, unc, label, *flags):
    for name, values in (("prob", prob), ("seg", seg), ("unc", unc), ("label", label)):
        np.save(path(name + ".npy"), values)
    result = run("validate", "--prob", path("prob.npy"), "--seg", path("seg.npy"), "--unc", path("unc.npy"), "--label",
                 path("label.npy"), "--json", "-q", *flags)
    check(result.returncode == 0, f"{flags}: {result.stderr}")
    return json.loads(result.stdout) if result.returncode == 0 else None


def smooth(field, rounds=2):
    for _ in range(rounds):
        for axis in range(3):
            field = (np.roll(field, 1, axis) + field + np.roll(field, -1, axis)) / 3
    return field


def scene(shape, seed):
    """A segmentation that errs near its boundary, and is uncertain there."""
    generator = np.random.default_rng(seed)
    field = smooth(generator.normal(size=shape), 3)
    field /= field.std()
    prob = (1 / (1 + np.exp(-4 * field))).astype(np.float32)
    seg = (prob > 0.5).astype(np.uint8)
    label = (field + 0.3 * generator.normal(size=shape) > 0).astype(np.uint8)
    unc = (0.3 * np.exp(-3 * field ** 2) * generator.random(shape)).astype(np.float32)
    return prob, seg, unc, label


everything = np.ones((23, 31, 37), bool)
prob, seg, unc, label = scene(everything.shape, 1)
out = validate(prob, seg, unc, label)
compare(out, prob, seg, unc, label, everything, "plain")
compare(validate(prob, seg, unc, label, "--core", "--threads", 1), prob, seg, unc, label, everything, "--core")

wider = [np.minimum(1, unc * 1.7).astype(np.float32), np.minimum(1, unc * 3 + 0.01 * prob).astype(np.float32)]
np.save(path("a.npy"), wider[0])
np.save(path("b.npy"), wider[1])
compare(validate(prob, seg, unc, label, "--intervals", path("a.npy"), "--intervals", path("b.npy")), prob, seg, unc, label,
        everything, "growth", maps=wider)

for edge, stride in ((1, 1), (2, 2), (3, 1), (4, 3), (5, 5)):
    compare(validate(prob, seg, unc, label, "--edge", edge, "--stride", stride, "--accuracy-threshold", 0.7, "--threshold",
                     0.05, "--core"), prob, seg, unc, label, everything, f"edge {edge} stride {stride} --core", edge, stride,
            0.7, 0.05)
out = validate(prob, seg, unc, label, "--thresholds", "0,0.01,0.0371,1", "--core")
check(out["pavpu_curve"]["threshold"] == [0, 0.01, 0.0371, 1], "the thresholds asked for")
compare(out, prob, seg, unc, label, everything, "thresholds --core")

# Labels with holes, masks, labels of other values.
partly = label.copy()
partly[np.random.default_rng(3).random(label.shape) < 0.02] = 9
partly[5:7] = 9
valid = partly != 9
compare(validate(prob, seg, unc, partly, "--ignore", 9), prob, seg, unc, label, valid, "ignore")
z, y, x = np.indices(label.shape)
circle = (2 * y + 1 - 31) ** 2 + (2 * x + 1 - 37) ** 2 <= 31 ** 2
compare(validate(prob, seg, unc, partly, "--ignore", 9, "--mask", "cylinder"), prob, seg, unc, label, valid & circle,
        "ignore and cylinder")
mask = (np.random.default_rng(4).random(label.shape) < 0.7).astype(np.uint16)
np.save(path("mask.npy"), mask)
dirty = unc.copy()
dirty[mask == 0] = np.nan
dirty_prob = prob.copy()
dirty_prob[mask == 0] = -1e30
compare(validate(dirty_prob, seg, dirty, label, "--mask", path("mask.npy")), prob, seg, np.where(mask, unc, 0), label, mask != 0,
        "mask over what is no number")
compare(validate(prob, seg.astype(np.float32) * 255, unc, label.astype(np.int16) * 7 - 3, "--foreground", 4), prob, seg, unc,
        label, everything, "other values")

# Narrow types with a scale.
for dtype, top in ((np.uint8, 255), (np.uint16, 65535)):
    p, u = np.rint(prob * float(top)).astype(dtype), np.rint(unc * float(top)).astype(dtype)
    compare(validate(p, seg, u, label), p / top, seg, u / top, label, everything, str(dtype))

# Wide rows: more than one stretch of the inner loops, and rows that end inside a vector.
shape = (3, 4, 2048 + 2048 + 7)
wide_prob, wide_seg, wide_unc, wide_label = scene(shape, 9)
compare(validate(wide_prob, wide_seg, wide_unc, wide_label), wide_prob, wide_seg, wide_unc, wide_label, np.ones(shape, bool), "wide")

# Cases without an answer.
ones, zeros = np.ones(label.shape, np.uint8), np.zeros(label.shape, np.uint8)
certain = np.zeros(label.shape, np.float32)
out = validate(prob, seg, certain, label)
compare(out, prob, seg, certain, label, everything, "constant map: everything is uncertain")
check(out["geometry"]["autocorrelation"] is None and out["pavpu"]["p_accurate_given_certain"] is None, "constant map")
out = validate(prob, seg, certain + np.float32(0.1), label)
check(out["geometry"]["autocorrelation"] is None and out["uncertainty"]["variance"] == 0, "constant map of 0.1")
check(out["pavpu"]["n_ac"] + out["pavpu"]["n_ic"] == 0, "a cube at the threshold is uncertain")
out = validate(prob, seg, certain, label, "--threshold", 0.5)
check(out["pavpu"]["p_uncertain_given_inaccurate"] == 0 and out["pavpu"]["n_au"] == 0, "all certain")
out = validate(prob, seg, unc, seg)
check(out["accuracy"] == 1 and out["pavpu"]["p_uncertain_given_inaccurate"] is None, "all accurate")
check(out["pavpu"]["p_accurate_given_certain"] == 1 and out["calibration"]["aurc"] == 0, "all accurate")
out = validate(prob * 0, zeros, unc, zeros)
check(out["dice"] is None and out["iou"] is None and out["accuracy"] == 1, "no foreground anywhere")
check(out["distance"]["count"][16] == label.size, "no boundary: everything is far away")
out = validate(prob[:1], seg[:1], unc[:1], label[:1])
check(out["pavpu"]["pavpu3d"] is None and out["geometry"]["along_z"] is None, "one slice has no cubes")
check(out["pavpu_curve"]["threshold"] == [], "and no curve")

# What can't be validated is refused in a sentence.
def refused(words, *arguments):
    result = run("validate", *arguments)
    check(result.returncode == 1 and words in result.stderr and len(result.stderr.strip().splitlines()) == 1,
          f"{arguments}: {result.returncode} {result.stderr}")


np.save(path("small.npy"), label[:5])
np.save(path("large.npy"), (unc * 300).astype(np.float32))
files = ["--prob", path("prob.npy"), "--seg", path("seg.npy"), "-q"]
validate(prob, seg, unc, label)
refused("shape", *files, "--unc", path("unc.npy"), "--label", path("small.npy"))
refused("outside 0 .. 1", *files, "--unc", path("large.npy"), "--label", path("label.npy"))
refused("no voxel", *files, "--unc", path("unc.npy"), "--label", path("label.npy"), "--ignore", "0,1")

# The same bytes for any number of threads.
texts = {run("validate", *files, "--unc", path("unc.npy"), "--label", path("label.npy"), "--json", "--threads", n).stdout
         for n in (1, 2, 5)}
check(len(texts) == 1 and "" not in texts, "threads change the figures")

print(f"{failures} failures")
sys.exit(failures > 0)
