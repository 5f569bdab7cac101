"""The pixels of PNG files, as far as reports have such."""
import base64
import re
import struct
import zlib

import numpy as np


def chunks(png):
    """The parts of a PNG, each with a checksum that is right."""
    at = 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body), "a PNG's checksum"
        yield kind, body
        at += 12 + length


def undone(png):
    """The bytes of a grey PNG, line by line, whatever filter each has."""
    width, height = struct.unpack(">II", png[16:24])
    lines = zlib.decompress(b"".join(body for kind, body in chunks(png) if kind == b"IDAT"))
    out = np.zeros((height, width), "u1")
    for y in range(height):
        kind, line = lines[y * (width + 1)], lines[y * (width + 1) + 1:(y + 1) * (width + 1)]
        for x in range(width):
            left, up = int(out[y, x - 1]) if x else 0, int(out[y - 1, x]) if y else 0
            corner = int(out[y - 1, x - 1]) if x and y else 0
            near = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            out[y, x] = (line[x] + (0, left, up, (left + up) // 2, near)[kind]) & 255
    return out


def pixels_of(text, words):
    """Of the picture with such an alternative text."""
    return pixels(base64.b64decode(re.search(r'<img [^>]*alt="[^"]*' + words + r'[^"]*" src="data:image/png;base64,([^"]*)"', text)[1]))


def pixels(png):
    """Of a picture in colours whose lines have no filters but none, sub and up."""
    width, height = struct.unpack(">II", png[16:24])
    lines = np.frombuffer(zlib.decompress(b"".join(body for kind, body in chunks(png) if kind == b"IDAT")), "u1").reshape(height, 3 * width + 1)
    out = np.zeros((height, width, 3), "u1")
    for y in range(height):
        line = lines[y, 1:].reshape(width, 3)
        if lines[y, 0] == 1:
            out[y] = np.cumsum(line, axis=0, dtype="u1")
        else:
            assert lines[y, 0] in (0, 2), lines[y, 0]
            out[y] = line + (out[y - 1] if lines[y, 0] == 2 and y > 0 else 0)
    return out
