"""`credence measure` against libraries that need a Python environment of their own (their NumPy isn't Debian's): quantimpy.

    python3 -m venv peers && peers/bin/pip install quantimpy 'numpy<2'
    CREDENCE_PEERS=peers/bin/python ctest --test-dir build -R measure_peers
"""
import json
import math
import os
import subprocess
import sys
import tempfile

PEERS = os.environ.get("CREDENCE_PEERS")
if PEERS and os.path.abspath(PEERS) != os.path.abspath(sys.executable):
    os.execv(PEERS, [PEERS, os.path.abspath(__file__)])
try:
    import numpy as np
    from quantimpy import minkowski
except (ImportError, ValueError) as missing:  # ValueError: built for another NumPy
    print(f"skipped: {missing}; CREDENCE_PEERS names a Python that has quantimpy")
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
failures = 0


def check(found, expected, tolerance, what):
    global failures
    if not abs(found - expected) <= tolerance * abs(expected):
        failures += 1
        print(f"failed: {what}: {found}, quantimpy {expected}")


def field(shape, spacing, sigma, share, seed):
    """A smooth random field above a level, empty at the border: there the two would differ in what lies outside."""
    noise = np.random.default_rng(seed).standard_normal(shape)
    waves = np.meshgrid(*[np.fft.fftfreq(n, s) for n, s in zip(shape, spacing)], indexing="ij", sparse=True)
    damped = np.exp(-2 * (np.pi * sigma) ** 2 * sum(w * w for w in waves))
    smooth = np.fft.ifftn(np.fft.fftn(noise) * damped).real
    phase = smooth > np.quantile(smooth, 1 - share)
    inner = np.zeros(shape, bool)
    inner[1:-1, 1:-1, 1:-1] = True
    return phase & inner


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "phase.npy")
    for shape, spacing, seed in (((48, 56, 64), (1.0, 1.0, 1.0), 1), ((40, 40, 72), (1.0, 1.0, 1.0), 2), ((50, 50, 50), (2.0, 1.0, 1.0), 3)):
        phase = field(shape, spacing, 3.0, (0.4, 0.2, 0.6)[seed - 1], seed)
        np.save(path, phase.astype("u1"))
        done = subprocess.run([PROGRAM, "measure", path, "--phase", "1", "--spacing", ",".join(map(str, spacing)) + ",um", "--properties", "surface",
                               "--json", "--quiet"], capture_output=True, text=True, check=True)
        ours = {p["name"]: p["segmentation"] for p in json.loads(done.stdout)["properties"]}
        volume, surface, curvature, euler = minkowski.functionals(phase, np.array(spacing))
        voxel = math.prod(spacing)
        cells = math.prod(n - 1 for n in shape) * voxel
        check(ours["volume_fraction"] * phase.size * voxel, volume, 1e-12, "volume")
        check(ours["mean_curvature"] * cells, 2 * math.pi ** 2 * curvature, 1e-9 if voxel == 1 else 0.1, "integral of the mean curvature")  # both have that of a ball to 1 %
        check(ours["specific_surface"] * cells, 8 * surface, 0.015, "surface, of 13 directions weighted in another way")
        # Its own is no whole number where parts touch across edges or corners: it averages neighbourhoods.
        if not min(ours["euler_6"], ours["euler_26"]) - 2 < 4 * math.pi / 3 * euler < max(ours["euler_6"], ours["euler_26"]) + 2:
            check(ours["euler_6"], 4 * math.pi / 3 * euler, 0, "Euler number")
sys.exit(1 if failures else 0)
