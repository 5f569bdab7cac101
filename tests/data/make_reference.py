#!/usr/bin/env python3
"""Makes the small reference files of the tests from the full ones.

    make_reference.py FULL_FOLDER OUT_FOLDER

Everything but the gradients of kernels is kept whole, outputs rounded to float32. Of such a gradient every 7th value
stays, with its `count`, `sum`, `norm` and `largest` (over the whole tensor) as attributes, so that an error anywhere
shows. Paths are those of the full files. With CREDENCE_SHARED set, the tests read the full files instead."""
import sys

import h5py
import numpy as np

STRIDE = 7


def copy(name, item, out):
    if isinstance(item, h5py.Group):
        group = out.require_group(name)
        for key, value in item.attrs.items():
            group.attrs[key] = value
        return
    values = item[()]
    attributes = {}
    if "gradient" in name and values.size > 1000:
        flat = values.astype(np.float64).ravel()
        attributes = {"stride": STRIDE, "count": flat.size, "sum": flat.sum(),
                      "norm": np.sqrt((flat * flat).sum()), "largest": np.abs(flat).max()}
        values = values.ravel()[::STRIDE]
    if values.dtype == np.float64 and values.size > 1000:
        values = values.astype(np.float32)
    settings = {"track_times": False}
    if values.size > 1000:
        settings.update(chunks=values.shape, compression="gzip", compression_opts=9, shuffle=True)
    dataset = out.create_dataset(name, data=values, **settings)
    for key, value in attributes.items():
        dataset.attrs[key] = value


def main(full, small):
    for name in "bcnn_f8", "mcdn_f8", "bcnn_f8_k3", "mcdn_f8_k3":
        with h5py.File(f"{full}/{name}.h5", "r") as source, h5py.File(f"{small}/{name}.h5", "w", libver="latest") as out:
            for key, value in source.attrs.items():
                out.attrs[key] = value
            source.visititems(lambda name, item: copy(name, item, out))


if __name__ == "__main__":
    main(*sys.argv[1:])
