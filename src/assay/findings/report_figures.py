"""The figures of a report in short, from its records. Pure."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.findings.headline import counts_of, outcomes, page_kind
from assay.judging.causes import with_known_causes
from assay.judging.counts import one_a_claim
from assay.judging.printed_figures import operand_text, resolve, show
from assay.records.claims import Audit, Claim, Relation
from assay.records.evaluations import Benchmark, Derived
from assay.records.measurements import ArmFacts, BenchmarkRecord
from assay.records.report_figures import (
    ArmRate,
    ClaimInShort,
    ReportFigure,
    ReportFigures,
    ReportMachine,
)
from assay.records.units import better, printed, with_unit
from assay.records.verdicts import Verdict, VerdictInShort, VerdictsFile
from assay.records.workloads import Judging
from assay.statistics import roofline
from assay.statistics.summaries import Summary, arm_time

_NESTED = r"evidence/(?:earlier/[a-z0-9_]+/evidence/)*"
_BENCHMARK = re.compile(rf"{_NESTED}[a-z0-9_]+/benchmark/([a-z0-9_]+)\.json\.gz")
_PROGRAM = re.compile(rf"{_NESTED}[a-z0-9_]+/program/[a-z0-9_]+\.json\.gz")
UNREAD = "0" * 64  # in the place of a manifest's digest
SIZES = ("m", "n", "k", "groups", "batch", "heads", "seq_q", "seq_kv", "head_dim")
"""Of a workload: what is asked, and not what is stored of it."""
DIGITS = 12  # of a protocol's digest: enough to tell protocols of one name apart


def report_figures(
    catalog: Catalog,
    evidence: Evidence,
    verdicts: VerdictsFile,
    *,
    commit: str | None,
    created: str | None,
    manifest_sha256: str,
    with_rates: bool = False,
) -> ReportFigures:
    """Return a whole report in short; ``with_rates``: and every arm that was timed, in seconds."""
    counting = outcomes(catalog, verdicts.verdicts)
    numbers = {(row.claim, row.target): n for n, each in enumerate(counting) for row in each.rows}
    return ReportFigures(
        schema="assay/report_figures/1",
        run=verdicts.run,
        rules=verdicts.rules,
        commit=commit,
        created=created,
        manifest_sha256=manifest_sha256,
        machines=tuple(machines(evidence)),
        figures=tuple(
            _figure(catalog, verdict, numbers.get((verdict.claim, verdict.target)))
            for verdict in with_known_causes(verdicts.verdicts)
        ),
        claims=dict(_claims(catalog, verdicts.verdicts)),
        counts={kind: of for kind, of in counts_of(counting).items() if of.total},
        rates=tuple(arm_rates(catalog, evidence)) if with_rates else (),
    )


def unread_figures() -> ReportFigures:
    """Return what is known of a report that nobody vouches for: nothing, by rules 0."""
    return ReportFigures(
        schema="assay/report_figures/1", run="unread", rules=0, commit=None, created=None,
        manifest_sha256=UNREAD, machines=(), figures=(),
    )  # fmt: skip


def machines(evidence: Evidence) -> Iterator[ReportMachine]:
    """Yield the cards of each target that was measured, in this run or in one that it took over."""
    for target, platform in evidence.platforms.items():
        gpu = platform.device.gpu
        yield ReportMachine(
            target=target,
            product=gpu.product,
            gpu_uuid=gpu.uuid,
            driver=platform.device.driver,
            vbios=gpu.vbios,
            power_limit_w=gpu.power_limit_w,
            recorded_at=platform.recorded_at,
            commit=platform.commit,
        )


def timed_arm(
    record: BenchmarkRecord, arm: str, judging: Judging
) -> tuple[ArmFacts, Summary] | None:
    """Return what an arm's samples are samples of, and its time in ms; None without samples."""
    every = (each for process in record.processes for each in process.arms if each.arm == arm)
    facts = next(every, None)
    time = arm_time(record, arm, judging) if facts else None
    return (facts, time) if facts and time else None


def rate_of(facts: ArmFacts, time: Summary) -> float:
    """Return TFLOP/s from ms: FLOP over (ms * 1e-3 s) over 1e12."""
    return time.inverse(facts.flop * 1e-9).value()


def bandwidth_of(facts: ArmFacts, time: Summary) -> float:
    """Return GB/s from ms: bytes that must be moved over (ms * 1e-3 s) over 1e9."""
    return facts.bytes * 1e-6 / time.value()


def arm_rates(catalog: Catalog, evidence: Evidence) -> Iterator[ArmRate]:
    """Yield the time and the rate of every arm that was timed."""
    for (target, name), record in evidence.benchmarks.items():
        comparison = catalog.comparisons[name]
        control = comparison.arm(comparison.control)
        for arm in comparison.arms:
            found = timed_arm(record, arm.id, catalog.judging)
            if found is None or not found[0].flop:
                continue
            facts, time = found
            workload, peaks = catalog.workloads[arm.workload], catalog.targets[target].peaks
            sizes = ((name, getattr(workload, name)) for name in SIZES)
            yield ArmRate(
                target=target,
                comparison=name,
                title=comparison.title,
                operation=catalog.workloads[control.workload].operation.value,
                variant=catalog.variants[arm.variant].title,
                workload=arm.workload,
                shape=", ".join(f"{name}={size}" for name, size in sizes if size is not None),
                time_ms=time.value(),
                ci90_ms=time.interval(),
                tflop_per_s=rate_of(facts, time),
                gb_per_s=bandwidth_of(facts, time),
                roofline_fraction=roofline.fraction(time.value(), facts, workload.dtype, peaks),
            )


