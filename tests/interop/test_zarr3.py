"""OME-Zarr 0.5 (zarr version 3) between credence and what others read and write it with: zarr-python 3, tensorstore and
ome-zarr-models. Values, types, spacing, codecs, shards, names of chunks, values to fill with, in both directions.
CREDENCE_ZARR3_PYTHON may name the Python of a virtual environment that has them (pip install zarr tensorstore
ome-zarr-models): Debian 12 has only zarr-python 2. A client that isn't installed is skipped; without any, the test is."""
import importlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

other = os.environ.pop("CREDENCE_ZARR3_PYTHON", None)
if other:
    os.execv(other, [other, *sys.argv])

CLIENTS = {}
for name in "zarr", "tensorstore", "ome_zarr_models":
    try:
        CLIENTS[name] = importlib.import_module(name)
    except ImportError as missing:
        print(f"without {name}: {missing}")
if "zarr" in CLIENTS and not CLIENTS["zarr"].__version__.startswith("3."):
    print(f"zarr {CLIENTS.pop('zarr').__version__} doesn't know version 3")
if not CLIENTS:
    sys.exit(77)
import numpy as np

PROGRAM = os.environ["CREDENCE_PROGRAM"]
VERSION = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64"]
OTHERS = ["bool", "int64", "uint64", "float16"]
SPACING = [2.0, 0.65, 0.5]
HAVE = {"blosc": "Blosc: no" not in VERSION, "zstd": "Zstandard: no" not in VERSION}
failures = checks = 0


def check(condition, what):
    global failures, checks
    checks += 1
    if not condition:
        failures += 1
        print("failed:", what)


def run(*arguments, code=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    check(done.returncode == code, f"credence {' '.join(arguments)}: exit {done.returncode}, {done.stderr}")
    return done


def numbers(dtype, shape):
    random = np.random.default_rng(3)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (random.standard_normal(shape) * 100).astype(kind)
    if kind.kind == "b":
        return random.random(shape) < 0.5
    limits = np.iinfo(kind)
    return random.integers(max(limits.min, -(2**53)), min(limits.max, 2**53), shape, dtype=kind, endpoint=True)


def ours(array, target, *flags):
    np.save("from.npy", array)
    with open("from.npy.json", "w") as file:
        json.dump({"spacing": SPACING, "unit": "um"}, file)
    shutil.rmtree(target, ignore_errors=True)
    run("convert", "from.npy", target, "--format", "zarr3", *flags)


def expect(path, array, what):
    done = run("convert", path, "back.npy")
    if done.returncode != 0:
        return
    back = np.load("back.npy")
    wanted = array.astype({"bool": "u1", "int64": "f8", "float16": "f4"}.get(array.dtype.name, array.dtype))
    check(back.dtype == wanted.dtype, f"{what}: type {back.dtype}, not {wanted.dtype}")
    check(back.shape == wanted.shape and np.array_equal(back, wanted, equal_nan=wanted.dtype.kind == "f"), f"{what}: other values")


def opened(path):
    """The array as tensorstore sees it."""
    return CLIENTS["tensorstore"].open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path}}).result()


def test_ours():
    """Whole and cut chunks, several shards along an axis, levels, packed and not."""
    for dtype, flags in itertools.product(TYPES, ((), ("--compress", "4"))):
        array = numbers(dtype, (70, 200, 900))
        ours(array, "us.zarr", *flags)
        what = f"our {dtype} {flags}"
        files = sum(len(names) for _, _, names in os.walk("us.zarr/0/c"))
        check(files == 2, f"{what}: {files} files for level 0")
        if "zarr" in CLIENTS:
            group = CLIENTS["zarr"].open_group("us.zarr", mode="r")
            check(group["0"].dtype == dtype and np.array_equal(group["0"][:], array), f"zarr reads {what}")
            check(group["0"].shards == (96, 256, 512) and group["0"].chunks == (32, 128, 128), f"{what}: {group['0'].shards}")
            check(group["0"].metadata.dimension_names == ("z", "y", "x"), f"{what}: names of axes")
            attributes = dict(group.attrs)
            image = attributes["ome"]["multiscales"][0]
            check(attributes["complete"] is True and attributes["ome"]["version"] == "0.5", "complete, version")
            level = image["datasets"][1]["coordinateTransformations"]
            check(level[0] == {"type": "scale", "scale": [4.0, 1.3, 1.0]}, "scale of level 1")
            mean = array.astype("f8").reshape(35, 2, 100, 2, 450, 2).mean(axis=(1, 3, 5))
            if dtype == "float64":
                check(np.allclose(group["1"][:], mean, rtol=1e-12), "level 1 is the mean of level 0")
        if "tensorstore" in CLIENTS:
            check(np.array_equal(opened("us.zarr/0/").read().result(), array), f"tensorstore reads {what}")
            check(opened("us.zarr/1/").shape == (35, 100, 450), f"tensorstore reads level 1 of {what}")
        if "ome_zarr_models" in CLIENTS:
            from ome_zarr_models.v05 import Image
            with open("us.zarr/zarr.json") as file:
                root = json.load(file)
            if "zarr" in CLIENTS:
                Image.from_zarr(CLIENTS["zarr"].open_group("us.zarr", mode="r"))
            check(root["zarr_format"] == 3 and root["node_type"] == "group", "group")
        expect("us.zarr", array, what + ", read again")
        done = json.loads(run("info", "--json", "us.zarr").stdout)
        check(done["spacing"] == SPACING and done["unit"] == "um" and done["format"] == "zarr3", f"{what}: {done}")


