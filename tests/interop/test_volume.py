"""Volumes that NumPy and h5py write, read by credence, and the reverse: equal values, equal spacing."""
import itertools
import json
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ["CREDENCE_PROGRAM"]
FOLDER = tempfile.TemporaryDirectory(prefix="credence-interop-")
SHAPE = (5, 7, 11)
failures = 0


def path(name):
    return os.path.join(FOLDER.name, name)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("failed:", what)


def convert(source, target, *flags):
    result = run("convert", source, target, *flags)
    check(result.returncode == 0, f"convert {source} {target}: {result.stderr}")
    return result.returncode == 0


def info(source, *flags):
    result = run("info", "--json", source, *flags)
    check(result.returncode == 0, f"info {source}: {result.stderr}")
    return json.loads(result.stdout) if result.returncode == 0 else {}


def refused(source, *words):
    result = run("info", "--header", source)
    check(result.returncode == 1, f"{source} was not refused")
    lines = result.stderr.strip().splitlines()
    check(len(lines) == 1 and all(word in lines[0] for word in words), f"{source}: {result.stderr}")


def numbers(dtype, shape=SHAPE, seed=0):
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind == bool:
        return generator.random(shape) < 0.5
    if kind.kind == "f":
        return (generator.standard_normal(shape) * 100).astype(kind)
    if kind.kind == "i" and kind.itemsize == 8:  # what a double holds exactly
        return generator.integers(0, 2**53, shape).astype(kind)
    return generator.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, endpoint=True, dtype=kind)


def as_ours(array):
    """The array in the type that credence reads it as."""
    kind = array.dtype
    if kind == bool:
        return array.astype(np.uint8)
    if kind.kind == "i" and kind.itemsize == 8:
        return array.astype(np.float64)
    if kind.kind == "f" and kind.itemsize == 2:
        return array.astype(np.float32)
    return array.astype(kind.newbyteorder("="))


def same(ours, wanted, what):
    wanted = as_ours(wanted)
    check(ours.dtype == wanted.dtype, f"{what}: type {ours.dtype}, not {wanted.dtype}")
    check(ours.shape == wanted.shape and np.array_equal(ours, wanted), f"{what}: other voxels")


TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8", "?", "i8", "u8", "f2"]


def test_numpy_to_us():
    for dtype, order, layout in itertools.product(TYPES, "<>", "CF"):
        if np.dtype(dtype).itemsize == 1 and order == ">":
            continue
        array = np.asarray(numbers(dtype), dtype=dtype if dtype == "?" else order + dtype, order=layout)
        np.save(path("in.npy"), array)
        if convert(path("in.npy"), path("out.npy")):
            same(np.load(path("out.npy")), array, f"npy {order}{dtype} in {layout} order")
    array = numbers("u2")
    for version in (1, 0), (2, 0), (3, 0):
        with open(path("version.npy"), "wb") as file:
            np.lib.format.write_array(file, array, version=version)
        if convert(path("version.npy"), path("out.npy")):
            same(np.load(path("out.npy")), array, f"npy version {version}")
    for layout, shape in itertools.product("CF", [(1, *SHAPE), (*SHAPE, 1), (1, 1, 1), (1, 9, 4, 1), (97, 3, 61)]):
        array = np.asarray(numbers("i2", shape), order=layout)
        np.save(path("in.npy"), array)
        wanted = array.reshape(SHAPE) if np.prod(shape) == np.prod(SHAPE) else array.reshape(shape[:3])
        for target in "out.npy", "out.h5":
            convert(path("in.npy"), path(target))
        same(np.load(path("out.npy")), wanted, f"npy shape {shape} in {layout} order")
        with h5py.File(path("out.h5")) as file:
            same(file["data"][()], wanted, f"HDF5 from shape {shape} in {layout} order")


