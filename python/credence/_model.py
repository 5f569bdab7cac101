"""Models: learnt from scans and labels, applied to scans."""

from __future__ import annotations

import ctypes
import os
import shutil
from ctypes import c_void_p
from pathlib import Path
from typing import Any, Callable, NamedTuple, TypeVar

from ._job import Job, ProgressWish, run
from ._library import ArgumentError, Error, Options, check, json_of, library
from ._result import Result, keep_mask
from ._sink import Catch
from ._volumes import LentAll, OwnFolder

T = TypeVar("T")


def release_after(lent: LentAll, begin: Callable[[], T]) -> T:
    """Runs `begin`, and frees the arrays when the library has done with them, also long after a Ctrl-C."""
    try:
        return begin()
    except Exception:
        lent.raise_errors()
        raise
    finally:
        lent.close()


class Heldout(NamedTuple):
    """How good a model is where it didn't learn: in blocks of its training scans whose labels were held back. Half of them
    chose its state and its calibration; the figures are of the other half, the exam, which it took once, at the end. What
    isn't known is nan; intervals are 90 %, from how the blocks differ."""

    blocks: int
    voxels: int
    exam_blocks: int
    exam_voxels: int
    samples: int
    accuracy: float
    dice: float
    nll: float
    accuracy_interval: tuple[float, float]
    dice_interval: tuple[float, float]
    nll_interval: tuple[float, float]
    foreground_share: float
    majority_accuracy: float
    threshold_accuracy: float
    threshold_dice: float
    unseen: bool

    def __str__(self) -> str:
        low, high = self.dice_interval
        return (
            f"Dice {self.dice:.3f} (90 % interval {low:.3f} to {high:.3f}), {100 * self.accuracy:.1f} % right; "
            f"a threshold on the grey value: Dice {self.threshold_dice:.3f}, {100 * self.threshold_accuracy:.1f} %"
        )


