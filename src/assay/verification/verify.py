"""Verify a report: its files, its signature, its evidence, and every verdict once more."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog, NamedCheck
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.stages import pipeline_path
from assay.judging.counts import count_verdicts
from assay.judging.rules import RULES
from assay.records.attestation import PipelineRecord, Predicate, Statement
from assay.records.manifest import VERDICTS, Manifest
from assay.records.verdicts import VerdictsFile
from assay.shared.counting import counted
from assay.statistics.shared_summaries import SharedSummaries
from assay.verification.completeness import check_complete
from assay.verification.contradictions import Findings
from assay.verification.derived_facts import CHECKS as DERIVED_CHECKS
from assay.verification.derived_facts import check_derived
from assay.verification.judged_again import (
    TEXTS,
    OwnCode,
    check_by_own_rules,
    check_verdicts,
    other_rules,
)
from assay.verification.origin import check_origin
from assay.verification.policy import Policy, check_policy
from assay.verification.signed_files import check_signed_files
from assay.verification.trusted_keys import TrustedKey, load_trusted_keys

EVIDENCE_CHECKS = ("evidence", "declared", "origins", "complete", *DERIVED_CHECKS, "verdicts")
"""What is looked at once the files are known to be those that were signed."""


@dataclass(frozen=True)
class Renderer:
    """This version's way of making the readable texts; handed in, for stages know no other."""

    texts: Callable[[Path, SharedSummaries], tuple[str, str]]
    """report.html and report.md, rendered from a report directory's evidence and verdicts; the
    summaries are those that judging it again made."""
    commit: str | None
    """The commit this version is."""
    clean_tree: bool | None


@dataclass(frozen=True)
class VerificationResult:
    """All checks of a report, in the order in which they ran."""

    run: str
    keyid: str
    checks: tuple[NamedCheck, ...]
    notes: tuple[str, ...]
    """Things worth knowing that are no failures."""
    unproven: tuple[str, ...] = ()
    """What the records hold nothing to prove by, or lack as those of older versions do."""

    @property
    def passed(self) -> bool:
        """Return whether every check holds; ``verify`` raises where one does not."""
        return all(check.passed for check in self.checks)


def verify(
    report_dir: Path,
    trusted_keys: Sequence[Path],
    repository: Path | None = None,
    renderer: Renderer | None = None,
    origin_keys: Sequence[Path] = (),
    threshold: int = 1,
    policy: Policy | None = None,
) -> VerificationResult:
    """Check a report directory against the given public keys.

    The report itself must be signed by ``threshold`` distinct ones of ``trusted_keys``; a report
    that figures were taken over from by one of them, or of ``origin_keys``.
    ``repository`` is the checkout: its present claims are compared (a note, no check), and a report
    of other judging rules is judged by the code of its own commit, from that checkout's history.
    ``renderer`` makes the readable texts again, to be compared byte for byte. ``policy`` says whose
    rules the configuration of the evidence is compared with; None: with nobody's.
    Raises CheckFailed that lists every failed check; BadInput when there is no such directory, or
    no usable key to verify with; NotJudgedAgain (a MissingEnvironment) where all else holds and the
    code of the report's rules cannot be run here.
    """
    if not report_dir.is_dir():
        raise BadInput(f"{report_dir}: no such report directory")
    if not trusted_keys:
        raise BadInput("no public key to verify with: give one with --key")
    keys = load_trusted_keys(trusted_keys)
    origins = load_trusted_keys((*trusted_keys, *origin_keys))
    log = CheckLog()
    signed = check_signed_files(log, report_dir, keys, EVIDENCE_CHECKS, threshold)
    if signed is None:
        log.raise_if_failed(report_dir)
    assert signed is not None
    manifest = signed.manifest
    _check_place(log, report_dir, manifest.run, repository)
    catalog, evidence = _check_evidence(log, report_dir, signed.statement)
    notes: list[str] = []
    unproven: list[str] = []
    if evidence is None or catalog is None:
        names = [name for name in EVIDENCE_CHECKS if name not in ("evidence", "declared")]
        log.skip(names, "the evidence cannot be read")
    else:
        _check_origins(log, report_dir, manifest, evidence, origins)
        summaries = SharedSummaries()
        rules = other_rules(report_dir)
        if policy is not None:
            pipeline = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path())
            found = check_policy(log, report_dir, pipeline.commit, policy)
            notes, unproven = notes + found[0], unproven + found[1]
        unproven += _check_complete(log, report_dir, catalog, evidence, todays=rules is None)
        unproven += check_derived(log, catalog, evidence, todays=rules is None)
        if rules is None:
            check_verdicts(log, report_dir, manifest, catalog, evidence, summaries)
            if renderer is not None and log.holds:
                notes += _check_texts(log, report_dir, renderer, summaries)
        elif log.holds:
            code = OwnCode(repository, (*trusted_keys, *origin_keys))
            notes += check_by_own_rules(log, report_dir, manifest, code, texts=renderer is not None)
        else:
            log.skip(("verdicts",), f"the code of rules {rules} is run where all else holds")
        if renderer is not None and not log.holds:
            log.skip(("texts",), "what they tell of does not hold")
    log.raise_if_failed(report_dir)
    if repository:
        notes += _notes(report_dir, repository)
    notes += _renamed(report_dir, manifest.run)
    return VerificationResult(
        manifest.run, signed.keyid, tuple(log.checks), tuple(notes), tuple(unproven)
    )


