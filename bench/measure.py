#!/usr/bin/env python3
"""Properties of a Gaussian field by credence and by other libraries, each in a process of its own: CPU seconds, wall seconds, largest
memory, and what came out.

    python3 bench/measure.py --edge 256 --program build/credence [--realisations 48] [--only components,transport] [--peers]

The phase is 40 % of a smooth field (sigma 4 voxels), and realisations are the field with a little of another one added. credence
takes all realisations at once, the others one; their seconds are those of one, and the ratio says how much longer the same number of
realisations would take them. Peers that aren't installed are left out, with a line: scikit-image, SciPy, cc3d, quantimpy, PoreSpy,
TauFactor. What credence and Python take to start and to import is taken off; reading is part of everybody's time.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

PERCENT = 40


def smooth(generator, edge, sigma):
    import numpy as np
    k, half = np.fft.fftfreq(edge).astype("f4"), np.fft.rfftfreq(edge).astype("f4")
    spectrum = np.fft.rfftn(generator.standard_normal((edge,) * 3).astype("f4")).astype("c8")
    spectrum *= np.exp(-(k[:, None, None] ** 2 + k[:, None] ** 2 + half ** 2) * (2 * np.pi ** 2) * sigma ** 2)
    field = np.fft.irfftn(spectrum, s=(edge,) * 3, axes=(0, 1, 2)).astype("f4")
    return field / field.std()


def make_run(folder, edge, realisations):
    import numpy as np
    generator = np.random.default_rng(1)
    base = smooth(generator, edge, 4.0)
    cut = np.quantile(base, 1 - PERCENT / 100)
    words = np.zeros((edge,) * 3, "u8")
    for i in range(realisations):
        words |= (base + 0.25 * smooth(generator, edge, 3.0) > cut).astype("u8") << np.uint64(i)
    os.makedirs(os.path.join(folder, "run"))
    np.save(os.path.join(folder, "seg.npy"), (base > cut).astype("u1"))
    np.save(os.path.join(folder, "run", "s_seg.npy"), (base > cut).astype("u1"))
    np.save(os.path.join(folder, "run", "s_samples.npy"), words)
    shape = [edge] * 3
    with open(os.path.join(folder, "run", "manifest.json"), "w") as file:
        json.dump({"format": "credence-run", "scan": {"shape": shape, "spacing": [1, 1, 1], "unit": "um"},
                   "plan": {"samples": realisations, "shape": shape, "origin": [0, 0, 0]}, "settings": {}, "outputs": [
                       {"file": "s_seg.npy", "role": "segmentation", "type": "u8", "scale": 1},
                       {"file": "s_samples.npy", "role": "bits of samples", "type": "u64", "scale": 1}]}, file)


def load(folder):
    import numpy as np
    return np.load(os.path.join(folder, "seg.npy"))


def skimage_surface(folder):
    from skimage import measure
    seg = load(folder)
    vertices, faces, _, _ = measure.marching_cubes(seg, 0.5)
    return f"area {measure.mesh_surface_area(vertices, faces) / seg.size:.5f}, Euler {measure.euler_number(seg, 1)}"


def quantimpy_surface(folder):
    import numpy as np
    from quantimpy import minkowski
    volume, surface, curvature, euler = minkowski.functionals(load(folder).astype(bool))
    return f"area {8 * surface / load(folder).size:.5f}"


def cc3d_components(folder):
    import cc3d
    return f"{cc3d.connected_components(load(folder), connectivity=6).max()} components"


def scipy_components(folder):
    from scipy import ndimage
    return f"{ndimage.label(load(folder))[1]} components"


def porespy_chords(folder):
    import porespy
    chords = porespy.filters.apply_chords(load(folder).astype(bool), axis=0, spacing=3, trim_edges=False)
    return f"every fourth line, {int(chords.sum())} voxels"


def porespy_s2(folder):
    import porespy
    found = porespy.metrics.two_point_correlation(load(folder).astype(bool))
    return f"radial, {len(found.distance)} distances"


def porespy_thickness(folder):
    import porespy
    import numpy as np
    found = porespy.filters.local_thickness(load(folder).astype(bool))
    return f"mean {2 * float(np.mean(found[found > 0])):.3f}"


def porespy_transport(folder):
    import porespy
    found = porespy.simulations.tortuosity_fd(load(folder).astype(bool), axis=0)
    return f"D_rel {1 / found.formation_factor:.5f}"


def taufactor_transport(folder):
    import taufactor
    solver = taufactor.Solver(load(folder), device="cpu")
    solver.solve(verbose=False)
    return f"D_rel {float(solver.D_eff):.5f}"


# work: properties of credence, of all realisations or of the segmentation alone, the bar in seconds of two cores at 256^3; peers
WORK = {
    "surface": ("surface", True, 0.25, {"scikit-image": skimage_surface, "quantimpy": quantimpy_surface}),
    "components": ("components", True, 0.6, {"cc3d": cc3d_components, "SciPy": scipy_components}),
    "chords": ("chords", True, 0.6, {"PoreSpy, one axis": porespy_chords}),
    "s2": ("s2", True, 0.5, {"PoreSpy": porespy_s2}),
    "thickness": ("thickness", False, 0.8, {"PoreSpy": porespy_thickness}),
    "transport": ("transport", False, 2.5, {"PoreSpy": porespy_transport, "TauFactor": taufactor_transport}),
}
SHOWN = {"surface": ["specific_surface", "specific_surface_mesh", "euler_6"], "components": ["components"],
         "chords": ["mean_intercept_z"], "s2": ["volume_fraction"], "thickness": ["thickness_mean"], "transport": ["d_rel_z"]}


IMPORTED = {"scikit-image": "skimage.measure", "quantimpy": "quantimpy.minkowski", "cc3d": "cc3d", "SciPy": "scipy.ndimage",
            "PoreSpy": "porespy", "PoreSpy, one axis": "porespy", "TauFactor": "taufactor"}


def child(work, peer, folder):
    """Runs a peer, and says how many CPU seconds it took once it was imported: a Python that starts is nobody's algorithm."""
    import importlib
    importlib.import_module("numpy")
    importlib.import_module(IMPORTED[peer])
    begin = time.process_time()
    print(WORK[work][3][peer](folder))
    print(time.process_time() - begin)


