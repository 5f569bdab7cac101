"""`credence measure` against libraries that scientists use, on random fields, isotropic and not: quantimpy, scikit-image, PoreSpy,
TauFactor, cc3d. What isn't installed is left out with a line; without any, the whole test is. Some need an environment of their
own, because their NumPy isn't Debian's:

    python3 -m venv --system-site-packages peers && peers/bin/pip install quantimpy scikit-image porespy openpnm connected-components-3d 'numpy<2'
    peers/bin/pip install --no-deps taufactor && peers/bin/pip install ipython      (with Debian's python3-torch)
    peers/bin/pip uninstall matplotlib      (where Debian's is installed, whose parts would be taken with the new one)
    CREDENCE_PEERS=peers/bin/python ctest --test-dir build -R measure_peers

Tolerances say what is known to differ: other weights of directions, whole radii, other stopping rules. What counts the same things
must agree exactly.
"""
import importlib
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
import warnings

PEERS = os.environ.get("CREDENCE_PEERS")
if PEERS and os.path.abspath(PEERS) != os.path.abspath(sys.executable):
    os.execv(PEERS, [PEERS, os.path.abspath(__file__)])
try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory(prefix="credence-peers-")
failures = compared = 0


def near(found, expected, tolerance, what):
    global failures, compared
    compared += 1
    if found is None or not abs(found - expected) <= tolerance * abs(expected):
        failures += 1
        print(f"failed: {what}: {found}, the peer {expected}")


def field(shape, scales, share, seed):
    """A smooth random field above a level."""
    noise = np.random.default_rng(seed).standard_normal(shape)
    waves = np.meshgrid(*[np.fft.fftfreq(n) * s for n, s in zip(shape, scales)], indexing="ij", sparse=True)
    smooth = np.fft.ifftn(np.fft.fftn(noise) * np.exp(-2 * np.pi ** 2 * sum(w * w for w in waves))).real
    return smooth > np.quantile(smooth, 1 - share)


def framed(phase):
    """Empty at the border, where programs differ in what lies outside."""
    inner = np.zeros(phase.shape, bool)
    inner[1:-1, 1:-1, 1:-1] = True
    return phase & inner


