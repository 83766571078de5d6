"""What the judge is asked in tests: claims on the arms of ``duel``, and the verdicts on them."""

from typing import Any

from assay.judging.judge import judge
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark, Derived, Metric, Term
from assay.records.verdicts import Verdict
from tests import builders as b

OURS_RATE = b.FLOP["ours"] / b.TIMES_MS["ours"] * 1e-9
RIVAL_RATE = b.FLOP["rival"] / b.TIMES_MS["rival"] * 1e-9


def rate(arm: str = "ours", over: str | None = None, comparison: str = "duel") -> Benchmark:
    metric = Metric.RATE_RATIO if over else Metric.RATE
    term = Term(comparison=comparison, arm=arm, over=over)
    return Benchmark(kind="benchmark", metric=metric, terms=(term,))


def quotient(numerator: str = "top", denominator: str = "bottom", **changes: Any) -> Derived:
    names = {"numerator": numerator, "denominator": denominator}
    return Derived(**{"kind": "derived", "formula": "quotient", **names, **changes})


def judged(*claims: Claim, on: str | None = "h100", **records: Any) -> tuple[Verdict, ...]:
    """The verdicts on claims; correct and well-behaved records of ``duel`` unless given.

    ``catalog``: what the catalog has otherwise.
    """
    catalog = b.catalog(claims, **records.pop("catalog", {}))
    records = {"benchmarks": [b.benchmark()], "checks": [b.correctness()], **records}
    return judge(catalog, b.evidence([b.measure(c.id, on) for c in claims], **records)).verdicts