def timed(command):
    """CPU seconds, wall seconds and MiB of a command, or None, and what it said."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            return None, err.read().strip().splitlines()[-1:] or ["failed"]
        return (usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024), out.read()


def credence(options, folder, name, properties, all_of_them, base):
    source = os.path.join(folder, "run" if all_of_them else "seg.npy")
    command = [options.program, "measure", source, "--json", "--quiet", "--properties", properties, "--axis", "z", "--spacing", "1,1,1,um"]
    figures, out = timed(command)
    if figures is None:
        sys.exit(f"credence failed: {out[0]}")
    found = {p["name"]: p["segmentation"] for p in json.loads(out)["properties"]}
    words = ", ".join(f"{p} {found[p]:.5g}" for p in SHOWN[name])
    return max(figures[0] - base, 0.0), max(figures[1], 0.0), figures[2], words


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edge", type=int, default=256)
    parser.add_argument("--realisations", type=int, default=48)
    parser.add_argument("--program", default=os.path.join("build", "credence"))
    parser.add_argument("--only", help="some of " + ",".join(WORK))
    parser.add_argument("--peers", action="store_true", help="run the other libraries, too")
    parser.add_argument("--folder", help="of the data; without it a new one that is removed")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child.split(":"), options.folder)
        return
    with tempfile.TemporaryDirectory() as new:
        folder = options.folder or new
        if not os.path.exists(os.path.join(folder, "seg.npy")):
            subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); "
                            f"import measure; measure.make_run({folder!r}, {options.edge}, {options.realisations})"], check=True)
        base = [timed([options.program, "measure", os.path.join(folder, source), "--json", "--quiet", "--properties", "fraction",
                       "--dry-run"])[0][0] for source in ("run", "seg.npy")]
        print(f"{options.edge}^3, {options.realisations} realisations, load {os.getloadavg()[0]:.1f}")
        print("| work | who | CPU s | wall s | MiB | times credence | result |\n|---|---|---|---|---|---|---|")
        for name in (options.only.split(",") if options.only else WORK):
            properties, all_of_them, bar, peers = WORK[name]
            cpu, wall, memory, words = credence(options, folder, name, properties, all_of_them, base[0 if all_of_them else 1])
            print(f"| {name} | credence, {options.realisations if all_of_them else 1} | {cpu:.2f} | {wall:.2f} | {memory:.0f} | | {words} |",
                  flush=True)
            for peer, _ in peers.items() if options.peers else ():
                figures, out = timed([sys.executable, os.path.abspath(__file__), "--child", f"{name}:{peer}", "--folder", folder])
                if figures is None:
                    print(f"| {name} | {peer} | | | | | {out[0]} |", flush=True)
                    continue
                said, own = out.strip().splitlines()[-2:]
                ratio = float(own) * (options.realisations if all_of_them else 1) / max(cpu, 1e-3)
                print(f"| {name} | {peer}, 1 | {float(own):.2f} | {figures[1]:.2f} | {figures[2]:.0f} | {ratio:.0f} | {said} |", flush=True)


if __name__ == "__main__":
    main()
