"""Results as the library hands them out: arrays in memory, and the small files of a run."""

from __future__ import annotations

import ctypes
import json
import math
import os
from typing import Any

import numpy as np

from ._library import Begin, PutFile, SetEnd, Sink, library
from ._volumes import Array, OwnFolder, dtype_of

#: Results that would take a larger share of what memory is free are files that are mapped into memory.
SHARE = 8


class Catch:
    """Takes what crd_predict_to gives. The library fills the arrays while it works."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.names: list[str] = []  # "prob", "unc_5-95", as the files of a run end
        self.manifest: dict[str, Any] = {}
        self.files: dict[str, bytes] = {}
        self.error: BaseException | None = None
        self.owner: OwnFolder | None = None

    def sink(self) -> Sink:
        """It holds this object, which doesn't hold it: arrays go when nobody needs them, and not when cycles are found."""
        return Sink(
            size=ctypes.sizeof(Sink), begin=Begin(self._begin), end=SetEnd(self._end), file=PutFile(self._file)
        )

    def _begin(self, _context: int, volumes: Any, count: int, arrays: Any) -> int:
        try:
            shapes = [(tuple(volumes[i].info.shape), dtype_of(volumes[i].info.type)) for i in range(count)]
            self.names = [volumes[i].name.decode() for i in range(count)]
            total = sum(math.prod(shape) * dtype.itemsize for shape, dtype in shapes)
            if total > library.crd_sink_memory() // SHARE:
                self.owner = OwnFolder()
                self.arrays = [self._on_disk(i, shape, dtype) for i, (shape, dtype) in enumerate(shapes)]
            else:
                self.arrays = [np.zeros(shape, dtype) for shape, dtype in shapes]
            for i, array in enumerate(self.arrays):
                arrays[i] = array.ctypes.data
            return 0
        except BaseException as error:  # noqa: BLE001 - it goes on where the call was made
            return self._failed(error)

    def _on_disk(self, number: int, shape: tuple[int, ...], dtype: Any) -> Array:
        assert self.owner is not None
        path = f"{self.owner.name}/{number}.raw"
        with open(path, "wb") as file:  # all of its room now: a mapped file on a full disk ends the process
            try:
                os.posix_fallocate(file.fileno(), 0, math.prod(shape) * dtype.itemsize)
            except OSError as error:
                raise OSError(
                    error.errno,
                    f"{error.strerror}: the results are too large for memory and for {os.path.dirname(self.owner.name)}; "
                    "set TMPDIR, or give a folder as `output`",
                ) from error
        array: Array = np.memmap(path, dtype, "r+", shape=shape)
        return array

    def _end(self, _context: int, manifest: bytes) -> int:
        try:
            self.manifest = json.loads(manifest.decode())
            for array in self.arrays:
                array.flags.writeable = False
            return 0
        except BaseException as error:  # noqa: BLE001
            return self._failed(error)

    def _file(self, _context: int, name: bytes, content: int, count: int) -> int:
        try:
            self.files[name.decode()] = ctypes.string_at(content, count)
            return 0
        except BaseException as error:  # noqa: BLE001
            return self._failed(error)

    def _failed(self, error: BaseException) -> int:
        self.error, self.arrays, self.owner = error, [], None
        return int(library.crd_set_error(2, f"{type(error).__name__}: {error}".encode()))


__all__ = ["Catch"]
