"""TIFF between credence and tifffile (Debian's python3-tifffile): each reads what the other wrote."""
import json
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import tifffile
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"]
failures = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def volume(dtype, shape=(5, 33, 47), seed=1):
    random = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        return random.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, size=shape, dtype=dtype, endpoint=True)


def read_by_credence(path, folder):
    """The voxels (through .npy) and what `info --json` says."""
    out = os.path.join(folder, "out.npy")
    converted = run("convert", path, out)
    if converted.returncode != 0:
        return None, {"error": converted.stderr.strip()}
    about = run("info", "--json", path)
    if about.returncode != 0:
        return None, {"error": about.stderr.strip()}
    return np.load(out), json.loads(about.stdout)


def expect(path, folder, array, what, spacing=None, unit=None):
    voxels, about = read_by_credence(path, folder)
    if voxels is None:
        check(False, f"{what}: {about['error']}")
        return
    check(voxels.dtype == array.dtype, f"{what}: type {voxels.dtype}")
    check(voxels.shape == array.shape and np.array_equal(voxels, array), f"{what}: values")
    if spacing is not None:
        check(np.allclose(about["spacing"], spacing, rtol=1e-9), f"{what}: spacing {about['spacing']}")
        check(about["unit"] == unit, f"{what}: unit {about['unit']}")


def written_by_tifffile(folder):
    path = os.path.join(folder, "in.tif")
    for dtype in TYPES:
        array = volume(dtype)
        for i, (name, options) in enumerate({
            "plain": {},
            "bigtiff": {"bigtiff": True},
            "rows": {"rowsperstrip": 5},
            "tiles": {"tile": (16, 32)},
            "zlib": {"compression": "zlib"},
            "zlib, predictor": {"compression": "zlib", "predictor": not dtype.startswith("float")},
            "zlib, tiles": {"compression": "zlib", "tile": (32, 16)},
            "not in one piece": {"contiguous": False},
        }.items()):
            order = "<>"[(i + TYPES.index(dtype)) % 2]
            tifffile.imwrite(path, array, byteorder=order, photometric="minisblack", **options)
            expect(path, folder, array, f"tifffile {dtype}{order} {name}")
    for dtype in ("uint8", "uint16", "float32"):
        array = volume(dtype)
        tifffile.imwrite(path, array, imagej=True, resolution=(1 / 0.65, 1 / 0.325),
                         metadata={"spacing": 2.5, "unit": "um", "axes": "ZYX"})
        expect(path, folder, array, f"ImageJ {dtype}", [2.5, 0.325, 0.65], "um")
    array = volume("uint16")
    tifffile.imwrite(path, array, imagej=True, truncate=True, metadata={"axes": "ZYX"})
    expect(path, folder, array, "ImageJ, one directory for all slices")
    tifffile.imwrite(path, array, truncate=True)
    expect(path, folder, array, "tifffile, one directory for all slices")
    name = os.path.join(folder, "in.ome.tif")
    tifffile.imwrite(name, array, metadata={
        "axes": "ZYX", "PhysicalSizeX": 0.25, "PhysicalSizeXUnit": "µm", "PhysicalSizeY": 250, "PhysicalSizeYUnit": "nm",
        "PhysicalSizeZ": 0.001, "PhysicalSizeZUnit": "mm"})
    expect(name, folder, array, "OME", [1.0, 0.25, 0.25], "um")
    tifffile.imwrite(name, array, compression="zlib", tile=(32, 32), metadata={"axes": "ZYX"})
    expect(name, folder, array, "OME, compressed tiles")
    bits = volume("uint8") > 127
    tifffile.imwrite(path, bits, photometric="minisblack")
    expect(path, folder, bits.astype("uint8"), "single bits")
    slices = os.path.join(folder, "slices")
    os.mkdir(slices)
    array = volume("uint16", (12, 20, 30))
    for z in range(12):
        tifffile.imwrite(os.path.join(slices, f"s{z + 1}.tif"), array[z])
    expect(slices, folder, array, "folder of slices")
    expect(os.path.join(slices, "s*.tif"), folder, array, "pattern of slices")


def refused_by_credence(folder):
    path = os.path.join(folder, "in.tif")
    cases = {
        "hyperstack": (volume("uint8", (2, 3, 20, 30)), {"imagej": True, "metadata": {"axes": "ZCYX"}}, "channels"),
        "time series": (volume("uint8", (7, 20, 30)), {"imagej": True, "metadata": {"axes": "TYX"}}, "frames"),
        "colours": (volume("uint8", (4, 20, 30, 3)), {"photometric": "rgb"}, "has colours"),
        "four axes": (volume("uint8", (2, 4, 20, 30)), {"photometric": "minisblack"}, "4 axes"),
        "OME channels": (volume("uint8", (2, 3, 20, 30)), {"ome": True, "metadata": {"axes": "CZYX"}}, "2 channels"),
        "complex": (volume("float32", (2, 9, 9)).astype("complex64"), {}, "complex"),
    }
    for name, (array, options, words) in cases.items():
        tifffile.imwrite(path, array, **options)
        result = run("info", path)
        check(result.returncode == 1 and words in result.stderr and result.stderr.count("\n") <= 2,
              f"{name}: {result.returncode} {result.stderr!r}")


def written_by_credence(folder):
    source, out = os.path.join(folder, "source.npy"), os.path.join(folder, "out.tif")
    for dtype in TYPES:
        array = volume(dtype)
        np.save(source, array)
        for compress in ("0", "6"):
            result = run("convert", source, out, "--spacing", "2.5,0.325,0.65,um", "--compress", compress)
            what = f"credence {dtype}, compress {compress}"
            check(result.returncode == 0, f"{what}: {result.stderr}")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                with tifffile.TiffFile(out) as file:
                    pages, page = len(file.pages), file.pages[0]
                    voxels, about, tags = file.asarray(), file.imagej_metadata, page.tags
                    contiguous = file.series[0].dataoffset is not None
            check(voxels.dtype == array.dtype and np.array_equal(voxels, array), f"{what}: values")
            check(pages == array.shape[0] and (contiguous or compress != "0"), f"{what}: pages")
            check(about["images"] == 5 and about["slices"] == 5, f"{what}: {about}")
            check(about["unit"] == "micron" and about["spacing"] == 2.5, f"{what}: {about}")
            if dtype in ("int8", "int16"):
                check("min" not in about, f"{what}: {about}")
            else:
                check(about["min"] == float(array.min()) and about["max"] == float(array.max()), f"{what}: {about}")
            for tag, edge in (("XResolution", 0.65), ("YResolution", 0.325)):
                above, below = tags[tag].value
                check(abs(below / above - edge) < 1e-12, f"{what}: {tag}")
    if hasattr(tifffile, "memmap"):
        np.save(source, volume("uint16"))
        run("convert", source, out)
        mapped = tifffile.memmap(out, mode="r")
        check(mapped.shape == (5, 33, 47) and np.array_equal(mapped, volume("uint16")), "memory map of all slices")
        del mapped


with tempfile.TemporaryDirectory() as scratch:
    for part in (written_by_tifffile, refused_by_credence, written_by_credence):
        part(scratch)
        print(part.__name__, "done")
sys.exit(1 if failures else 0)