def _check_place(log: CheckLog, report_dir: Path, run: str, repository: Path | None) -> None:
    """Fail where a report lies among a checkout's own under another run's name.

    There the name is what a run is looked up by; anywhere else it is a copy's own affair.
    """
    if repository is None or report_dir.resolve().name == run:
        return
    reports = repository.resolve() / "reports"
    if report_dir.resolve().parent in (reports, reports / "published"):
        with log.check("name"):
            problem = f"it lies as '{report_dir.resolve().name}' and is the report of run '{run}'"
            raise CheckFailed(problem, code="run-name")


def _renamed(report_dir: Path, run: str) -> list[str]:
    """Return a note where a copy has another name than its run."""
    name = report_dir.resolve().name
    return [] if name == run else [f"this is the report of run '{run}', though it lies as '{name}'"]


def _check_evidence(
    log: CheckLog, report_dir: Path, statement: Statement
) -> tuple[Catalog | None, Evidence | None]:
    """The evidence loads; it says what the statement declares of it."""
    catalog: Catalog | None = None
    evidence: Evidence | None = None
    with log.check("evidence") as says:
        catalog = load_catalog(report_dir / "evidence")
        evidence = load_evidence(report_dir / "evidence")
        count = len(evidence.benchmarks) + len(evidence.programs) + len(evidence.originals)
        says(
            f"{counted(len(catalog.claims), 'claim')} and {counted(count, 'measurement record')} "
            "can be read"
        )
    with log.check("declared") as says:
        verdicts = read_record(VerdictsFile, report_dir / VERDICTS)
        counts = Counter(verdict.status for verdict in verdicts.verdicts)
        predicate = statement.predicate
        if predicate.run != verdicts.run:
            problem = "statement and verdicts name different runs"
            raise CheckFailed(problem, code="declared-run")
        if dict(counts) != predicate.verdicts:
            problem = "the statement counts other verdicts than verdicts.json holds"
            raise CheckFailed(problem, code="declared-verdicts")
        _check_counts(catalog, verdicts, predicate)
        pipeline = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path())
        if predicate.commit != pipeline.commit:
            problem = "statement and evidence name different commits"
            raise CheckFailed(problem, code="declared-commit")
        if catalog is None or predicate.judging != catalog.judging:
            problem = "the statement declares other margins than the evidence holds"
            raise CheckFailed(problem, code="declared-margins")
        says(f"made {predicate.created} by commit {predicate.commit}")
    return catalog, evidence


