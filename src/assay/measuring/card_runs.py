"""Several GPUs of one machine, timed alone and beside each other, in the same run.

The control is timed on the first GPU while the others are idle, then on all at once, twice as long,
and alone again: what drifts meanwhile falls on both settings alike. Then every GPU times the other
comparisons, all at once. Each GPU checks first what it times. What runs at once is a phase; one
that an earlier start finished on the same GPUs is taken up, and one that it did not is done anew.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from assay.base.errors import CheckFailed
from assay.base.io import dump_record
from assay.base.progress import say
from assay.measuring.best_effort import now
from assay.measuring.gpu_workers import work_at_once
from assay.measuring.resume import Measure, kept_path, kept_record
from assay.measuring.spread import measured_into
from assay.records.base import GpuRecord
from assay.records.cards import CardRun, CardSetting, CardsRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord
from assay.shared.files import sha256_bytes
from assay.shared.job import BenchmarkJob, CorrectnessJob, DeviceJob

R = TypeVar("R", bound=GpuRecord)

PATIENCE_S = 600.0
"""Most seconds of all, whatever was expected: something hangs."""
PASSES: tuple[CardSetting, ...] = ("alone", "beside", "alone")
"""Of the control, in this order. The middle one has twice the processes, for as many in all; a
phase of its own for each half would be another start of PyTorch on every GPU."""


@dataclass(frozen=True)
class CardBench:
    """What is measured on which GPUs."""

    gates: Sequence[CorrectnessJob]
    """Of each comparison; the first is the control."""
    timed: Callable[[CorrectnessRecord], BenchmarkJob]
    """The job that times what a gate let through."""
    processes: int
    """Of the control, in a pass alone."""
    gates_at: Mapping[str, Measure[CorrectnessRecord]]
    """What checks on each GPU, by its UUID; the first is the one that works alone, too."""
    times_at: Mapping[str, Measure[BenchmarkRecord]]
    """What times there."""
    folder: Path
    """Where finished phases are kept."""
    rests_on: tuple[str, ...]
    """Digests of what gives all this its meaning beside the jobs: definitions, platform."""
    measured: Callable[[GpuRecord], object]
    """Told of each record that this start made."""


def measure_cards(bench: CardBench, left_out: str = "") -> CardsRecord:
    """Measure all. Raises CheckFailed where a GPU failed: a part would tell nothing.

    ``left_out``: what the record says of what there was no time for.
    """
    gpus = list(bench.gates_at)
    if len(gpus) < 2:
        raise CheckFailed("fewer than two GPUs take part by now")
    phases = _Phases(bench.folder, (*bench.rests_on, *gpus), bench.measured)
    checked = phases.done(
        "gate", CorrectnessRecord, bench.gates_at, dict.fromkeys(gpus, bench.gates)
    )
    phases.rest_on(gate for gpu in gpus for gate in checked[gpu])
    runs: list[CardRun] = []
    for phase, (setting, jobs) in enumerate(_jobs(bench, checked)):
        found = phases.done(f"{phase}.{setting}", BenchmarkRecord, bench.times_at, jobs)
        runs += [
            CardRun(
                phase=phase,
                setting=setting,
                neighbours=tuple(each for each in jobs if each != gpu),
                benchmark=record,
            )
            for gpu in jobs
            for record in found[gpu]
        ]
    phases.forget_others()
    first = bench.gates[0]
    return CardsRecord(
        schema="assay/cards/1",
        target=first.target.id,
        gpu_uuid=gpus[0],
        recorded_at=now(),
        status="collected",
        detail=left_out,
        control=first.comparison.id,
        gates=tuple(gate for gpu in gpus for gate in checked[gpu]),
        runs=tuple(runs),
    )


def _jobs(
    bench: CardBench, checked: Mapping[str, Sequence[CorrectnessRecord]]
) -> list[tuple[CardSetting, dict[str, list[BenchmarkJob]]]]:
    """Return each phase's setting, and the jobs of each GPU that works in it."""
    gpus = list(checked)
    found: list[tuple[CardSetting, dict[str, list[BenchmarkJob]]]] = []
    for setting in PASSES:
        on = gpus[:1] if setting == "alone" else gpus
        processes = bench.processes * (1 if setting == "alone" else 2)
        found.append((setting, {gpu: [_control(bench, checked[gpu][0], processes)] for gpu in on}))
    if len(bench.gates) > 1:
        others = {gpu: [bench.timed(gate) for gate in checked[gpu][1:]] for gpu in gpus}
        found.append(("beside", others))
    return found


def _control(bench: CardBench, gate: CorrectnessRecord, processes: int) -> BenchmarkJob:
    job = bench.timed(gate)
    return replace(job, protocol=replace(job.protocol, processes=processes))


@dataclass
class _Phases:
    """Phases on their way, and the files of those that are done."""

    folder: Path
    rests_on: tuple[str, ...]
    measured: Callable[[GpuRecord], object]
    wanted: set[Path] = field(default_factory=set)

    def rest_on(self, gates: Iterable[CorrectnessRecord]) -> None:
        """Let all that follows rest on what was checked."""
        self.rests_on += tuple(sha256_bytes(dump_record(gate)) for gate in gates)

    def done(
        self,
        name: str,
        record: type[R],
        measure_at: Mapping[str, Measure[R]],
        jobs: Mapping[str, Sequence[DeviceJob]],
    ) -> dict[str, list[R]]:
        """Return what each GPU makes of its jobs, all at work at once, or made in an earlier start.

        Of a phase that was cut short nothing counts: its GPUs did not work beside each other.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = {
            gpu: [
                kept_path(self.folder, f"{name}.{gpu}.{number}", job, self.rests_on)
                for number, job in enumerate(of_gpu)
            ]
            for gpu, of_gpu in jobs.items()
        }
        self.wanted |= {path for of_gpu in paths.values() for path in of_gpu}
        if (kept := _kept(paths, record)) is not None:
            say(f"cards, {name}: was measured before and is taken up")
            return kept
        for path in (path for of_gpu in paths.values() for path in of_gpu):
            path.unlink(missing_ok=True)
        works = {
            gpu: partial(measured_into, measure_at[gpu], jobs[gpu], paths[gpu]) for gpu in jobs
        }
        for gpu, end in work_at_once(works).items():
            why = end.lost or end.defect or next(filter(None, end.failures), None)
            if why is not None:
                raise CheckFailed(f"{gpu}: {why}")
        found = _kept(paths, record)
        if found is None:
            raise CheckFailed(f"cards, {name}: a record that was written cannot be read")
        for one in (one for of_gpu in found.values() for one in of_gpu):
            self.measured(one)
        return found

    def forget_others(self) -> None:
        """Remove what earlier starts kept and nothing rests on any more."""
        for path in set(self.folder.iterdir()) - self.wanted:
            path.unlink()


def _kept(paths: Mapping[str, Sequence[Path]], record: type[R]) -> dict[str, list[R]] | None:
    """Return the records of a phase; None where one is missing, or half written."""
    found: dict[str, list[R]] = {gpu: [] for gpu in paths}
    for gpu, of_gpu in paths.items():
        for path in of_gpu:
            one = kept_record(path, record)
            if one is None:
                return None
            found[gpu].append(one)
    return found
