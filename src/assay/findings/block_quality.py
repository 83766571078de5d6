"""The quality of a benchmark's blocks: those discarded and why, regimes, clocks. Pure."""

from collections import Counter
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


@dataclass(frozen=True)
class Conduct:
    """Counts of a benchmark that its samples alone do not tell."""

    blocks: int
    discarded: int
    reasons: dict[str, int]
    """Why blocks were discarded: how many for each reason."""
    regimes: dict[str, int]
    """Clock-event reasons that void nothing: blocks of each, one block may have several."""


def conduct_of(record: BenchmarkRecord) -> Conduct:
    """Count what happened beside the timing."""
    blocks = [block for process in record.processes for block in process.blocks]
    reasons = Counter(block.void for block in blocks if block.void is not None)
    regimes = Counter(regime for block in blocks for regime in set(block.regimes))
    return Conduct(
        blocks=len(blocks),
        discarded=sum(reasons.values()),
        reasons=dict(sorted(reasons.items())),
        regimes=dict(sorted(regimes.items())),
    )


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
