"""NIfTI, NRRD, MetaImage, OME-Zarr and OME-TIFF between credence and what people read and write them with: nibabel,
nifti_tool, VTK, zarr and tifffile. Values, type, spacing, unit and the order of axes, in both directions. A client that
isn't installed is skipped; without any, the whole test is."""
import gzip
import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

CLIENTS = {}
for name in "nibabel", "zarr", "vtk", "tifffile":
    try:
        CLIENTS[name] = importlib.import_module(name)
    except ImportError as missing:
        print(f"without {name}: {missing}")
try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
if not CLIENTS:
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
VERSION = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"]
SHAPE = (5, 7, 11)
SPACING = [2.0, 0.65, 0.5]
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def run(*arguments, quiet=True):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    check(done.returncode == 0 and not (quiet and done.stderr), f"credence {' '.join(arguments)}: {done.stderr}")
    return done


def numbers(dtype, shape=SHAPE):
    random = np.random.default_rng(3)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (random.standard_normal(shape) * 100).astype(kind)
    if kind.kind == "b":
        return random.random(shape) < 0.5
    limits = np.iinfo(kind)
    return random.integers(limits.min, min(limits.max, 2**53), shape, dtype=kind, endpoint=True)


def ours(array, target, *flags, spacing=SPACING, unit="um"):
    """The array as a file of credence's."""
    np.save("from.npy", array)
    with open("from.npy.json", "w") as file:
        json.dump({"spacing": spacing, "unit": unit} if spacing else {}, file)
    if os.path.isdir(target):
        shutil.rmtree(target)
    run("convert", "from.npy", target, *flags)


def expect(path, array, what, spacing=SPACING, unit="um", quiet=True, tolerance=0.0):
    """credence reads that array, spacing and unit from a file of somebody else's."""
    run("convert", path, "back.npy", quiet=quiet)
    back = np.load("back.npy")
    wanted = array.astype({"?": "u1", "q": "f8", "l": "f8", "e": "f4"}.get(array.dtype.char, array.dtype))
    check(back.dtype == wanted.dtype.newbyteorder("="), f"{what}: type {back.dtype}, not {wanted.dtype}")
    check(back.shape == wanted.shape and np.array_equal(back, wanted), f"{what}: other values")
    about = json.loads(run("info", "--json", path, quiet=quiet).stdout)
    if spacing is not None:
        check(np.allclose(about["spacing"], spacing, rtol=tolerance, atol=0), f"{what}: spacing {about['spacing']}")
        check((about["unit"] or "") == unit, f"{what}: unit {about['unit']}")
    else:
        check(not about["spacing"] or about["spacing"] == [0, 0, 0], f"{what}: spacing {about['spacing']}")
    return about


