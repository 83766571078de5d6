"""Evidence beside the figures: other stopwatches, cheats, sanitizers, operators, profiles.

No verdict rests on it, so none of it may cost a run its verdicts: whatever crashes, hangs or lacks
a tool there ends in a record that says ``failed`` and why. Only a GPU that is not to be had before
the figures are measured stops a run, for then a second start loses nothing.
"""

import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from assay.base.deadline import deadline
from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record
from assay.base.progress import say
from assay.measuring.device_process import NoMemory
from assay.measuring.resume import Measure, Results
from assay.records.base import Record
from assay.shared.job import DeviceJob

R = TypeVar("R", bound=Record)

PATIENCE_S = 300.0
"""Most seconds of one step: each takes a minute or two, and the figures wait behind it."""


def recorded_anyhow(
    measure: Measure[R],
    record: type[R],
    accept: Callable[[R], None],
    failed: Callable[[DeviceJob, str], R],
    *,
    measured: bool,
    patience_s: float | None = PATIENCE_S,
) -> Measure[R]:
    """Return what measures a batch as ``measure`` does; what fails there is a record by ``failed``,
    of the job and the sentence of why. What was finished before the end of all stays.

    ``measured``: whether the target's figures are; MissingEnvironment is raised only where they are
    not. ``patience_s``: None where ``measure`` keeps deadlines of its own.
    """
    said: set[str] = set()

    def accepted(result: R | CheckFailed | None, job: DeviceJob, path: Path, sentence: str) -> R:
        try:
            if isinstance(result, CheckFailed):
                raise result
            found = read_record(record, path) if result is None else result
            accept(found)
            return found
        except (BadInput, CheckFailed) as error:
            path.unlink(missing_ok=True)
            why = sentence if result is None else str(error)
            if why not in said:
                say(f"goes on without: {why}")
                said.add(why)
            return failed(job, why)

    def measure_all(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[R]:
        results: Sequence[R | CheckFailed | None] = [None] * len(jobs)
        sentence = ""
        try:
            with nullcontext() if patience_s is None else deadline(patience_s):
                results = measure(jobs, into)
        except AssayError as error:
            lost = isinstance(error, MissingEnvironment) and not isinstance(error, NoMemory)
            if lost and not measured:
                raise
            sentence = str(error)
        except Exception as error:
            # A defect of ours, and no reason to lose a run; the trace is for whoever mends.
            traceback.print_exception(error)
            sentence = f"{type(error).__name__}: {error}"
        return [
            accepted(result, job, path, sentence)
            for result, job, path in zip(results, jobs, into, strict=True)
        ]

    return measure_all


def now() -> str:
    """Return the time that a record of a failure bears."""
    return datetime.now(UTC).isoformat(timespec="seconds")
