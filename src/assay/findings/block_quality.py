"""The SM clocks of a benchmark's blocks. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from assay.records.measurements import BenchmarkRecord

ArmKey = tuple[str, str, str]
"""(target, comparison, arm)."""


@dataclass(frozen=True)
class ClockSpread:
    """Mean SM clock of an arm's turns in MHz, by cycles over time."""

    median_mhz: float
    low_mhz: float
    high_mhz: float


def clocks_of(records: Iterable[BenchmarkRecord]) -> dict[ArmKey, ClockSpread]:
    """Return the clocks of every arm, by its turns in blocks that count."""
    found: dict[ArmKey, list[float]] = {}
    for record in records:
        for process in record.processes:
            for turn in (t for block in process.blocks if block.void is None for t in block.turns):
                if turn.clock_mhz is not None:
                    key = record.target, record.comparison, turn.arm
                    found.setdefault(key, []).append(turn.clock_mhz)
    return {key: ClockSpread(median(mhz), min(mhz), max(mhz)) for key, mhz in found.items()}
