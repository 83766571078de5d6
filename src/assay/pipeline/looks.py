"""The record of a comparison that was measured in several looks."""

from collections.abc import Sequence

from assay.records.base import GpuSpan
from assay.records.measurements import BenchmarkRecord, Process
from assay.statistics.summaries import CONTROL


def with_look(
    earlier: BenchmarkRecord | None,
    later: BenchmarkRecord,
    looks: Sequence[int],
    control: str,
) -> BenchmarkRecord:
    """Return a comparison's record with the processes of a further look.

    An arm that was lost meanwhile loses all its samples, as within one look.
    """
    if earlier is None:
        return later.model_copy(update={"looks": tuple(looks) if len(looks) > 1 else ()})
    lost = {name for name in later.not_timed if name not in earlier.not_timed}
    lost |= {CONTROL} if control in lost else set()
    before = tuple(_without(process, lost) for process in earlier.processes)
    spans = [span for span in (earlier.on_gpu, later.on_gpu) if span is not None]
    return earlier.model_copy(
        update={
            "not_timed": {**earlier.not_timed, **later.not_timed},
            "wrong": tuple(dict.fromkeys((*earlier.wrong, *later.wrong))),
            "processes": (*before, *later.processes),
            "seconds": round(earlier.seconds + later.seconds, 4),
            "remarks": tuple(dict.fromkeys((*earlier.remarks, *later.remarks))),
            "on_gpu": GpuSpan(began=spans[0].began, ended=spans[-1].ended) if spans else None,
        }
    )


def _without(process: Process, arms: set[str]) -> Process:
    """Return a process without the samples of ``arms``."""
    blocks = tuple(
        block.model_copy(
            update={"turns": tuple(turn for turn in block.turns if turn.arm not in arms)}
        )
        for block in process.blocks
    )
    facts = tuple(entry for entry in process.arms if entry.arm not in arms)
    return process.model_copy(update={"arms": facts, "blocks": blocks})
