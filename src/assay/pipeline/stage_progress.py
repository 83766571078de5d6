"""How far each stage of a running workflow is, read off what Snakemake and the steps say.

Snakemake says at its start how many steps of each rule there are, and then which one begins and
ends; the steps of a GPU say how far they are within themselves.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from assay.findings.step_timings import ON_GPU
from assay.pipeline.durations import STEP_S, Step
from assay.records.timings import Stage

OURS = "assay: "
"""How every line begins that a step says to the person at the terminal."""
WITHIN = f"{OURS}  ["
"""How a line of a GPU's step begins that says how far it is: ``assay:   [2/5] ...``."""
_TOTAL = re.compile(r"^(\w+) +(\d+)$")
_BEGUN = re.compile(r"^Job \d+: (\w+): (.*)$")
_ENDED = re.compile(r"^Finished jobid: \d+ \(Rule: (\w+)\)")
_STEP_TOLD = re.compile(rf"^{OURS}[\w.]+: \d+\.\d s$")
TAKEN_OVER = "earlier figures"
"""The stages of a GPU in one, where a run measures nothing and takes over what was measured."""
FIRST_S = 20.0
"""Seconds after which this run's own speed counts as much as what earlier runs took."""
OVERDUE = 4
"""What is late takes about a quarter more of the time that it has taken."""
_IMAGES = {"compilers": Stage.TOOLCHAIN_IMAGE, "what": Stage.RUNNER_IMAGE}
"""By the first word of what a rule that makes an image says of it."""


@dataclass
class StageState:
    """How far one stage is."""

    total: int
    begun: int = 0
    ended: int = 0
    started_at: float = 0.0
    ended_at: float = 0.0
    doing: str = ""
    """What its last step does, or how far that is."""

    @property
    def running(self) -> bool:
        """Return whether a step of it is under way."""
        return self.begun > self.ended


@dataclass
class StageProgress:
    """Follows a workflow by its lines."""

    seconds: Mapping[str, float]
    """What a step of a stage takes, by what earlier ones took; absent where nobody knows."""
    cores: int
    measures: bool = True
    """Whether anything is measured; else the stages of a GPU are one, ``TAKEN_OVER``."""
    clock: Callable[[], float] = time.monotonic
    stages: dict[str, StageState] = field(default_factory=dict)
    _announced: set[str] = field(default_factory=set)

    def see(self, line: str) -> None:
        """Take up one line of the workflow's output."""
        if match := _TOTAL.match(line):
            if match[1] in set(Stage):
                self._announce(match[1], int(match[2]))
        elif match := _BEGUN.match(line):
            self._begin(*match.groups())
        elif match := _ENDED.match(line):
            state = self.stages.get(self._shown_as(match[1]))
            if state is not None:
                state.ended, state.ended_at = state.ended + 1, self.clock()
        elif line.startswith(WITHIN):
            for state in self.stages.values():
                if state.running:
                    state.doing = line.removeprefix(OURS).strip()

    def _shown_as(self, stage: str) -> str:
        return TAKEN_OVER if not self.measures and stage in ON_GPU else stage

    def _announce(self, stage: str, total: int) -> None:
        if stage not in self._announced:
            self._announced.add(stage)
            self.stages.setdefault(self._shown_as(stage), StageState(0)).total += total

    def _begin(self, word: str, rest: str) -> None:
        rule = _IMAGES.get(rest.split(maxsplit=1)[0], word) if word == "image" else word
        name = self._shown_as(rule)
        state = self.stages.get(name)
        if state is None:
            return
        if not state.begun:
            state.started_at = self.clock()
        state.begun += 1
        state.doing = rest if name == rule else ""

    def told(self, line: str) -> bool:
        """Return whether a line says only what the stages show."""
        return line.startswith(WITHIN) or _STEP_TOLD.match(line) is not None

    def left_s(self, name: str) -> float | None:
        """Return the seconds that a stage will likely take at this run's speed; None where no time
        of it is known.
        """
        state, whole = self.stages[name], self._expected_s(name)
        if whole is None:
            return None
        left = whole * (state.total - state.ended) * self.slowness()
        if not state.running:
            return left
        gone = self.clock() - (state.ended_at or state.started_at)
        return max(left - gone, gone / OVERDUE)

    def slowness(self) -> float:
        """Return what this run's steps took over what was expected; 1 before any has ended."""
        took = expected = FIRST_S
        for name, state in self.stages.items():
            each = self._expected_s(name)
            if each is not None and state.ended:
                took += state.ended_at - state.started_at
                expected += each * state.ended
        return took / expected

    def _expected_s(self, name: str) -> float | None:
        """Return the seconds on the clock that a step of a stage takes, by earlier runs."""
        seconds = 0.0 if name == TAKEN_OVER else self.seconds.get(name)
        if seconds is None:
            return None
        return (seconds + STEP_S) / (self.cores if name == Stage.BUILD else 1)

    def all_left_s(self) -> float | None:
        """Return the same of all stages whose times are known; None where none is."""
        known = [left for name in self.stages if (left := self.left_s(name)) is not None]
        return sum(known) if known else None


def mean_seconds(known: Mapping[Step, float]) -> dict[str, float]:
    """Return what a step of each stage takes, from the times of single steps."""
    found: dict[str, list[float]] = {}
    for (stage, _), seconds in known.items():
        found.setdefault(stage.value, []).append(seconds)
    return {name: fmean(times) for name, times in found.items()}
