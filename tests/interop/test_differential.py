"""Our readers against the usual ones of Python over damaged files: where both accept a file, the voxels are the same.

    CREDENCE_DIFFERENTIAL="1 2000 nrrd" python3 tests/interop/test_differential.py     seed, files of each format, formats

The short run, as part of the tests, takes some hundred files of each format, the long one (CREDENCE_LONG=1) 20,000. pynrrd and
SimpleITK aren't in Debian 12: CREDENCE_DIFFERENTIAL_PYTHON names a Python that has them, and NumPy 1, beside Debian's packages.
What differs is kept in the folder CREDENCE_DIFFERENTIAL_KEEP, if that is set."""
import io
import json
import logging
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import warnings
import zlib

OTHER = os.environ.get("CREDENCE_DIFFERENTIAL_PYTHON")
if OTHER and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(OTHER))):
    os.execv(OTHER, [OTHER, *sys.argv])

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SOURCE = os.environ.get("CREDENCE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
os.environ.setdefault("CREDENCE_LIBRARY", os.path.join(os.environ.get("CREDENCE_BUILD", "build"), "libcredence.so"))
sys.path.insert(0, os.path.join(SOURCE, "python"))
from credence import Error, read_volume  # noqa: E402

TYPES = ["u1", "i1", "<u2", ">i2", "<i4", ">u4", "<f4", ">f8"]
SHAPE = (3, 4, 5)
RANDOM = random.Random()
STDERR, NOWHERE = os.dup(2), os.open(os.devnull, os.O_WRONLY)


def cube(dtype, shape=SHAPE):
    numbers = np.arange(np.prod(shape)).reshape(shape) * 7 % 113
    return (numbers - (40 if np.dtype(dtype).kind in "if" else 0)).astype(dtype)


# ---- files to begin with ----

def npy_files():
    for dtype in TYPES:
        for array in (cube(dtype), np.asfortranarray(cube(dtype)), cube(dtype)[None], cube(dtype)[..., None]):
            file = io.BytesIO()
            np.lib.format.write_array(file, array, version=RANDOM.choice([(1, 0), (2, 0)]))
            yield file.getvalue()


NRRD_NAMES = {"u1": "uint8", "i1": "signed char", "u2": "unsigned short", "i2": "int16", "i4": "int", "u4": "uint32",
              "f4": "float", "f8": "double"}


def nrrd_files():
    for dtype in TYPES:
        for encoding in ("raw", "gzip"):
            data = cube(dtype)
            endian = "big" if dtype[0] == ">" else "little"
            packed = data.tobytes() if encoding == "raw" else gzipped(data.tobytes())
            head = (f"NRRD0004\n# made up\ntype: {NRRD_NAMES[np.dtype(dtype).str[1:]]}\ndimension: 3\nsizes: 5 4 3\n"
                    f"endian: {endian}\nencoding: {encoding}\nspacings: 1 1.5 2\nunits: \"um\" \"um\" \"um\"\n\n")
            yield head.encode() + packed


MET_NAMES = {"u1": "MET_UCHAR", "i1": "MET_CHAR", "u2": "MET_USHORT", "i2": "MET_SHORT", "i4": "MET_INT",
             "u4": "MET_UINT", "f4": "MET_FLOAT", "f8": "MET_DOUBLE"}


METAIMAGE_KEYS = [b"BinaryDataByteOrderMSB", b"CompressedData", b"ElementType", b"DimSize", b"ElementDataFile", b"NDims"]


def metaimage_files():
    for dtype in TYPES:
        for packed in (False, True):
            data = cube(dtype).tobytes()
            data = zlib.compress(data) if packed else data
            size = f"CompressedDataSize = {len(data)}\n" if packed else ""
            yield (f"ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = {dtype[0] == '>'}\n"
                   f"CompressedData = {packed}\n{size}ElementSpacing = 1 1.5 2\nOffset = 0 0 0\nDimSize = 5 4 3\n"
                   f"ElementType = {MET_NAMES[np.dtype(dtype).str[1:]]}\nElementDataFile = LOCAL\n").encode() + data


def gzipped(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def nifti_files():
    import nibabel
    for dtype in TYPES:
        for kind in (nibabel.Nifti1Image, nibabel.Nifti2Image):
            image = kind(np.asfortranarray(cube(np.dtype(dtype).newbyteorder("=")).transpose()), np.eye(4))
            if dtype[0] == ">":
                image = kind(image.dataobj, np.eye(4), header=image.header.as_byteswapped(">"))
            yield image.to_bytes()


def tiff_files():
    import tifffile
    for dtype in TYPES:
        for options in ({}, {"compression": "zlib"}, {"bigtiff": True}, {"tile": (16, 16)}, {"rowsperstrip": 2},
                        {"compression": "zlib", "predictor": True}):
            if "predictor" in options and "f" in dtype:
                continue  # tifffile needs another package for these
            file = io.BytesIO()
            array = cube(np.dtype(dtype))
            tifffile.imwrite(file, array.astype(np.dtype(dtype).newbyteorder("=")), photometric="minisblack",
                             byteorder=">" if dtype[0] == ">" else "<", metadata=None, **options)
            yield file.getvalue()


def zarr_files():
    """The text of .zarray; the chunks beside it stay whole."""
    for dtype in ("|u1", "<u2", ">i2", "<f4"):
        for compressor in (None, {"id": "zlib", "level": 1}, {"id": "gzip", "level": 1}):
            for order in "CF":
                yield json.dumps({"zarr_format": 2, "shape": SHAPE, "chunks": [2, 3, 4], "dtype": dtype, "order": order,
                                  "compressor": compressor, "filters": None, "fill_value": 7}).encode()


# ---- the usual readers, as (z, y, x) ----

def npy_other(path):
    return np.load(path, allow_pickle=False)


def nrrd_other(path):
    import nrrd
    return nrrd.read(path, index_order="C")[0]


def metaimage_other(path):
    """In a process of its own: ITK crashes on some of these files, or overwrites memory that is not its own."""
    import SimpleITK
    out = path + ".npy"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(10)
            SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)
            np.save(out, SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(path)))
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError("ITK doesn't read it")
    return np.load(out)


