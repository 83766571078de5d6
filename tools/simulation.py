"""Measurements of known truth, judged by the code that judges real ones: are the levels kept?

``python -m tools.simulation`` runs every scenario (about a minute on two cores) and prints the
record that is kept as docs/simulation.json; ``python -m tools.simulation --table
docs/simulation.json`` prints the tables of docs/statistics.md from it. The same seed gives the same
numbers.

Each run draws a measurement as config/protocols.yaml plans it (5 processes of 2 blocks, in each two
turns of 10 launches an arm) from a model with effects of process, block and launch. Counted are

* ``covered``: the interval holds the truth;
* ``reproduced_at_margin``: the truth lies at the very edge of the margin, yet the claim is judged
  reproduced; mean over both edges;
* ``beyond_at_margin``: the same, yet judged exceeded or not reproduced;
* ``one_sided``: the figure is exactly the truth, yet "at least" that is decided; mean of the two
  decisions;
* ``worse_side``: the larger share of the four that the two means at the margin are made of;
* ``percentile_covered``: the interval of a plain hierarchical percentile bootstrap holds the truth.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from assay.judging.decision import equivalence, one_sided
from assay.records.claims import Relation
from assay.records.verdicts import Status
from assay.records.workloads import Judging
from assay.statistics.intervals import Cells, Interval, interval
from assay.statistics.summaries import Summary, summary_of

FloatArray = NDArray[np.float64]

PROCESSES, BLOCKS, TURNS, LAUNCHES = 5, 2, 2, 10
"""As the protocol ``steady`` of config/protocols.yaml, with a fixed number of processes; a test
holds the two together."""
SEED = 20261121
BATCH = 250
"""Runs that share a seed: a test recomputes one batch of each scenario."""
BATCHES = 20
WORKERS = 2
MARGIN = 0.05
"""Wide against the intervals, so that only one edge matters: the hardest case for the level."""
COUNTS = (
    "covered",
    "reproduced_above",
    "reproduced_below",
    "beyond_above",
    "beyond_below",
    "at_least_held",
    "at_least_missed",
    "percentile_covered",
)


@dataclass(frozen=True)
class Scenario:
    """Standard deviations of ln(time) between processes, blocks of one, and launches of one."""

    id: str
    quantity: Literal["time", "ratio", "runs"]
    process: float
    block: float
    launch: float
    twist: Literal["none", "trend", "tails", "skewed", "two_clocks"] = "none"
    """What departs from the model of three normal effects; such scenarios are held to no level."""


_MODELS = (
    ("process_only", 0.010, 0.0, 0.0),
    ("process_dominated", 0.010, 0.003, 0.005),
    ("balanced", 0.010, 0.010, 0.020),
    ("block_dominated", 0.003, 0.010, 0.010),
    ("launch_dominated", 0.002, 0.003, 0.040),
    ("launch_only", 0.0, 0.0, 0.030),
)
_QUANTITIES: tuple[Literal["time", "ratio"], ...] = ("time", "ratio")
SCENARIOS = (
    *(Scenario(f"{q}_{name}", q, p, b, s) for q in _QUANTITIES for name, p, b, s in _MODELS),
    Scenario("runs_of_a_program", "runs", 0.010, 0.0, 0.0),
)
STRESS = (
    Scenario("time_trend_in_every_process", "time", 0.010, 0.010, 0.010, "trend"),
    Scenario("time_heavy_tailed_processes", "time", 0.010, 0.003, 0.005, "tails"),
    Scenario("time_skewed_launches", "time", 0.010, 0.003, 0.030, "skewed"),
    Scenario("time_two_clocks", "time", 0.002, 0.002, 0.005, "two_clocks"),
)


def judging() -> Judging:
    """The constants of config/judging.yaml; a test holds the two together."""
    return Judging(
        schema="assay/judging/1",
        confidence=0.90,
        absolute_margin=0.08,
        ratio_margin=MARGIN,
        bootstrap_resamples=2000,
        bootstrap_seed=20251101,
        worst_of="bounds",
        program_runs=5,
        correctness_seeds=(1, 2, 3),
    )


def draw(scenario: Scenario, generator: np.random.Generator) -> Cells:
    """One measurement whose true log is 0 (of skewed launches: whose true median is)."""
    if scenario.quantity == "runs":
        runs = generator.normal(0, scenario.process, (1, PROCESSES, 1, 1))
        return cells_of(runs, (1.0,))
    if scenario.quantity == "time":
        return cells_of(_arm(scenario, generator)[None], (1.0,))
    # A drift that both arms share cancels in their ratio; each arm's own effects are halved in
    # variance, so that the ratio has those of the scenario.
    drift = generator.normal(0, 3 * scenario.process, (PROCESSES, 1, 1))
    share = Scenario(
        scenario.id,
        "time",
        scenario.process / np.sqrt(2),
        scenario.block / np.sqrt(2),
        scenario.launch,
    )
    arms = [drift + _arm(share, generator) for _ in range(2)]
    return cells_of(np.stack(arms), (-1.0, 1.0))


def _arm(scenario: Scenario, generator: np.random.Generator) -> FloatArray:
    """[processes, blocks, launches]"""
    shape = (PROCESSES, BLOCKS, TURNS * LAUNCHES)
    process: FloatArray = generator.normal(0, scenario.process, (PROCESSES, 1, 1))
    block = generator.normal(0, scenario.block, (PROCESSES, BLOCKS, 1))
    launch: FloatArray = generator.normal(0, scenario.launch, shape)
    if scenario.twist == "trend":  # heats up alike in every process; symmetric about its median
        block = block + np.linspace(-0.04, 0.04, BLOCKS)[None, :, None]
    if scenario.twist == "tails":  # Student's t with three degrees of freedom
        process = scenario.process * generator.standard_t(3, (PROCESSES, 1, 1))
    if scenario.twist == "skewed":  # exponential, shifted to a median of 0
        launch = scenario.launch * (generator.exponential(size=shape) - np.log(2))
    if scenario.twist == "two_clocks":  # each process keeps one of two clocks, 3 % apart
        process = process + 0.03 * (generator.integers(2, size=(PROCESSES, 1, 1)) - 0.5)
    return process + block + launch


def cells_of(logs: FloatArray, signs: tuple[float, ...]) -> Cells:
    """The cells of logs [arms, processes, blocks, launches], none of which is missing."""
    arms, processes, blocks, launches = logs.shape
    return Cells(
        samples=np.sort(logs, axis=-1),
        blocks=np.full(processes, blocks),
        counts=np.full((arms, processes, blocks), launches),
        signs=signs,
    )


def outcomes(summary: Summary, found: Interval) -> list[bool]:
    """Which of ``COUNTS`` one measurement of true log 0 adds to."""
    edge = 1 + MARGIN
    above = equivalence(summary, 1 / edge, MARGIN, "above").status  # the truth lies at +margin
    below = equivalence(summary, edge, MARGIN, "above").status
    single = one_sided(summary, 1.0, Relation.AT_LEAST).status
    low, high = found.percentile
    return [
        summary.low <= 0 <= summary.high,
        above is Status.REPRODUCED,
        below is Status.REPRODUCED,
        above is Status.EXCEEDED,
        below is Status.NOT_REPRODUCED,
        single is Status.REPRODUCED,
        single is Status.NOT_REPRODUCED,
        low <= 0 <= high,
    ]


def batch(scenario: Scenario, number: int, rules: Judging) -> tuple[list[int], list[float]]:
    """Counts over one batch of runs, in the order of ``COUNTS``, and the half-widths."""
    numbers = [SEED, number, *scenario.id.encode()]
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(numbers)))
    counts, halves = np.zeros(len(COUNTS), dtype=int), []
    for _ in range(BATCH):
        cells = draw(scenario, generator)
        found = interval(cells, rules)
        summary = summary_of(cells, found, rules)
        counts += outcomes(summary, found)
        halves.append((summary.high - summary.low) / 2)
    return [int(count) for count in counts], halves


def run(scenario: Scenario, batches: int, rules: Judging) -> dict[str, Any]:
    """All batches of a scenario, and the shares that are read off them."""
    done = [batch(scenario, number, rules) for number in range(batches)]
    total = dict(zip(COUNTS, np.sum([counts for counts, _ in done], axis=0), strict=True))
    runs = batches * BATCH

    def share(*names: str) -> float:
        return round(sum(int(total[name]) for name in names) / (runs * len(names)), 4)

    sides = ("reproduced_above", "reproduced_below", "beyond_above", "beyond_below")

    return {
        "scenario": scenario.id,
        "process_sd": scenario.process,
        "block_sd": scenario.block,
        "launch_sd": scenario.launch,
        "runs": runs,
        "covered": share("covered"),
        "reproduced_at_margin": share("reproduced_above", "reproduced_below"),
        "beyond_at_margin": share("beyond_above", "beyond_below"),
        "one_sided": share("at_least_held", "at_least_missed"),
        "worse_side": max(share(name) for name in sides),
        "percentile_covered": share("percentile_covered"),
        "median_half_width": round(float(np.median([h for _, hs in done for h in hs])), 5),
        "batches": [counts for counts, _ in done],
    }


def simulate() -> dict[str, Any]:
    """The whole record."""
    rules = judging()
    scenarios = (*SCENARIOS, *STRESS)
    with ProcessPoolExecutor(WORKERS) as pool:
        rows = list(pool.map(run, scenarios, repeat(BATCHES), repeat(rules)))
    return {
        "schema": "assay/simulation/1",
        "seed": SEED,
        "confidence": rules.confidence,
        "margin": MARGIN,
        "counts": list(COUNTS),
        "scenarios": rows[: len(SCENARIOS)],
        "stress": rows[len(SCENARIOS) :],
    }


_COLUMNS = (
    ("covered", "interval holds the truth"),
    ("reproduced_at_margin", "false reproduced at the margin"),
    ("beyond_at_margin", "other false verdicts there"),
    ("percentile_covered", "plain bootstrap"),
)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows of a record as a Markdown table, in per cent."""
    titles = ["scenario", "sd process/block/launch", *(text for _, text in _COLUMNS)]
    lines = []
    for row in rows:
        spreads = "/".join(
            f"{row[name] * 100:g}" for name in ("process_sd", "block_sd", "launch_sd")
        )
        shares = [f"{row[name] * 100:.1f}" for name, _ in _COLUMNS]
        lines.append([row["scenario"].replace("_", " "), spreads, *shares])
    return markdown([titles, ["---"] * len(titles), *lines])


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Lines of cells as a Markdown table; the second is its rule."""
    rows = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([rows[0], rows[1].replace(" ", ""), *rows[2:]])


def print_record(
    simulated: Callable[[], dict[str, Any]], tables: Callable[[dict[str, Any]], str]
) -> None:
    """Print the record, or with ``--table FILE`` the tables of one that is kept."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", type=argparse.FileType(), help="print this record's tables")
    kept = parser.parse_args().table
    if kept:
        print(tables(json.load(kept)))
    else:
        print(json.dumps(simulated(), indent=1))


if __name__ == "__main__":
    print_record(simulate, lambda kept: f"{table(kept['scenarios'])}\n\n{table(kept['stress'])}")
