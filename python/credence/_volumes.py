"""Arrays of any kind as volumes of the library, and volumes of files as arrays."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import weakref
from ctypes import c_int64, c_void_p
from typing import Any, Sequence, TypeVar

import numpy as np

from ._library import ArgumentError, Box, BusyError, ReadBox, VolumeInfo, VolumeSource, check, library

T = TypeVar("T")
#: Of any type and shape.
Array = np.ndarray[Any, Any]

_TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8", "u8"]  # by crd_type
_WIDENED = {"i8": "f8", "f2": "f4", "b1": "u1"}


def _type_of(dtype: Any) -> tuple[int, Any]:
    """The library's type for a dtype, and the dtype that its voxels have there."""
    short = dtype.kind + str(dtype.itemsize)
    short = _WIDENED.get(short, short)
    if short not in _TYPES:
        raise ArgumentError(f"voxels are numbers: integers or floats of up to 64 bits, not {dtype}")
    return _TYPES.index(short), np.dtype(short)


def dtype_of(kind: int) -> Any:
    """The dtype of a crd_type."""
    return np.dtype(_TYPES[kind])


def _as_array(source: Any) -> Any:
    """A NumPy array without a copy where there is one; else the object itself, to be asked for boxes."""
    if isinstance(source, np.ma.MaskedArray):
        raise ArgumentError(
            "a masked array has values behind its mask, which would count: give array.filled(value) in its place"
        )
    if isinstance(source, np.ndarray):
        return source
    if hasattr(source, "__dlpack__") and not hasattr(source, "chunks"):  # torch and others, in the CPU's memory
        try:
            return np.from_dlpack(source)
        except (BufferError, RuntimeError, TypeError) as error:
            raise ArgumentError(f"an array that isn't in the CPU's memory can't be read ({error}); copy it there") from error
    if hasattr(source, "__array_interface__"):
        return np.asarray(source)
    if all(hasattr(source, name) for name in ("shape", "dtype", "__getitem__")):
        return source
    return np.asarray(source)


class Lent:
    """A volume that the library reads by its name, for as long as this is open."""

    def __init__(self, source: Any, name: str) -> None:
        self._keep: list[Any] = []
        self._handle = c_void_p()
        self.error: BaseException | None = None  # what a lazy array raised
        if isinstance(source, (str, os.PathLike)):
            self.name = os.fspath(source)
            return
        array = _as_array(source)
        dims = getattr(source, "dims", None)  # xarray's names of axes
        if isinstance(dims, tuple) and sorted(map(str, dims)) == ["x", "y", "z"] and dims != ("z", "y", "x"):
            raise ArgumentError(f"a volume's axes are z, y, x, not {', '.join(dims)}: give array.transpose('z', 'y', 'x')")
        if len(array.shape) != 3:
            raise ArgumentError(f"a volume has three axes (z, y, x), not {len(array.shape)}")
        self._lend(array, name)
        self.name = library.crd_volume_path(self._handle).decode()

    def _lend(self, array: Any, name: str) -> None:
        for wanted in (name.encode(), None):  # another prediction may be using the name just now
            try:
                return self._make(array, wanted)
            except BusyError:
                if wanted is None:
                    raise

    def _make(self, array: Any, name: bytes | None) -> None:
        dtype = np.dtype(array.dtype)
        kind, native = _type_of(dtype)
        info = VolumeInfo(shape=(c_int64 * 3)(*array.shape), type=kind)
        out = ctypes.byref(self._handle)
        if isinstance(array, np.ndarray) and dtype.kind == "b":
            array, dtype = array.view("u1"), native
        if isinstance(array, np.ndarray) and dtype.newbyteorder("=") == native:
            big = dtype.byteorder == ">" or (dtype.byteorder == "=" and np.little_endian is False)
            strides = (c_int64 * 3)(*array.strides)
            self._keep = [array]
            check(library.crd_volume_from_memory(array.ctypes.data, info, strides, big, name, out))
            return
        read = ReadBox(self._reader(array, native))
        chunks = getattr(array, "chunks", None)
        depth = chunks[0] if chunks else 0
        depth = depth[0] if isinstance(depth, tuple) and depth else depth  # dask says the sizes of all blocks
        source = VolumeSource(
            size=ctypes.sizeof(VolumeSource), read=read, layer=depth if isinstance(depth, int) else 0, one_at_a_time=True
        )
        self._keep = [array, read]
        check(library.crd_volume_from_callback(source, info, name, out))

    def _reader(self, array: Any, native: Any) -> Any:
        def read(_context: int, box: Any, voxels: int) -> int:
            try:
                origin, size = box.contents.origin, box.contents.size
                place = tuple(slice(o, o + s) for o, s in zip(origin, size))
                part = np.ascontiguousarray(np.asarray(array[place]), dtype=native)
                if part.shape != tuple(size):
                    raise ValueError(f"the array gave a box of shape {part.shape} where {tuple(size)} was asked for")
                ctypes.memmove(voxels, part.ctypes.data, part.nbytes)
                return 0
            except BaseException as error:  # noqa: BLE001 - it goes on where the call was made
                self.error = error
                return int(library.crd_set_error(2, f"{type(error).__name__}: {error}".encode()))

        return read

    def close(self) -> None:
        library.crd_volume_close(ctypes.byref(self._handle))
        self._keep = []


