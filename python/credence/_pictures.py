"""Slices as PNG, and numbers for people, without another library."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from typing import Sequence

import numpy as np

from ._volumes import Array


def _part(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(slice_: Array, low: float, high: float) -> bytes:
    """A slice in grey, black at `low`, white at `high`.

    >>> png(np.zeros((2, 3)), 0, 1)[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    span = high - low if high > low else 1.0
    grey = np.clip((np.nan_to_num(np.asarray(slice_, "f4"), nan=low) - low) / span * 255, 0, 255).astype("u1")
    height, width = grey.shape
    rows = np.hstack([np.zeros((height, 1), "u1"), grey]).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _part(b"IHDR", head) + _part(b"IDAT", zlib.compress(rows)) + _part(b"IEND", b"")


def picture(slice_: Array, low: float, high: float, title: str) -> str:
    """An HTML figure of a slice."""
    step = max(1, max(slice_.shape) // 512)
    data = base64.b64encode(png(slice_[::step, ::step], low, high)).decode()
    return (
        f'<figure style="display:inline-block;margin:4px"><img alt="{title}" style="image-rendering:pixelated;width:220px"'
        f' src="data:image/png;base64,{data}"><figcaption>{title}</figcaption></figure>'
    )


def table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...] | None = None) -> str:
    """An HTML table; text is escaped.

    >>> table([("a", "<b>")])
    '<table><tr><td>a</td><td>&lt;b&gt;</td></tr></table>'
    """
    lines = []
    if head is not None:
        lines.append("<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in head) + "</tr>")
    lines += ["<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>" + "".join(lines) + "</table>"


def number(value: float | None) -> str:
    """Four digits, or a dash.

    >>> number(0.123456), number(None)
    ('0.1235', '-')
    """
    return "-" if value is None else f"{value:.4g}"