def _heldout(found: dict[str, Any] | None) -> Heldout | None:
    if found is None:
        return None

    def known(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(known(item) for item in value)
        return float("nan") if value is None else value

    return Heldout(**{name: known(found[name]) for name in Heldout._fields})


class _Open:
    """A model of the library, which several predictions may use at once. It goes with the last that does."""

    def __init__(self, path: Path) -> None:
        self.handle = c_void_p()
        check(library.crd_model_load(os.fsencode(path), ctypes.byref(self.handle)))

    def __del__(self) -> None:
        library.crd_model_free(ctypes.byref(self.handle))


class Model:
    """A trained network, which is open: predictions don't read its file again.

    >>> credence.Model("there-is-none.h5")
    Traceback (most recent call last):
        ...
    credence.SystemError: there-is-none.h5 can't be opened: No such file or directory
    """

    def __init__(self, path: str | os.PathLike[str], _owner: OwnFolder | None = None) -> None:
        self.path = Path(path)
        self._owner = _owner
        self._open = _Open(self.path)
        text = ctypes.create_string_buffer(256)
        library.crd_model_summary(self._open.handle, text, len(text))
        #: One line about it: "bcnn, 16 filters, 4 groups, 1924964 parameters, chunk 88,176,176".
        self.summary: str = text.value.decode()
        #: How good it is where it didn't learn; None where nothing was held back.
        self.heldout: Heldout | None = _heldout(json_of(library.crd_heldout_to_json, library.crd_model_heldout(self._open.handle)))

    def __repr__(self) -> str:
        return f"<credence.Model {self.path.name}: {self.summary}>"

    def save(self, path: str | os.PathLike[str]) -> "Model":
        """Copies it to a file, which the program reads, too."""
        shutil.copyfile(self.path, path)
        return Model(path)

    def start(self, scan: Any, *, output: str | os.PathLike[str] | None = None, **options: Any) -> "Job[Result]":
        """As `predict`, but returns at once with a job that can be watched:

            job = model.start(scan)
            for p in job:
                print(p.stage, p.done, p.total)
            r = job.result()
        """
        for name in ("model", "dry_run"):
            if name in options:
                raise ArgumentError(f"{name} isn't an option here")
        for name in ("format", "overwrite", "resume"):
            if output is None and options.get(name):
                raise ArgumentError(f"{name} is for run folders; without an output the result is in memory")
        lent = LentAll()
        try:
            values: dict[str, Any] = {"format": "npy", "save_samples": "bits", **options}
            values["mask"] = lent.add_mask(values.get("mask"))
            values.update(model=os.fspath(self.path), scan=lent.add(scan, "scan"))
            values["output"] = None if output is None else os.fspath(output)
            filled = Options("predict", values)
        except BaseException:
            lent.close()
            raise
        mask = None if isinstance(options.get("mask"), (str, os.PathLike)) else options.get("mask")

        def fill(monitor: Any) -> Result:
            caught = Catch()
            try:
                check(library.crd_predict_to(filled.block, self._open.handle, caught.sink(), monitor, None))
            except Error as error:
                raise (caught.error or error) from None
            return Result(None, caught, mask)

        def write(monitor: Any) -> Result:
            check(library.crd_predict(filled.block, monitor, None))
            if mask is not None:
                keep_mask(Path(values["output"]), mask)
            return Result(values["output"])

        def work(monitor: Any) -> Result:
            def begin() -> Result:
                with filled:
                    return fill(monitor) if output is None else write(monitor)

            return release_after(lent, begin)

        return Job(work)

    def predict(
        self,
        scan: Any,
        *,
        output: str | os.PathLike[str] | None = None,
        progress: ProgressWish = None,
        **options: Any,
    ) -> Result:
        """Segments a scan: an array (z, y, x), or the name of a file.

        Any array will do: NumPy's with any strides and byte order, what speaks DLPack (torch), and what gives boxes when
        it is sliced (zarr, h5py, dask, xarray), which is then read box by box. None is copied as a whole.

        `output` is a run folder; without it the result is in memory, and no file is written. `progress` is True for a
        bar, or a function that is called with a `Progress`. All options of `credence predict` are keywords: samples=24,
        seed=3, mask=array, spacing=(2, 1, 1), intervals=[(33, 67), (5, 95)], bbox=((0, 64), (0, 256), (0, 256)).
        The bytes are those of the program with the same options.
        """
        return run(self.start(scan, output=output, **options), progress)


def start_training(scan: Any, label: Any, *, output: str | os.PathLike[str] | None = None, **options: Any) -> "Job[Model]":
    """As `train`, but returns at once with a job that can be watched and stopped."""
    owner = OwnFolder() if output is None else None
    path = os.path.join(owner.name, "model.h5") if owner is not None else os.fspath(output or "")
    lent = LentAll()
    try:
        values = dict(options)
        values.update(scan=lent.add_each(scan, "scan"), label=lent.add_each(label, "label"), output=path)
        for name in ("valid_scan", "valid_label"):
            if values.get(name) is not None:
                values[name] = lent.add_each(values[name], name)
        for name in ("mask", "valid_mask"):
            values[name] = lent.add_masks(values.get(name), name)
        filled = Options("train", values)
        check(library.crd_train_apply_preset(filled.block, filled.given))
    except BaseException:
        lent.close()
        raise

    def work(monitor: Any) -> Model:
        def begin() -> Model:
            with filled:
                check(library.crd_train(filled.block, monitor, None))
            return Model(path, owner)

        return release_after(lent, begin)

    return Job(work)


def train(
    scan: Any,
    label: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    progress: ProgressWish = None,
    **options: Any,
) -> Model:
    """Learns to segment from a scan and its label, or from lists of them: arrays or names of files.

    `output` is the model's file; without it the model lives as long as the object, and `Model.save` keeps it. All options
    of `credence train` are keywords: preset="small", max_steps=2000, kind="mcdn", chunk=(32, 64, 64).
    """
    return run(start_training(scan, label, output=output, **options), progress)


__all__ = ["Heldout", "Model", "start_training", "train"]