def nifti_other(path):
    import nibabel
    image = nibabel.load(path)
    return np.asanyarray(image.dataobj.get_unscaled()).transpose()


def tiff_other(path):
    import tifffile
    with tifffile.TiffFile(path) as file:
        return np.stack([page.asarray() for page in file.pages])


def zarr_other(path):
    import zarr
    return zarr.open_array(path, mode="r")[...]


# ---- damage ----

WORDS = [b"0", b"1", b"2", b"-1", b"3", b"4", b"5", b"6", b"60", b"120", b"255", b"1e2", b"4294967297", b"True", b"False", b"raw",
         b"gzip", b"gz", b"ascii", b"text", b"hex", b"bzip2", b"little", b"big", b"float", b"double", b"int", b"short", b"uchar",
         b"int8", b"uint64", b"block", b"LOCAL", b"MET_SHORT", b"MET_FLOAT", b"MET_LONG", b"null", b"[", b"]", b"<f8", b">u4",
         b"|b1", b"F", b"C", b" ", b"\n", b"#", b"\"", b"line skip: 1\n", b"byte skip: 2\n", b"byte skip: -1\n", b"HeaderSize = -1\n",
         b"ElementNumberOfChannels = 2\n", b"kinds: space space vector\n", b"space: RAS\n", b"old min: 0\n"]


def words_in(text):
    """Places of words and numbers of a header."""
    places, start = [], None
    for i, c in enumerate(text + b" "):
        if chr(c).isalnum() or c in b"_.-":
            start = i if start is None else start
        elif start is not None:
            places.append((start, i))
            start = None
    return places


