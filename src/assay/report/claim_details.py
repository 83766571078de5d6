"""What is folded below a claim's line: every verdict on it in full."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from assay.base.printable import capital
from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import platform_path
from assay.judging.counts import outcome
from assay.judging.verdicts import FIGURES
from assay.records.attestation import APPENDIX
from assay.records.claims import Claim
from assay.records.evaluations import PRIMARY, Benchmark, Metric
from assay.records.measurements import ArmFacts
from assay.records.units import margin_factor
from assay.records.verdicts import Status, Verdict, VerdictReading
from assay.report import formatting as fmt
from assay.report.verdict_text import VerdictText, ratio_of, verdict_text
from assay.shared.counting import counted

HOLDS = {True: "yes", False: "no", None: "open"}
DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
WORDS = 14  # of a reading: what is longer is parted at its first colon, semicolon or bracket


class VerdictDetail(NamedTuple):
    """What is folded below a line, of one verdict."""

    text: VerdictText
    told: str
    """Its explanation, without the figures, which stand above it."""
    readings: tuple[fmt.Row, ...]
    """Every meaning of its words, the primary one first; none where they have but one."""
    facts: tuple[fmt.Fact, ...]
    nearest: tuple[str, ...]
    links: tuple[fmt.Link, ...]

    @property
    def shows(self) -> set[str]:
        """Return which columns of the table of readings have anything to say."""
        shown = {k for k in ("products", "done") for row in self.readings if row[k] != fmt.NOTHING}
        return shown | {"factor" for row in self.readings if row["ratio"] not in (None, 1)}


def verdict_details(
    catalog: Catalog, evidence: Evidence, rows: Sequence[Verdict]
) -> Iterator[VerdictDetail]:
    """Yield every verdict in full, the first with where its cause was found."""
    machines = [evidence.place(platform_path(target)) for target in evidence.platforms]
    for row in rows:
        found = ""
        if row is rows[0] and row.why is not None and row.why_on is not None:
            on = catalog.targets[row.why_on].product
            found = f"Its cause, {row.why.short}, was found on {on} (below). "
        work = _work_by_reading(catalog, evidence, row)
        records = (fmt.record_link(p, row.target) for p in row.evidence if p not in machines)
        yield VerdictDetail(
            text=verdict_text(catalog, row),
            told=f"{found}{_explanation(row)}",
            readings=tuple(_reading(catalog, row, each, work) for each in row.readings),
            facts=tuple(_facts(row, catalog.claims.get(row.claim))),
            nearest=tuple(_near(row)),
            links=(*_samples(evidence, row), *records),
        )


def _samples(evidence: Evidence, verdict: Verdict) -> Iterator[fmt.Link]:
    """Yield where the samples, the clock and the power of a verdict's timings are drawn."""
    for path in verdict.evidence:
        *_, target, kind, name = ("", "", *path.removesuffix(".json.gz").split("/"))
        if kind == "benchmark" and (target, name) in evidence.benchmarks:
            yield fmt.Link(f"samples of {name}", f"{APPENDIX}#comparison-{target}-{name}")


def _explanation(verdict: Verdict) -> str:
    """Return a verdict's explanation without figures and readings that stand beside it."""
    text = verdict.explanation
    if verdict.ci90 is not None and (figures := FIGURES.search(text)) is not None:
        text = f"{text[: figures.start()]}{capital(text[figures.end() :])}"
    holding = "; ".join(each.says for each in verdict.readings if each.holds and not each.primary)
    text = text.replace(f": {holding}.", ".") if holding else text
    return DIGEST.sub(lambda found: f"{fmt.short_hash(found[0])}…", text)


