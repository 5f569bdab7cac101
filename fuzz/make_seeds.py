"""Writes the seeds of fuzz_npy, fuzz_raw and fuzz_hdf5 into fuzz/corpus. They are kept in the repository; run this only to
add to them:  /usr/bin/python3 fuzz/make_seeds.py"""
import io
import json
import os

import h5py
import numpy as np

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
CUBE = np.arange(24, dtype="u2").reshape(2, 3, 4)


def keep(target, name, data):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def npy(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version)
    return file.getvalue()


keep("fuzz_npy", "u2", npy(CUBE))
keep("fuzz_npy", "f8_big_endian", npy(CUBE.astype(">f8")))
keep("fuzz_npy", "f2_fortran", npy(np.asfortranarray(CUBE.astype("f2"))))
keep("fuzz_npy", "i8_channel_first", npy(CUBE.astype("i8")[None]))
keep("fuzz_npy", "bool_channel_last", npy((CUBE > 5)[..., None]))
keep("fuzz_npy", "version_2", npy(CUBE, (2, 0)))
keep("fuzz_npy", "version_3", npy(CUBE, (3, 0)))
keep("fuzz_npy", "records", npy(np.zeros((1, 1, 2), dtype=[("a", "u1")])))

keep("fuzz_raw", "all", json.dumps({"shape": [2, 3, 4], "type": "u16le", "spacing": [3, 2.5, 1e-3], "unit": "\u00b5m",
                                    "origin": [1, 2, 3], "scale": 0.5}).encode())
keep("fuzz_raw", "shape", b'{"shape":[4,4,4],"type":"f64be"}')
keep("fuzz_raw", "foreign", b'{"shape":{"a":[1,[2,[3]]]},"spacing":"x","other":null,"type":"u8"}')


def hdf5(name, libver="earliest", **options):
    data = options.pop("data", CUBE)
    attributes = options.pop("attributes", {"element_size_um": [3.0, 2.0, 1.0], "scale": 0.5})
    link = options.pop("link", None)
    file = io.BytesIO()
    with h5py.File(file, "w", libver=libver, **options.pop("file", {})) as root:
        dataset = root.create_dataset(name, data=data, **options)
        for key, value in attributes.items():
            dataset.attrs[key] = value
        if link is not None:
            root["x"] = link
    return file.getvalue()


keep("fuzz_hdf5", "contiguous", hdf5("x"))
keep("fuzz_hdf5", "latest", hdf5("x", "latest", chunks=(1, 2, 2)))
keep("fuzz_hdf5", "chunked", hdf5("g/x", chunks=(1, 2, 4)))
keep("fuzz_hdf5", "deflate", hdf5("x", chunks=(2, 3, 4), compression="gzip", shuffle=True, fletcher32=True))
keep("fuzz_hdf5", "big_endian", hdf5("x", data=CUBE.astype(">f4")))
keep("fuzz_hdf5", "bool", hdf5("x", data=CUBE[..., None] > 3))
keep("fuzz_hdf5", "scale_offset", hdf5("x", chunks=(2, 3, 4), scaleoffset=0))
keep("fuzz_hdf5", "resizable", hdf5("x", "latest", chunks=(1, 2, 2), maxshape=(None, None, 4)))
keep("fuzz_hdf5", "unit_of_fixed_length", hdf5("x", attributes={"spacing": [3.0, 2.0, 1.0], "unit": np.bytes_("mm"), "origin": [1, 2, 3]}))
keep("fuzz_hdf5", "unit_of_variable_length", hdf5("x", attributes={"spacing": [3.0, 2.0, 1.0], "unit": "mm", "element_size_um": [3e3, 2e3, 1e3]}))
keep("fuzz_hdf5", "soft_link", hdf5("g/y", link=h5py.SoftLink("/g/y")))
keep("fuzz_hdf5", "external_link", hdf5("g/y", link=h5py.ExternalLink("input.h5", "/g/y")))
