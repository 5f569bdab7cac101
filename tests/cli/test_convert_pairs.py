"""credence convert between every pair of formats keeps values, type, spacing, unit, origin and scale."""
import filecmp
import itertools
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
TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"]
NAMES = {"u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32", "f4": "f32", "f8": "f64"}
# suffix and flags; the same suffix twice is the same format, packed
KINDS = [(".tif",), (".ome.tif",), (".h5",), (".npy",), (".raw",), (".nii",), (".nii.gz",), (".nrrd",), (".nhdr",),
         (".nrrd", "--compress", "3"), (".mha",), (".mhd",), (".mha", "--compress", "3"), (".zarr",),
         (".zarr", "--compress", "3")]
ABOUT = [  # the last one is what float32 fields and lists of units can't hold
    {"spacing": [2, 0.65, 0.5], "unit": "um"},
    {"spacing": [1, 1, 1], "unit": "mm"},
    {"spacing": [1 / 3, 0.1, 1e-7], "unit": "nm", "origin": [4, 5, 6], "scale": 1 / 255},
    {},
    {"spacing": [3, 2, 1], "unit": "furlong"},
]
failures = 0


def fail(what):
    global failures
    failures += 1
    print("failed:", what)


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        fail(f"credence {' '.join(arguments)}: exit code {done.returncode}, {done.stderr.strip()}")
    return done.stdout


def values(dtype, seed):
    random = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return random.standard_normal((3, 5, 7)).astype(kind)
    limits = np.iinfo(kind)
    return random.integers(limits.min, limits.max, (3, 5, 7), dtype=kind, endpoint=True)


def built(kind):
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    lacking = {".tif": "TIFF volumes: no", ".ome.tif": "TIFF volumes: no", ".nii": "NIfTI volumes: no",
               ".nii.gz": "NIfTI volumes: no"}
    return lacking.get(kind[0], "\0") not in version


def check(path, about, dtype, what):
    info = json.loads(run("info", "--json", path) or "{}")
    wanted = {"shape": [3, 5, 7], "type": NAMES[dtype], "spacing": about.get("spacing"), "unit": about.get("unit"),
              "origin": about.get("origin", [0, 0, 0]), "scale": about.get("scale", 1)}
    for key, value in wanted.items():
        if info.get(key) != value and not (value is None and info.get(key) in ("", [0, 0, 0])):
            fail(f"{what}: {key} is {info.get(key)}, not {value}")


with tempfile.TemporaryDirectory(prefix="credence-pairs-") as folder:
    os.chdir(folder)
    kinds = [kind for kind in KINDS if built(kind)]
    types, abouts = itertools.cycle(TYPES), itertools.cycle(ABOUT)
    for first in kinds:
        dtype, about = next(types), next(abouts)
        os.mkdir("pair")
        os.chdir("pair")
        np.save("values.npy", values(dtype, 7))
        if about:
            with open("values.npy.json", "w") as file:
                json.dump(about, file)
        run("convert", "values.npy", "first" + first[0], *first[1:])
        check("first" + first[0], about, dtype, f"npy to {' '.join(first)}")
        for number, second in enumerate(kinds):
            what = f"{' '.join(first)} to {' '.join(second)}, {NAMES[dtype]}"
            target = f"second{number}{second[0]}"
            run("convert", "first" + first[0], target, *second[1:])
            check(target, about, dtype, what)
            run("convert", target, f"back{number}.npy")
            if not filecmp.cmp(f"back{number}.npy", "values.npy", shallow=False):
                fail(f"{what}: other values")
        os.chdir("..")
        os.rename("pair", "done" + str(kinds.index(first)))
    print(f"{len(kinds) ** 2} pairs")
    os.chdir("/")
sys.exit(failures > 0)
