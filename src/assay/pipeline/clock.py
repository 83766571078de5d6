"""Files dated in the future: what a clock that went backwards leaves behind.

Snakemake tells what is out of date by dates, and a step's output that is older than its input by an
error. So before a run, and when the clock goes backwards under one, such files are dated now.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.progress import say
from assay.shared.counting import counted

TOLERANCE_S = 1.0
"""Clocks of file servers differ from ours by less; no step ends within less of its start."""
SPACING_NS = 1_000
"""Between two files that had different dates: Snakemake reads dates as floating-point numbers."""
INPUTS = ("config", "containers", "kernels", "reports/templates", "requirements")
"""Folders of the repository that hold what the workflow makes something of."""


def date_now(root: Path, run: str, home: Path | None = None) -> int:
    """Date what lies in the future of a run, and of what it is made of, now; return their number.

    ``home``: the folder in which the run lies, where it is not the repository.
    Their order stays, so that nothing counts as out of date for it. Says so. Raises
    MissingEnvironment for a file that is somebody else's.
    """
    now = time.time_ns()
    dated = [
        (path, date)
        for folder in (
            *((home or root) / below / run for below in ("results", "reports")),
            *(root / below for below in INPUTS),
        )
        for path, date in _dated_files(folder)
        if date > now + TOLERANCE_S * 1e9
    ]
    newest_first = sorted({date for _, date in dated}, reverse=True)
    rank = {date: number for number, date in enumerate(newest_first)}
    for path, date in dated:
        when = now - rank[date] * SPACING_NS
        try:
            os.utime(path, ns=(when, when), follow_symlinks=False)
        except OSError as error:
            raise MissingEnvironment(
                f"{path} is dated in the future ({_told(date)}) and cannot be dated otherwise "
                f"({error.strerror}): set this machine's clock, or have the file touched"
            ) from error
    if dated:
        say(
            f"the clock went backwards: {counted(len(dated), 'file')} dated in the future (up to "
            f"{_told(newest_first[0])}) are dated now"
        )
    return len(dated)


def _dated_files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield a folder, and what lies below it, with their dates, in nanoseconds since 1970."""
    for place, _, files in os.walk(folder):
        for path in (Path(place), *(Path(place, name) for name in files)):
            try:
                yield path, path.lstat().st_mtime_ns
            except OSError:
                continue  # gone meanwhile


def _told(date: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(date / 1e9))


class StepsBack:
    """Notices that the clock goes backwards while something is waited for."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._ahead = clock() - time.monotonic()
        self.seen = False

    def look(self) -> bool:
        """Return whether the clock went backwards since the last look, or since the start."""
        ahead = self._clock() - time.monotonic()
        back = self._ahead - ahead > TOLERANCE_S
        self._ahead = ahead
        self.seen |= back
        return back