def test_numpy_refused():
    np.save(path("complex.npy"), numbers("f4").astype("c8"))
    refused(path("complex.npy"), "complex.npy", "<c8")
    np.save(path("records.npy"), np.zeros(SHAPE, dtype=[("a", "u2"), ("b", "f4")]))
    refused(path("records.npy"), "records.npy", "records")
    np.save(path("plane.npy"), np.zeros((4, 5)))
    refused(path("plane.npy"), "plane.npy", "2 dimensions")
    np.save(path("objects.npy"), np.array([[[None]]]), allow_pickle=True)
    refused(path("objects.npy"), "objects.npy", "|O")
    np.save(path("empty.npy"), np.zeros((0, 4, 5)))
    refused(path("empty.npy"), "empty.npy", "can't hold")


def test_us_to_numpy():
    for dtype in TYPES[:8]:
        array = numbers(dtype, seed=3)
        np.save(path("source.npy"), array)
        convert(path("source.npy"), path("ours.raw"), "--spacing", "3,2.5,0.1,micron")
        convert(path("ours.raw"), path("ours.npy"))
        convert(path("ours.npy"), path("ours.h5:/deep/volume"), "--compress", "3")
        with open(path("ours.raw.json")) as file:
            sidecar = json.load(file)
        same(np.fromfile(path("ours.raw"), dtype=array.dtype).reshape(sidecar["shape"]), array, f"raw {dtype}")
        check(sidecar["spacing"] == [3, 2.5, 0.1] and sidecar["unit"] == "um", f"sidecar {sidecar}")
        same(np.load(path("ours.npy"), mmap_mode="r"), array, f"npy {dtype}")
        with h5py.File(path("ours.h5")) as file:
            dataset = file["deep/volume"]
            same(dataset[()], array, f"HDF5 {dtype}")
            check(list(dataset.attrs["element_size_um"]) == [3, 2.5, 0.1], "element_size_um")
            check(dataset.compression == "gzip", "no compression")
        for name in "ours.raw", "ours.npy", "ours.h5":
            about = info(path(name))
            check(about["spacing"] == [3, 2.5, 0.1] and about["unit"] == "um", f"spacing of {name}: {about}")
            check(about["shape"] == list(SHAPE) and about["type"] == {"?": "u8"}.get(dtype, kind_name(dtype)), str(about))
        os.remove(path("ours.h5"))


def kind_name(dtype):
    return f"{dtype[0]}{8 * int(dtype[1])}"


def test_h5py_to_us():
    layouts = [
        {},
        {"chunks": (2, 3, 4)},
        {"chunks": (5, 7, 11), "compression": "gzip"},
        {"chunks": (4, 4, 4), "compression": "gzip", "shuffle": True, "fletcher32": True},
    ]
    for dtype, order in itertools.product(TYPES, "<>"):
        array = numbers(dtype).astype(dtype if dtype == "?" else order + dtype)
        for number, layout in enumerate(layouts):
            if number not in (0, 3) and dtype != "u2":
                continue
            with h5py.File(path("theirs.h5"), "w") as file:
                dataset = file.create_dataset("a/b", data=array, **layout)
                dataset.attrs["element_size_um"] = np.array([4, 2, 1], dtype="f4")
                file["other"] = np.zeros(7)
            if convert(path("theirs.h5"), path("out.npy")):
                same(np.load(path("out.npy")), array, f"h5py {order}{dtype} {layout}")
    about = info(path("theirs.h5:/a/b"))
    check(about["spacing"] == [4, 2, 1] and about["unit"] == "um", str(about))
    for shape in (1, *SHAPE), (*SHAPE, 1):
        with h5py.File(path("channel.h5"), "w", userblock_size=1024, libver="latest") as file:
            file.create_dataset("x", data=numbers("f4", shape), chunks=True)
        if convert(path("channel.h5:/x"), path("out.npy")):
            same(np.load(path("out.npy")), numbers("f4", shape).reshape(SHAPE), f"h5py channel {shape}")