def damage(data, header):
    """One to three changes, most of them in the first `header` bytes."""
    data = bytearray(data)
    for _ in range(RANDOM.choice([1, 1, 1, 2, 3])):
        end = min(header, len(data)) if RANDOM.random() < 0.85 else len(data)
        how = RANDOM.randrange(7)
        at = RANDOM.randrange(end) if end else 0
        places = words_in(bytes(data[:min(header, len(data), 600)])) if how < 3 else []
        if how < 2 and places:
            a, b = RANDOM.choice(places)
            data[a:b] = RANDOM.choice(WORDS)
        elif how == 2 and places:
            a, b = RANDOM.choice(places)
            c, d = RANDOM.choice(places)
            data[a:b] = data[c:d]
        elif how == 3:
            data[at:at + 1] = bytes([data[at] ^ 1 << RANDOM.randrange(8)]) if at < len(data) else b""
        elif how == 4:
            data[at:at + 1] = bytes([RANDOM.choice([0, 1, 2, 4, 8, 16, 32, 64, 127, 128, 255])])
        elif how == 5:
            lines = bytes(data[:end]).split(b"\n")
            if len(lines) > 2:
                i, k = RANDOM.randrange(len(lines) - 1), RANDOM.randrange(len(lines) - 1)
                lines[i], lines[k] = lines[k], RANDOM.choice([lines[i], lines[k]])
                data[:end] = b"\n".join(lines)
        else:
            if not data:
                break
            del data[RANDOM.choice([at, len(data) - RANDOM.randrange(min(9, len(data)))]):]
    return bytes(data)


# ---- one file, twice ----

def late(_number, _frame):
    raise TimeoutError("the other reader takes too long")


def by_other(read, path):
    signal.alarm(10)
    os.dup2(NOWHERE, 2)  # some print what they think of the file
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(read(path))
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever they raise: they don't accept it
        return None
    finally:
        signal.alarm(0)
        os.dup2(STDERR, 2)


def by_us(path):
    try:
        return np.asarray(read_volume(path))
    except MemoryError:  # an array of nothing but gaps, too large for this test
        return None
    except Error as refused:
        text = str(refused)
        if not text or "\n" in text or "internal" in text:
            raise AssertionError(f"no sentence: {text!r}") from refused
        return None


def squeezed(array):
    return array.reshape([n for n in array.shape if n != 1])


def same(ours, theirs):
    """The same voxels in the same order; axes of one voxel apart, and wider types that hold them exactly."""
    a, b = squeezed(ours), squeezed(theirs)
    if a.shape != b.shape or b.dtype.kind not in "biuf":
        return False
    with np.errstate(all="ignore"):
        if b.dtype.kind == "f" and b.dtype.itemsize < a.dtype.itemsize:
            b = b.astype(a.dtype)
        return bool(np.all((a == b) | ((a != a) & (b != b))))


FORMATS = {  # suffix, files to begin with, the other reader, bytes of the header, modules
    "npy": (".NPY", npy_files, npy_other, 128, []),
    "nrrd": (".nrrd", nrrd_files, nrrd_other, 190, ["nrrd"]),
    "metaimage": (".mha", metaimage_files, metaimage_other, 250, ["SimpleITK"]),
    "nifti": (".nii", nifti_files, nifti_other, 360, ["nibabel"]),
    "tiff": (".tif", tiff_files, tiff_other, 1 << 20, ["tifffile"]),
    "zarr": (".zarr", zarr_files, zarr_other, 400, ["zarr"]),
}


def put(path, data, whole):
    if not path.endswith(".zarr"):
        with open(path, "wb") as file:
            file.write(data)
        return
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(whole, path)
    with open(os.path.join(path, ".zarray"), "wb") as file:
        file.write(data)


def make_whole(folder, data):
    """The array of an undamaged .zarray, for its chunks."""
    if FORMATS["zarr"][0] not in folder:
        return
    import zarr
    about = json.loads(data)
    os.mkdir(folder)
    with open(os.path.join(folder, ".zarray"), "wb") as file:
        file.write(data)
    zarr.open_array(folder, mode="r+")[...] = cube(about["dtype"])


