"""Writes the seeds of fuzz_nrrd, fuzz_metaimage, fuzz_nifti and fuzz_zarr into fuzz/corpus. They are kept in the
repository; run this only to add to them:  /usr/bin/python3 fuzz/make_format_seeds.py"""
import gzip
import io
import json
import os
import zlib

import nibabel
import numcodecs
import numpy as np

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
CUBE = np.arange(24, dtype="<u2").reshape(2, 3, 4)


def keep(target, name, data):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def packed(data):
    return gzip.compress(data, mtime=0)


# NRRD
HEAD = "NRRD0005\n# comment\ntype: uint16\ndimension: 3\nsizes: 4 3 2\nendian: little\n"
SPACE = ("space dimension: 3\nspace directions: (0.5,0,0) (0,0.25,0) (0,0,2)\nspace units: \"um\" \"um\" \"um\"\n"
         "space origin: (1,2,3)\nkinds: domain domain domain\n")
keep("fuzz_nrrd", "raw", (HEAD + SPACE + "encoding: raw\n\n").encode() + CUBE.tobytes())
keep("fuzz_nrrd", "gzip", (HEAD + "encoding: gzip\nspacings: 1 2 3\nunits: \"mm\" \"mm\" \"mm\"\n\n").encode()
     + packed(CUBE.tobytes()))
keep("fuzz_nrrd", "members", (HEAD + "encoding: gz\nbyte skip: 3\n\n").encode() + packed(b"abc" + CUBE.tobytes()[:20])
     + packed(CUBE.tobytes()[20:]))
keep("fuzz_nrrd", "ours", (HEAD + "encoding: raw\ncredence_scale:=0.5\ncredence_origin:=1,2,3\n\n").encode()
     + CUBE.tobytes())
keep("fuzz_nrrd", "detached", b"NRRD0004\ntype: uchar\ndimension: 4\nsizes: 1 4 3 2\nencoding: raw\nbyte skip: -1\n"
     b"data file: data.raw\n")
keep("fuzz_nrrd", "outside", b"NRRD0004\ntype: uchar\ndimension: 3\nsizes: 4 3 2\nencoding: raw\n"
     b"data file: ../../etc/passwd\n")
keep("fuzz_nrrd", "lines", b"NRRD0001\r\ntype: double\r\ndimension: 3\r\nsizes: 1 1 2\r\nendian: big\r\n"
     b"line skip: 1\r\nencoding: raw\r\nspace directions: none (1,2,3) (4,5,6)\r\n\r\nline\n" + bytes(16))

# MetaImage
META = ("ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\n"
        "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = 1 2 3\nElementSpacing = 0.5 0.25 2\nDimSize = 4 3 2\n"
        "ElementType = MET_USHORT\n")
keep("fuzz_metaimage", "raw", (META + "DistanceUnits = um\nElementDataFile = LOCAL\n").encode() + CUBE.tobytes())
data = zlib.compress(CUBE.tobytes())
keep("fuzz_metaimage", "zlib", (META + "CompressedData = True\nCompressedDataSize = %d\nElementDataFile = LOCAL\n"
                                % len(data)).encode() + data)
keep("fuzz_metaimage", "ours", ("NDims = 3\nComment = credence_scale=0.5; credence_origin=1,2,3; credence_unit=nm; \n"
                                + META + "ElementDataFile = LOCAL\n").encode() + CUBE.tobytes())
keep("fuzz_metaimage", "detached", b"NDims = 4\nDimSize = 4 3 2 1\nElementType = MET_UCHAR\nHeaderSize = -1\n"
     b"ElementNumberOfChannels = 1\nElementSize = 1 2 3 1\nElementDataFile = data.raw\n")
keep("fuzz_metaimage", "list", b"NDims = 3\nDimSize = 4 3 2\nElementType = MET_LONG_LONG\nElementDataFile = LIST\n1.raw\n")


# NIfTI
def nifti(kind, array, endianness="<", **header):
    image = kind(array, np.diag([0.5, 0.25, 2, 1]), kind.header_class(endianness=endianness))
    image.header.set_xyzt_units("micron")
    for key, value in header.items():
        image.header[key] = value
    image.header.extensions.append(nibabel.nifti1.Nifti1Extension("comment", b"credence_scale=0.5\ncredence_origin=1,2,3"))
    return image.to_bytes()


BLOCK = CUBE.transpose()
keep("fuzz_nifti", "one", nifti(nibabel.Nifti1Image, BLOCK))
keep("fuzz_nifti", "two", nifti(nibabel.Nifti2Image, BLOCK.astype("f4")))
keep("fuzz_nifti", "big", nifti(nibabel.Nifti1Image, BLOCK.astype("i2"), ">", scl_slope=0.5, scl_inter=1))
keep("fuzz_nifti", "big_two", nifti(nibabel.Nifti2Image, BLOCK.astype("u1")[..., None], ">"))
keep("fuzz_nifti", "packed", packed(nifti(nibabel.Nifti1Image, BLOCK)))
pair = bytearray(nifti(nibabel.Nifti1Image, BLOCK.astype("u1")))[:348]
pair[344:348] = b"ni1\0"
pair[108:112] = np.float32(0).tobytes()
keep("fuzz_nifti", "pair", bytes(pair))

# zarr
ATTRIBUTES = {"multiscales": [{"version": "0.4", "axes": [{"name": n, "type": "space", "unit": "micrometer"}
                                                          for n in "zyx"],
                               "datasets": [{"path": "0", "coordinateTransformations": [
                                   {"type": "scale", "scale": [2, 0.25, 0.5]},
                                   {"type": "translation", "translation": [1, 2, 3]}]}]}],
              "complete": False, "credence": {"scale": 0.5, "origin": [1, 2, 3], "unit": "furlong"}}


def zarr(name, compressor, chunk, attributes=ATTRIBUTES, **changes):
    layout = {"zarr_format": 2, "shape": [2, 3, 4], "chunks": [2, 3, 4], "dtype": "<u2", "fill_value": 0, "order": "C",
              "filters": None, "compressor": compressor.get_config() if compressor else None}
    layout.update(changes)
    data = compressor.encode(chunk) if compressor else chunk.tobytes()
    keep("fuzz_zarr", name, b"\n---\n".join([json.dumps(layout).encode(), json.dumps(attributes).encode(), bytes(data)]))


zarr("raw", None, CUBE, dimension_separator="/")
zarr("zlib", numcodecs.Zlib(), CUBE)
zarr("gzip", numcodecs.GZip(), CUBE, order="F", fill_value="NaN", dtype="<f2")
zarr("zstd", numcodecs.Zstd(), CUBE)
for inner in ("zstd", "lz4", "lz4hc", "blosclz", "zlib"):
    zarr("blosc_" + inner, numcodecs.Blosc(inner, 5, numcodecs.Blosc.SHUFFLE), np.tile(CUBE, (1, 1, 100)),
         shape=[2, 3, 400], chunks=[2, 3, 400])
zarr("blosc_bits", numcodecs.Blosc("lz4", 5, numcodecs.Blosc.BITSHUFFLE), CUBE)
zarr("five", None, CUBE.astype("|b1"), {}, dtype="|b1", shape=[1, 1, 2, 3, 4], chunks=[1, 1, 2, 3, 4], fill_value=True)
zarr("rows", None, CUBE.astype(">f8"), {"multiscales": [{"datasets": [{"path": "../0"}]}]}, dtype=">f8",
     chunks=[200, 300, 400], fill_value=-1.5)
