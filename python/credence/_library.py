"""libcredence through ctypes: the library, its structs, its errors.

ctypes and not a compiled extension: one wheel serves every Python, a machine needs no compiler and no headers of Python,
and calls release the GIL by themselves. Options go through the library's own settings tables and results come back as
JSON, so that hardly any layout of a struct is repeated here.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
from ctypes import POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, Callable, Mapping

SONAME = "libcredence.so.0.1"


class Error(Exception):
    """What the library refuses or fails at, with the sentence that the program would print."""

    status = 0


class ArgumentError(Error, ValueError):
    """A value that can't be used."""


class FormatError(Error, ValueError):
    """A file whose content is broken, or isn't what its name says."""


class MismatchError(Error, ValueError):
    """Two things that must agree and don't: a label and its scan."""


class SystemError(Error, OSError):  # noqa: A001 - a name of this module's, beside Python's own
    """The operating system refused: a file that isn't there, a full disk."""


class UnsupportedError(Error, NotImplementedError):
    """Understood, but this build or version can't do it."""


class OutOfMemoryError(Error, MemoryError):
    """Memory ran out, or a size overflows."""


class BusyError(Error):
    """Another process is writing there."""


class Cancelled(Error):
    """The work was stopped before its end."""


class NumericError(Error, ArithmeticError):
    """Not a number where one must be."""


_ERRORS: dict[int, type[Error]] = {
    1: ArgumentError,
    2: SystemError,
    3: FormatError,
    4: UnsupportedError,
    5: OutOfMemoryError,
    6: MismatchError,
    7: BusyError,
    8: Cancelled,
    9: NumericError,
}


class CError(Structure):
    _fields_ = [("status", c_int), ("message", c_char * 1024), ("file", c_char_p), ("line", c_int)]


class Box(Structure):
    _fields_ = [("origin", c_int64 * 3), ("size", c_int64 * 3)]


class VolumeInfo(Structure):
    _fields_ = [
        ("shape", c_int64 * 3),
        ("type", c_int),
        ("spacing", c_double * 3),
        ("unit", c_char * 16),
        ("origin", c_int64 * 3),
        ("scale", c_double),
        ("format", c_char * 16),
    ]


ReadBox = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Box), c_void_p)


class VolumeSource(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("read", ReadBox),
        ("context", c_void_p),
        ("layer", c_int64),
        ("one_at_a_time", c_bool),
    ]


class SinkVolume(Structure):
    _fields_ = [("role", c_char_p), ("name", c_char_p), ("info", VolumeInfo), ("percents", c_double * 2)]


Begin = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(SinkVolume), c_int64, POINTER(c_void_p))
SetEnd = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p)
PutFile = ctypes.CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t)


class Sink(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("context", c_void_p),
        ("begin", Begin),
        ("box", c_void_p),
        ("end", SetEnd),
        ("file", PutFile),
    ]


class CProgress(Structure):
    _fields_ = [
        ("stage", c_char_p),
        ("unit", c_char_p),
        ("done", c_int64),
        ("total", c_int64),
        ("note", c_char_p),
    ]


Message = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)
Advance = ctypes.CFUNCTYPE(c_bool, c_void_p, POINTER(CProgress))


class Monitor(Structure):
    _fields_ = [("context", c_void_p), ("message", Message), ("progress", Advance)]


class Settings(Structure):
    """A table of options; its rows stay the library's business."""

    _fields_ = [
        ("title", c_char_p),
        ("rows", c_void_p),
        ("count", c_size_t),
        ("aliases", c_void_p),
        ("alias_count", c_size_t),
        ("size", c_size_t),
    ]


def _load() -> ctypes.CDLL:
    """The library of CREDENCE_LIBRARY, else the one in this package, else an installed one."""
    named = os.environ.get("CREDENCE_LIBRARY")
    inside = Path(__file__).with_name("lib") / SONAME
    places: list[str | None] = [named] if named else [str(inside)] if inside.exists() else [SONAME, ctypes.util.find_library("credence")]
    problem: OSError | None = None
    for place in places:
        try:
            if place:
                return ctypes.CDLL(place)
        except OSError as error:
            problem = problem or error
    raise ImportError(
        f"libcredence can't be loaded ({problem}); install credence, or set CREDENCE_LIBRARY to {SONAME}"
    ) from problem


library = _load()


def _declare(name: str, result: Any, *arguments: Any) -> None:
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments


