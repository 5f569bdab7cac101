"""`credence measure` against its definitions written down a second time, in NumPy, with SciPy for what is hard in them: shares of the
sphere from spatial.SphericalVoronoi, distances from ndimage.distance_transform_edt. Voxels that are cubes and that aren't, materials
that are stretched and that aren't; formulas agree to 1e-9. And balls and Gaussian fields, whose values theory knows."""
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import ndimage
    from scipy.spatial import SphericalVoronoi
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory(prefix="credence-formulas-")
CORNERS = list(itertools.product((0, 1), repeat=3))
failures = 0


def near(found, expected, what, tolerance=1e-9):
    global failures
    if found is None or not abs(found - expected) <= tolerance * max(abs(expected), 1e-12):
        failures += 1
        print(f"failed: {what}: {found}, not {expected}")


def measure(values, spacing, *words):
    path = os.path.join(FOLDER.name, "phase.npy")
    np.save(path, values.astype("u1"))
    done = subprocess.run([PROGRAM, "measure", path, "--spacing", ",".join(map(str, spacing)) + ",um", "--json", "--quiet",
                           *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr)
        sys.exit(1)
    return {(p["name"], p["phase"]): p for p in json.loads(done.stdout)["properties"]}


def field(shape, scales, seed):
    return ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(shape), scales, mode="wrap")


def shares(vectors):
    """What of the unit sphere is nearer to +-v than to any other of them, for each."""
    units = np.array([v / np.linalg.norm(v) for v in vectors])
    voronoi = SphericalVoronoi(np.concatenate([units, -units]), 1.0)
    areas = voronoi.calculate_areas() / (4 * math.pi)
    return areas[:len(units)] + areas[len(units):]


def directions():
    """The 13 ways from a voxel to a neighbour, one of each pair."""
    return [v for v in itertools.product((-1, 0, 1), repeat=3) if v > (0, 0, 0)]


def cells(values):
    """Eight arrays: the corners of all blocks of 2x2x2 voxels."""
    return {c: values[c[0]:values.shape[0] - 1 + c[0], c[1]:values.shape[1] - 1 + c[1], c[2]:values.shape[2] - 1 + c[2]] for c in CORNERS}


def crofton(corner, spacing, unlike):
    """2 * sum of w u / (m n |d|), over 13 directions; `unlike` says of two arrays where they count as unlike."""
    d = directions()
    total = 0.0
    for v, w in zip(d, shares([np.multiply(v, spacing) for v in d])):
        pairs = [(a, tuple(np.add(a, v))) for a in CORNERS if tuple(np.add(a, v)) in corner]
        count = sum(int(unlike(corner[a], corner[b]).sum()) for a, b in pairs)
        n = len(pairs) * corner[0, 0, 0].size
        total += 2 * w * count / (n * np.linalg.norm(np.multiply(v, spacing)))
    return total


def tiles():
    """(corners, normal's lattice edges) of 13 families of planes: faces, rectangles through an edge and a diagonal, triangles."""
    families = {}
    for a in range(3):
        u, v = [np.eye(3, dtype=int)[k] for k in range(3) if k != a]
        families[("face", a)] = [[tuple(side * np.eye(3, dtype=int)[a] + i * u + j * v) for i, j in ((0, 0), (0, 1), (1, 1), (1, 0))] for side in (0, 1)], (u, v)
        e = np.eye(3, dtype=int)[a]  # along this edge, and across the face of the other two
        families[("rectangle", a, 0)] = [[tuple(i * e + j * (u + v)) for i, j in ((0, 0), (0, 1), (1, 1), (1, 0))]], (e, u + v)
        families[("rectangle", a, 1)] = [[tuple(u + i * e + j * (v - u)) for i, j in ((0, 0), (0, 1), (1, 1), (1, 0))]], (e, v - u)
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):  # diagonals of a cell; the three corners next to each of its ends
        ends = np.array([[0, a, b], [1, 1 - a, 1 - b]])
        triangles = [[tuple(np.where(np.arange(3) == k, 1 - end, end)) for k in range(3)] for end in ends]
        p, q, r = (np.array(c) for c in triangles[0])
        families[("triangle", a, b)] = triangles, (q - p, r - p)
    return families


def curvature(corner, spacing):
    """2 pi * sum of v X / (t n a), where X is (Q1 - Q3)/4 of rectangles and (T1 - T2)/6 of triangles."""
    families = tiles()
    normals = [np.cross(np.multiply(u, spacing), np.multiply(v, spacing)) for _, (u, v) in families.values()]
    total = 0.0
    for (members, _), normal, share in zip(families.values(), normals, shares(normals)):
        area = np.linalg.norm(normal) / (2 if len(members[0]) == 3 else 1)
        x = 0.0
        for member in members:
            held = sum(corner[c].astype(int) for c in member)
            x += ((held == 1).sum() - (held == 2).sum()) / 6 if len(member) == 3 else ((held == 1).sum() - (held == 3).sum()) / 4
        total += 2 * math.pi * share * x / (len(members) * corner[0, 0, 0].size * area)
    return total


def triple(corner, phases, spacing):
    """Crossings of faces of cells that hold all three, and the staircase along voxel edges, for each volume."""
    length = stairs = 0.0
    for axis in range(3):
        area = math.prod(spacing) / spacing[axis]
        for side in (0, 1):
            four = [corner[c] for c in CORNERS if c[axis] == side]
            crossings = int(np.logical_and.reduce([np.logical_or.reduce([f == p for f in four]) for p in phases]).sum())
            length += 2 / 3 * crossings / (2 * four[0].size * area)
            stairs += crossings / (2 * four[0].size * area)
    return length, stairs


