"""The turns, samples and launches of a benchmark's process, as several checks read them. Pure."""

from collections.abc import Iterator

from assay.evidence.model import Evidence
from assay.records.measurements import BenchmarkRecord, Process, Turn
from assay.shared.schedule import CONTROL

ROUNDING_S = 3e-4
"""Of recorded times of turns and telemetry, sums of two."""


def turns_of(process: Process) -> Iterator[Turn]:
    """Yield all turns of a process, in the order in which they were taken."""
    return (turn for block in process.blocks for turn in block.turns)


def samples_of(process: Process, arm: str) -> list[float]:
    """Return all samples of an arm, in ms, without those of its second name."""
    return [ms for turn in turns_of(process) if turn.arm == arm for ms in turn.times_ms]


def names_of(arm: str, control: str) -> frozenset[str]:
    """Return the names under which an arm takes turns: its own and, where it is the A/A one, the
    control's.
    """
    return frozenset({arm, CONTROL} if arm == control else {arm})


def dropped_arms(evidence: Evidence, target: str, name: str, record: BenchmarkRecord) -> set[str]:
    """Return the arms without samples that may have been launched: the gate says of them that they
    are correct, or says nothing.
    """
    gate = evidence.correctness.get((target, name))
    status = {arm.arm: arm.status for arm in gate.arms} if gate else {}
    return {arm for arm in record.not_timed if status.get(arm, "correct") == "correct"}