def test_nibabel():
    nib = CLIENTS["nibabel"]
    affine = np.diag([SPACING[2], SPACING[1], SPACING[0], 1])
    for dtype, suffix in itertools.product(TYPES, (".nii", ".nii.gz")):
        array = numbers(dtype)
        ours(array, "us" + suffix)
        image = nib.load("us" + suffix)
        check(image.get_data_dtype() == array.dtype, f"nibabel reads {image.get_data_dtype()} for {dtype}")
        check(np.array_equal(np.asarray(image.dataobj), array.transpose()), f"nibabel reads other values in {dtype}{suffix}")
        check(np.allclose(image.affine, affine, rtol=1e-6), f"nibabel reads the affine {image.affine}")
        check(image.header.get_xyzt_units()[0] == "micron", "nibabel reads another unit")
        if shutil.which("nifti_tool"):
            said = subprocess.run(["nifti_tool", "-check_hdr", "-check_nim", "-infiles", "us" + suffix],
                                  capture_output=True, text=True).stdout
            check(said.count("IS GOOD") == 2, f"nifti_tool says {said}")
        for kind, order in itertools.product((nib.Nifti1Image, nib.Nifti2Image), "<>"):
            header = kind.header_class(endianness=order)
            header.set_data_dtype(array.dtype)
            header.set_xyzt_units("micron")
            nib.save(kind(array.transpose(), affine, header), "them" + suffix)
            expect("them" + suffix, array, f"{kind.__name__} {order}{dtype}{suffix}")
    # Pairs of files; 64-bit integers; slope and intercept; one time point; no spacing at all.
    array = numbers("i2")
    nib.save(nib.Nifti1Pair(array.transpose(), affine), "pair.hdr")
    expect("pair.hdr", array, "pair", unit="")
    expect("pair.img", array, "pair by its image", unit="")
    nib.save(nib.Nifti1Image(numbers("i8").transpose(), affine, dtype="i8"), "wide.nii")
    expect("wide.nii", numbers("i8"), "64-bit integers", unit="", quiet=False)
    image = nib.Nifti1Image(array.transpose()[..., None], affine)
    nib.save(image, "time.nii")
    expect("time.nii", array, "one time point", unit="")
    ours(numbers("u1"), "none.nii", spacing=None)
    check(nib.load("none.nii").header.get_zooms() == (1, 1, 1), "no spacing isn't 1")
    # a long axis: NIfTI-2
    ours(numbers("u1", (1, 2, 40000)), "long.nii")
    image = nib.load("long.nii")
    check(isinstance(image, nib.Nifti2Image) and np.array_equal(np.asarray(image.dataobj), numbers("u1", (1, 2, 40000)).T),
          "NIfTI-2")
    # probabilities kept in u8
    np.save("from.npy", numbers("u1"))
    with open("from.npy.json", "w") as file:
        json.dump({"scale": 1 / 255}, file)
    run("convert", "from.npy", "scaled.nii")
    check(np.allclose(nib.load("scaled.nii").get_fdata(), numbers("u1").T / 255, rtol=1e-6), "scale")


def vtk_array(reader, path):
    from vtk.util.numpy_support import vtk_to_numpy
    reader.SetFileName(path)
    reader.Update()
    image = reader.GetOutput()
    x, y, z = image.GetDimensions()
    return vtk_to_numpy(image.GetPointData().GetScalars()).reshape(z, y, x), list(image.GetSpacing())[::-1]


def test_vtk():
    vtk = CLIENTS["vtk"]
    from vtk.util.numpy_support import numpy_to_vtk
    vtk.vtkObjectFactory.SetAllEnableFlags(False, "vtkNrrdReader")  # Debian's would want MPI
    kinds = [("MetaImage", s, f) for s, f in itertools.product((".mha", ".mhd"), ((), ("--compress", "3")))]
    kinds += [("Nrrd", s, f) for s, f in itertools.product((".nrrd", ".nhdr"), ((), ("--compress", "3")))]
    for dtype, (kind, suffix, flags) in itertools.product(TYPES, kinds):
        if kind == "Nrrd" and dtype == "i1":
            continue  # VTK 9.1 reads int8 as char, whose sign it leaves open
        array = numbers(dtype)
        if kind == "Nrrd" and flags:  # VTK 9.1 takes a packed file that is longer than the plain one for one with a header
            array = (np.arange(array.size) % 5).reshape(SHAPE).astype(dtype)
        name = f"us_{kind}{suffix}"  # a detached header has a .raw of its own
        ours(array, name, *flags)
        reader = vtk.vtkMetaImageReader() if kind == "MetaImage" else vtk.vtkNrrdReader()
        voxels, spacing = vtk_array(reader, name)
        what = f"VTK reads {dtype}{suffix} {' '.join(flags)}"
        check(voxels.dtype.itemsize == array.dtype.itemsize and voxels.dtype.kind == array.dtype.kind, f"{what}: {voxels.dtype}")
        check(np.array_equal(voxels, array), f"{what}: other values")
        check(spacing == SPACING, f"{what}: spacing {spacing}")
    for dtype, packed, suffix in itertools.product(TYPES, (False, True), (".mha", ".mhd")):
        array = numbers(dtype)
        image = vtk.vtkImageData()
        image.SetDimensions(*SHAPE[::-1])
        image.SetSpacing(*SPACING[::-1])
        image.GetPointData().SetScalars(numpy_to_vtk(array.ravel(), deep=True))
        writer = vtk.vtkMetaImageWriter()
        writer.SetInputData(image)
        writer.SetFileName("them" + suffix)
        writer.SetCompression(packed)
        writer.Write()
        expect("them" + suffix, array, f"VTK writes {dtype}{suffix}, packed: {packed}", unit="", tolerance=1e-7)  # floats


