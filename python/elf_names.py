"""Gives the libraries in a wheel names of their own, so that they meet no others of the same name in a process: another
package may bring its own libz or libcrypto. Names keep their length ("libz.so.1" becomes "crdz.so.1"), and are changed
where they stand."""

from __future__ import annotations

import struct

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRTAB, _SONAME, _VERNEED, _VERNEEDNUM = 1, 5, 14, 0x6FFFFFFE, 0x6FFFFFFF


def own_name(name: str) -> str:
    """
    >>> own_name("libz.so.1")
    'crdz.so.1'
    """
    if not name.startswith("lib"):
        raise ValueError(f"{name} isn't called as libraries are")
    return "crd" + name[3:]


class Elf:
    """The dynamic part of a 64-bit little-endian library."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("no 64-bit little-endian ELF file")
        self.data = bytearray(data)
        place, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
        heads = [struct.unpack_from("<IIQQQQQQ", data, place + i * size) for i in range(count)]
        self._loads = [(h[3], h[2], h[5]) for h in heads if h[0] == _LOAD]
        self._entries: list[tuple[int, int]] = []
        for head in heads:
            if head[0] == _DYNAMIC:
                self._entries = [struct.unpack_from("<qQ", data, head[2] + at) for at in range(0, head[5], 16)]
        self._strings = self._offset(self._value(_STRTAB))

    def _offset(self, address: int) -> int:
        for start, offset, size in self._loads:
            if start <= address < start + size:
                return offset + address - start
        raise ValueError("an address outside of the file")

    def _value(self, tag: int) -> int:
        return next(value for kind, value in self._entries if kind == tag)

    def _names(self) -> list[int]:
        """Where the names of this library and of those that it needs stand."""
        found = {self._strings + value for kind, value in self._entries if kind in (_NEEDED, _SONAME)}
        if any(kind == _VERNEED for kind, _ in self._entries):
            at = self._offset(self._value(_VERNEED))
            for _ in range(self._value(_VERNEEDNUM)):
                _version, _count, file, _aux, following = struct.unpack_from("<HHIII", self.data, at)
                found.add(self._strings + file)
                at += following
        return sorted(found)

    def rename(self, names: set[str]) -> bytes:
        """With the own names in place of those."""
        for at in self._names():
            name = bytes(self.data[at : self.data.index(b"\0", at)]).decode()
            if name in names:
                self.data[at : at + len(name)] = own_name(name).encode()
        return bytes(self.data)
