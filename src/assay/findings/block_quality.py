"""The quality of a benchmark's blocks: those discarded and why, regimes, clocks. Pure."""

from collections import Counter
from dataclasses import dataclass

import pandas as pd

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


def clocks_of(turns: pd.DataFrame) -> dict[ArmKey, ClockSpread]:
    """Return the clocks of every arm in a frame of turns (``assay.frames.TURNS``).

    Turns of discarded blocks are left out. An arm without cycles is not there.
    """
    counted = turns[~turns.discarded].dropna(subset="clock_mhz")
    arms = counted.groupby(["target", "comparison", "arm"], observed=True).clock_mhz
    return {key: ClockSpread(*mhz) for key, *mhz in arms.agg(["median", "min", "max"]).itertuples()}
