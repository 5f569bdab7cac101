"""Every property of `credence measure` against SciPy and NumPy (and scikit-image where it is installed), on random fields."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import ndimage, sparse
    from scipy.sparse.linalg import spsolve
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
try:
    from skimage import measure as skimage_measure
except ImportError:
    skimage_measure = None

PROGRAM = os.environ["CREDENCE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory(prefix="credence-measure-")
AXES = "zyx"
failures = 0


def path(name):
    return os.path.join(FOLDER.name, name)


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def near(actual, expected, what, tolerance=1e-9):
    if expected is None or np.isnan(expected):
        check(actual is None, f"{what}: {actual}, not n/a")
    else:
        check(actual is not None and abs(actual - expected) <= tolerance * max(1e-300, abs(expected)),
              f"{what}: {actual}, not {expected}")


def run(*arguments):
    done = subprocess.run([PROGRAM, "measure", *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr)
        sys.exit(1)
    return json.loads(done.stdout)


def field(shape, scales, threshold, seed):
    noise = np.random.default_rng(seed).standard_normal(shape)
    smooth = ndimage.gaussian_filter(noise, scales, mode="wrap")
    return smooth > threshold * smooth.std()


def euler(phase, corners):
    """Euler number by counting vertices, edges, faces and voxels of a cubical complex; corners: 26-neighbours, voxels closed."""
    v = np.pad(phase, 1)
    if not corners:  # the dual complex: voxel centres are the vertices
        parts = [v.sum()]
        cells = v
        edges = [cells.take(range(1, n), a) & cells.take(range(n - 1), a) for a, n in enumerate(v.shape)]
        faces = []
        for a in range(3):
            for b in range(a + 1, 3):
                e = edges[a]
                faces.append(e.take(range(1, e.shape[b]), b) & e.take(range(e.shape[b] - 1), b))
        e = faces[0]
        cubes = e.take(range(1, e.shape[2]), 2) & e.take(range(e.shape[2] - 1), 2)
        return int(parts[0]) - sum(int(x.sum()) for x in edges) + sum(int(x.sum()) for x in faces) - int(cubes.sum())
    faces = [v.take(range(1, n), a) | v.take(range(n - 1), a) for a, n in enumerate(v.shape)]
    edges = []
    for a in range(3):
        for b in range(a + 1, 3):
            f = faces[a]
            edges.append(f.take(range(1, f.shape[b]), b) | f.take(range(f.shape[b] - 1), b))
    e = edges[0]
    vertices = e.take(range(1, e.shape[2]), 2) | e.take(range(e.shape[2] - 1), 2)
    return int(vertices.sum()) - sum(int(x.sum()) for x in edges) + sum(int(x.sum()) for x in faces) - int(v.sum())


def chords(phase, axis):
    """Lengths of whole chords, and how many are cut."""
    lines = np.moveaxis(phase, axis, -1).reshape(-1, phase.shape[axis])
    whole, cut = [], 0
    for line in lines:
        edges = np.flatnonzero(np.diff(np.concatenate([[0], line.astype(int), [0]])))
        for begin, end in zip(edges[::2], edges[1::2]):
            if begin > 0 and end < len(line):
                whole.append(end - begin)
            else:
                cut += 1
    return np.array(whole, int), cut


def compare(properties, distributions, pick, phase, spacing, connectivity, name):
    structure = np.ones((3, 3, 3)) if connectivity == 26 else None
    labels, count = ndimage.label(phase, structure)
    sizes = np.bincount(labels.ravel())[1:]
    near(pick(properties["volume_fraction"]), phase.mean(), f"{name} fraction")
    near(pick(properties["components"]), count, f"{name} components")
    near(pick(properties["largest_share"]), sizes.max() / sizes.sum(), f"{name} largest")
    near(pick(properties["euler_6"]), euler(phase, False), f"{name} euler 6", 0)
    near(pick(properties["euler_26"]), euler(phase, True), f"{name} euler 26", 0)
    if skimage_measure is not None:
        near(pick(properties["euler_6"]), skimage_measure.euler_number(phase, connectivity=1), f"{name} euler 6", 0)
        near(pick(properties["euler_26"]), skimage_measure.euler_number(phase, connectivity=3), f"{name} euler 26", 0)
    outer = set()
    for axis in range(3):
        low, high = (set(np.unique(labels.take(at, axis))) - {0} for at in (0, -1))
        outer |= low | high
        both = sum(sizes[k - 1] for k in low & high)
        near(pick(properties[f"percolates_{AXES[axis]}"]), 1.0 if both else 0.0, f"{name} percolates {AXES[axis]}", 0)
        near(pick(properties[f"percolating_share_{AXES[axis]}"]), both / sizes.sum(), f"{name} share {AXES[axis]}")
        whole, cut = chords(phase, axis)
        near(pick(properties[f"chord_mean_{AXES[axis]}"]), whole.mean() * spacing[axis], f"{name} chord {AXES[axis]}")
        near(pick(properties[f"chord_cut_share_{AXES[axis]}"]), cut / (cut + len(whole)), f"{name} cut {AXES[axis]}")
        a, b = phase.take(range(1, phase.shape[axis]), axis), phase.take(range(phase.shape[axis] - 1), axis)
        near(pick(properties[f"mean_intercept_{AXES[axis]}"]),
             spacing[axis] * (int(a.sum()) + int(b.sum())) / (a != b).sum(), f"{name} intercept {AXES[axis]}")
        if distributions is not None:
            s2 = distributions[f"s2_{AXES[axis]}"]
            for r, value in zip(s2["points"], s2["segmentation"]):
                lag, n = round(r / spacing[axis]), phase.shape[axis]
                both = phase.take(range(lag, n), axis) & phase.take(range(n - lag), axis)
                near(value, both.mean(), f"{name} s2 {AXES[axis]} {lag}")
            lengths = distributions[f"chord_{AXES[axis]}"]["segmentation"]
            check(list(np.bincount(whole, minlength=len(lengths) + 1)[1:]) == lengths, f"{name} chord lengths {AXES[axis]}")
    near(pick(properties["closed_share"]), sum(n for k, n in enumerate(sizes, 1) if k not in outer) / sizes.sum(),
         f"{name} closed")


def by_name(result):
    return {p["name"]: p for p in result["properties"]}


# one segmentation, isotropic and not
for seed, (shape, scales, threshold, spacing, connectivity) in enumerate([
        ((40, 50, 60), (2, 2, 2), 0.0, (1, 1, 1), 6), ((33, 47, 90), (1, 3, 2), 0.5, (0.5, 0.65, 2), 26),
        ((50, 20, 70), (1.2, 1.2, 1.2), -0.4, (2, 1, 1), 6)]):
    phase = field(shape, scales, threshold, seed)
    np.save(path("seg.npy"), phase.astype("u1") * 7)
    result = run(path("seg.npy"), "--spacing", ",".join(map(str, spacing)) + ",um", "--connectivity", connectivity)
    compare(by_name(result), result["distributions"], lambda p: p["segmentation"], phase, spacing, connectivity, f"field {seed}")

# 21 realisations, packed as they are read: one by one they are the same
shape = (20, 30, 40)
phases = [field(shape, (2, 2, 2), 0.02 * s, 5) for s in range(21)]
for s, phase in enumerate(phases):
    np.save(path(f"r{s}.npy"), phase.astype("u1"))
result = run(*[path(f"r{s}.npy") for s in range(21)])
for s in (0, 7, 20):
    compare(by_name(result), None, lambda p, s=s: p["values"][s], phases[s], (1, 1, 1), 6, f"realisation {s}")
for p in result["properties"]:
    values = np.array([np.nan if v is None else v for v in p["values"]])
    check(p["segmentation"] is None and p["defined"] == np.isfinite(values).sum(), f"{p['name']} defined")
    values = values[np.isfinite(values)]
    if len(values) < 2:
        continue
    near(p["mean"], values.mean(), p["name"] + " mean", 1e-12)
    near(p["median"], np.median(values), p["name"] + " median", 1e-12)
    near(p["interval"][0], np.percentile(values, 5), p["name"] + " low", 1e-12)
    near(p["interval"][1], np.percentile(values, 95), p["name"] + " high", 1e-12)
    check(abs(p["std"] - values.std(ddof=1)) <= 1e-9 * abs(values).max(), p["name"] + " std")

# the surface of a level set of a Gaussian field is known: 2/pi * sqrt(lambda) * exp(-t^2/2), lambda = 1/(2 s^2)
sigma = 5.0
phase = field((140, 140, 140), (sigma,) * 3, 0.0, 9)
np.save(path("seg.npy"), phase.astype("u1"))
surface = by_name(run(path("seg.npy"), "--properties", "surface"))["specific_surface"]["segmentation"]
near(surface, 2 / np.pi * np.sqrt(1 / (2 * sigma ** 2)), "surface of a Gaussian field", 0.05)

# a mask: components and chords inside it only
inside = np.zeros(shape, bool)
inside[3:18, 4:25, 5:33] = True
np.save(path("mask.npy"), inside.astype("u1"))
masked = by_name(run(path("r3.npy"), "--mask", path("mask.npy")))
boxed = by_name(run(path("r3.npy"), "--bbox", "3:18,4:25,5:33"))
for name, p in boxed.items():
    if name.startswith("percolat"):
        continue  # the faces of the box are those of the volume
    check(p["segmentation"] == masked[name]["segmentation"], f"box and mask differ in {name}")


def diffusivity(phase, spacing, axis):
    """Of what joins both faces, by a direct solver."""
    labels = ndimage.label(phase)[0]
    joining = set(np.unique(labels.take(0, axis))) & set(np.unique(labels.take(-1, axis))) - {0}
    cells = np.isin(labels, list(joining))
    if not cells.any():
        return 0.0
    number, n, volume = np.full(phase.shape, -1), cells.sum(), np.prod(spacing)
    number[cells] = np.arange(n)
    rows, columns, values, diagonal, right = [], [], [], np.zeros(n), np.zeros(n)
    for k in range(3):
        a, b = number.take(range(phase.shape[k] - 1), k).ravel(), number.take(range(1, phase.shape[k]), k).ravel()
        both = (a >= 0) & (b >= 0)
        a, b, g = a[both], b[both], volume / spacing[k] ** 2
        rows += [a, b]
        columns += [b, a]
        values += [np.full(len(a), -g)] * 2
        np.add.at(diagonal, a, g)
        np.add.at(diagonal, b, g)
    face = 2 * volume / spacing[axis] ** 2
    first, last = (number.take(at, axis).ravel() for at in (0, -1))
    first, last = first[first >= 0], last[last >= 0]
    np.add.at(diagonal, first, face)
    np.add.at(diagonal, last, face)
    right[first] += face
    everybody = np.arange(n)
    system = sparse.csc_matrix((np.concatenate(values + [diagonal]), (np.concatenate(rows + [everybody]), np.concatenate(columns + [everybody]))))
    c = spsolve(system, right)
    length = phase.shape[axis] * spacing[axis]
    return (face * (1 - c[first])).sum() * length / (phase.size * volume / length)


# transport: open space, channels, layers in series, random fields against a direct solver
def transport(phase, spacing, *more):
    np.save(path("seg.npy"), phase.astype("u1"))
    return by_name(run(path("seg.npy"), "--phase", 1, "--spacing", ",".join(map(str, spacing)) + ",um", "--properties", "transport", *more))


channels = np.zeros((12, 9, 10), bool)
channels[:, 2:4, :] = channels[:, 7, 3] = True
for spacing in ((1, 1, 1), (0.65, 1, 2)):
    open_space = transport(np.ones((9, 10, 11), bool), spacing)
    through = transport(channels, spacing)
    for axis in AXES:
        near(open_space[f"d_rel_{axis}"]["segmentation"], 1.0, "open space", 0)
    near(through["d_rel_z"]["segmentation"], channels.mean(), "channels", 0)
    near(through["tortuosity_factor_z"]["segmentation"], 1.0, "tortuosity of channels", 0)
    check(through["d_rel_y"]["segmentation"] == 0 and through["tortuosity_factor_y"]["segmentation"] is None, "nothing percolates")
for seed, spacing in enumerate([(1, 1, 1), (0.65, 0.65, 0.65), (1, 2, 0.5)]):
    phase = field((18, 20, 22), (1.5 + 0.3 * seed,) * 3, 0.1, 20 + seed)
    fine, rough = transport(phase, spacing, "--tolerance", "1e-7"), transport(phase, spacing, "--tolerance", "0.01")
    for k, axis in enumerate(AXES):
        exact = diffusivity(phase, spacing, k)
        value = fine[f"d_rel_{axis}"]["segmentation"]
        check(abs(value - exact) <= 1e-6 * max(exact, 1e-12), f"D_rel {seed} {axis}: {value}, not {exact}")
        worse = rough[f"d_rel_{axis}"]["segmentation"]
        check(worse >= value * (1 - 1e-6) and worse <= value * 1.02, f"D_rel {seed} {axis} falls to its limit: {worse}, {value}")

# local thickness of a slab, and a ball
slab = np.zeros((30, 8, 9), bool)
slab[10:16] = True
np.save(path("seg.npy"), slab.astype("u1"))
thick = by_name(run(path("seg.npy"), "--properties", "thickness", "--spacing", "0.5,0.5,0.5,um"))
for name in ("thickness_mean", "thickness_median", "thickness_max"):
    near(thick[name]["segmentation"], 3.0, name)
near(thick["thickness_std"]["segmentation"] + 1, 1.0, "thickness_std")

sys.exit(1 if failures else 0)