_declare("crd_last_error", POINTER(CError))
_declare("crd_set_error", c_int, c_int, c_char_p)
_declare("crd_version", c_char_p)
_declare("crd_build_description", c_char_p)
_declare("crd_settings_begin", c_int, POINTER(Settings), c_void_p, c_size_t)
_declare("crd_settings_clear", None, POINTER(Settings), c_void_p)
_declare("crd_settings_from_json", c_int, POINTER(Settings), c_void_p, c_char_p, c_char_p, POINTER(c_bool))
_declare("crd_settings_free_text", None, POINTER(c_void_p))
_declare("crd_volume_open", c_int, c_char_p, c_void_p, c_void_p, POINTER(c_void_p))
_declare("crd_volume_describe", POINTER(VolumeInfo), c_void_p)
_declare("crd_volume_path", c_char_p, c_void_p)
_declare("crd_volume_read", c_int, c_void_p, POINTER(Box), c_int, c_void_p)
_declare("crd_volume_close", None, POINTER(c_void_p))
_declare(
    "crd_volume_from_memory", c_int, c_void_p, POINTER(VolumeInfo), POINTER(c_int64), c_bool, c_char_p, POINTER(c_void_p)
)
_declare("crd_volume_from_callback", c_int, POINTER(VolumeSource), POINTER(VolumeInfo), c_char_p, POINTER(c_void_p))
_declare("crd_model_load", c_int, c_char_p, POINTER(c_void_p))
_declare("crd_model_summary", None, c_void_p, c_char_p, c_size_t)
_declare("crd_model_heldout", c_void_p, c_void_p)
_declare("crd_heldout_to_json", c_int, c_void_p, POINTER(c_void_p))
_declare("crd_model_free", None, POINTER(c_void_p))
_declare("crd_train_apply_preset", c_int, c_void_p, POINTER(c_bool))
_declare("crd_train", c_int, c_void_p, POINTER(Monitor), c_void_p)
_declare("crd_predict", c_int, c_void_p, POINTER(Monitor), c_void_p)
_declare("crd_predict_to", c_int, c_void_p, c_void_p, POINTER(Sink), POINTER(Monitor), c_void_p)
_declare("crd_sink_memory", c_int64)
_declare("crd_measure", c_int, c_void_p, POINTER(Monitor), POINTER(c_void_p))
_declare("crd_measurement_to_json", c_int, c_void_p, POINTER(c_void_p))
_declare("crd_measurement_free", None, POINTER(c_void_p))
_declare("crd_validate", c_int, c_void_p, POINTER(Monitor), POINTER(c_void_p))
_declare("crd_validation_to_json", c_int, c_void_p, c_char_p, POINTER(c_void_p))
_declare("crd_validation_free", None, POINTER(c_void_p))

__version__: str = library.crd_version().decode()


def check(status: int) -> None:
    """Raises what the last call of this thread failed with."""
    if status == 0:
        return
    message = library.crd_last_error().contents.message.decode(errors="replace")
    error = _ERRORS.get(status, Error)(message)
    error.status = status
    raise error


def json_of(to_json: Callable[..., int], *arguments: Any) -> Any:
    """What a function of the library writes as JSON text into its last argument."""
    text = c_void_p()
    check(to_json(*arguments, ctypes.byref(text)))
    try:
        assert text.value is not None
        return json.loads(ctypes.string_at(text.value).decode())
    finally:
        library.crd_settings_free_text(ctypes.byref(text))


def _as_number(number: Any) -> str:
    """In all its digits, and whole numbers without a point."""
    return str(int(number)) if number == int(number) else str(float(number))


def _as_setting(name: str, value: Any) -> Any:
    """A Python value as the settings tables read it from JSON."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (str, os.PathLike)):
        if isinstance(value[0], (list, tuple)):
            return ",".join((":" if name == "bbox" else "-").join(map(_as_number, pair)) for pair in value)
        return ",".join(str(item) for item in value)
    if isinstance(value, (list, tuple)):
        return [os.fspath(item) for item in value]
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    return value


class Options:
    """One struct of options, filled by the library's own table."""

    def __init__(self, command: str, values: Mapping[str, Any]) -> None:
        self._table = Settings.in_dll(library, f"crd_{command}_settings")
        self.block = ctypes.create_string_buffer(self._table.size)
        self.given = (c_bool * self._table.count)()
        chosen = {name: _as_setting(name, value) for name, value in values.items() if value is not None}
        check(library.crd_settings_begin(self._table, self.block, self._table.size))
        try:
            text = json.dumps(chosen).encode()
            check(library.crd_settings_from_json(self._table, self.block, text, b"options", self.given))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        library.crd_settings_clear(self._table, self.block)

    def __enter__(self) -> "Options":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
