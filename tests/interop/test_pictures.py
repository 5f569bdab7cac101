"""PNG and JPEG slices, and grey of colours, against Pillow and PNG files made by hand; broken and lying files."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import numpy as np
    from PIL import Image
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
failures = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def build_has(part):
    return f"{part}: yes" in run("--version").stdout


if not build_has("PNG pictures and slices") or not build_has("JPEG slices"):
    print("skipped: this build has no libpng or no libjpeg")
    sys.exit(77)


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, rows, before=b"", interlace=0):
    """A PNG by hand: `rows` without filter bytes, packed as the standard says."""
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + before + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def read(path, *options):
    """The voxels as credence reads them, or its sentence."""
    result = run("convert", path, "out.npy", *options)
    return np.load("out.npy") if result.returncode == 0 else result.stderr


def expect(what, path, array, *options):
    got = read(path, *options)
    if isinstance(got, str):
        check(False, f"{what}: {got}")
    else:
        check(got.dtype == array.dtype and got.shape == array.shape and np.array_equal(got, array), f"{what}: values")


def refused(what, path, words, *options):
    if os.path.exists("out.npy"):
        os.remove("out.npy")
    got = read(path, *options)
    check(isinstance(got, str) and words in got and got.count("credence: ") == 1, f"{what}: {got}")
    check(not os.path.exists("out.npy"), f"{what}: something was written")


os.chdir(tempfile.mkdtemp())
rng = np.random.default_rng(1)
grey8 = rng.integers(0, 256, (4, 33, 47), dtype=np.uint8)
grey16 = rng.integers(0, 65536, (3, 21, 19), dtype=np.uint16)
rgb = rng.integers(0, 256, (3, 17, 23, 3), dtype=np.uint8)

# Folders and patterns of grey slices.
for folder, array, suffix in (("p8", grey8, "png"), ("p16", grey16, "png")):
    os.mkdir(folder)
    for z, slice_ in enumerate(array):
        Image.fromarray(slice_).save(f"{folder}/s_{z}.{suffix}")
    expect(f"{folder}, a folder", folder, array)
    expect(f"{folder}, a pattern", f"{folder}/s_*.png", array)
    expect(f"{folder}, one file", f"{folder}/s_1.png", array[1:2])
    expect(f"{folder}, a part", folder, array[1:3, 5:9, 7:8], "--bbox", "1:3,5:9,7:8")
about = json.loads(run("info", "--json", "p16").stdout)
check(about["format"] == "png" and about["shape"] == [3, 21, 19] and about["type"] == "u16", f"info: {about}")
# Whatever is done with volumes is done with these: slices written as TIFF and read again.
check(run("convert", "p16", "back/").returncode == 0, "PNG slices to TIFF slices")
expect("back", "back", grey16)

# What few programs write: 1 to 4 bits, values as stored; a colour table; interlaced; transparent.
bits = rng.integers(0, 2, (9, 13), dtype=np.uint8)
open("bits.png", "wb").write(png(13, 9, 1, 0, [np.packbits(row).tobytes() for row in bits]))
expect("1 bit", "bits.png", bits[None])
nibbles = rng.integers(0, 16, (5, 8), dtype=np.uint8)
open("nibbles.png", "wb").write(png(8, 5, 4, 0, [(row[0::2] * 16 + row[1::2]).tobytes() for row in nibbles]))
expect("4 bits", "nibbles.png", nibbles[None])
table = rng.integers(0, 256, (16, 3), dtype=np.uint8)
open("table.png", "wb").write(png(8, 5, 4, 3, [(row[0::2] * 16 + row[1::2]).tobytes() for row in nibbles],
                                  chunk(b"PLTE", table.tobytes())))
expect("a colour table", "table.png", nibbles[None])
check("colour table, which is ignored" in run("convert", "table.png", "out.npy").stderr, "nothing is said of a colour table")
expect("a colour table as grey", "table.png", np.array(Image.open("table.png").convert("RGB").convert("L"))[None], "--grey")
seven = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
for what, array in (("interlaced", grey8[0]), ("interlaced colours", rgb[0])):
    rows = [row.tobytes() for x, y, dx, dy in seven for row in array[y::dy, x::dx] if row.size]
    open("lace.png", "wb").write(png(array.shape[1], array.shape[0], 8, 2 * (array.ndim - 2), rows, interlace=1))
    expect(what, "lace.png", (array if array.ndim == 2 else np.array(Image.fromarray(array).convert("L")))[None],
           *["--grey"] * (array.ndim - 2))
Image.fromarray(np.dstack([grey8[0], grey8[1]]), "LA").save("alpha.png")
expect("with transparency", "alpha.png", grey8[:1])

# Colours: refused, and grey where it is asked for, as Pillow has it; grey files don't mind.
os.mkdir("colour")
for z, slice_ in enumerate(rgb):
    Image.fromarray(slice_).save(f"colour/c{z}.png")
refused("colours", "colour", "credence convert --grey makes it grey")
expect("grey of colours", "colour", np.stack([np.array(Image.fromarray(s).convert("L")) for s in rgb]), "--grey")
expect("--grey of grey", "p16", grey16, "--grey")
same = np.repeat(grey8[0][..., None], 3, 2)
Image.fromarray(same).save("same.png")
expect("equal colours", "same.png", grey8[:1], "--grey")
wide = rng.integers(0, 65536, (6, 5, 3)).astype(np.uint64)
open("wide.png", "wb").write(png(5, 6, 16, 2, [row.astype(">u2").tobytes() for row in wide]))
weighted = ((wide[..., 0] * 19595 + wide[..., 1] * 38470 + wide[..., 2] * 7471 + 32768) >> 16).astype(np.uint16)
expect("16-bit colours", "wide.png", weighted[None], "--grey")

# TIFF of colours: plain, packed, tiled, with a fourth value, of 16 bits.
try:
    import tifffile
    expected = np.stack([np.array(Image.fromarray(s).convert("L")) for s in rgb])
    for name, options in {"plain": {}, "packed": {"compression": "zlib"}, "tiled": {"tile": (16, 16)},
                          "strips": {"rowsperstrip": 3}, "swapped": {"byteorder": ">"}}.items():
        tifffile.imwrite(f"{name}.tif", rgb, photometric="rgb", metadata=None, **options)
        expect(f"TIFF, {name}", f"{name}.tif", expected, "--grey")
        refused(f"TIFF, {name}", f"{name}.tif", "credence convert --grey makes it grey")
    four = np.concatenate([rgb, rgb[..., :1]], 3)
    tifffile.imwrite("four.tif", four, photometric="rgb", extrasamples=["unassalpha"], metadata=None)
    expect("TIFF with transparency", "four.tif", expected, "--grey")
    tifffile.imwrite("wide.tif", wide.astype(np.uint16), photometric="rgb", byteorder=">", metadata=None)
    expect("TIFF, 16-bit colours", "wide.tif", weighted[None], "--grey")
    tifffile.imwrite("apart.tif", np.moveaxis(rgb[0], 2, 0), photometric="rgb", planarconfig="separate", metadata=None)
    refused("TIFF, colours apart", "apart.tif", "values per pixel", "--grey")
except ImportError as missing:
    print(f"a part was left out: {missing}")

# JPEG: the same bytes as libjpeg's own, through Pillow; gradual ones, too.
os.mkdir("jpegs")
smooth = np.add.outer(np.arange(40), np.arange(56)).astype(np.uint8)
for z in range(3):
    Image.fromarray(smooth + z).save(f"jpegs/{z}.jpg", quality=90, progressive=z == 1)
expect("JPEG", "jpegs", np.stack([np.array(Image.open(f"jpegs/{z}.jpg")) for z in range(3)]))
check(run("convert", "jpegs", "out.npy").stderr.count("is JPEG, which keeps what people see") == 1, "nothing is said of JPEG")
Image.fromarray(rgb[0]).save("colour.jpeg", quality=95)
refused("JPEG of colours", "colour.jpeg", "credence convert --grey makes it grey")
luma = Image.open("colour.jpeg")
luma.draft("L", luma.size)
expect("grey of a JPEG", "colour.jpeg", np.array(luma)[None], "--grey")
Image.fromarray(rgb[0]).convert("CMYK").save("cmyk.jpg")
refused("CMYK", "cmyk.jpg", "neither grey nor red, green and blue", "--grey")

# Slices that aren't alike, a gap, formats that aren't written.
os.mkdir("unlike")
Image.fromarray(grey8[0]).save("unlike/s_0.png")
Image.fromarray(grey8[0][:5]).save("unlike/s_1.png")
refused("unlike", "unlike", "the slices of a volume must be alike")
os.mkdir("gap")
for z in (1, 2, 4):
    Image.fromarray(grey8[0]).save(f"gap/s_{z}.png")
refused("a gap", "gap", "s_3.png is missing")
result = run("convert", "p8", "new.png")
check(result.returncode == 1 and "doesn't write them" in result.stderr, result.stderr)
result = run("convert", "p8", "new.npy", "--format", "jpg")
check(result.returncode == 2 and "choose .tif" in result.stderr, result.stderr)

# Broken files and such that lie: one sentence, no crash, no memory taken for a claim.
whole = open("p8/s_0.png", "rb").read()
open("cut.png", "wb").write(whole[:len(whole) // 2])
refused("cut short", "cut.png", "copy it again from its source")
open("claim.png", "wb").write(png(2**31 - 1, 2**31 - 1, 16, 0, [b"x"]))
refused("a claim", "claim.png", "can't hold its")
open("checksum.png", "wb").write(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
refused("a wrong checksum", "checksum.png", "the file is damaged")
jpeg = open("jpegs/0.jpg", "rb").read()
open("cut.jpg", "wb").write(jpeg[:len(jpeg) * 2 // 3])
refused("a JPEG cut short", "cut.jpg", "the file is damaged")
at = jpeg.index(b"\xff\xc0") + 5
open("claim.jpg", "wb").write(jpeg[:at] + b"\xfd\xe8\xfd\xe8" + jpeg[at + 4:])
refused("a JPEG's claim", "claim.jpg", "can't hold its")
random.seed(3)
for name, data in (("p8/s_0.png", whole), ("jpegs/1.jpg", open("jpegs/1.jpg", "rb").read()), ("colour.jpeg", open("colour.jpeg", "rb").read())):
    for _ in range(60):
        broken = bytearray(data)
        for _ in range(random.randint(1, 8)):
            broken[random.randrange(2, len(broken))] = random.randrange(256)
        path = "fuzzed." + name.rsplit(".", 1)[1]
        open(path, "wb").write(broken)
        result = run("convert", path, "fuzzed.npy", "--grey")
        check(result.returncode in (0, 1) and result.stderr.count("\n") <= 2, f"{name}: {result}")

print(f"{len(failures)} failed" if failures else "fine")
sys.exit(bool(failures))
