"""Writes the seeds of fuzz_zarr3 into fuzz/corpus. They are kept in the repository; run this only to add to them:
/usr/bin/python3 fuzz/make_zarr3_seeds.py"""
import gzip
import json
import os
import struct

import numcodecs
import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "fuzz_zarr3")
CUBE = np.arange(24, dtype="<u2").reshape(2, 3, 4)
EMPTY = 2**64 - 1
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
SUM = {"name": "crc32c"}
IMAGE = {"zarr_format": 3, "node_type": "group", "attributes": {
    "ome": {"version": "0.5", "multiscales": [{"axes": [{"name": n, "type": "space", "unit": "micrometer"} for n in "zyx"],
            "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [2, 0.25, 0.5]},
                                                                     {"type": "translation", "translation": [1, 2, 3]}]}]}]},
    "complete": False, "credence": {"scale": 0.5, "origin": [1, 2, 3], "unit": "furlong"}},
    "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {}}}


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return struct.pack("<I", ~crc & 0xffffffff)


def keep(name, chunk, codecs, group=IMAGE, separator="/", encoding="default", grid=(2, 3, 4), **changes):
    layout = {"zarr_format": 3, "node_type": "array", "shape": [2, 3, 4], "data_type": "uint16",
              "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(grid)}},
              "chunk_key_encoding": {"name": encoding, "configuration": {"separator": separator}},
              "fill_value": 0, "codecs": codecs, "dimension_names": ["z", "y", "x"], "attributes": {}}
    layout.update(changes)
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(b"\n---\n".join([json.dumps(layout).encode(), json.dumps(group).encode(), bytes(chunk)]))


def named(name, **configuration):
    return {"name": name, "configuration": configuration}


plain = CUBE.tobytes()
keep("raw", plain, [LITTLE])
keep("gzip", gzip.compress(plain, mtime=0), [LITTLE, named("gzip", level=5)], separator=".")
keep("zstd", numcodecs.Zstd(1, True).encode(CUBE), [LITTLE, named("zstd", level=1, checksum=True)], encoding="v2", separator=".")
keep("blosc", numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE).encode(CUBE),
     [LITTLE, named("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=2, blocksize=0)])
keep("sums", gzip.compress(plain + crc32c(plain), mtime=0) + crc32c(gzip.compress(plain + crc32c(plain), mtime=0)),
     [LITTLE, SUM, named("gzip", level=1), SUM])
keep("turned", CUBE.astype(">f4").tobytes(), [named("transpose", order=[2, 0, 1]), named("bytes", endian="big")],
     data_type="float32", fill_value="0x7fc00000")
keep("five", CUBE.astype("|b1").tobytes(), [named("transpose", order=[4, 3, 2, 1, 0]), "bytes"], {}, data_type="bool", shape=[1, 1, 2, 3, 4],
     grid=(1, 1, 2, 3, 4), fill_value=True, dimension_names=["t", None, "z", "y", "x"])
keep("missing", b"", [LITTLE], data_type="int16", fill_value=-7)
for where in "start", "end":
    for summed in True, False:
        for packing in "raw", "gzip":
            chunks = [CUBE[z:z + 1].tobytes() for z in range(2)]
            codecs = [LITTLE]
            if packing == "gzip":
                chunks, codecs = [gzip.compress(c, mtime=0) for c in chunks], [LITTLE, named("gzip", level=5)]
            length = 32 + 4 * summed if where == "start" else 0
            index = struct.pack("<4Q", length, len(chunks[0]), length + len(chunks[0]), len(chunks[1]))
            index += crc32c(index) if summed else b""
            shard = [index, *chunks] if where == "start" else [*chunks, index]
            keep(f"shard_{where}_{packing}_{'sum' if summed else 'plain'}", b"".join(shard), [named(
                "sharding_indexed", chunk_shape=[1, 3, 4], codecs=codecs, index_codecs=[LITTLE] + [SUM] * summed, index_location=where)])
keep("shard_hole", plain[:24] + struct.pack(">4Q", 0, 24, EMPTY, EMPTY), [named(
    "sharding_indexed", chunk_shape=[1, 3, 4], codecs=[named("transpose", order=[0, 2, 1]), LITTLE],
    index_codecs=[named("bytes", endian="big")])], fill_value=3)
