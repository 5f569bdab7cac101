"""What a prediction found."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._library import ArgumentError, FormatError
from ._pictures import number, picture, table
from ._volumes import Array, OwnFolder, read_volume


class VolumeFraction(NamedTuple):
    """Share of the voxels that belong to a class, with the interval that holds it with 90 % credence."""

    mean: float
    low: float
    high: float
    segmentation: float
    samples: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.mean:.4f} ({self.low:.4f} to {self.high:.4f})"


def _fraction(found: dict[str, Any]) -> VolumeFraction:
    numbers = (found.get("mean"), *(found.get("interval90") or (None, None)), found.get("segmentation"))
    mean, low, high, segmentation = (float("nan") if value is None else float(value) for value in numbers)
    return VolumeFraction(mean, low, high, segmentation, tuple(found.get("samples") or ()))


class Result:
    """A prediction: the volumes of a run folder as arrays, and its figures.

    Arrays of `npy` runs, the default of `Model.predict`, are mapped into memory: what isn't looked at isn't read, and a
    result may be larger than memory. The folder of a result without an `output` is removed together with it.
    """

    def __init__(self, folder: str | os.PathLike[str], _owner: OwnFolder | None = None) -> None:
        self.folder = Path(folder)
        self._owner = _owner
        manifest = self.folder / "manifest.json"
        if not manifest.exists():
            raise ArgumentError(f"{self.folder} is no run folder: it has no manifest.json")
        #: All that is recorded of the run: settings, inputs, figures, times (docs/PREDICT.md explains the keys).
        self.manifest: dict[str, Any] = json.loads(manifest.read_text())
        if self.manifest.get("format") != "credence-run":
            raise FormatError(f"{manifest} is another program's")

    def _output(
        self, role: str, percentiles: tuple[float, ...] | None, index: int, class_name: str | None = None
    ) -> dict[str, Any]:
        fitting = [output for output in self.manifest["outputs"] if output["role"] == role]
        if class_name is not None:
            fitting = [output for output in fitting if output.get("class") == class_name]
        if percentiles is not None:
            fitting = [o for o in fitting if tuple(o.get("percentiles", ())) == tuple(float(p) for p in percentiles)]
        if index < len(fitting):
            found: dict[str, Any] = fitting[index]
            return found
        there = ", ".join(sorted({output["role"] for output in self.manifest["outputs"]}))
        raise ArgumentError(f"this run has no such volume of the role '{role}'; it has {there}")

    def volume(
        self,
        role: str,
        percentiles: tuple[float, ...] | None = None,
        index: int = 0,
        class_name: str | None = None,
    ) -> Array:
        """A volume by its role in the manifest: "probability", "uncertainty", "percentile", "standard deviation", ...

        `percentiles` choose among several: (5, 95) of an uncertainty, (50,) of a percentile; `class_name` where there
        are more than two classes, and `index` among those that are left. What was kept in u8 or u16
        to save room is given back as the quantity, in float32.
        """
        output = self._output(role, percentiles, index, class_name)
        array = read_volume(self.folder / output["file"])
        if output["scale"] == 1 or array.dtype.kind == "f":
            return array
        return array.astype("f4") * np.float32(output["scale"])

    @property
    def probability(self) -> Array:
        """The probability of foreground in every voxel, the mean over the samples.

        With more than two classes an array (class, z, y, x), which is made when it is asked for; volume("probability",
        class_name=...) gives one of them as it lies in its file.
        """
        if len(self.class_names) == 2:
            return self.volume("probability")
        return np.stack([self.volume("probability", class_name=name) for name in self.class_names])

    @property
    def segmentation(self) -> Array:
        """1 where the probability is above one half, else 0; with more than two classes the likeliest one's label value."""
        return self.volume("segmentation")

    @property
    def uncertainty(self) -> Array:
        """Width of the first interval of percentiles of the samples, in every voxel."""
        return self.volume("uncertainty")

    @property
    def shape(self) -> tuple[int, ...]:
        """Of all its volumes: z, y, x."""
        return tuple(self.manifest["plan"]["shape"])

    @property
    def sample_count(self) -> int:
        """Realisations that were computed."""
        return int(self.manifest["plan"]["samples"])

    @property
    def class_names(self) -> list[str]:
        """Of all classes, in order: background and foreground, unless the training named them."""
        return [str(found["name"]) for found in self.manifest["classes"]]

    def samples(self, index: int) -> Array:
        """Realisation number `index`: one possible segmentation of the whole scan, as booleans.

        With more than two classes as label values. Where the run kept probabilities (save_samples="f32", "u16" or
        "u8"), those of that sample, of more than two classes as (class, z, y, x).
        """
        if not 0 <= index < self.sample_count:
            raise IndexError(f"there are {self.sample_count} samples, counted from 0; {index} isn't one of them")
        classes = self.manifest["classes"]
        if not any(output["role"] == "bits of samples" for output in self.manifest["outputs"]):
            if len(classes) == 2:
                return self.volume("sample", index=index)
            first = index * len(classes)
            return np.stack([self.volume("sample", index=first + k) for k in range(len(classes))])
        planes = (len(classes) - 1).bit_length()  # a class's number has so many bits, each in words of its own
        number = np.zeros(self.shape, "u1")
        for plane in range(planes):
            words = read_volume(self.folder / self._output("bits of samples", None, index // 64 * planes + plane)["file"])
            number |= ((words >> np.uint64(index % 64)) & np.uint64(1)).astype("u1") << plane
        if len(classes) == 2:
            return number.astype(bool)
        values = np.array([found["value"] for found in classes]).astype(self.segmentation.dtype)
        labels: Array = values[number]
        return labels

    @property
    def volume_fractions(self) -> dict[str, VolumeFraction]:
        """How much of the scan each class is, with an interval."""
        return {found["name"]: _fraction(found) for found in self.manifest["classes"]}

    @property
    def volume_fraction(self) -> VolumeFraction:
        """How much of the scan is foreground, with an interval. Of more than two classes `volume_fractions` has all."""
        if len(self.class_names) > 2:
            raise ArgumentError("there are more than two classes: r.volume_fractions has one for each")
        return _fraction(self.manifest["volume_fraction"])

    @property
    def warnings(self) -> list[str]:
        """What the run warned of."""
        return list(self.manifest.get("warnings") or [])

    def save(self, folder: str | os.PathLike[str]) -> "Result":
        """Copies the run folder to a name of its own, which must be free; the program reads it, too."""
        shutil.copytree(self.folder, folder)
        return Result(folder)

    def _told(self) -> dict[str, VolumeFraction]:
        """What there is to say: of two classes the foreground's."""
        found = self.volume_fractions
        return found if len(found) > 2 else {list(found)[1]: self.volume_fraction}

    def _figures(self) -> list[tuple[str, str]]:
        rows = [
            ("shape (z, y, x)", ", ".join(str(n) for n in self.shape)),
            ("samples", str(self.sample_count)),
            *((f"volume fraction of {name}", str(found)) for name, found in self._told().items()),
            ("computed", f"{self.manifest.get('mode', 'overlap')}, on {self.manifest.get('device', 'the CPU')}"),
        ]
        return rows + [("warning", sentence) for sentence in self.warnings]

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {found}" for name, found in self._told().items())
        return f"<credence.Result of {self.shape}: volume fraction of {told}>"

    def _probability_of(self, name: str) -> Array:
        return self.volume("probability", class_name=name if len(self.class_names) > 2 else None)

    def _slices(self) -> list[tuple[str, Array, float]]:
        middle = self.shape[0] // 2
        uncertainty = np.asarray(self.uncertainty[middle])
        return [
            (f"probability of {name}", np.asarray(self._probability_of(name)[middle]), 1.0)
            for name in (self.class_names if len(self.class_names) > 2 else self.class_names[1:])
        ] + [
            ("segmentation", np.asarray(self.segmentation[middle]), max(1.0, float(np.max(self.segmentation[middle])))),
            ("uncertainty", uncertainty, max(float(np.nanmax(uncertainty)), 1e-6)),
        ]

    def _repr_html_(self) -> str:
        """Pictures of the middle slice and the figures, for notebooks."""
        pictures = "".join(
            picture(slice_, 0.0, high, f"{title}, 0 to {number(high)}") for title, slice_, high in self._slices()
        )
        return f"<div>{table(self._figures())}{pictures}</div>"

    def show(self) -> Any:
        """The middle slice of probability, segmentation and uncertainty with matplotlib; gives back the figure."""
        try:
            from matplotlib import pyplot  # type: ignore[import]
        except ImportError as error:
            raise ImportError("r.show() draws with matplotlib, which isn't installed: pip install matplotlib") from error
        slices = self._slices()
        figure, axes = pyplot.subplots(1, len(slices), figsize=(4 * len(slices), 4))
        for axis, (title, slice_, high) in zip(axes, slices):
            image = axis.imshow(slice_, cmap="gray", vmin=0, vmax=high)
            axis.set_title(title)
            axis.set_axis_off()
            figure.colorbar(image, ax=axis, shrink=0.8)
        figure.suptitle("volume fraction: " + ", ".join(f"{name} {found}" for name, found in self._told().items()))
        return figure


def open_run(folder: str | os.PathLike[str]) -> Result:
    """A run folder that the program or an earlier session wrote."""
    return Result(folder)


__all__ = ["Result", "VolumeFraction", "open_run"]