def test_nrrd_by_hand():
    """No client that writes NRRD comes with Debian's Python: the text as teem and ITK write it."""
    for dtype, (order, mark) in itertools.product(TYPES, (("little", "<"), ("big", ">"))):
        array = numbers(dtype).astype(mark + dtype)
        kind = {"u1": "uchar", "i1": "signed char", "u2": "ushort", "i2": "short", "u4": "unsigned int", "i4": "int",
                "f4": "float", "f8": "double"}[dtype]
        head = (f"NRRD0005\ntype: {kind}\ndimension: 3\nspace: left-posterior-superior\nsizes: 11 7 5\n"
                f"space directions: (0.5,0,0) (0,0.65,0) (0,0,2)\nkinds: domain domain domain\nendian: {order}\n"
                "space units: \"micrometers\" \"micrometers\" \"micrometers\"\n")
        with open("them.nrrd", "wb") as file:
            file.write((head + "encoding: gzip\n\n").encode() + gzip.compress(array.tobytes()))
        expect("them.nrrd", array.astype(dtype), f"NRRD {order} {kind}, gzip")
        with open("them.nhdr", "w") as file:
            file.write(head + "encoding: raw\ndata file: them.dat\n")
        array.tofile("them.dat")
        expect("them.nhdr", array.astype(dtype), f"NRRD {order} {kind}, detached")


