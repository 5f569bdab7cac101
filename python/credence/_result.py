"""What a prediction found."""

from __future__ import annotations

import copy
import itertools
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._library import ArgumentError, FormatError
from ._pictures import number, picture, table
from ._sink import Catch
from ._volumes import Array, LentAll, OwnFolder, read_volume


class VolumeFraction(NamedTuple):
    """Share of the voxels that belong to a class. With a `systematic` error, which trained models bring for seamless
    predictions, low and high are a 90 % interval; where that is nan they are 5 and 95 % of the samples, which is narrower."""

    mean: float
    low: float
    high: float
    segmentation: float
    samples: tuple[float, ...]
    systematic: float = float("nan")

    def __str__(self) -> str:
        what = "5-95 % of the samples" if math.isnan(self.systematic) else "90 % interval"
        return f"{self.mean:.4f} ({what} {self.low:.4f} to {self.high:.4f})"


def _fraction(found: dict[str, Any]) -> VolumeFraction:
    ends = found.get("interval90") or (None, None)
    numbers = (found.get("mean"), *ends, found.get("segmentation"), found.get("interval_systematic"))
    mean, low, high, segmentation, systematic = (float("nan") if value is None else float(value) for value in numbers)
    return VolumeFraction(mean, low, high, segmentation, tuple(found.get("samples") or ()), systematic)


_MASK = "mask.npy"
_numbers = itertools.count(1)


def _name_mask(manifest: dict[str, Any], path: str) -> None:
    """Says where the mask of a run lies that was an array."""
    manifest["mask"]["path"] = manifest["settings"]["mask"] = path