def _check_complete(
    log: CheckLog, report_dir: Path, catalog: Catalog, evidence: Evidence, *, todays: bool
) -> list[str]:
    """Nothing that was asked for is left out; returns what nothing proves of it."""
    unproven: list[str] = []
    with log.check("complete") as says:
        verdicts = read_record(VerdictsFile, report_dir / VERDICTS)
        found = check_complete(catalog, evidence, verdicts, todays=todays)
        unproven += found.unproven
        found.raise_if_any()
        answers = counted(len(evidence.plan.answers), "answer")
        says(f"{answers} to every claim and audit asked for, each with its verdict and records")
    return unproven


def _check_counts(catalog: Catalog | None, verdicts: VerdictsFile, predicate: Predicate) -> None:
    """Raise CheckFailed where the signed counts are not those of the verdicts.

    How they are counted belongs to the rules: those of other rules are checked by their own code.
    """
    if predicate.counts is None or catalog is None or verdicts.rules != RULES:
        return
    if count_verdicts(catalog, verdicts.verdicts).by_kind() != predicate.counts:
        problem = "the statement counts other measurements than verdicts.json holds"
        raise CheckFailed(problem, code="declared-counts")


def _check_texts(
    log: CheckLog, report_dir: Path, renderer: Renderer, summaries: SharedSummaries
) -> list[str]:
    """The readable texts are what the evidence renders to; returns notes.

    Equal bytes are a passed check whichever version wrote them. Other bytes are a failed one only
    where the report says that this very commit, unchanged, made it: else code may have changed
    since, which is a note.
    """
    pipeline = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path())
    same_version = pipeline.commit is not None and (pipeline.commit, True, True) == (
        renderer.commit, pipeline.clean_tree, renderer.clean_tree,
    )  # fmt: skip
    problem = _text_problem(report_dir, renderer, summaries)
    if problem is None:
        again = "rendered again from the evidence, byte for byte the same"
        log.checks.append(NamedCheck("texts", True, f"{' and '.join(TEXTS)}: {again}"))
    elif same_version:
        log.checks.append(NamedCheck("texts", False, problem, "texts"))
    else:
        made_by = f"commit {pipeline.commit}" if pipeline.commit else "an unknown commit"
        return [
            f"{problem}; {made_by} made them, and this is another version, so the text is vouched "
            "for by the signature alone (verdicts.json was recomputed)"
        ]
    return []


def _text_problem(report_dir: Path, renderer: Renderer, summaries: SharedSummaries) -> str | None:
    """Return how the texts differ from what this version renders."""
    try:
        texts = dict(zip(TEXTS, renderer.texts(report_dir, summaries), strict=True))
    except Exception as error:
        # A template of today may ask for what an older record does not hold.
        return f"{' and '.join(TEXTS)} cannot be rendered again: {type(error).__name__}: {error}"
    names = [name for name in TEXTS if (report_dir / name).read_bytes() != texts[name].encode()]
    return f"{' and '.join(names)}: the evidence renders to other bytes" if names else None


def _check_origins(
    log: CheckLog,
    report_dir: Path,
    manifest: Manifest,
    evidence: Evidence,
    keys: Sequence[TrustedKey],
) -> None:
    recorded = [plan for plan in evidence.plan.targets if plan.provision.kind == "recorded"]
    with log.check("origins") as says:
        findings = Findings()
        for plan in recorded:
            check_origin(report_dir, manifest, plan, keys, findings)
        findings.raise_if_any()
        says(
            "measurements of "
            + ", ".join(plan.target for plan in recorded)
            + " are those of the signed reports they come from"
            if recorded
            else "nothing was taken from another report"
        )


def _notes(report_dir: Path, root: Path) -> tuple[str, ...]:
    """Return where the repository's present claims are not those that were judged."""
    theirs = _files(report_dir / "evidence" / "config" / "claims")
    ours = _files(root / "config" / "claims")
    changed = sorted(
        name for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name)
    )
    if not changed:
        return ()
    return (
        "the report judges other claims than this repository states today: "
        + ", ".join(changed)
        + " differ",
    )


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.yaml")}