def test_zarr():
    zarr = CLIENTS["zarr"]
    import numcodecs
    for dtype, flags in itertools.product(TYPES, ((), ("--compress", "4"))):
        array = numbers(dtype, (40, 150, 130))
        ours(array, "us.zarr", *flags)
        group = zarr.open("us.zarr", mode="r")
        check(group["0"].dtype == array.dtype and np.array_equal(group["0"][:], array), f"zarr reads other values in {dtype}")
    check(group.attrs["complete"] is True, "complete")
    image = group.attrs["multiscales"][0]
    check(image["version"] == "0.4" and [a["name"] for a in image["axes"]] == ["z", "y", "x"], "axes")
    check(all(a["unit"] == "micrometer" and a["type"] == "space" for a in image["axes"]), "unit")
    level = image["datasets"][1]
    check([d["path"] for d in image["datasets"]] == ["0", "1"], "levels")
    check(level["coordinateTransformations"][0] == {"type": "scale", "scale": [4.0, 1.3, 1.0]}, "scale of level 1")
    check(level["coordinateTransformations"][1] == {"type": "translation", "translation": [1.0, 0.325, 0.25]}, "translation")
    mean = numbers("f8", (40, 150, 130)).reshape(20, 2, 75, 2, 65, 2).mean(axis=(1, 3, 5))
    check(np.allclose(group["1"][:], mean, rtol=1e-12), "level 1 is the mean of level 0")
    expect("us.zarr/1", group["1"][:], "our level 1", spacing=[4.0, 1.3, 1.0])

    codecs = [None, numcodecs.Zlib(), numcodecs.GZip(), numcodecs.Zstd(), numcodecs.Blosc("lz4", shuffle=2),
              numcodecs.Blosc("zstd", shuffle=1), numcodecs.Blosc("blosclz", shuffle=0)]
    built = [c for c in codecs if not (c and c.codec_id == "blosc" and "Blosc: no" in VERSION)
             and not (c and c.codec_id == "zstd" and "Zstandard: no" in VERSION)]
    for number, (codec, separator, order) in enumerate(itertools.product(built, "./", "CF")):
        dtype = (TYPES + ["?", "i8", "u8", "f2"])[number % 12]
        array = np.abs(numbers("i2")).astype(dtype) if dtype in ("i8", "u8", "f2") else numbers(dtype)
        shutil.rmtree("them.zarr", ignore_errors=True)
        store = zarr.NestedDirectoryStore("them.zarr") if separator == "/" else zarr.DirectoryStore("them.zarr")
        group = zarr.group(store=store)
        extra = (1,) * (number % 3)
        for name, data in ("0", array), ("half", array[::2, ::2, ::2]):
            group.create_dataset(name, data=data[(None,) * (number % 3)], compressor=codec, order=order,
                                 chunks=extra + (2, 3, 4), dimension_separator=separator)
        names = ["t", "c"][:number % 3] + ["z", "y", "x"]
        group.attrs["multiscales"] = [{
            "version": "0.4", "axes": [{"name": n, "type": "space", "unit": "micrometer"} if n in "zyx" else
                                       {"name": n, "type": "time" if n == "t" else "channel"} for n in names],
            "datasets": [{"path": p, "coordinateTransformations": [
                {"type": "scale", "scale": [1] * len(extra) + [f * s for s in SPACING]}]} for p, f in (("0", 1), ("half", 2))]}]
        what = f"zarr {dtype}, {codec}, keys with {separator}, order {order}, {names}"
        quiet = dtype != "i8"
        expect("them.zarr", array, what, quiet=quiet)
        expect("them.zarr/half", array[::2, ::2, ::2], what + ", level", spacing=[2 * s for s in SPACING], quiet=quiet)
    # An array without OME's words, chunks that were never written, a value to fill them with.
    bare = zarr.open("bare.zarr", mode="w", shape=SHAPE, chunks=(2, 3, 4), dtype="f4", fill_value=-1.5)
    bare[:2] = 7
    expect("bare.zarr", bare[:], "bare array", spacing=None, quiet=False)
    check("66.7 % of its chunks' files aren't there" in run("convert", "bare.zarr", "back.npy", quiet=False).stderr, "what isn't there is said")


def test_tifffile():
    tifffile = CLIENTS["tifffile"]
    for dtype, flags in itertools.product(TYPES, ((), ("--compress", "4"))):
        array = numbers(dtype)
        ours(array, "us.ome.tif", *flags)
        with tifffile.TiffFile("us.ome.tif") as file:
            check(file.is_ome and file.series[0].axes == "ZYX", f"tifffile sees {file.series[0].axes}")
            check(file.series[0].dtype == array.dtype and np.array_equal(file.asarray(), array), f"tifffile reads {dtype}")
            pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
            check([pixels[f"PhysicalSize{a}"] for a in "ZYX"] == SPACING, f"OME spacing {pixels}")
            check(pixels["PhysicalSizeXUnit"] == "\u00b5m", f"OME unit {pixels['PhysicalSizeXUnit']}")
        tifffile.imwrite("them.ome.tif", array, metadata={
            "axes": "ZYX", **{f"PhysicalSize{a}": s for a, s in zip("ZYX", SPACING)},
            **{f"PhysicalSize{a}Unit": "\u00b5m" for a in "ZYX"}})
        expect("them.ome.tif", array, f"tifffile writes OME {dtype}")


with tempfile.TemporaryDirectory(prefix="credence-formats-") as folder:
    os.chdir(folder)
    if "nibabel" in CLIENTS and "NIfTI volumes: yes" in VERSION:
        test_nibabel()
    if "vtk" in CLIENTS:
        test_vtk()
    test_nrrd_by_hand()
    if "zarr" in CLIENTS:
        test_zarr()
    if "tifffile" in CLIENTS and "TIFF volumes: yes" in VERSION:
        test_tifffile()
    os.chdir("/")
print("failures:", failures)
sys.exit(failures > 0)
