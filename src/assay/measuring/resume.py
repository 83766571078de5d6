"""The measurements of one stage on one target as one batch, of which nothing finished is lost.

Records are kept beside the run's, under a name that holds a digest of all that they rest on. A
batch that was interrupted or changed in one definition takes up what it finished, and measures the
rest; of evidence beside the figures, also what failed.
"""

import json
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.base.progress import say
from assay.base.signals import deadline
from assay.evidence.outcomes import came_to_nothing
from assay.measuring.device_process import NoMemory
from assay.records.base import GpuRecord, Record
from assay.records.measurements import CorrectnessRecord, ProgramRecord
from assay.shared.files import sha256_bytes
from assay.shared.job import DeviceJob
from assay.shared.job_file import job_content

R = TypeVar("R", bound=Record)
Results: TypeAlias = Sequence[R | CheckFailed]
Measure: TypeAlias = Callable[[Sequence[DeviceJob], Sequence[Path]], Results[R]]
"""Jobs, and the files that may get their records at once, to records or errors in that order."""


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
    folder: Path
    """Where the run keeps records of its stage: see ``kept_folder``."""

    @property
    def kept(self) -> Path:
        """Return where its record is kept, by a digest of all that it rests on."""
        return self.folder / self._file(self.rests_on)

    def proof(self, proofs: "Proofs") -> Path:
        """Return where the same lies that an earlier run proved on a GPU with the same software."""
        return proofs.folder / self._file((self.rests_on[0], proofs.machine))

    def _file(self, rests_on: Sequence[str]) -> str:
        # Where the run lies counts for nothing: results that were carried elsewhere go on there.
        run = json.dumps(str(self.folder.parents[2]))[1:-1]
        text = json.dumps([job_content(self.job), *rests_on], sort_keys=True)
        digest = sha256_bytes(text.replace(f'"{run}/', '"').encode())
        return f"{self.name}.{digest}.json.gz"


@dataclass(frozen=True)
class Proofs:
    """What runs proved of kernels: gates, cheats, sanitizers, right output of programs."""

    folder: Path
    """Of one stage and target, for all runs of a checkout."""
    gpu: str
    """By UUID."""
    machine: str
    """A digest of it, its driver and the software beside it."""

    def found(self, items: Sequence[Item], record: type[R]) -> dict[str, R]:
        """Return what was proven before of items that the run keeps nothing of, by their names."""
        left = (item for item in items if not item.kept.is_file())
        every = {item.name: kept_record(item.proof(self), record) for item in left}
        return {name: proof for name, proof in every.items() if proof is not None}

    def put(self, items: Sequence[Item], done: Mapping[str, GpuRecord]) -> None:
        """Keep what a run proved for the next; what failed, or is wrong, is tried again there."""
        for item in items:
            record = done[item.name]
            if record.gpu_uuid == self.gpu and _proves(record):
                place = item.proof(self)
                if not place.is_file():
                    write_record(record.model_copy(update={"on_gpu": None}), place)


def _proves(record: GpuRecord) -> bool:
    if isinstance(record, CorrectnessRecord):
        return all(arm.status == "correct" for arm in record.arms)
    if isinstance(record, ProgramRecord):
        return record.verification is not None and all(run.exit_code == 0 for run in record.runs)
    return not came_to_nothing(record)


def kept_folder(run_dir: Path, stage: str, target: str) -> Path:
    """Return where a run keeps the records of a stage on a target."""
    return run_dir / "kept" / stage / target


