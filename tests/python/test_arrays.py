#!/usr/bin/env python3
"""Arrays of every kind as scans: strides, orders, byte orders, types, lazy ones, other libraries' ones."""
import os
import unittest

from tools import credence, make_inputs, np, path

model, scan = make_inputs()


def predict(array):
    return model.predict(array, samples=2, step=1, save_samples="none").probability.tobytes()


wanted = predict(path("scan.npy"))


def most_resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024


class Lazy:
    """Only what zarr, dask, h5py and xarray have in common: gives boxes, and tells which were asked for."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self.most = self.asked = 0

    def __getitem__(self, place):
        box = self._array[place]
        self.most = max(self.most, box.size)
        self.asked += 1
        return box


class Arrays(unittest.TestCase):
    def test_empty_lists(self):
        with self.assertRaisesRegex(ValueError, "an empty list .* scan"):
            credence.train([], [])

    def test_strides_and_orders(self):
        wide = np.zeros((40, 24, 56), "u2")
        wide[::2, :, ::2] = scan
        backwards = np.ascontiguousarray(scan[::-1, :, ::-1])
        cases = {
            "plain": scan,
            "Fortran": np.asfortranarray(scan),
            "backwards": backwards[::-1, :, ::-1],
            "with gaps": wide[::2, :, ::2],
            "transposed": np.ascontiguousarray(scan.transpose(1, 2, 0)).transpose(2, 0, 1),
            "big-endian": scan.astype(">u2"),
            "little-endian": scan.astype("<u2"),
            "not aligned": np.frombuffer(b"\0" + scan.tobytes(), "u2", offset=1).reshape(scan.shape),
            "lists": scan.tolist(),
        }
        for name, array in cases.items():
            if name == "lists":
                continue  # their type is another one
            np.testing.assert_array_equal(array, scan)
            self.assertEqual(predict(array), wanted, name)
        read_only = scan.copy()
        read_only.flags.writeable = False
        self.assertEqual(predict(read_only), wanted)

    def test_types(self):
        for kind in ("u4", "i4", "f4", "f8", "i8", "u8", "i2"):
            np.save(path("as.npy"), scan.astype(kind))
            self.assertEqual(predict(scan.astype(kind)), predict(path("as.npy")), kind)
        half = (scan / 1000).astype("f2")
        self.assertEqual(predict(half), predict(half.astype("f4")))
        for array, words in ((scan.astype("c8"), "numbers"), (scan[0], "three axes")):
            with self.assertRaisesRegex(credence.ArgumentError, words):
                predict(array)

    def test_masked_arrays(self):
        """What is masked isn't read as if it weren't."""
        masked = np.ma.masked_greater(scan, 1000)
        with self.assertRaisesRegex(credence.ArgumentError, "filled"):
            credence.measure(masked)
        with self.assertRaisesRegex(credence.ArgumentError, "filled"):
            credence.train(scan, [masked])

    def test_named_axes(self):
        named = Lazy(scan)
        named.dims = ("z", "y", "x")
        self.assertEqual(predict(named), wanted)
        named.dims = ("x", "y", "z")
        with self.assertRaisesRegex(credence.ArgumentError, "axes are z, y, x, not x, y, z"):
            predict(named)

    def test_lazy(self):
        lazy = Lazy(scan)
        self.assertEqual(predict(lazy), wanted)
        self.assertGreater(lazy.asked, 1)
        deep = Lazy(np.broadcast_to(scan[:, :1, :1], (20, 1200, 1500)))
        model.predict(deep, samples=1, step=1, norm="1000,300", save_samples="none", bbox="0:16,0:16,0:16")
        self.assertLess(2 * deep.most, 17 << 20)  # bytes, of 72 million
        big_endian = Lazy(scan.astype(">u2"))
        self.assertEqual(predict(big_endian), wanted)

    def test_other_libraries(self):
        tried = 0
        for name in ("torch", "h5py", "zarr", "dask.array", "xarray"):
            try:
                module = __import__(name, fromlist=["x"])
            except ImportError:
                print(f"skipped: {name} isn't installed")
                continue
            tried += 1
            if name == "torch":
                array = module.from_numpy(scan.astype("i4")).flip(0).flip(0)
                self.assertEqual(credence._volumes._as_array(array).ctypes.data, array.data_ptr())  # not copied
                self.assertEqual(predict(array), predict(scan.astype("i4")))
                turned = module.from_numpy(np.ascontiguousarray(scan.astype("i4").transpose(2, 1, 0))).permute(2, 1, 0)
                self.assertEqual(predict(turned), predict(scan.astype("i4")))
            elif name == "h5py":
                with module.File(path("lazy.h5"), "w") as file:
                    file.create_dataset("a", data=scan, chunks=(5, 8, 7), compression="gzip")
                with module.File(path("lazy.h5")) as file:
                    self.assertEqual(predict(file["a"]), wanted)
            elif name == "zarr":
                self.assertEqual(predict(module.array(scan, chunks=(5, 8, 7))), wanted)
            elif name == "dask.array":
                self.assertEqual(predict(module.from_array(scan, chunks=(5, 8, 7))), wanted)
            else:
                self.assertEqual(predict(module.DataArray(scan, dims=("z", "y", "x"))), wanted)
                with self.assertRaisesRegex(credence.ArgumentError, "axes are z, y, x, not x, y, z"):
                    predict(module.DataArray(scan.transpose(), dims=("x", "y", "z")))
        if tried == 0:
            self.skipTest("none of them is installed")

    def test_nothing_is_copied(self):
        """An array of over 2^31 bytes in memory, and one that is mapped, of which a small box is predicted: no page of the
        first is touched by more than reading, so that a copy would show as its whole size."""
        shape, place = (2200, 512, 1024), (slice(2100, 2116), slice(0, 16), slice(0, 16))
        boxed = dict(samples=1, step=1, norm="1000,300", save_samples="none", bbox="2100:2116,0:16,0:16")
        found = set()
        mapped = np.memmap(path("large.raw"), "u2", "w+", shape=shape)
        kinds = [(np.zeros(shape, "u2"), 0), (np.zeros(shape, "u2")[::-1, :, ::-1], 0), (mapped, mapped.nbytes)]
        for large, pages in kinds if os.environ.get("CREDENCE_LONG") else kinds[:1]:
            self.assertGreater(large.nbytes, 1 << 31)
            large[place] = scan[:16, :16, :16]
            with open("/proc/self/clear_refs", "w") as refs:
                refs.write("5")  # the most that is resident counts from here
            before = most_resident()
            r = model.predict(large, **boxed)
            self.assertEqual(r.shape, (16, 16, 16))
            found.add(r.probability.tobytes())
            self.assertLess(most_resident() - before - pages, 300 << 20)
        self.assertEqual(len(found), 1)

    def test_errors_of_lazy_arrays(self):
        class Broken(Lazy):
            def __getitem__(self, place):
                raise ZeroDivisionError("no slice today")

        class Short(Lazy):
            def __getitem__(self, place):
                return self._array[place][:, :, :-1]

        with self.assertRaisesRegex(ZeroDivisionError, "no slice today"):
            predict(Broken(scan))
        with self.assertRaisesRegex(ValueError, "shape"):
            predict(Short(scan))


if __name__ == "__main__":
    unittest.main()
