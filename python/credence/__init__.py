"""credence: segmentation of 3D CT scans with credible uncertainty.

    import credence

    model = credence.train(scan, label)          # arrays or names of files
    r = model.predict(new_scan)
    r.probability, r.segmentation, r.uncertainty # arrays (z, y, x)
    r.volume_fraction                            # with an interval
    credence.measure(r)                          # properties, each with its spread

docs/PYTHON.md has ten minutes from an array to an interval.
"""

from ._job import CredenceWarning, Job, Progress
from ._library import (
    ArgumentError,
    BusyError,
    Cancelled,
    Error,
    FormatError,
    MismatchError,
    NumericError,
    OutOfMemoryError,
    SystemError,
    UnsupportedError,
    __version__,
    library,
)
from ._measure import Measurement, measure, validate
from ._model import Heldout, Model, start_training, train
from ._result import Result, VolumeFraction, open_run
from ._volumes import read_volume


def build_description() -> str:
    """What the library was built with, a line each.

    >>> "TIFF" in credence.build_description()
    True
    """
    return str(library.crd_build_description().decode())


__all__ = [
    "ArgumentError",
    "BusyError",
    "Cancelled",
    "CredenceWarning",
    "Error",
    "FormatError",
    "Heldout",
    "Job",
    "Measurement",
    "MismatchError",
    "Model",
    "NumericError",
    "OutOfMemoryError",
    "Progress",
    "Result",
    "SystemError",
    "UnsupportedError",
    "VolumeFraction",
    "__version__",
    "build_description",
    "measure",
    "open_run",
    "read_volume",
    "start_training",
    "train",
    "validate",
]

for _name in __all__:  # tracebacks and pickles name what people import
    _object = globals()[_name]
    if isinstance(_object, type) and _object.__module__.startswith("credence."):
        _object.__module__ = "credence"
del _name, _object