def test_h5py_chunks():
    """What chunks can be: never written, unfiltered among filtered ones, growing, larger than the cache, damaged."""
    array = numbers("i2", (40, 50, 60))
    with h5py.File(path("chunks.h5"), "w") as file:
        options = {"dtype": "i2", "compression": "gzip", "shuffle": True, "fletcher32": True, "chunks": (16, 16, 16)}
        sparse = file.create_dataset("sparse", array.shape, fillvalue=-3, **options)
        sparse[20:30, 5:45, 10:] = array[20:30, 5:45, 10:]
        wanted = sparse[()]
        del options["fletcher32"]
        direct = file.create_dataset("direct", data=array, **options)
        direct.id.write_direct_chunk((16, 16, 16), np.full((16, 16, 16), 7, "i2").tobytes(), filter_mask=0b11)
        file.create_dataset("grown", data=array, maxshape=(None, None, None), chunks=(64, 64, 64), compression="gzip")
    with h5py.File(path("chunks.h5")) as file:  # anew: libhdf5 keeps what it knew of the chunk's filters
        wanted_direct = file["direct"][()]
    for name, values in ("sparse", wanted), ("direct", wanted_direct), ("grown", array):
        if convert(path(f"chunks.h5:/{name}"), path("out.npy")):
            same(np.load(path("out.npy")), values, f"chunks: {name}")
    check((wanted_direct[16:32, 16:32, 16:32] == 7).all(), "a chunk without filters")
    for options, words in (
        ({"compression": "gzip", "fletcher32": True}, "checksum"),
        ({"compression": "gzip"}, "can't be unpacked"),
    ):
        with h5py.File(path("damaged.h5"), "w") as file:
            dataset = file.create_dataset("x", data=numbers("u2", (16, 16, 16)), chunks=(16, 16, 16), **options)
            place = dataset.id.get_chunk_info(0)
        with open(path("damaged.h5"), "r+b") as file:
            file.seek(place.byte_offset + place.size // 2)
            file.write(b"\0\0\0\0\xff\xff\xff\xff")
        result = run("convert", path("damaged.h5"), path("never.npy"))
        check(result.returncode == 1 and words in result.stderr, f"damaged: {result.stderr}")
        check(not os.path.exists(path("never.npy")), "half a file")


def test_h5py_refused():
    with h5py.File(path("two.h5"), "w") as file:
        file["first"] = numbers("u1")
        file["group/second"] = numbers("u2")
    refused(path("two.h5"), "/first (z 5, y 7, x 11)", "/group/second (z 5, y 7, x 11)")
    with h5py.File(path("lzf.h5"), "w") as file:
        file.create_dataset("x", data=numbers("u2"), chunks=True, compression="lzf")
    refused(path("lzf.h5"), "lzf.h5", "filter 32000")
    with h5py.File(path("outside.h5"), "w") as file:
        file["x"] = h5py.ExternalLink(path("two.h5"), "/first")
    refused(path("outside.h5:/x"), "another file", "two.h5")
    layout = h5py.VirtualLayout(shape=SHAPE, dtype="u1")
    layout[:] = h5py.VirtualSource(path("two.h5"), "first", shape=SHAPE)
    with h5py.File(path("virtual.h5"), "w") as file:
        file.create_virtual_dataset("x", layout)
    refused(path("virtual.h5"), "virtual.h5", "other files")


def test_statistics():
    array = numbers("f4", (33, 65, 129), seed=9)
    array[1, 2, 3] = np.nan
    array[4, 5, 6] = np.inf
    np.save(path("stat.npy"), array)
    np.save(path("turned.npy"), np.asfortranarray(array))
    finite = array[np.isfinite(array)].astype("f8")
    for name in "stat.npy", "turned.npy":
        about = info(path(name))
        check(about["min"] == finite.min() and about["max"] == finite.max(), f"{name}: range {about}")
        check(np.isclose(about["mean"], finite.mean(), rtol=1e-12), f"{name}: mean {about['mean']}")
        check(np.isclose(about["variance"], finite.var(), rtol=1e-12), f"{name}: variance {about['variance']}")
        check(about["nonfinite"] == 2, f"{name}: nonfinite")
    counts, _ = np.histogram(finite, 256, (finite.min(), finite.max()))
    off = np.abs(counts - np.array(about["histogram"]["counts"])).sum()
    check(off <= 4, f"{off} voxels in other bins")  # those on an edge


for test in [value for name, value in list(globals().items()) if name.startswith("test_")]:
    before = failures
    test()
    print("ok    " if failures == before else "FAILED", test.__name__)
sys.exit(failures > 0)