def _claims(catalog: Catalog, verdicts: Iterable[Verdict]) -> Iterator[tuple[str, ClaimInShort]]:
    for verdict in one_a_claim(verdicts):
        name = verdict.claim
        if (entry := catalog.claims.get(name) or catalog.audits.get(name)) is not None:
            stated = verdict.claimed, verdict.unit, verdict.relation
            claimed = claimed_figure(*stated, entry, catalog.claims)
            kind = page_kind(catalog, verdict)
            document = catalog.sources[verdict.source].source.title
            yield (
                name,
                ClaimInShort(title=entry.statement, claimed=claimed, document=document, kind=kind),
            )


def _figure(catalog: Catalog, verdict: Verdict, number: int | None) -> ReportFigure:
    return ReportFigure(
        **{name: getattr(verdict, name) for name in VerdictInShort.model_fields},
        protocol=protocol_of(catalog, verdict.evidence),
        question=_question(catalog, verdict) if verdict.ci90 else None,
        taken_over=verdict.measured_on is not None and not verdict.measured_on.in_this_run,
        better=-1 if verdict.relation == "at_most" else better(verdict.unit, verdict.relation),
        counted_as=number,
    )


def _question(catalog: Catalog, verdict: Verdict) -> str | None:
    """Return a digest of how a claim is measured, on which problems, and what is counted."""
    if verdict.claim not in catalog.claims:
        return None
    return _digest(json.dumps(_asked(catalog, verdict.claim, frozenset()), sort_keys=True))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:DIGITS]


def _asked(catalog: Catalog, name: str, above: frozenset[str]) -> Any:
    """``above``: claims that it is a part of, which no claim is of itself."""
    claim = catalog.claims.get(name)
    if claim is None or name in above:
        return name
    evaluation = claim.evaluation
    # What later code leaves at its default asks nothing else: it is no part of the digest.
    asked: dict[str, Any] = evaluation.model_dump(
        mode="json", exclude={"nearest"}, exclude_defaults=True
    )
    if isinstance(evaluation, Benchmark):
        arms = {
            (term.comparison, arm.id): (
                arm.variant,
                catalog.workloads[arm.workload].model_dump(mode="json", exclude_defaults=True),
            )
            for term in evaluation.terms
            for arm in catalog.comparisons[term.comparison].arms
            if arm.id in (term.arm, term.over)
        }
        asked["arms"] = sorted(map(str, arms.items()))
        asked["flop"] = claim.flops or claim.bytes or claim.flop_formula
    elif isinstance(evaluation, Derived):
        parts = (evaluation.numerator, evaluation.denominator)
        asked["parts"] = [_asked(catalog, part, above | {name}) for part in parts]
    return asked


def protocol_of(catalog: Catalog, evidence: Iterable[str]) -> str | None:
    """Return the protocols that a verdict's records were measured by, with digests of their values;
    None where nothing was measured.
    """
    found: set[str] = set()
    for path in evidence:
        if (match := _BENCHMARK.fullmatch(path)) and match[1] in catalog.comparisons:
            protocol = catalog.protocols[catalog.comparisons[match[1]].protocol]
            found.add(f"{protocol.id}:{_digest(protocol.model_dump_json())}")
        elif _PROGRAM.fullmatch(path):
            found.add(f"program:{catalog.judging.program_runs}_runs")
    return " ".join(sorted(found)) or None


RELATIONS = {
    Relation.EQUALS.value: "",
    Relation.SAME.value: "= ",
    Relation.AT_LEAST.value: "≥ ",
    Relation.AT_MOST.value: "≤ ",
}
"""What stands before a claimed figure; nothing before one that an audit holds against others."""
COMPUTED = " (computed)"  # what stands behind a figure that its source does not print itself


def claimed_figure(
    claimed: float | str | None,
    unit: str | None,
    relation: str = "",
    entry: Claim | Audit | None = None,
    claims: Mapping[str, Claim] | None = None,
    joined: Callable[[str, str | None], str] = with_unit,
) -> str:
    """Return a claimed figure with its relation and unit, or the words that stand for one.

    ``entry``: the claim, or the relation between ``claims``, that it is of; its digits are printed.
    Another figure has all its digits. A range has both ends, and no relation before them.
    """
    if not isinstance(claimed, float):
        return claimed or ""
    claim = entry if isinstance(entry, Claim) else None
    operand = entry.claimed if isinstance(entry, Audit) else None
    digits = printed(claimed, None)
    if claim is not None and claim.value == claimed:
        digits = claim.as_printed
    elif operand is not None and claims is not None and resolve(operand, claims).value == claimed:
        digits = operand_text(operand, claims) if operand.formula is None else show(claimed)
    before = "" if claim and claim.to is not None else RELATIONS.get(relation, "")
    return f"{before}{joined(digits, unit)}{COMPUTED if claim and claim.computed else ''}"
