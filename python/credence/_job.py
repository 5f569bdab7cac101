"""Long work in a thread of its own: it can be watched, and stopped at any time."""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
import time
import warnings
from typing import Any, Callable, Generic, Iterator, NamedTuple, TypeVar, Union

from ._library import Advance, Message, Monitor

T = TypeVar("T")
log = logging.getLogger("credence")


class CredenceWarning(UserWarning):
    """What the program would warn of."""


class Progress(NamedTuple):
    """How far a piece of work is: `done` of `total` units (0 where that isn't known) of a stage."""

    stage: str
    done: int
    total: int
    unit: str
    note: str


ProgressWish = Union[None, bool, Callable[[Progress], Any]]


def _outside() -> int:
    """The stack level of who called this package."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("credence."):
        level, frame = level + 1, frame.f_back
    return level


class Job(Generic[T]):
    """Work under way. Iterating over it gives its progress; `result` waits for the end.

    >>> job = Job(lambda monitor: 6 * 7)
    >>> [p for p in job]
    []
    >>> job.result()
    42
    """

    def __init__(self, work: Callable[[Any], T]) -> None:
        self._changed = threading.Condition()
        self._latest: Progress | None = None
        self._stop = False
        self._done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._warnings: list[str] = []
        self._thread = threading.Thread(target=self._run, args=(work,), name="credence", daemon=True)
        self._thread.start()

    def _hear(self, _context: int, level: int, text: bytes) -> None:
        sentence = text.decode(errors="replace")
        if level > 0:
            self._warnings.append(sentence)
        else:
            log.info("%s", sentence)

    def _advance(self, _context: int, progress: Any) -> bool:
        p = progress.contents
        if p.total > 0:
            said = (p.stage or b"", p.unit or b"", p.note or b"")
            stage, unit, note = (text.decode(errors="replace") for text in said)
            with self._changed:
                self._latest = Progress(stage, p.done, p.total, unit, note)
                self._changed.notify_all()
        return not self._stop

    def _run(self, work: Callable[[Any], T]) -> None:
        # It holds the job; a job that held it would outlive its users, with the result, until cycles are looked for.
        monitor = Monitor(message=Message(self._hear), progress=Advance(self._advance))
        try:
            self._value = work(ctypes.byref(monitor))
        except BaseException as error:  # noqa: BLE001 - raised again where the result is asked for
            self._error = error
        with self._changed:
            self._done = True
            self._changed.notify_all()

    def cancel(self) -> None:
        """Asks the work to stop. It ends soon, and `result` raises Cancelled."""
        self._stop = True

    def done(self) -> bool:
        """Whether the work has ended, in whatever way."""
        return self._done

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end, and says whether it came."""
        with self._changed:
            if seconds is not None:
                return self._changed.wait_for(lambda: self._done, seconds)
            while not self._changed.wait_for(lambda: self._done, 0.2):
                pass  # a wait without a limit would not hear of signals on every system
        return True

    def result(self) -> T:
        """What came of it, or raises why it failed."""
        self.wait()
        said, self._warnings = self._warnings, []
        for sentence in said:
            warnings.warn(sentence, CredenceWarning, stacklevel=_outside())
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Progress]:
        shown: Progress | None = None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._done or self._latest is not shown, 0.2)
                latest, done = self._latest, self._done
            if latest is not None and latest is not shown:
                shown = latest
                yield latest
            elif done:
                return


class _Bar:
    """A line on standard error, drawn at most ten times a second."""

    def __init__(self) -> None:
        self._drawn = 0.0

    def __call__(self, p: Progress) -> None:
        now = time.monotonic()
        if p.done >= p.total or now - self._drawn > 0.1:
            self._drawn = now
            self._draw(p)

    @staticmethod
    def _draw(p: Progress) -> None:
        filled = "#" * int(24 * p.done / p.total)
        end = "\n" if p.done >= p.total else ""
        line = f"\r{p.stage} [{filled:<24}] {p.done}/{p.total} {p.unit} {p.note}\033[K"
        print(line, end=end, file=sys.stderr, flush=True)


def run(job: Job[T], progress: ProgressWish) -> T:
    """Waits for a job, shows how far it is, and stops it on Ctrl-C: the exception comes within half a second."""
    show: Callable[[Progress], Any] | None = _Bar() if progress is True else progress if callable(progress) else None
    try:
        for latest in job:
            if show is not None:
                show(latest)
    except BaseException:
        job.cancel()
        job.wait(0.4)  # what takes longer goes on stopping by itself
        raise
    return job.result()


__all__ = ["CredenceWarning", "Job", "Progress", "ProgressWish", "run"]
