"""Sequential designs on measurements of known truth: are the levels kept, and what do they cost?

``python -m tools.simulation_looks`` prints the record that is kept as docs/simulation_looks.json
(some minutes on two cores), with ``--table docs/simulation_looks.json`` the table of
docs/statistics.md. Each run draws as many processes as the last look has, of a claim "equals" whose
true ratio to the figure lies at a set distance from the edge of the margin. It is judged as
``pipeline.gpu_steps`` does, look after look until it is decided or none that is left may decide it
(``pipeline.hanging``), but without a noise floor; and, of its first five processes, by the fixed
design that earlier reports have. Counted of both designs are

* ``covered``: the interval at which it stopped holds the truth;
* ``wrong``: it was decided, and otherwise than the truth is (at the edge: at all);
* ``open``: it was not decided;
* ``processes``: how many were measured.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.judging.decision import equivalence
from assay.pipeline.hanging import may_decide
from assay.records.verdicts import Status
from assay.records.workloads import Judging
from assay.statistics.intervals import Cells
from assay.statistics.summaries import Summary, summary_at_look
from tools.simulation import (
    BLOCKS,
    LAUNCHES,
    MARGIN,
    SEED,
    TURNS,
    WORKERS,
    cells_of,
    judging,
    print_record,
)
from tools.simulation import markdown as as_markdown

LOOKS = (3, 5, 8, 12)
"""As the protocol ``steady`` of config/protocols.yaml; a test holds the two together."""
FIXED = 5
BATCH, BATCHES = 100, 30
DISTANCES = (0.0, 0.005, 0.01, 0.02, -0.05)
"""Of the true ratio (a log) from the edge of the margin: at it, inside, and far outside."""
SHOWN = (0.0, 0.01)
"""Distances that the documented table has."""
COUNTS = ("covered", "wrong", "open", "processes")
Kind = Literal["normal", "t3", "skewed", "drifting", "two_states"]


@dataclass(frozen=True)
class Process:
    """How process values scatter about a true mean of 0; blocks and launches are normal."""

    id: str
    kind: Kind
    spread: float
    """Standard deviation between processes; of two states, inside one."""
    share: float = 0.0
    """Of the second of two states, 3 % from the first."""


PROCESSES = (
    Process("normal_1_percent", "normal", 0.010),
    Process("normal_0.3_percent", "normal", 0.003),
    Process("t3", "t3", 0.006),
    Process("skewed", "skewed", 0.010),
    Process("drifting", "drifting", 0.005),
    Process("two_states_even", "two_states", 0.002, 0.5),
    Process("two_states_one_in_five", "two_states", 0.002, 0.2),
)
GAP = 0.03
"""Between two states."""


def rules() -> Judging:
    """The constants of config/judging.yaml; a test holds the two together."""
    return judging().model_copy(update={"state_gap": GAP})


def draw(process: Process, generator: np.random.Generator) -> Cells:
    """All processes that a run may take."""
    shape = (LOOKS[-1], BLOCKS, TURNS * LAUNCHES)
    values = _values(process, generator)[:, None, None]
    blocks = generator.normal(0, 0.002, (*shape[:2], 1))
    logs = values + blocks + generator.normal(0, 0.005, shape)
    return cells_of(logs[None], (1.0,))


def _values(process: Process, generator: np.random.Generator) -> NDArray[np.float64]:
    count, spread = LOOKS[-1], process.spread
    normal: NDArray[np.float64] = generator.normal(0, spread, count)
    match process.kind:
        case "t3":
            return spread * generator.standard_t(3, count)
        case "skewed":  # exponential, shifted to a mean of 0
            return spread * (generator.exponential(size=count) - 1)
        case "drifting":  # by two of its own spreads through the whole run
            return normal + np.linspace(-spread, spread, count)
        case "two_states":
            second = generator.random(count) < process.share
            return normal + GAP * (second - process.share)
    return normal


def summary_of_first(cells: Cells, count: int, looks: Sequence[int], given: Judging) -> Summary:
    """The summary of the first ``count`` processes."""
    return summary_at_look(cells_of(cells.samples[:, :count], cells.signs), looks, count, given)


def outcome(seen: Sequence[Summary], distance: float, given: Judging) -> list[int]:
    """What one run adds to ``COUNTS``: of the first summary that decides, or after which no look
    may, else of the last.
    """
    edge = float(np.log1p(MARGIN))
    truth = edge - distance
    for found in seen:
        status = equivalence(found.scaled(float(np.exp(truth))), 1.0, MARGIN, "above").status
        from_edge = abs(abs((found.low + found.high) / 2 + truth) - edge)
        if status is not Status.INCONCLUSIVE or not may_decide(found, from_edge, LOOKS, given):
            break
    right = (Status.REPRODUCED,) if distance > 0 else (Status.EXCEEDED,) if distance < 0 else ()
    open_ = status is Status.INCONCLUSIVE
    return [
        found.low <= 0 <= found.high,
        not open_ and status not in right,
        open_,
        found.processes,
    ]


def batch(process: Process, number: int, given: Judging) -> list[list[list[int]]]:
    """Counts over one batch of runs: by design (fixed, looks), distance, and ``COUNTS``."""
    numbers = [SEED, number, *process.id.encode()]
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(numbers)))
    counts = np.zeros((2, len(DISTANCES), len(COUNTS)), dtype=int)
    for _ in range(BATCH):
        cells = draw(process, generator)
        fixed = [summary_of_first(cells, FIXED, (FIXED,), given)]
        looks = [summary_of_first(cells, each, LOOKS, given) for each in LOOKS]
        for d, distance in enumerate(DISTANCES):
            counts[0, d] += outcome(fixed, distance, given)
            counts[1, d] += outcome(looks, distance, given)
    found: list[list[list[int]]] = counts.tolist()
    return found


def run(process: Process, batches: int, given: Judging) -> dict[str, Any]:
    """All batches of one kind of process, and the shares that are read off them."""
    done = [batch(process, number, given) for number in range(batches)]
    shares = np.sum(done, axis=0) / (batches * BATCH)
    designs = {
        name: [
            dict(zip(COUNTS, (round(float(x), 4) for x in row), strict=True)) for row in by_distance
        ]
        for name, by_distance in zip(("fixed", "looks"), shares, strict=True)
    }
    return {"process": process.id, "runs": batches * BATCH, **designs, "first_batch": done[0]}


def simulate() -> dict[str, Any]:
    """The whole record."""
    with ProcessPoolExecutor(WORKERS) as pool:
        rows = list(pool.map(run, PROCESSES, repeat(BATCHES), repeat(rules())))
    return {
        "schema": "assay/simulation_looks/1",
        "seed": SEED,
        "looks": list(LOOKS),
        "margin": MARGIN,
        "distances": list(DISTANCES),
        "processes": rows,
    }


def table(kept: dict[str, Any]) -> str:
    """A record as a Markdown table of what lies at the edge and near it, in per cent: each cell has
    the fixed design, then the looks.
    """
    titles = ["scatter", "from the edge", "interval holds the truth", "wrong", "open", "processes"]
    lines = []
    for row in kept["processes"]:
        for number, distance in enumerate(kept["distances"]):
            if distance in SHOWN:
                before, after = row["fixed"][number], row["looks"][number]
                cells = [f"{before[n] * 100:.1f}→{after[n] * 100:.1f}" for n in COUNTS[:3]]
                count = f"{before['processes']:g}→{after['processes']:.1f}"
                where = f"{distance * 100:+g}" if distance else "0"
                lines.append([row["process"].replace("_", " "), where, *cells, count])
    return as_markdown([titles, ["---"] * len(titles), *lines])


if __name__ == "__main__":
    print_record(simulate, table)
