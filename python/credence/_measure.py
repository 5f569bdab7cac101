"""Properties of realisations, each with its spread."""

from __future__ import annotations

import ctypes
from ctypes import c_void_p
from typing import Any, Iterator, Mapping

from ._job import Job, ProgressWish, run
from ._library import Options, check, json_of, library
from ._model import release_after
from ._pictures import number, table
from ._result import Result
from ._volumes import LentAll


class Measurement(Mapping[str, Any]):
    """Properties by name: m["specific_surface"]["mean"]. A property along an axis is called "percolates_z".

    A property is a dict with segmentation, mean, std, median, interval, unit, phase, values (by realisation) and note; of
    several phases the first counts, and `properties` has all.
    """

    def __init__(self, data: dict[str, Any]) -> None:
        #: All of it: measure.json (docs/MEASURE.md explains the keys).
        self.data = data
        self.properties: list[dict[str, Any]] = data["properties"]
        self.distributions: dict[str, Any] = data["distributions"]
        self.notes: list[str] = data["notes"]
        self._by_name: dict[str, dict[str, Any]] = {}
        for found in self.properties:
            self._by_name.setdefault(found["name"], found)

    def __getitem__(self, name: str) -> Any:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                p["name"],
                number(p["phase"]),
                number(p["segmentation"]),
                number(p["mean"]),
                " to ".join(number(end) for end in p["interval"]) if p["interval"] else "-",
                p["unit"],
            )
            for p in self.properties
        ]

    def __repr__(self) -> str:
        return "\n".join("  ".join(row) for row in self._rows())

    def _repr_html_(self) -> str:
        percent = next((p["percent"] for p in self.properties if p.get("percent")), [5, 95])
        spread = "-".join(number(end) for end in percent) + " %"
        return table(self._rows(), ("property", "phase", "segmentation", "mean", spread, "unit"))


def measure(what: Any, *, progress: ProgressWish = None, **options: Any) -> Measurement:
    """Measures a result, a run folder, a segmentation (an array or a file), or a list of segmentations.

    Of a result every realisation is measured, so that each property has as many values. All options of `credence measure`
    are keywords: properties="all", phase="1", bbox=((0, 64), (0, 64), (0, 64)), spacing=(0.65, 0.65, 0.65).

    >>> ball = np.zeros((20, 20, 20), "u1")
    >>> ball[5:15, 5:15, 5:15] = 1
    >>> round(credence.measure(ball)["volume_fraction"]["segmentation"], 3)
    0.125
    """
    lent = LentAll()
    try:
        names = [what._lend_to(lent)] if isinstance(what, Result) else lent.add_each(what, "segmentation")
        filled = Options("measure", {"input": names, **options})
    except BaseException:
        lent.close()
        raise

    def work(monitor: Any) -> Measurement:
        def begin() -> Measurement:
            measurement = c_void_p()
            with filled:
                check(library.crd_measure(filled.block, monitor, ctypes.byref(measurement)))
            try:
                return Measurement(json_of(library.crd_measurement_to_json, measurement))
            finally:
                library.crd_measurement_free(ctypes.byref(measurement))

        return release_after(lent, begin)

    return run(Job(work), progress)


def validate(result: Result, label: Any, *, progress: ProgressWish = None, **options: Any) -> dict[str, Any]:
    """How right a result is where a label tells, as the keys of validation.json (docs/INTERPRET.md)."""
    lent = LentAll()
    try:
        values = {"run": result._lend_to(lent), "label": lent.add(label, "label"), **options}
        filled = Options("validate", values)
    except BaseException:
        lent.close()
        raise

    def work(monitor: Any) -> dict[str, Any]:
        def begin() -> dict[str, Any]:
            figures = c_void_p()
            with filled:
                check(library.crd_validate(filled.block, monitor, ctypes.byref(figures)))
            try:
                found: dict[str, Any] = json_of(library.crd_validation_to_json, figures, None)
                return found
            finally:
                library.crd_validation_free(ctypes.byref(figures))

        return release_after(lent, begin)

    return run(Job(work), progress)


__all__ = ["Measurement", "measure", "validate"]
