"""Whether an arm's samples fit the lengths of its turns, and of what settles before them. Pure.

Before each turn the same arm is launched for the protocol's time of settling. How many launches
that are follows from the time of one, which warming up told; how long they took follows from the
ends of two turns. So a turn's length by its number of launches, against that of its settling, says
how long a launch took when the arm warmed up, without any sample. And where launches are so long
that the GPU is never idle, a turn is as long as its samples and what clears L2 before each.
"""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from assay.measuring.told import protocol_spec
from assay.records.measurements import ArmFacts, BenchmarkRecord, Turn
from assay.records.targets import Target
from assay.records.workloads import Protocol
from assay.shared.limits import MAX_SETTLING, lead_ms, settling_launches
from assay.verification.contradictions import Findings
from assay.verification.process_turns import names_of, turns_of

LEAST, MOST = 0.85, 1.6
"""A launch that is timed, by one while warming up: on record 0.945 to 1.194, over all processes of
an arm. Zeros that warm up behind arms that take the clock down may be faster later; a card of low
power may lose more of its clock once it is warm."""
LEAST_SHORT, MOST_SHORT = 0.9, 1.1
"""How many launches settle, by the most that do, where launches are so short that all of those do.
On record 0.938 to 1."""
IDLE = 0.92
"""The length of a turn that waits for the host, by its idle work and its samples: 0.97 on record,
at the least."""

BUSY_MS = 0.7
"""From this launch on no host keeps the GPU waiting. A shorter one may wait, and its turns begin
with idle work so that it need not: on record up to those of PyTorch's BSR kernel, whose settings
the host works out at each launch, of 0.54 to 0.62 ms, in some processes of an arm and not in
others."""
LEAD_MS = 6.0
"""The idle work that a turn begins with where its launches are as long: on record up to 3 ms."""
BETWEEN_MS = 0.1
"""Between two launches, beside twice what writing L2 twice takes: on record 0.115 ms in all, of an
L2 that takes 0.03 ms. Few long launches have more, which is less than their lead."""


def check_lengths(
    record: BenchmarkRecord,
    protocol: Protocol,
    target: Target,
    control: str,
    path: str,
    findings: Findings,
    *,
    exact: bool,
) -> None:
    """Add the arms whose samples are shorter, or longer, than their turns tell.

    ``exact``: no arm was dropped whose turns lay between the others.
    """
    _check_busy(record, target, control, path, findings)
    spec = protocol_spec(protocol)
    for facts in record.processes[0].arms if record.processes else ():
        told = _told(record, facts, control)
        if spec.settle_ms <= 0 or told is None:
            continue
        asked = spec.settle_ms / told.launch_ms
        least = min(LEAST_SHORT * MAX_SETTLING, LEAST * asked)
        most = min(MOST_SHORT * MAX_SETTLING, MOST * asked + 1)
        fewer = told.settling < least and not told.waits(settling_launches(spec, told.launch_ms))
        if fewer or (exact and told.settling > most):
            says = (
                f"{path}: by the lengths of its turns {told.settling:.0f} launches of {facts.arm} "
                f"settled, and its times ask for {least:.0f} to {most:.0f}"
            )
            findings.refuse("turn-lengths", says)


def _check_busy(
    record: BenchmarkRecord, target: Target, control: str, path: str, findings: Findings
) -> None:
    """Add the arms of long launches whose turns took much longer than these."""
    clearing = 2 * target.l2_bytes / (target.peaks.memory_gb_per_s * 1e6)
    for facts in record.processes[0].arms if record.processes else ():
        names = names_of(facts.arm, control)
        turns = [turn for each in record.processes for turn in turns_of(each) if turn.arm in names]
        times = [ms for turn in turns for ms in turn.times_ms]
        if not times:
            continue
        launch_ms = statistics.median(times) * facts.launches_per_sample
        samples = max(len(turn.times_ms) for turn in turns)
        turn_ms = statistics.median(turn.ended_s - turn.started_s for turn in turns) * 1e3
        most = LEAD_MS + samples * (launch_ms + BETWEEN_MS + 2 * clearing)
        if launch_ms >= BUSY_MS and turn_ms > most:
            says = (
                f"{path}: a turn of {facts.arm} took {turn_ms:.1f} ms, and its launches "
                f"{samples * launch_ms:.1f} ms"
            )
            findings.refuse("turn-lengths", says)


@dataclass(frozen=True)
class _Told:
    """What lengths and samples tell of an arm, as medians over all processes, in ms."""

    launch_ms: float
    samples: int
    """Of a turn."""
    turn_ms: float
    settling_ms: float

    @property
    def settling(self) -> float:
        """Return how many launches settle, each as long as those of a turn with what lies
        between.
        """
        return self.settling_ms * self.samples / self.turn_ms

    def waits(self, settling: int) -> bool:
        """Return whether the arm may have waited for the host: its turns are then longer than their
        launches, by idle work that follows from what the host took while ``settling`` launches
        settled.
        """
        lead = lead_ms(max(self.launch_ms, self.settling_ms / settling), 0.0, self.samples)
        least = IDLE * (lead + self.samples * self.launch_ms)
        return self.launch_ms <= BUSY_MS and self.turn_ms >= least


def _told(record: BenchmarkRecord, facts: ArmFacts, control: str) -> _Told | None:
    """Return what is told of an arm; None where no turn tells how long it settled."""
    names = names_of(facts.arm, control)
    turns, settling = list[Turn](), list[float]()
    for process in record.processes:
        turns += [turn for turn in turns_of(process) if turn.arm in names]
        settling += _settling_ms(list(turns_of(process)), names)
    if not settling:
        return None
    times = [ms for turn in turns for ms in turn.times_ms]
    return _Told(
        launch_ms=statistics.median(times) * facts.launches_per_sample,
        samples=max(len(turn.times_ms) for turn in turns),
        turn_ms=statistics.median(turn.ended_s - turn.started_s for turn in turns) * 1e3,
        settling_ms=statistics.median(settling),
    )


def _settling_ms(turns: list[Turn], names: frozenset[str]) -> Iterator[float]:
    """Yield what lies between two turns; where the first is checked, that takes its time, too."""
    for before, turn in pairwise(turns):
        if turn.arm in names and not before.checked:
            yield (turn.started_s - before.ended_s) * 1e3