def try_format(name, seed, count, folder):
    suffix, begin, other, header, _ = FORMATS[name]
    RANDOM.seed(f"{seed} {name}")
    files = list(begin())
    counts = {"both": 0, "we alone": 0, "they alone": 0, "neither": 0}
    differing = 0
    path = os.path.join(folder, "x" + suffix)
    wholes = []
    for i, data in enumerate(files):
        wholes.append(os.path.join(folder, f"whole{i}{suffix}"))
        make_whole(wholes[-1], data)
        put(path, data, wholes[-1])
        ours, theirs = by_us(path), by_other(other, path)
        assert ours is not None and theirs is not None and same(ours, theirs), f"{name}: the undamaged file {i} isn't read alike"
    for i in range(count):
        which = RANDOM.randrange(len(files))
        data = damage(files[which], header)
        put(path, data, wholes[which])
        ours, theirs = by_us(path), by_other(other, path)
        key = "both" if ours is not None and theirs is not None else \
            "we alone" if ours is not None else "they alone" if theirs is not None else "neither"
        counts[key] += 1
        if key == "both" and not same(ours, theirs):
            reason = explain(name, path, data)
            if reason is not None:
                counts[reason] = counts.get(reason, 0) + 1
                continue
            differing += 1
            print(f"FAILED {name}, seed {seed}, file {i}: {ours.dtype} {ours.shape} here, {theirs.dtype} {theirs.shape} there")
            keep = os.environ.get("CREDENCE_DIFFERENTIAL_KEEP")
            if keep:
                os.makedirs(keep, exist_ok=True)
                with open(os.path.join(keep, f"{name}-{seed}-{i}{'.json' if suffix == '.zarr' else suffix}"), "wb") as file:
                    file.write(data)
    print(f"{name}: {count} damaged files (seed {seed}): " + ", ".join(f"{n} {key}" for key, n in counts.items() if n))
    return differing


def explain(name, path, data):
    """What is known to differ, and who is right; None: not known."""
    if name == "nifti" and data[:4] in (b"\x1c\x02\0\0", b"\0\0\x02\x1c") and not any(data[168:176]):
        return "where NIfTI-2 voxels begin at 0: nibabel takes the header for voxels"
    if name == "metaimage":
        packed = re.search(rb"^CompressedDataSize *= *([0-9]+) *$", data, re.MULTILINE)
        begin = data.find(b"LOCAL")
        if re.search(rb"CompressedData *= *T", data) and (not packed or int(packed[1]) != len(data) - begin - 6):
            return "where CompressedDataSize is missing or wrong: ITK fails to unpack, and gives what was in its memory"
        if any(key not in data and key.lower() in data.lower() for key in METAIMAGE_KEYS):
            return "where a keyword is in other letters: ITK passes over it, we take it"
    if name == "tiff":
        import tifffile
        with tifffile.TiffFile(path) as file:
            if any("TileWidth" in page.tags and "TileByteCounts" not in page.tags for page in file.pages):
                return "where tiles have no TileByteCounts: tifffile takes them for rows of the picture"
    return None


def main():
    words = os.environ.get("CREDENCE_DIFFERENTIAL", "").split()
    seed = int(words[0]) if words else 1
    count = int(words[1]) if len(words) > 1 else 20000 if os.environ.get("CREDENCE_LONG") else 150
    names = words[2:] or list(FORMATS)
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    signal.signal(signal.SIGALRM, late)
    differing = tried = 0
    for name in names:
        try:
            for module in FORMATS[name][4]:
                __import__(module)
        except ImportError as missing:
            print(f"skipped: part: {name}: {missing}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            differing += try_format(name, seed, count, folder)
        tried += 1
    if tried == 0:
        sys.exit(77)
    sys.exit(1 if differing else 0)


main()