def _facts(verdict: Verdict, claim: Claim | None) -> Iterator[fmt.Fact]:
    if claim and claim.configuration:
        yield fmt.Fact("stated", fmt.shape(claim.configuration))
    if claim and claim.hardware.as_stated:
        yield fmt.Fact("stated hardware", claim.hardware.as_stated)
    if claim and claim.flop_formula:
        yield fmt.Fact("FLOP formula", fmt.words(claim.flop_formula.value))
    if verdict.ran:
        yield fmt.Fact("ran", verdict.ran)
    if verdict.artifact:
        yield fmt.Fact("artifact", verdict.artifact)
    if verdict.margin is not None:
        yield fmt.Fact("margin", f"a factor of {margin_factor(verdict.margin)}")
    if verdict.noise_floor is not None:
        yield fmt.Fact("same binary against itself", f"within {fmt.percent(verdict.noise_floor)}")
    if verdict.samples is not None:
        discarded = verdict.discarded_blocks or 0
        yield fmt.Fact("samples", f"{verdict.samples}, {counted(discarded, 'block')} discarded")
    if verdict.roofline_fraction is not None:
        yield fmt.Fact("rate ÷ roofline bound", fmt.percent(verdict.roofline_fraction))
    if verdict.binary_sha256:
        yield fmt.Fact("binary", fmt.short_hash(verdict.binary_sha256))


def _near(verdict: Verdict) -> Iterator[str]:
    for near in verdict.nearest:
        beside = verdict.claimed if near.unit == verdict.unit else None
        figure = fmt.with_interval(near.measured, near.unit, near.ci90, beside)
        yield f"{near.what}{' on ' + near.target if near.target else ''}: {figure}"


def _work_by_reading(catalog: Catalog, evidence: Evidence, verdict: Verdict) -> dict[str, ArmFacts]:
    """Return what a launch does by every reading of a verdict that is the rate of one arm."""
    claim = catalog.claims.get(verdict.claim)
    if claim is None or verdict.target is None:
        return {}
    found: dict[str, ArmFacts] = {}
    every = [(PRIMARY, claim.evaluation), *((r.id, r.evaluation) for r in claim.all_readings())]
    for name, evaluation in every:
        if isinstance(evaluation, Benchmark) and evaluation.metric is Metric.RATE:
            term = evaluation.terms[0]
            record = evidence.benchmarks.get((verdict.target, term.comparison))
            arms = record.processes[0].arms if record and record.processes else ()
            for facts in (each for each in arms if each.arm == term.arm):
                found[name] = facts
    return found


def _reading(
    catalog: Catalog, verdict: Verdict, reading: VerdictReading, of: Mapping[str, ArmFacts]
) -> fmt.Row:
    """Return one meaning of a claim's words: its figure, the work it counts, whether it holds."""
    work, ratio = of.get(reading.id), reading.work_ratio
    done = work.counts.get("products") if work else None
    true = work.counts.get("true_products") if work else None
    products = fmt.whole(done) if work else fmt.NOTHING
    if done is not None and done < (true or 0):
        products += f" of {fmt.whole(true)}"
    long = len(reading.says.split()) > WORDS
    says, *more = re.split(r"[:;] | (?=\()", reading.says, maxsplit=1) if long else [reading.says]
    return {
        "says": says,
        "more": more,
        "primary": reading.primary,
        "measured": fmt.figure(reading.measured, verdict.unit, verdict.claimed),
        "interval": fmt.interval_of(reading.measured, verdict.unit, reading.ci90, verdict.claimed),
        "products": products,
        "done": fmt.operations(work.flop) if work else fmt.NOTHING,
        "counted": fmt.operations(work.flop * ratio if work and ratio is not None else None),
        "factor": fmt.NOTHING if ratio is None else fmt.short(ratio),
        "ratio": ratio,
        "holds": _holds(catalog.claims.get(verdict.claim), verdict, reading),
        "reason": reading.reason,
    }


def _holds(claim: Claim | None, verdict: Verdict, reading: VerdictReading) -> str:
    """Return whether a figure holds under a reading; of a range, and where the verdict is that,
    whether it is exceeded.
    """
    if reading.measured is None:
        return "not measured"
    edge = 1 + (verdict.margin or 0) if outcome(verdict) is Status.EXCEEDED else None
    if claim and claim.value and claim.to:
        edge = claim.to / claim.value
    update = {"measured": reading.measured, "ci90": reading.ci90}
    ratio = ratio_of(verdict.model_copy(update=update)) if reading.reason is None else None
    return "exceeded" if edge and ratio and ratio.low > edge else HOLDS[reading.holds]
