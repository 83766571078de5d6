"""How a benchmark went: blocks that were discarded and why, regimes, clocks. Pure."""

from collections import Counter
from dataclasses import dataclass
from statistics import median

from assay.records.measurements import BenchmarkRecord


@dataclass(frozen=True)
class Clocks:
    """Mean SM clock of an arm's turns in MHz, by cycles over time."""

    median_mhz: float
    low_mhz: float
    high_mhz: float


@dataclass(frozen=True)
class Conduct:
    """What the samples alone do not tell."""

    blocks: int
    discarded: int
    reasons: dict[str, int]
    """Why blocks were discarded: how many for each reason."""
    regimes: dict[str, int]
    """Clock-event reasons that void nothing: blocks of each, one block may have several."""
    clocks: dict[str, Clocks]
    """By arm; turns of discarded blocks are left out. An arm without cycles is not there."""


def conduct_of(record: BenchmarkRecord) -> Conduct:
    """Count what happened beside the timing."""
    blocks = [block for process in record.processes for block in process.blocks]
    reasons = Counter(block.void for block in blocks if block.void is not None)
    regimes = Counter(regime for block in blocks for regime in set(block.regimes))
    turns: dict[str, list[float]] = {}
    for block in blocks:
        for turn in block.turns if block.void is None else ():
            if turn.clock_mhz is not None:
                turns.setdefault(turn.arm, []).append(turn.clock_mhz)
    return Conduct(
        blocks=len(blocks),
        discarded=sum(reasons.values()),
        reasons=dict(sorted(reasons.items())),
        regimes=dict(sorted(regimes.items())),
        clocks={arm: Clocks(median(mhz), min(mhz), max(mhz)) for arm, mhz in turns.items()},
    )
