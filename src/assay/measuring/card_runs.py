"""Several GPUs of one machine, timed alone and beside each other, in the same run.

The control is timed on the first GPU while the others are idle, then on all at once, once more on
all, and alone again: what drifts meanwhile falls on both settings alike. Then every GPU times the
other comparisons, all at once. Each GPU checks first what it times.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.measuring.best_effort import now
from assay.measuring.gpu_workers import work_at_once
from assay.measuring.resume import batch_at
from assay.measuring.spread import measured_into
from assay.records.base import Record
from assay.records.cards import CardRun, CardSetting, CardsRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord
from assay.runtimes.base import Place
from assay.shared.job import BenchmarkJob, CorrectnessJob, DeviceJob

PATIENCE_S = 900.0
"""Most seconds of all: on two GPUs it takes four."""
SETTINGS: tuple[CardSetting, ...] = ("alone", "beside", "beside", "alone")
"""Of the control, in this order."""


@dataclass(frozen=True)
class CardBench:
    """What is measured on which GPUs."""

    gates: Sequence[CorrectnessJob]
    """Of each comparison; the first is the control."""
    timed: Callable[[CorrectnessRecord], BenchmarkJob]
    """The job that times what a gate let through."""
    places: Mapping[str, Place]
    """By the UUID of their GPU."""
    folder: Path
    """For records on their way."""


def measure_cards(bench: CardBench) -> CardsRecord:
    """Measure all. Raises CheckFailed where a GPU failed: a part would tell nothing."""
    gpus = list(bench.places)
    if len(gpus) < 2:
        raise CheckFailed("fewer than two GPUs take part by now")
    checked = {
        gpu: [record for record in found if isinstance(record, CorrectnessRecord)]
        for gpu, found in _at_once(bench, dict.fromkeys(gpus, bench.gates), CorrectnessRecord)
    }
    control, *others = range(len(bench.gates))
    phases = [
        (setting, [control], gpus[:1] if setting == "alone" else gpus) for setting in SETTINGS
    ]
    if others:
        phases.append(("beside", others, gpus))
    runs = [
        CardRun(
            phase=phase,
            setting=setting,
            neighbours=tuple(each for each in on if each != gpu),
            benchmark=record,
        )
        for phase, (setting, numbers, on) in enumerate(phases)
        for gpu, found in _at_once(
            bench,
            {gpu: [bench.timed(checked[gpu][number]) for number in numbers] for gpu in on},
            BenchmarkRecord,
        )
        for record in found
        if isinstance(record, BenchmarkRecord)
    ]
    first = bench.gates[control]
    return CardsRecord(
        schema="assay/cards/1",
        target=first.target.id,
        gpu_uuid=gpus[0],
        recorded_at=now(),
        status="collected",
        detail="",
        control=first.comparison.id,
        gates=tuple(gate for gpu in gpus for gate in checked[gpu]),
        runs=tuple(runs),
    )


def _at_once(
    bench: CardBench, jobs: Mapping[str, Sequence[DeviceJob]], record: type[Record]
) -> Iterator[tuple[str, list[Record]]]:
    """Yield what each GPU makes of its jobs, all at work at once."""
    bench.folder.mkdir(parents=True, exist_ok=True)
    paths = {
        gpu: [bench.folder / f"{gpu}.{number}.json.gz" for number in range(len(jobs[gpu]))]
        for gpu in jobs
    }
    works = {
        gpu: partial(measured_into, batch_at(bench.places[gpu], record), jobs[gpu], paths[gpu])
        for gpu in jobs
    }
    for gpu, end in work_at_once(works).items():
        why = end.lost or end.defect or next(filter(None, end.failures), None)
        if why is not None:
            raise CheckFailed(f"{gpu}: {why}")
        yield gpu, [read_record(record, path) for path in paths[gpu]]
        for path in paths[gpu]:
            path.unlink()
