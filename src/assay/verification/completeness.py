"""Whether a report leaves out what it was asked for: answers, verdicts, records. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from assay.catalog.model import Catalog
from assay.evidence.entries import Purpose, TargetStage
from assay.evidence.model import Evidence
from assay.evidence.stages import (
    PLATFORMS,
    TARGET_STAGES,
    inspections_path,
)
from assay.judging.answers import Asked, make_answers
from assay.judging.cutlass_output import job_id
from assay.records.evaluations import Inspection
from assay.records.plan import Answer, Plan, TargetPlan
from assay.records.verdicts import VerdictsFile
from assay.verification.contradictions import Findings, names
from assay.verification.machine import check_file_compiles

AnswerKey = tuple[str, str | None]
"""(claim, target)."""


def check_complete(catalog: Catalog, evidence: Evidence, verdicts: VerdictsFile) -> Findings:
    """Return what is left out."""
    findings = Findings()
    targets = [plan.target for plan in evidence.plan.targets]
    if twice := {name for name in targets if targets.count(name) > 1}:
        findings.refuse("answers", f"the plan has a target twice: {names(twice)}")
    _check_sources(catalog, evidence.plan, findings)
    _check_answers(catalog, evidence.plan, findings)
    _check_verdicts(evidence.plan, verdicts, findings)
    _check_run_records(catalog, evidence, findings)
    for plan in evidence.plan.targets:
        for job in plan.programs:
            if job_id(job.program, job.arguments) != job.id:
                findings.refuse("misfiled", f"{plan.target}: program {job.id} is another")
        _check_records(catalog, evidence, plan, findings)
    check_file_compiles(evidence, findings)
    return findings


def _check_sources(catalog: Catalog, plan: Plan, findings: Findings) -> None:
    """Every claim and audit of the sources that were asked for stands in the plan."""
    planned = {answer.claim for answer in plan.answers}
    if plan.claims:
        findings.leave("the claims of the sources that the run was not asked for")
    for source in plan.sources:
        if source not in catalog.sources:
            findings.refuse("claims-left-out", f"source {source} is not among the evidence")
            continue
        file = catalog.sources[source]
        stated = {claim.id for claim in file.claims} | {audit.id for audit in file.audits}
        if plan.claims:
            stated &= set(plan.claims)
        missing = stated - planned
        if missing:
            says = f"the plan leaves out {len(missing)} of source {source}: {names(missing)}"
            findings.refuse("claims-left-out", says)
    if unasked := set(catalog.sources) - set(plan.sources):
        findings.leave(f"the claims of sources that the run was not asked for: {names(unasked)}")


def _check_answers(catalog: Catalog, plan: Plan, findings: Findings) -> None:
    """The plan answers each claim in the way that planning it again gives."""
    asked = Asked.by_plan(plan)
    measures = any(target.provision.kind == "device" for target in plan.targets)
    for source in plan.sources:
        if source not in catalog.sources:
            continue
        mine = {name for name, of in catalog.source_of.items() if of == source}
        answers = [answer for answer in plan.answers if answer.claim in mine]
        given = _by_key(answers)
        if len(given) < len(answers):
            findings.refuse("answers", f"the plan answers a claim of source {source} twice")
        # Where nothing is measured, no plan tells whether the user had the source's own program.
        guesses = [asked.own_programs] if measures else [frozenset(), frozenset({source})]
        again = [
            _by_key(make_answers(catalog, replace(asked, sources=(source,), own_programs=guess),
                                 catalog.claims_of([source], plan.claims)))
            for guess in guesses
        ]  # fmt: skip
        if given in again:
            continue
        expected = again[0]
        wrong = sorted(
            (key for key in given.keys() | expected.keys() if given.get(key) != expected.get(key)),
            key=str,
        )
        what = names(f"{claim}{f' on {target}' if target else ''}" for claim, target in wrong)
        findings.refuse(
            "answers",
            f"the plan answers {len(wrong)} of source {source} otherwise than its claims ask for: "
            f"{what}",
        )


def _check_run_records(catalog: Catalog, evidence: Evidence, findings: Findings) -> None:
    """What the run did once, for no target, has its record: each build, each look into a file."""
    planned = {(job.id, job.arch) for job in evidence.plan.builds}
    if left := sorted(planned - evidence.builds.keys()):
        says = f"the plan calls for builds without a record: {names(' for '.join(b) for b in left)}"
        findings.refuse("record-missing", says)
    answered = {each.claim for each in evidence.plan.answers if each.way == "compute"}
    for claim in sorted(answered & catalog.claims.keys()):
        asked = catalog.claims[claim].evaluation
        if not isinstance(asked, Inspection):
            continue
        found = evidence.inspections.get(claim)
        if evidence.plan.judges_only:
            continue
        if found is None:
            says = f"{inspections_path()} tells nothing of {claim}"
            findings.refuse("record-missing", says)
        elif (found.package, found.path, found.text) != (asked.package, asked.path, asked.text):
            says = f"{inspections_path()}: {claim} is of another package, file or text"
            findings.refuse("misfiled", says)


def _by_key(answers: Iterable[Answer]) -> dict[AnswerKey, Answer]:
    return {(answer.claim, answer.target): answer for answer in answers}


def _check_verdicts(plan: Plan, verdicts: VerdictsFile, findings: Findings) -> None:
    """Each answer of the plan has one verdict."""
    planned = sorted(((a.claim, a.target) for a in plan.answers), key=str)
    given = sorted(((v.claim, v.target) for v in verdicts.verdicts), key=str)
    if planned != given:
        missing = {claim for claim, _ in set(planned) - set(given)}
        more = {claim for claim, _ in set(given) - set(planned)}
        says = f"without a verdict: {names(missing)}" if missing else f"unplanned: {names(more)}"
        findings.refuse("verdicts-left-out", f"plan and verdicts do not fit: {says or 'twice'}")


def _check_records(
    catalog: Catalog, evidence: Evidence, plan: TargetPlan, findings: Findings
) -> None:
    """What the plan of a target calls for is there, each record by its path."""
    if plan.provision.kind == "none":
        return
    for stage in TARGET_STAGES:
        held = getattr(evidence, stage.collection)
        for key, path in stage.paths(plan).items():
            if key not in held and not _came_to_nothing(catalog, evidence, plan, path, stage):
                code = "guard-missing" if stage.purpose is Purpose.BESIDE else "record-missing"
                code = "platform-missing" if stage is PLATFORMS else code
                findings.refuse(code, f"{path} is missing, though the plan calls for it")


def _came_to_nothing(
    catalog: Catalog,
    evidence: Evidence,
    plan: TargetPlan,
    path: str,
    stage: TargetStage,  # type: ignore[type-arg]
) -> bool:
    """Return whether a figure could not be had, as other records of the report say."""
    if stage.purpose is not Purpose.FIGURES or plan.provision.kind != "device":
        return False
    arch = catalog.targets[plan.target].arch
    programs = {stage.path(plan.target, job.id): job.program for job in plan.programs}
    build = evidence.builds.get((programs.get(path, ""), arch))
    return build is not None and build.status == "failed"
