"""The measurements of one stage on one target as one batch, of which nothing finished is lost.

What a batch measures is kept beside the run's records, under a name that holds a digest of all that
it rests on. A batch that was interrupted, or of which one measurement failed, takes up on its next
start what it finished, and measures the rest; so does one of which a single definition changed. A
record of evidence beside the figures that says ``failed`` is none that is taken up.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record, write_record
from assay.base.progress import say
from assay.evidence.outcomes import came_to_nothing
from assay.measuring.device_process import run_device_batch
from assay.records.base import Record
from assay.runtimes.base import Place
from assay.shared.files import sha256_bytes
from assay.shared.job import DeviceJob
from assay.shared.job_file import job_content

R = TypeVar("R", bound=Record)
Results: TypeAlias = Sequence[R | CheckFailed]
Measure: TypeAlias = Callable[[Sequence[DeviceJob], Sequence[Path]], Results[R]]
"""Jobs, and the file that each one's record is kept in (which it may write itself, as soon as it
can), to records or errors in that order."""


@dataclass(frozen=True)
class Item:
    """One measurement of a batch."""

    name: str
    """What it measures, as file names and messages call it."""
    job: DeviceJob
    """What the device side is told."""
    path: Path
    """Where its record goes."""
    rests_on: tuple[str, ...]
    """Digests of what gives it its meaning beside the job: definitions, platform, gate."""

    def kept(self, folder: Path) -> Path:
        """Return where a record is kept, under a name that holds a digest of all that it rests on.

        ``folder``: of ``kept_folder``. Where the run lies counts for nothing: a folder of results
        may be brought to another machine, and the run goes on there.
        """
        run = json.dumps(str(folder.parents[2]))[1:-1]  # as kept_folder puts it
        text = json.dumps([job_content(self.job), *self.rests_on], sort_keys=True)
        digest = sha256_bytes(text.replace(f'"{run}/', '"').encode())
        return folder / f"{self.name}.{digest}.json.gz"


def kept_folder(run_dir: Path, stage: str, target: str) -> Path:
    """Return where a run keeps the records of a stage on a target."""
    return run_dir / "kept" / stage / target


def measure_batch(
    items: Sequence[Item],
    record: type[R],
    folder: Path,
    measure: Measure[R],
    accept: Callable[[R], None],
) -> None:
    """Measure what ``folder`` does not hold yet, and write every record to its place.

    ``accept`` raises CheckFailed for a record that must not be used. Raises CheckFailed that names
    every failed measurement, after the others were kept; then no record goes to its place.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done: dict[str, R] = {}
    for item in items:
        if (found := _taken_up(item.kept(folder), record, accept)) is not None:
            done[item.name] = found
    left = [item for item in items if item.name not in done]
    if done:
        say(f"{len(done)} of {len(items)} were measured before and are taken up")
    failed: dict[str, CheckFailed] = {}
    if left:
        into = [item.kept(folder) for item in left]
        results = measure([item.job for item in left], into)
        for item, path, result in zip(left, into, results, strict=True):
            try:
                if isinstance(result, CheckFailed):
                    raise result
                accept(result)
                if not path.is_file():
                    write_record(result, path)
                done[item.name] = result
            except CheckFailed as error:
                path.unlink(missing_ok=True)
                failed[item.name] = error
    if failed:
        raise CheckFailed(_failures(failed, len(items)))
    for item in items:
        write_record(done[item.name], item.path)
    _forget_others(items, folder)


def batch_at(place: Place, record: type[R]) -> Measure[R]:
    """Measure in one start of the device side."""
    return lambda jobs, into: run_device_batch(place, jobs, record, into=into)


def kept_record(path: Path, record: type[R]) -> R | None:
    """Return what an earlier start kept; None where there is nothing, or half of it."""
    try:
        return read_record(record, path) if path.is_file() else None
    except BadInput:
        return None


def _taken_up(path: Path, record: type[R], accept: Callable[[R], None]) -> R | None:
    """Return a kept record; None where there is none that can be used, and then no file either."""
    found = kept_record(path, record)
    if found is not None and not came_to_nothing(found):
        try:
            accept(found)
        except CheckFailed:
            pass
        else:
            return found
    path.unlink(missing_ok=True)
    return None


def _failures(failed: dict[str, CheckFailed], of: int) -> str:
    sentences = "; ".join(f"{name}: {error}" for name, error in failed.items())
    rest = of - len(failed)
    kept = f" (the other {rest} are kept and are not measured again)" if rest else ""
    return f"{len(failed)} of {of} failed{kept}: {sentences}"


def _forget_others(items: Sequence[Item], folder: Path) -> None:
    """Remove what no measurement of the finished batch rests on any more."""
    wanted = {item.kept(folder) for item in items}
    for path in folder.iterdir():
        if path not in wanted and not path.is_dir():  # a folder is no record of ours
            path.unlink()