def ours(phase, *words, spacing=(1, 1, 1), whole=False):
    path = os.path.join(FOLDER.name, "phase.npy")
    np.save(path, phase.astype("u1"))
    done = subprocess.run([PROGRAM, "measure", path, "--phase", "1", "--spacing", ",".join(map(str, spacing)) + ",um", "--json", "--quiet",
                           *map(str, words)], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return found if whole else {p["name"]: p["segmentation"] for p in found["properties"]}


FIELDS = {  # shape, scales along z, y, x, share of the phase
    "even": ((48, 56, 64), (3, 3, 3), 0.4), "sparse": ((40, 40, 72), (3, 3, 3), 0.25), "long": ((50, 50, 50), (6, 3, 2), 0.5)}


def quantimpy(peer):
    minkowski = importlib.import_module("quantimpy.minkowski")
    for name, (shape, scales, share) in FIELDS.items():
        for spacing in ((1.0, 1.0, 1.0), (2.0, 1.0, 1.0)):
            # as long as it is: where voxels stretch a material both see too little surface, quantimpy the less of the two
            phase = framed(field(shape, [scale / edge for scale, edge in zip(scales, spacing)], share, 1))
            found = ours(phase, "--properties", "surface", spacing=spacing)
            volume, surface, curvature, euler = minkowski.functionals(phase, np.array(spacing))
            voxel = math.prod(spacing)
            cells = math.prod(n - 1 for n in shape) * voxel
            near(found["volume_fraction"] * phase.size * voxel, volume, 1e-12, f"{name}: volume")
            # both have that of a ball to 1 %
            near(found["mean_curvature"] * cells, 2 * math.pi ** 2 * curvature, 1e-9 if voxel == 1 else 0.2 if name == "long" else 0.1, f"{name}: mean curvature")
            near(found["specific_surface"] * cells, 8 * surface, 0.07 if name == "long" else 0.015, f"{name}: surface, weighted in another way")
            # Its own is no whole number where parts touch across edges or corners: it averages neighbourhoods.
            if not min(found["euler_6"], found["euler_26"]) - 2 < 4 * math.pi / 3 * euler < max(found["euler_6"], found["euler_26"]) + 2:
                near(found["euler_6"], 4 * math.pi / 3 * euler, 0, f"{name}: Euler number")


def skimage(peer):
    measure = importlib.import_module("skimage.measure")
    for name, (shape, scales, share) in FIELDS.items():
        for spacing in ((1.0, 1.0, 1.0), (2.0, 1.0, 0.5)):
            phase = field(shape, scales, share, 2)
            found = ours(phase, "--properties", "surface", spacing=spacing)
            # another table: it cuts cells in which corners touch in another way
            vertices, faces, _, _ = measure.marching_cubes(phase.astype("f4"), 0.5, spacing=spacing)
            cells = math.prod(n - 1 for n in shape) * math.prod(spacing)
            near(found["specific_surface_mesh"] * cells, measure.mesh_surface_area(vertices, faces), 0.015, f"{name}: area of marching cubes")
            for connectivity, wanted in ((1, "euler_6"), (3, "euler_26")):
                near(found[wanted], measure.euler_number(phase, connectivity=connectivity), 0, f"{name}: {wanted}")


def cc3d(peer):
    for name, (shape, scales, share) in FIELDS.items():
        phase = field(shape, scales, share / 2, 3)
        for connectivity in (6, 26):
            found = ours(phase, "--properties", "components", "--connectivity", connectivity)
            labels = peer.connected_components(phase.astype("u1"), connectivity=connectivity)
            near(found["components"], labels.max(), 0, f"{name}: components, {connectivity} neighbours")
            near(found["largest_share"], np.bincount(labels.ravel())[1:].max() / phase.sum(), 1e-12, f"{name}: largest")


def porespy(peer):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for name, (shape, scales, share) in FIELDS.items():
        phase = field(shape, scales, share, 4)
        # it takes whole radii, so that it is the thinner one, by up to a voxel in some 10
        found = ours(phase, "--properties", "thickness")
        theirs = peer.filters.local_thickness(phase)
        ratio = 2 * float(theirs[theirs > 0].mean()) / found["thickness_mean"]
        near(ratio, 0.93, 0.08, f"{name}: local thickness over ours")
        # lines that touch no other and no face: the same chords
        for axis in range(3):
            lines = peer.filters.apply_chords(phase, axis=axis, spacing=1, trim_edges=True)
            lengths = peer.metrics.chord_counts(lines)
            kept = np.zeros(shape, bool)
            kept[tuple(slice(None) if a == axis else slice(2, -2, 2) for a in range(3))] = True
            chords = ours(phase & kept, "--properties", "chords", whole=True)["distributions"][f"chord_{'zyx'[axis]}"]["segmentation"]
            near(sum((k + 1) * n for k, n in enumerate(chords)), sum(lengths), 0, f"{name}: voxels in chords along {'zyx'[axis]}")
            near(sum(chords), len(lengths), 0, f"{name}: chords along {'zyx'[axis]}")
        # it has the concentrations at the centres of the first and last voxels, not at the faces: a voxel more in some 50
        for axis in range(3):
            found = ours(phase, "--properties", "transport", "--axis", "zyx"[axis])
            if found[f"d_rel_{'zyx'[axis]}"] > 0:
                theirs = peer.simulations.tortuosity_fd(phase, axis=axis)
                near(found[f"d_rel_{'zyx'[axis]}"], 1 / theirs.formation_factor, 0.02, f"{name}: D_rel along {'zyx'[axis]}")
    # the radial average of an isotropic field, of the phase's voxels; ours is of pairs along the axes, of all
    phase = field((64, 64, 64), (3, 3, 3), 0.4, 5)
    s2 = ours(phase, "--properties", "s2", whole=True)["distributions"]
    theirs = peer.metrics.two_point_correlation(phase, bins=32)
    at = np.asarray(theirs.distance, float)
    for lag in (4, 8):
        mine = np.mean([s2[f"s2_{a}"]["segmentation"][s2[f"s2_{a}"]["points"].index(lag)] for a in "zyx"])
        near(mine / phase.mean(), float(np.interp(lag, at, theirs.probability)), 0.05, f"two-point probability at {lag}")


def taufactor(peer):
    for name, (shape, scales, share) in FIELDS.items():
        phase = field(shape, scales, share, 6)
        found = ours(phase, "--properties", "transport", "--axis", "z")
        solver = peer.Solver(phase.astype("u1"), device="cpu")
        solver.solve(verbose=False, conv_crit=1e-3)
        near(found["d_rel_z"], float(np.ravel(solver.D_eff)[0]), 0.005, f"{name}: D_rel")
        near(found["tortuosity_factor_z"], float(np.ravel(solver.tau)[0]), 0.005, f"{name}: tortuosity factor")
        # along the shortest edge of a voxel: along another one it doesn't converge
        for spacing in ((1.0, 2.0, 1.0), (0.5, 0.65, 1.5)):
            found = ours(phase, "--properties", "transport", "--axis", "z", spacing=spacing)
            solver = peer.AnisotropicSolver(phase.astype("u1"), spacing, device="cpu")
            solver.solve(verbose=False, conv_crit=1e-3)
            near(found["d_rel_z"], float(np.ravel(solver.D_eff)[0]), 0.005, f"{name}: D_rel, spacing {spacing}")
        # two phases that conduct and one that doesn't; harmonic means between voxels, as ours
        phase = phase.astype("u1") + 2 * (framed(field(shape, scales, 0.5, 7)) & ~phase)
        found = ours(phase, "--conductivity", "1=1,2=0.3", "--axis", "z")
        solver = peer.MultiPhaseSolver(phase.astype("u1"), {1: 1, 2: 0.3}, device="cpu")
        solver.solve(verbose=False, conv_crit=1e-3)
        near(found["d_rel_z"], float(np.ravel(solver.D_eff)[0]), 0.005, f"{name}: effective conductivity of two phases")


tried = 0
for check in quantimpy, skimage, cc3d, porespy, taufactor:
    try:
        library = importlib.import_module(check.__name__)
    except (ImportError, ValueError, AttributeError) as missing:  # ValueError, AttributeError: built for another NumPy
        print(f"without {check.__name__}: {missing}")
        continue
    before = failures, compared
    check(library)
    print(f"{check.__name__}: {compared - before[1]} comparisons, {failures - before[0]} failed")
    tried += 1
if tried == 0:
    print("skipped: none of the libraries is installed; CREDENCE_PEERS names a Python that has them")
sys.exit(1 if failures else 77 if tried == 0 else 0)
