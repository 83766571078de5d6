"""What several GPUs of a machine are held against each other by, and how long that takes. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.base.errors import CheckFailed
from assay.catalog.model import Catalog
from assay.measuring.card_runs import PASSES

STARTS = 1 + len(PASSES)
"""Of the device side on the first GPU for the control: its gate, and each phase."""


@dataclass(frozen=True)
class ComparisonTime:
    """What one comparison takes on a GPU."""

    gate_s: float
    process_s: float
    """Of one process of its benchmark."""
    processes: int

    @property
    def benchmark_s(self) -> float:
        """Return what all its processes take."""
        return self.process_s * self.processes


@dataclass(frozen=True)
class CardsChoice:
    """What every GPU measures."""

    comparisons: tuple[str, ...]
    """The first is the control."""
    processes: int
    """Of the control, for each time that its setting is timed."""
    seconds: float
    """What all of it is expected to take."""
    left_out: tuple[str, ...]
    """Comparisons that there was no time for."""


def card_candidates(catalog: Catalog, planned: Sequence[str]) -> list[str]:
    """Return the comparisons among which is chosen: those of config/judging.yaml that a run
    measures anyway; else any of the run.
    """
    wanted = [name for name in catalog.judging.card_comparisons if name in planned]
    return wanted or list(planned)


def choose_cards(
    catalog: Catalog, times: Mapping[str, ComparisonTime], start_s: float
) -> CardsChoice:
    """Choose among candidates that can be timed, in at most the seconds of config/judging.yaml.

    ``times``: what each takes; ``start_s``: what a start of the device side takes. The control is
    the first that config/judging.yaml names, else the one that takes least; each setting has as
    many of its processes as a spread can be told from. The others are named ones, as far as there
    is time. Raises CheckFailed where there is no control, or no time for it.
    """
    judging = catalog.judging
    named = [name for name in judging.card_comparisons if name in times]
    if not times:
        raise CheckFailed("no comparison was timed that could be a control")
    control, *others = named or [min(times, key=lambda name: (times[name].process_s, name))]
    processes = math.ceil(judging.program_runs / PASSES.count("alone"))
    own = times[control]
    passes = PASSES.count("alone") + 2 * PASSES.count("beside")
    seconds = STARTS * start_s + own.gate_s + passes * processes * own.process_s
    if seconds > judging.card_seconds:
        raise CheckFailed(
            f"by {control} it would take about {seconds:.0f} s, and config/judging.yaml gives it "
            f"{judging.card_seconds:g}"
        )
    chosen = [control]
    for name in others:
        more = times[name].gate_s + times[name].benchmark_s + (start_s if len(chosen) == 1 else 0.0)
        if seconds + more <= judging.card_seconds:
            chosen.append(name)
            seconds += more
    left_out = tuple(name for name in others if name not in chosen)
    return CardsChoice(tuple(chosen), processes, seconds, left_out)


def left_out_words(choice: CardsChoice) -> str:
    """Return what a record says of comparisons that there was no time for; nothing of none."""
    if not choice.left_out:
        return ""
    return f"no time for {', '.join(choice.left_out)}"