def _write(path: Path, content: bytes) -> None:
    """A whole file, or none."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    _write(folder / "manifest.json", json.dumps(manifest, indent="\t").encode())


def keep_mask(folder: Path, mask: Any) -> None:
    """Puts the mask of a run, which was an array, into its folder, where all who read the run find it."""
    manifest = json.loads((folder / "manifest.json").read_text())
    np.save(folder / _MASK, np.asarray(mask))
    _name_mask(manifest, str(folder.resolve() / _MASK))
    _write_manifest(folder, manifest)


class Result:
    """A prediction: its volumes as arrays (z, y, x), which are not to be written to, and its figures.

    That of a prediction without an `output` is in memory, or, where it takes more than an eighth of what is free, in
    temporary files that are mapped into memory. That of a run folder is read when it is asked for; NumPy's files, the
    default of `Model.predict`, are mapped, too: what isn't looked at isn't read, and a result may be larger than memory.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, _caught: Catch | None = None, _mask: Any | None = None
    ) -> None:
        #: Where the run lies; None: in memory.
        self.folder = None if folder is None else Path(folder)
        self._caught = _caught
        self._mask = _mask  # an array that the run was told of
        #: All that is recorded of the run: settings, inputs, figures, times (docs/PREDICT.md explains the keys).
        self.manifest: dict[str, Any] = _caught.manifest if _caught is not None else self._read_manifest()

    def _read_manifest(self) -> dict[str, Any]:
        assert self.folder is not None
        path = self.folder / "manifest.json"
        if not path.exists():
            raise ArgumentError(f"{self.folder} is no run folder: it has no manifest.json")
        manifest: dict[str, Any] = json.loads(path.read_text())
        if manifest.get("format") != "credence-run":
            raise FormatError(f"{path} is another program's")
        return manifest

    def _output(
        self, role: str, percentiles: tuple[float, ...] | None, index: int, class_name: str | None = None
    ) -> int:
        """Which of the manifest's outputs it is."""
        fitting = [(i, output) for i, output in enumerate(self.manifest["outputs"]) if output["role"] == role]
        if class_name is not None:
            fitting = [(i, output) for i, output in fitting if output.get("class") == class_name]
        if percentiles is not None:
            wanted = tuple(float(p) for p in percentiles)
            fitting = [(i, output) for i, output in fitting if tuple(output.get("percentiles", ())) == wanted]
        if 0 <= index < len(fitting):
            return fitting[index][0]
        there = ", ".join(sorted({output["role"] for output in self.manifest["outputs"]}))
        raise ArgumentError(f"this run has no such volume of the role '{role}'; it has {there}")

    def _array(self, output: int) -> Array:
        """As it is stored."""
        if self._caught is not None:
            return self._caught.arrays[output]
        assert self.folder is not None
        return read_volume(self.folder / self.manifest["outputs"][output]["file"])

    def volume(
        self,
        role: str,
        percentiles: tuple[float, ...] | None = None,
        index: int = 0,
        class_name: str | None = None,
    ) -> Array:
        """A volume by its role in the manifest: "probability", "uncertainty" with percentiles=(5, 95), "sample", ...

        Of several of one role, number `index`, or the one of a class. What is stored in u8 or u16 to save room is given
        back as the quantity, in float32.
        """
        output = self._output(role, percentiles, index, class_name)
        array, scale = self._array(output), self.manifest["outputs"][output]["scale"]
        if scale == 1 or array.dtype.kind == "f":
            return array
        return array.astype("f4") * np.float32(scale)

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
        per_plane = (self.sample_count + 63) // 64  # all words of one stand before those of the next
        number = np.zeros(self.shape, "u1")
        for plane in range(planes):
            words = self._array(self._output("bits of samples", None, plane * per_plane + index // 64))
            number |= ((words >> np.uint64(index % 64)) & np.uint64(1)).astype("u1") << plane
        if len(classes) == 2:
            return number.astype(bool)
        values = np.array([found["value"] for found in classes]).astype(self.segmentation.dtype)
        labels: Array = values[number]
        return labels

    @property
    def volume_fractions(self) -> dict[str, VolumeFraction]:
        """How much of the scan each class is, with its spread."""
        return {found["name"]: _fraction(found) for found in self.manifest["classes"]}

    @property
    def volume_fraction(self) -> VolumeFraction:
        """How much of the scan is foreground, with its spread. Of more than two classes `volume_fractions` has all."""
        if len(self.class_names) > 2:
            raise ArgumentError("there are more than two classes: r.volume_fractions has one for each")
        return _fraction(self.manifest["volume_fraction"])

    @property
    def warnings(self) -> list[str]:
        """What the run warned of."""
        return list(self.manifest.get("warnings") or [])

    def save(self, folder: str | os.PathLike[str]) -> "Result":
        """Writes it as a run folder of a name of its own, which must be free; the program reads it, too."""
        target = Path(folder)
        if target.exists():
            raise FileExistsError(f"{target} is there already; a result is saved under a new name")
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            manifest = copy.deepcopy(self.manifest)
            if self.folder is not None:
                shutil.copytree(self.folder, part)
            else:
                self._write_to(part)
            if self._mask is not None:
                np.save(part / _MASK, np.asarray(self._mask))
            own = self._mask is not None
            if self.folder is not None:
                own = manifest.get("mask", {}).get("path") == str(self.folder.resolve() / _MASK)
            if own:  # a copy has a mask of its own, which may outlive the other's
                _name_mask(manifest, str(target.resolve() / _MASK))
            if own or self.folder is None:
                _write_manifest(part, manifest)
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return Result(target)

    def _write_to(self, folder: Path, volumes: bool = True) -> None:
        """The files of a run folder, but for the manifest."""
        assert self._caught is not None
        folder.mkdir(exist_ok=True)
        for output, array in zip(self.manifest["outputs"] if volumes else (), self._caught.arrays):
            np.save(folder / output["file"], array)
        for name, content in self._caught.files.items():
            (folder / name).write_bytes(content)

    def _lend_to(self, lent: LentAll) -> str:
        """The name of a run folder for the library: the run's own, or one that says where the arrays are in memory."""
        if self._caught is None:
            return str(self.folder)
        owner, manifest, number = lent.keep(OwnFolder()), copy.deepcopy(self.manifest), next(_numbers)
        for output, name, array in zip(manifest["outputs"], self._caught.names, self._caught.arrays):
            output["file"] = lent.add(array, f"{number}_{name}")  # the name says which sample it is
        if self._mask is not None:
            _name_mask(manifest, lent.add(self._mask, f"{number}_mask"))
        self._write_to(Path(owner.name), volumes=False)
        _write_manifest(Path(owner.name), manifest)
        return str(owner.name)

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