def test_zarr_python():
    zarr = CLIENTS["zarr"]
    from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
    shape, chunk, shard = (21, 26, 35), (3, 4, 5), (9, 8, 15)
    packings = {"raw": [], "gzip": [GzipCodec(level=1)], "crc32c": [Crc32cCodec()],
                "gzip, crc32c": [GzipCodec(level=1), Crc32cCodec()], "crc32c, gzip": [Crc32cCodec(), GzipCodec(level=1)]}
    if HAVE["zstd"]:
        packings |= {"zstd": [ZstdCodec(level=1)], "zstd sum": [ZstdCodec(level=3, checksum=True)]}
    if HAVE["blosc"]:
        packings |= {f"blosc {name} {shuffle}": [BloscCodec(cname=name, shuffle=shuffle, typesize=2)]
                     for name, shuffle in (("lz4", "bitshuffle"), ("zstd", "shuffle"), ("blosclz", "noshuffle"), ("zlib", "shuffle"))}
    number = 0
    for (packed, packing), layout, order in itertools.product(
            packings.items(), ("plain", "end", "start", "end, no sum"), (None, (2, 1, 0), (1, 2, 0))):
        dtype = (TYPES + OTHERS)[number % 12]
        encoding = [{"name": n, "separator": s} for n in ("default", "v2") for s in "/."][number % 4]
        axes = number % 3
        number += 1
        array = numbers(dtype, shape)
        extra = (1,) * axes
        turn = [] if order is None else [TransposeCodec(order=tuple(range(axes)) + tuple(axes + o for o in order))]
        endian = "big" if number % 5 < 2 else "little"
        chain = [*turn, BytesCodec(endian=endian if np.dtype(dtype).itemsize > 1 else None), *packing]
        shutil.rmtree("them.zarr", ignore_errors=True)
        if layout == "plain":
            serializer, compressors, filters, chunks = chain[len(turn)], packing, turn, chunk
        else:
            index = [BytesCodec(endian=endian)] + ([] if "no sum" in layout else [Crc32cCodec()])
            serializer = ShardingCodec(chunk_shape=extra + chunk, codecs=chain, index_codecs=index,
                                       index_location="start" if layout == "start" else "end")
            compressors, filters, chunks = None, [], shard
        names = ["t", "c"][:axes] + ["z", "y", "x"]
        group = zarr.open_group("them.zarr", mode="w", zarr_format=3)
        made = group.create_array("first", shape=extra + shape, chunks=extra + chunks, dtype=dtype, serializer=serializer,
                                  compressors=compressors or None, filters=filters or None, fill_value=0,
                                  chunk_key_encoding=encoding, dimension_names=names)
        made[...] = array.reshape(extra + shape)
        group.attrs["ome"] = {"version": "0.5", "multiscales": [{
            "axes": [{"name": n, "type": "space", "unit": "micrometer"} if n in "zyx" else
                     {"name": n, "type": "time" if n == "t" else "channel"} for n in names],
            "datasets": [{"path": "first", "coordinateTransformations": [{"type": "scale", "scale": [1] * axes + SPACING}]}]}]}
        if number % 2:
            with warnings.catch_warnings():  # it isn't part of the format yet
                warnings.simplefilter("ignore")
                zarr.consolidate_metadata("them.zarr")
        what = f"zarr-python {dtype}, {packed}, {layout}, order {order}, {encoding}, {endian}"
        expect("them.zarr", array, what)
        about = json.loads(run("info", "--json", "them.zarr").stdout)
        check(about["spacing"] == SPACING and about["unit"] == "um", f"{what}: {about}")
    print(number, "arrays of zarr-python")
    # Values to fill with, and chunks that aren't there.
    fills = [("float32", float("nan")), ("float32", -1.5), ("float64", float("inf")), ("float16", float("-inf")), ("uint16", 65535),
             ("int8", -128), ("bool", True), ("int64", -(2**53)), ("uint64", 2**53)]
    for (dtype, fill), sharded in itertools.product(fills, (False, True)):
        shutil.rmtree("bare.zarr", ignore_errors=True)
        bare = zarr.create_array("bare.zarr", shape=shape, chunks=chunk, shards=shard if sharded else None, dtype=dtype, fill_value=fill,
                                 compressors=None)
        bare[4:9, 3:5, 2:9] = 1
        expect("bare.zarr", bare[:], f"{dtype} filled with {fill}, shards {sharded}")


