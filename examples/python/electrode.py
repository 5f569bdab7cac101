"""From an array to a property with its interval: a few slices of a made-up electrode are labelled, a network learns
from that, another scan is segmented, and its specific surface and volume fraction come out with what the network doesn't
know about them.

    python examples/python/electrode.py            a minute or two
    python examples/python/electrode.py --steps 5  only to see it run
"""

import argparse

import numpy as np

import credence


def electrode(seed: int, shape=(32, 64, 64)):
    """Overlapping grains in a matrix: the truth, and a noisy, blurred scan of it."""
    random = np.random.default_rng(seed)
    place = np.stack(np.indices(shape), -1).astype("f4")
    truth = np.zeros(shape, bool)
    for centre, radius in zip(random.uniform(0, 1, (60, 3)) * shape, random.uniform(4, 9, 60)):
        truth |= ((place - centre) ** 2).sum(-1) < radius**2
    blurred = truth.astype("f4")
    for axis in range(3):
        blurred = (np.roll(blurred, 1, axis) + 2 * blurred + np.roll(blurred, -1, axis)) / 4
    return truth, (100 + 50 * blurred + random.normal(0, 18, shape)).astype("u1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps

    truth, scan = electrode(seed=1)
    label = np.full(truth.shape, 255, "u1")  # nobody has looked there yet
    label[3::6] = truth[3::6]  # every sixth slice is labelled
    model = credence.train(scan, label, ignore=255, max_steps=steps, filters=8, chunk=(16, 32, 32), progress=True)
    print(model)

    other_truth, other = electrode(seed=2)
    r = model.predict(other, samples=24, spacing="0.65,0.65,0.65,um", progress=True)
    print(f"volume fraction {r.volume_fraction}; truth {other_truth.mean():.4f}")
    print(f"voxels that are right: {np.mean(r.segmentation == other_truth):.2%}")

    measured = credence.measure(r, properties="fraction,surface")
    surface = measured["specific_surface"]
    low, high = surface["interval"]
    print(f"specific surface {surface['mean']:.4f} ({low:.4f} to {high:.4f}) {surface['unit']}")


if __name__ == "__main__":
    main()
