#!/usr/bin/python3
"""Writes fuzz/corpus/fuzz_tiff and fuzz/corpus/fuzz_tiff_description; needs python3-tifffile and libtiff-tools."""
import os
import subprocess

import numpy as np
import tifffile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
FILES, TEXTS = os.path.join(HERE, "fuzz_tiff"), os.path.join(HERE, "fuzz_tiff_description")
os.makedirs(FILES, exist_ok=True)
os.makedirs(TEXTS, exist_ok=True)
array = (np.arange(2 * 9 * 11).reshape(2, 9, 11) % 97).astype("uint8")


def close(path):
    """The byte behind the file that chooses the cache."""
    with open(path, "ab") as file:
        file.write(b"\0")


def save(name, data, **options):
    path = os.path.join(FILES, name)
    tifffile.imwrite(path, data, photometric="minisblack", software=False, **options)
    close(path)


save("plain", array, metadata=None)
save("strips", array, rowsperstrip=2, metadata=None)
save("big-endian", array.astype("int16"), byteorder=">", metadata=None)
save("bigtiff", array.astype("float32"), bigtiff=True, metadata=None)
save("tiles", array, tile=(16, 16), metadata=None)
save("bits", array > 40, metadata=None)
save("doubles", array.astype("float64"), compression="zlib", metadata=None)
save("imagej", array, imagej=True, resolution=(2, 2), metadata={"spacing": 2, "unit": "um", "axes": "ZYX"})
save("one-directory", array, imagej=True, truncate=True, metadata={"axes": "ZYX"})
save("ome", array, ome=True, metadata={"axes": "ZYX", "PhysicalSizeX": 1, "PhysicalSizeY": 1, "PhysicalSizeZ": 1})

plain, bits = os.path.join(FILES, "base.tif"), os.path.join(FILES, "base-bits.tif")
tifffile.imwrite(plain, array, photometric="minisblack", metadata=None, software=False)
tifffile.imwrite(bits, array > 40, photometric="minisblack", metadata=None, software=False)
for codec, source in {"lzw": plain, "lzw:2": plain, "zip": plain, "zip:2": plain, "packbits": plain, "jpeg": plain,
                      "zstd": plain, "lzma": plain, "lerc": plain, "g3": bits, "g4": bits}.items():
    for layout in (["-r", "4"], ["-t", "-w", "16", "-l", "16"]):
        path = os.path.join(FILES, codec.replace(":2", "-predictor") + ("-tiles" if layout[0] == "-t" else ""))
        result = subprocess.run(["tiffcp", "-c", codec, *layout, source, path], capture_output=True, check=False)
        if result.returncode == 0:
            close(path)
        elif os.path.exists(path):
            os.remove(path)
os.remove(plain)
os.remove(bits)

texts = {
    "imagej": "ImageJ=1.53t\nimages=12\nslices=12\nunit=\\u00B5m\nzunit=mm\nspacing=0.5\ncf=0\nc0=1\nc1=2\nmin=0\nmax=9\n",
    "ours": "ImageJ=1.53t\nunit=mm\ncredence_spacing=1,2,3\ncredence_origin=-4,5,6\ncredence_scale=0.25\n",
    "hyperstack": "ImageJ=1.53t\nimages=12\nchannels=3\nframes=2\nhyperstack=true\n",
    "ome": '<?xml version="1.0"?><!-- x --><OME xmlns="u"><Image ID="Image:0"><![CDATA[<]]><ome:Pixels SizeX="5" SizeZ=\'7\' '
           'SizeC="1" SizeT="1" PhysicalSizeX="0.25" PhysicalSizeXUnit="&#181;m" PhysicalSizeY="1" PhysicalSizeZ="1.5" '
           'PhysicalSizeZUnit="&#xB5;m"><TiffData FirstZ="0" IFD="0"><UUID FileName="a&amp;b">u</UUID></TiffData>'
           '</ome:Pixels></Image></OME>',
    "ome-parts": '<OME><BinaryOnly MetadataFile="x"/></OME>',
    "json": '{"shape": [4, 5, 6], "truncated": true, "spacing": 0.5, "unit": "um"}',
}
for name, text in texts.items():
    with open(os.path.join(TEXTS, name), "w", encoding="utf-8") as file:
        file.write(text)