def test_tensorstore():
    ts = CLIENTS["tensorstore"]
    number = 0
    packings = [[], [{"name": "gzip", "configuration": {"level": 2}}], [{"name": "crc32c"}]]
    packings += [[{"name": "zstd", "configuration": {"level": 1}}]] if HAVE["zstd"] else []
    packings += [[{"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4}}]] if HAVE["blosc"] else []
    for packing, layout, endian in itertools.product(packings, ("plain", "start", "end"), ("little", "big")):
        dtype = (TYPES + OTHERS)[number % 12]
        number += 1
        array = numbers(dtype, (21, 26, 35))
        order = [list(o) for o in itertools.permutations(range(3))][number % 6]
        chain = [{"name": "transpose", "configuration": {"order": order}}, {"name": "bytes", "configuration": {"endian": endian}}, *packing]
        if layout != "plain":
            chain = [{"name": "sharding_indexed", "configuration": {
                "chunk_shape": [3, 4, 5], "codecs": chain, "index_location": layout,
                "index_codecs": [{"name": "bytes", "configuration": {"endian": endian}}, {"name": "crc32c"}]}}]
        shutil.rmtree("them.zarr", ignore_errors=True)
        store = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": "them.zarr/"}, "create": True, "metadata": {
            "shape": [21, 26, 35], "data_type": dtype, "codecs": chain, "fill_value": False if dtype == "bool" else 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4, 5] if layout == "plain" else [9, 8, 15]}},
            "chunk_key_encoding": {"name": ("default", "v2")[number % 2]}}}).result()
        store[...] = array
        expect("them.zarr", array, f"tensorstore {dtype}, {packing}, {layout}, {endian}, {order}")
    print(number, "arrays of tensorstore")


def test_damage():
    """Each byte of a shard's index, and of a chunk with a checksum, matters."""
    zarr = CLIENTS["zarr"]
    from zarr.codecs import Crc32cCodec
    array = numbers("uint16", (8, 8, 8))
    shutil.rmtree("them.zarr", ignore_errors=True)
    made = zarr.create_array("them.zarr", shape=array.shape, chunks=(4, 4, 8), shards=(8, 8, 8), dtype="uint16", compressors=[Crc32cCodec()])
    made[...] = array
    with open("them.zarr/c/0/0/0", "rb") as file:
        good = bytearray(file.read())
    check(len(good) == 4 * (256 + 4) + 4 * 16 + 4, f"{len(good)} bytes of a shard")
    for at in range(0, len(good), 13):
        bad = bytearray(good)
        bad[at] ^= 0x20
        with open("them.zarr/c/0/0/0", "wb") as file:
            file.write(bad)
        done = run("convert", "them.zarr", "back.npy", code=1)
        check("damaged" in done.stderr and "crc32c" in done.stderr and done.stderr.count("\n") == 1, f"byte {at}: {done.stderr}")


with tempfile.TemporaryDirectory(prefix="credence-zarr3-") as folder:
    os.chdir(folder)
    test_ours()
    if "zarr" in CLIENTS:
        test_zarr_python()
        test_damage()
    if "tensorstore" in CLIENTS:
        test_tensorstore()
    os.chdir("/")
print("checks:", checks, "failures:", failures)
sys.exit(failures > 0)
