"""Claims over the worst of several terms, on measurements of known truth: are the levels kept?

``python -m tools.simulation_worst`` prints the record that is kept as docs/simulation_worst.json (a
few minutes on two cores), with ``--table docs/simulation_worst.json`` the table of
docs/statistics.md. Terms are drawn as tools.simulation draws paired ratios, independently of each
other: the hardest case, since terms of one run share processes and so agree more. The claim is "at
least" exactly the worst term's true value: whatever is decided is wrong. Counted are

* ``covered``: the bounds hold the worst term's true value;
* ``reproduced``, ``not_reproduced``: the claim is judged so;
* ``own_covered``: the interval of the lowest term, at its own level, holds that value;
* ``own_not_reproduced``: one term's interval, at its own level, lies wholly below the figure.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from assay.judging.decision import one_sided
from assay.judging.measured import bounds, for_decision, stricter
from assay.records.claims import Relation
from assay.records.verdicts import Status
from assay.records.workloads import Judging
from assay.statistics.intervals import Cells, interval
from assay.statistics.summaries import Summary, summary_of
from tools.simulation import SEED, WORKERS, Scenario, draw, judging, markdown, print_record

BATCH, BATCHES = 50, 20
TERMS = 8
"""As many as the sweep's claim has; a test holds the two together."""
APART = 0.03
"""How far (a log) the other terms lie above the worst, where they do."""
COUNTS = ("covered", "reproduced", "not_reproduced", "own_covered", "own_not_reproduced")


@dataclass(frozen=True)
class Case:
    """The true values of the terms, and the scatter of their measurements."""

    id: str
    scenario: Scenario
    apart: float
    """Logs between the worst term's true value and that of all others."""


_SCATTERS = (
    Scenario("ratio_process_dominated", "ratio", 0.010, 0.003, 0.005),
    Scenario("ratio_balanced", "ratio", 0.010, 0.010, 0.020),
)
CASES = tuple(
    Case(f"{name}_{scenario.id}", scenario, apart)
    for name, apart in (("all_alike", 0.0), ("one_worst", APART))
    for scenario in _SCATTERS
)


def outcomes(own: Sequence[Summary], wide: Sequence[Summary]) -> list[bool]:
    """Which of ``COUNTS`` one measurement of all terms adds to; the worst true log is 0."""
    deciding = [for_decision(*pair, True) for pair in zip(own, wide, strict=True)]
    worst = bounds(deciding, True)
    lowest = min(own, key=lambda summary: summary.estimate)
    status = one_sided(worst, 1.0, Relation.AT_LEAST).status
    alone = [one_sided(summary, 1.0, Relation.AT_LEAST).status for summary in own]
    return [
        worst.low <= 0 <= worst.high,
        status is Status.REPRODUCED,
        status is Status.NOT_REPRODUCED,
        lowest.low <= 0 <= lowest.high,
        Status.NOT_REPRODUCED in alone,
    ]


def _summary(cells: Cells, rules: Judging) -> Summary:
    return summary_of(cells, interval(cells, rules), rules)


def batch(case: Case, number: int, rules: Judging) -> list[int]:
    """Counts over one batch of runs, in the order of ``COUNTS``."""
    numbers = [SEED, number, *case.id.encode()]
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(numbers)))
    strict = stricter(rules, TERMS)
    counts = np.zeros(len(COUNTS), dtype=int)
    for _ in range(BATCH):
        own, wide = [], []
        for term in range(TERMS):
            cells = draw(case.scenario, generator)
            factor = float(np.exp(case.apart)) if term else 1.0
            own.append(_summary(cells, rules).scaled(factor))
            wide.append(_summary(cells, strict).scaled(factor))
        counts += outcomes(own, wide)
    return [int(count) for count in counts]


def run(case: Case, batches: int, rules: Judging) -> dict[str, Any]:
    """All batches of a case, and the shares that are read off them."""
    done = [batch(case, number, rules) for number in range(batches)]
    runs = batches * BATCH
    shares = {
        name: round(int(total) / runs, 4)
        for name, total in zip(COUNTS, np.sum(done, axis=0), strict=True)
    }
    return {"case": case.id, "runs": runs, **shares, "batches": done}


def simulate() -> dict[str, Any]:
    """The whole record."""
    rules = judging()
    with ProcessPoolExecutor(WORKERS) as pool:
        rows = list(pool.map(run, CASES, repeat(BATCHES), repeat(rules)))
    return {
        "schema": "assay/simulation_worst/1",
        "seed": SEED,
        "confidence": rules.confidence,
        "terms": TERMS,
        "counts": list(COUNTS),
        "cases": rows,
    }


_COLUMNS = (
    ("covered", "bounds hold the worst term's truth"),
    ("reproduced", "false reproduced"),
    ("not_reproduced", "false not reproduced"),
    ("own_covered", "lowest term's own interval holds it"),
    ("own_not_reproduced", "false not reproduced by own intervals"),
)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows of a record as a Markdown table, in per cent."""
    titles = ["terms", "runs", *(text for _, text in _COLUMNS)]
    lines = []
    for row in rows:
        shares = [f"{row[name] * 100:.1f}" for name, _ in _COLUMNS]
        lines.append([row["case"].replace("_", " "), str(row["runs"]), *shares])
    return markdown([titles, ["---"] * len(titles), *lines])


if __name__ == "__main__":
    print_record(simulate, lambda kept: table(kept["cases"]))