@dataclass(frozen=True)
class Beside(Generic[R]):
    """How a stage goes on of whose evidence no verdict rests: whatever crashes, hangs or lacks a
    tool ends in a record that says ``failed`` and why. Only a GPU that is gone before the figures
    are measured stops a run, for then a second start loses nothing.
    """

    failed: Callable[[DeviceJob, str], R]
    """The record of a job of which there is nothing but the sentence of why."""
    measured: bool
    """Whether the target's figures are; MissingEnvironment is raised only where they are not."""
    patience_s: float | None
    """Most seconds of all; None where what measures keeps deadlines of its own."""

    def measure(
        self, measure: Measure[R], jobs: Sequence[DeviceJob], into: Sequence[Path], record: type[R]
    ) -> Results[R]:
        """Measure, and return an error for each measurement that the end of all cut off."""
        try:
            with nullcontext() if self.patience_s is None else deadline(self.patience_s):
                return measure(jobs, into)
        except AssayError as error:
            lost = isinstance(error, MissingEnvironment) and not isinstance(error, NoMemory)
            if lost and not self.measured:
                raise
            why = CheckFailed(str(error))
        except Exception as error:
            # A defect of ours, and no reason to lose a run; the trace is for whoever mends.
            traceback.print_exception(error)
            why = CheckFailed(f"{type(error).__name__}: {error}")
        return [kept_record(path, record) or why for path in into]


def measured_batch(
    items: Sequence[Item],
    record: type[R],
    measure: Measure[R],
    accept: Callable[[R, bool], None],
    beside: Beside[R] | None = None,
) -> dict[str, R]:
    """Measure what is not kept yet; return records by name. ``accept`` (with whether it is new)
    refuses by CheckFailed. Raises CheckFailed with what failed, the others kept, but for what is
    beside.
    """
    done: dict[str, R] = {}
    for item in items:
        item.folder.mkdir(parents=True, exist_ok=True)
        if (found := _taken_up(item.kept, record, accept)) is not None:
            done[item.name] = found
    left = [item for item in items if item.name not in done]
    if done:
        say(f"{len(done)} of {len(items)} were measured before and are taken up")
    into, jobs = [item.kept for item in left], [item.job for item in left]
    results: Results[R] = ()
    if left:
        results = beside.measure(measure, jobs, into, record) if beside else measure(jobs, into)
    failed = dict[str, CheckFailed]()
    for item, path, result in zip(left, into, results, strict=True):
        if (error := _refusal(result, accept, new=True)) is not None:
            path.unlink(missing_ok=True)
            failed[item.name] = error
        kept = beside.failed(item.job, str(error)) if error and beside else result
        if not isinstance(kept, CheckFailed) and (beside or not error):
            done[item.name] = kept
            if not path.is_file():
                write_record(kept, path)
    if failed and not beside:
        sentences = "; ".join(f"{name}: {error}" for name, error in failed.items())
        rest = len(items) - len(failed)
        others = f" (the other {rest} are kept and are not measured again)" if rest else ""
        raise CheckFailed(f"{len(failed)} of {len(items)} failed{others}: {sentences}")
    for sentence in dict.fromkeys(map(str, failed.values())):
        say(f"goes on without: {sentence}")
    return done


def _refusal(
    result: R | CheckFailed, accept: Callable[[R, bool], None], *, new: bool
) -> CheckFailed | None:
    """Return why a result cannot be used; None where it can."""
    if isinstance(result, CheckFailed):
        return result
    try:
        accept(result, new)
    except CheckFailed as error:
        return error
    return None


def kept_record(path: Path, record: type[R]) -> R | None:
    """Return what an earlier start kept; None where there is nothing, or half of it."""
    try:
        return read_record(record, path) if path.is_file() else None
    except BadInput:
        return None


def _taken_up(path: Path, record: type[R], accept: Callable[[R, bool], None]) -> R | None:
    """Return a kept record; None where there is none that can be used, and then no file either."""
    found = kept_record(path, record)
    if found and not came_to_nothing(found) and _refusal(found, accept, new=False) is None:
        return found
    path.unlink(missing_ok=True)
    return None


def forget_others(items: Iterable[Item], folder: Path) -> None:
    """Remove what no measurement of the finished batch rests on any more."""
    wanted = {item.kept for item in items}
    for path in folder.glob("*"):
        if path not in wanted and not path.is_dir():  # a folder is no record of ours
            path.unlink()