class LentAll:
    """Several of them."""

    def __init__(self) -> None:
        self._all: list[Lent] = []
        self._kept: list[Any] = []

    def add(self, source: Any, name: str) -> str:
        self._all.append(Lent(source, name))
        return self._all[-1].name

    def keep(self, thing: T) -> T:
        """Keeps it as long as the volumes."""
        self._kept.append(thing)
        return thing

    def add_each(self, sources: Any, name: str) -> list[str]:
        """Of one volume or a list of them."""
        listed = isinstance(sources, (list, tuple))
        if listed and len(sources) == 0:
            raise ValueError(f"an empty list was given where {name} volumes belong: give at least one")
        several = listed and (isinstance(sources[0], str) or not np.isscalar(sources[0]))
        each: Sequence[Any] = sources if several else [sources]
        return [self.add(source, name if i == 0 else f"{name}_{i + 1}") for i, source in enumerate(each)]

    def add_mask(self, mask: Any) -> str | None:
        """A volume, the word "cylinder", or nothing."""
        return mask if mask is None or (isinstance(mask, str) and mask == "cylinder") else self.add(mask, "mask")

    def add_masks(self, masks: Any, name: str) -> list[str] | None:
        """One for all scans, or a list of them: volumes, "cylinder", and "none" or None for a scan without."""
        if masks is None:
            return None
        words = ("cylinder", "none")
        each = masks if isinstance(masks, (list, tuple)) else [masks]
        if len(each) == 0:
            raise ValueError(f"an empty list was given where masks belong ({name}): give one, or one for each scan")
        return [
            "none" if mask is None else mask if isinstance(mask, str) and mask in words else self.add(mask, f"{name}_{i}")
            for i, mask in enumerate(each)
        ]

    def raise_errors(self) -> None:
        for lent in self._all:
            if lent.error is not None:
                raise lent.error

    def close(self) -> None:
        for lent in self._all:
            lent.close()
        self._all, self._kept = [], []


class OwnFolder:
    """A temporary folder that goes away with the last object that holds it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="credence-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def read_volume(path: str | os.PathLike[str]) -> Array:
    """The voxels of a file in any format that credence reads, as an array (z, y, x).

    NumPy's own files are mapped into memory and not read.

    >>> import tempfile, numpy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.save(folder + "/a.npy", numpy.arange(24, dtype="u2").reshape(2, 3, 4))
    ...     print(int(credence.read_volume(folder + "/a.npy")[1, 2, 3]))
    23
    """
    name = os.fspath(path)
    if name.endswith(".npy"):
        array: Array = np.load(name, mmap_mode="r")
        if array.ndim == 3:
            return array
    handle = c_void_p()
    check(library.crd_volume_open(name.encode(), None, None, ctypes.byref(handle)))
    try:
        info = library.crd_volume_describe(handle).contents
        array = np.empty(tuple(info.shape), _TYPES[info.type])
        box = Box(size=info.shape)
        check(library.crd_volume_read(handle, box, info.type, array.ctypes.data))
        return array
    finally:
        library.crd_volume_close(ctypes.byref(handle))
