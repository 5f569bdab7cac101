"""What the tests of held-back labels share: where a model holds labels back, and all that training changes in it."""
import h5py
import numpy as np


def weights(name):
    """All that training changes."""
    found = {}
    with h5py.File(name) as file:
        def note(path, item):
            if isinstance(item, h5py.Dataset) and not path.startswith(("provenance", "pieces", "training")):
                found[path] = item[()].tobytes()
        file.visititems(note)
    return found


def blocks(name, number=0):
    """Origin, size, margin and half of every block of a scan."""
    with h5py.File(name) as file:
        return file[f"provenance/{number}/blocks"][()].reshape(-1, 8)


def inside(block, margin, shape):
    """Where a block with a margin lies, as slices."""
    return tuple(slice(max(0, o - margin), min(n, o + s + margin)) for o, s, n in zip(block[:3], block[3:6], shape))


def scrambled(label, held, noise):
    """Other labels in blocks and margins, as many of each value in every cell as before, so that the blocks stay."""
    other = label.copy()
    hidden = np.zeros(label.shape, bool)
    for block in held:
        hidden[inside(block, block[6], label.shape)] = True
    for z, y, x in np.ndindex(*[-(-n // 8) for n in label.shape]):
        cell = tuple(slice(8 * a, 8 * a + 8) for a in (z, y, x))
        values = other[cell][hidden[cell]]
        noise.shuffle(values)
        part = other[cell]
        part[hidden[cell]] = values
    return other