def thickness(phase, spacing):
    """Hildebrand & Rueegsegger's, ball by ball, for every voxel of the phase."""
    radius = ndimage.distance_transform_edt(phase, sampling=spacing)
    places = np.argwhere(phase) * np.array(spacing)
    found = np.zeros(len(places))
    for centre, r in zip(places, radius[phase]):
        near_by = ((places - centre) ** 2).sum(1) < r * r * (1 - 1e-12)
        found[near_by] = np.maximum(found[near_by], 2 * r)
    return found


SPACINGS = (1, 1, 1), (2, 1, 1), (0.5, 0.65, 1.5)
SCALES = (2, 2, 2), (3, 2, 1), (1, 1, 4)

for number, (spacing, scales) in enumerate(itertools.product(SPACINGS, SCALES)):
    smooth = field((23, 28, 35), scales, number)
    phase = smooth > 0.3 * smooth.std()
    what = f"spacing {spacing}, scales {scales}"
    found = measure(phase, spacing, "--phase", 1, "--properties", "surface,curvature")
    corner = cells(phase)
    near(found["specific_surface", 1]["segmentation"], crofton(corner, spacing, np.not_equal), f"{what}: surface")
    near(found["mean_curvature", 1]["segmentation"], curvature(corner, spacing), f"{what}: curvature", 1e-8)
    # of three phases
    labels = np.digitize(smooth, [-0.4 * smooth.std(), 0.4 * smooth.std()])
    labels[ndimage.gaussian_filter(np.random.default_rng(99 + number).standard_normal(labels.shape), 2) > 0.05] = 0  # so that all three meet
    found = measure(labels, spacing, "--properties", "surface,interfaces")
    corner = cells(labels)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        expected = crofton(corner, spacing, lambda p, q: ((p == a) & (q == b)) | ((p == b) & (q == a)))
        near(found[f"interface_area_{a}-{b}", None]["segmentation"], expected, f"{what}: interface {a}-{b}")
    line = found["triple_line_0-1-2", None]
    length, stairs = triple(corner, (0, 1, 2), spacing)
    near(line["segmentation"], length, f"{what}: triple line")
    near(line["staircase"]["segmentation"], stairs, f"{what}: staircase")

for number, (spacing, scales) in enumerate(itertools.product(((1, 1, 1), (2, 1, 1), (0.5, 1, 1.5)), SCALES[:2])):
    smooth = field((17, 20, 22), scales, 50 + number)
    phase = smooth > 0
    found = measure(phase, spacing, "--phase", 1, "--properties", "thickness")
    expected = thickness(phase, spacing)
    what = f"spacing {spacing}, scales {scales}: thickness"
    near(found["thickness_mean", 1]["segmentation"], expected.mean(), what)
    near(found["thickness_std", 1]["segmentation"], expected.std(), f"{what}, deviation", 1e-6)
    near(found["thickness_max", 1]["segmentation"], expected.max(), f"{what}, largest")
    near(found["thickness_median", 1]["segmentation"], np.median(expected), f"{what}, median", 0.02)  # of an even number either will do

# balls in voxels that are cubes and that aren't
for spacing in (1, 1, 1), (2, 1, 1), (1, 1, 3), (3, 3, 1):
    radius = 18.3
    places = [(np.arange(int(2 * radius / s) + 8) - radius / s - 4.2) * s for s in spacing]
    ball = places[0][:, None, None] ** 2 + places[1][:, None] ** 2 + places[2] ** 2 < radius ** 2
    found = measure(ball, spacing, "--phase", 1, "--properties", "surface")
    volume = math.prod((n - 1) * s for n, s in zip(ball.shape, spacing))
    near(found["specific_surface", 1]["segmentation"] * volume, 4 * math.pi * radius ** 2, f"ball, spacing {spacing}: surface", 0.006)
    near(found["mean_curvature", 1]["segmentation"] * volume, 4 * math.pi * radius, f"ball, spacing {spacing}: curvature", 0.01)
    for name in "euler_6", "euler_26":
        near(found[name, 1]["segmentation"], 1, f"ball, spacing {spacing}: {name}", 0)

# Gaussian fields above a level, of which theory knows surface, curvature and Euler number (Adler 1981); four, whose mean varies by
# about 0.8, 1.5 and 3 %
level, sigma, count = 1.6, 4.0, 4
moment, part = 1 / (2 * sigma ** 2), math.exp(-level ** 2 / 2)
theory = {"specific_surface": (2 / math.pi * math.sqrt(moment) * part, 0.03), "mean_curvature": (moment * level * part / math.sqrt(2 * math.pi), 0.05),
          "euler_density_6": (moment ** 1.5 * (level ** 2 - 1) * part / (4 * math.pi ** 2), 0.1)}
sums = dict.fromkeys(theory, 0.0)
for seed in range(count):
    smooth = field((112, 112, 112), sigma, 200 + seed)
    cut = np.quantile(smooth, 0.5 * math.erfc(-level / math.sqrt(2)))
    found = measure(smooth > cut, (1, 1, 1), "--phase", 1, "--properties", "surface")
    for name in theory:
        sums[name] += found[name, 1]["segmentation"] / count
for name, (expected, tolerance) in theory.items():
    near(sums[name], expected, f"Gaussian fields: {name}", tolerance)

sys.exit(1 if failures else 0)
