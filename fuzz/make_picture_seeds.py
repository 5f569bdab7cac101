#!/usr/bin/python3
"""Writes fuzz/corpus/fuzz_pictures; needs python3-pil and python3-tifffile."""
import os

import numpy as np
import tifffile
from PIL import Image

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "fuzz_pictures")
os.makedirs(FOLDER, exist_ok=True)
grey = (np.add.outer(np.arange(9), 3 * np.arange(11)) % 97).astype("uint8")
rgb = np.dstack([grey, grey[::-1], 96 - grey])


def save(name, image, form, **options):
    image.save(os.path.join(FOLDER, name), form, **options)


save("grey.png", Image.fromarray(grey), "PNG")
save("deep.png", Image.fromarray(grey.astype("uint16") * 600), "PNG")
save("bits.png", Image.fromarray(grey > 40), "PNG")
save("rgb.png", Image.fromarray(rgb), "PNG")
save("rgba.png", Image.fromarray(np.dstack([rgb, grey])), "PNG")
save("table.png", Image.fromarray(rgb).quantize(7), "PNG", transparency=2)
save("grey.jpg", Image.fromarray(grey), "JPEG")
save("rgb.jpg", Image.fromarray(rgb), "JPEG")
save("gradual.jpg", Image.fromarray(rgb), "JPEG", progressive=True)
save("cmyk.jpg", Image.fromarray(rgb).convert("CMYK"), "JPEG")
save("kept.jpg", Image.fromarray(rgb), "JPEG", restart_marker_blocks=1)
for name, options in {"rgb.tif": {}, "packed.tif": {"compression": "zlib"}, "tiles.tif": {"tile": (16, 16)}}.items():
    tifffile.imwrite(os.path.join(FOLDER, name), rgb, photometric="rgb", metadata=None, software=False, **options)
