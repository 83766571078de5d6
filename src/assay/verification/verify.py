"""Verify a report: its files, its signature, its evidence, and every verdict once more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.commits import COMMIT
from assay.base.errors import BadInput, CheckFailed
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.report_contents import ReportContents, read_given, with_evidence
from assay.judging.rules import RULES
from assay.records.attestation import Manifest, Predicate
from assay.shared.counting import counted
from assay.verification.completeness import check_complete
from assay.verification.contradictions import Findings
from assay.verification.gate import check_gates, check_measured
from assay.verification.machine import check_machines, remarks
from assay.verification.made_again import OtherVersion, Renderer, check_texts, check_verdicts
from assay.verification.policy import Policy, check_policy
from assay.verification.problems import check_binaries, check_problems
from assay.verification.provenance import check_provenance
from assay.verification.sign import make_predicate
from assay.verification.signed_files import (
    SignedFiles,
    check_origins,
    check_place,
    check_signed_files,
)
from assay.verification.trusted_keys import TrustedKey, distinct_keys, load_trusted_keys

DERIVED: dict[str, tuple[Callable[[Catalog, Evidence], Findings], str]] = {
    "machine": (
        check_machines,
        "each target's records are of one GPU, of its product and architecture",
    ),
    "gate": (check_gates, "{arms}: each timed one passed every check of its gate before"),
    "problems": (check_problems, "FLOPs, bytes and patterns are what workloads and seeds give"),
    "binaries": (check_binaries, "what was timed is what the build records name"),
    "measured": (
        check_measured,
        "{processes}: as many as planned, no timed output wrong, no time below the hardware's "
        "floor; each program ran as often as planned",
    ),
}
"""Checks of what records say of each other: (catalog, evidence) -> findings, and what passing says.
In this order: what a later one reads is known to be what an earlier one looked at."""
EVIDENCE_CHECKS = (
    "evidence", "declared", "origins", "complete", *DERIVED, "provenance", "verdicts",
)  # fmt: skip
"""What is looked at once the files are known to be those that were signed."""


@dataclass
class VerificationLog(CheckLog):
    """The checks of one report and what else is found; kept by who looks where verifying fails."""

    signed: SignedFiles | None = None
    """None until a trusted key vouches for all files."""
    notes: list[str] = field(default_factory=list)
    """Things worth knowing that are no failures."""
    project_title: str | None = None
    """Of a project whose claims are judged, as its evidence has it."""


def verify(
    report_dir: Path,
    trusted_keys: Sequence[Path],
    repository: Path | None = None,
    renderer: Renderer | None = None,
    origin_keys: Sequence[Path] = (),
    policy: Policy | None = None,
    log: VerificationLog | None = None,
) -> VerificationLog:
    """Check a report directory against the given public keys.

    The report itself must be signed by one of ``trusted_keys``; a report
    that figures were taken over from by one of them, or of ``origin_keys``; what notes say of those
    counts for other files of the same keys, too.
    ``repository`` is the checkout, whose own reports lie under the names of their runs.
    ``renderer`` makes the readable texts again, to be compared byte for byte. ``policy`` says whose
    rules the configuration of the evidence is compared with; None: with nobody's. ``log`` takes up
    each check when it is made, and stays with the caller whatever is raised; where ``report_dir``
    is an archive's copy, its ``called`` names the archive.
    Raises CheckFailed that lists every failed check; OtherVersion, a CheckFailed too, where nothing
    failed and other rules judged the report or another version rendered its pages; BadInput when
    there is no such directory, or no usable key to verify with.
    """
    if not report_dir.is_dir():
        raise BadInput(f"{report_dir}: no such report directory")
    if not trusted_keys:
        raise BadInput("no public key to verify with: give one with --key")
    log = VerificationLog() if log is None else log
    keys = load_trusted_keys(trusted_keys, origin_keys)
    others = [path for path in origin_keys if path not in trusted_keys]
    origins = distinct_keys((*keys, *load_trusted_keys(others)))
    asked = list(EVIDENCE_CHECKS)
    if policy is not None:
        asked.insert(asked.index("origins") + 1, "policy")
    if renderer is not None:
        asked.append("texts")
    log.signed = signed = check_signed_files(log, report_dir, keys, asked)
    if signed is None:
        log.raise_if_failed(report_dir)
    assert signed is not None
    predicate = signed.statement.predicate
    check_place(log, log.called[1] if log.called else report_dir, predicate.run, repository)
    contents = _read(log, report_dir, predicate)
    if contents is None:
        _skip_rest(log, asked, "the evidence cannot be read")
    else:
        project = contents.catalog.project
        log.project_title = project.title if project else None
        if (rules := contents.verdicts.rules) != RULES:
            why = f"rules {rules} judged it, and this version judges by rules {RULES}"
            _skip_rest(log, asked, why)
            if log.failed:
                log.raise_if_failed(report_dir)
            raise _other_version(log, report_dir, contents, f"judged by rules {rules}")
        _check_origins(log, report_dir, signed.manifest, contents.evidence, origins)
        if policy is not None:
            check_policy(log, report_dir, policy)
        _check_complete(log, contents)
        _check_derived(log, contents.catalog, contents.evidence)
        check_provenance(log, report_dir, predicate.provenance, contents.evidence, keys)
        now = datetime.now(UTC)
        log.notes += remarks(contents.catalog, contents.evidence, predicate.created, now)
        _check_made(log, report_dir, contents, renderer)
    log.raise_if_failed(report_dir)
    return log


def require_intact(
    report_dir: Path, trusted_keys: Sequence[Path], repository: Path, log: VerificationLog
) -> None:
    """Raise CheckFailed unless a trusted key signed every byte of a report, under its own name."""
    log.signed = check_signed_files(log, report_dir, load_trusted_keys(trusted_keys))
    if log.signed is not None:
        place = log.called[1] if log.called else report_dir
        check_place(log, place, log.signed.manifest.run, repository)
    if log.failed:
        log.raise_if_failed(report_dir)


def _skip_rest(log: CheckLog, asked: Sequence[str], why: str) -> None:
    """Name the checks that are due and are not made."""
    done = {check.name for check in log.checks}
    log.skip([name for name in asked if name not in done], why)


def _check_made(
    log: VerificationLog, report_dir: Path, contents: ReportContents, renderer: Renderer | None
) -> None:
    """Verdicts and texts are made again.

    Raises OtherVersion where all else holds and another version rendered the texts.
    """
    texts = ["texts"] if renderer is not None else []
    if any(check.name == "policy" and not check.passed for check in log.checks):
        log.skip(("verdicts",), "whoever judges by other rules may have asked for any work")
    else:
        check_verdicts(log, contents)
        if renderer is not None and log.holds:
            other = check_texts(log, report_dir, contents, renderer)
            if other is not None:
                log.skip(("texts",), f"the report names another version, and {other}")
                raise _other_version(
                    log, report_dir, contents, f"its pages are not this version's: {other}"
                )
    if not log.holds:
        log.skip(texts, "what they tell of does not hold")


def _other_version(
    log: VerificationLog, report_dir: Path, contents: ReportContents, what: str
) -> OtherVersion:
    commit, path = contents.pipeline.commit, log.called[1] if log.called else report_dir
    how = f"check out commit {commit}" if commit else "it names no commit to check out"
    return OtherVersion(
        f"{path}: intact, {what}; to verify it: {how}", contents.verdicts.rules, commit
    )


def _read(log: CheckLog, report_dir: Path, predicate: Predicate) -> ReportContents | None:
    """Return what the evidence holds, each file read once; None where it cannot be read.

    The statement must say what signing the same evidence states.
    """
    loaded: tuple[Catalog, Evidence] | None = None
    contents: ReportContents | None = None
    with log.check("evidence") as says:
        catalog = load_catalog(report_dir / "evidence")
        evidence = load_evidence(report_dir / "evidence")
        loaded = catalog, evidence
        count = len(evidence.benchmarks) + len(evidence.programs) + len(evidence.originals)
        says(
            f"{counted(len(catalog.claims), 'claim')} and {counted(count, 'measurement record')} "
            "can be read"
        )
    if loaded is None:
        return None
    with log.check("declared") as says:
        contents = with_evidence(read_given(report_dir), *loaded)
        _check_declared(contents, predicate)
        says(f"made {predicate.created} by commit {predicate.commit}")
    return contents


def _check_declared(contents: ReportContents, predicate: Predicate) -> None:
    """Raise CheckFailed where the statement declares other things than the evidence holds."""
    commit = contents.pipeline.commit
    if commit is not None and not COMMIT.fullmatch(commit):
        problem = f"the report names {commit[:80]!a} as the commit that made it"
        raise CheckFailed(problem, code="commit")
    stated, expected = (
        each.model_dump()
        for each in (
            predicate,
            make_predicate(
                contents.catalog, contents.verdicts, commit, predicate.provenance, predicate.created
            ),
        )
    )
    if predicate.counts is None or contents.verdicts.rules != RULES:
        stated["counts"] = expected["counts"]  # how they are counted belongs to the rules
    if wrong := [name for name in stated if stated[name] != expected[name]]:
        problem = f"the statement declares other {', '.join(wrong)} than the evidence holds"
        raise CheckFailed(problem, code="declared")


def _check_derived(log: CheckLog, catalog: Catalog, evidence: Evidence) -> None:
    """Make each check of what records say of each other: one that fails keeps no other from it."""
    processes = sum(len(each.processes) for each in evidence.benchmarks.values())
    arms = sum(len(gate.arms) for gate in evidence.correctness.values())
    counts = {"processes": counted(processes, "process", "processes"), "arms": counted(arms, "arm")}
    for name, (find, says) in DERIVED.items():
        with log.check(name) as passed:
            found = find(catalog, evidence)
            passed.leave(found.unproven)
            found.raise_if_any()
            passed(says.format(**counts))


def _check_complete(log: CheckLog, contents: ReportContents) -> None:
    """Nothing that was asked for is left out."""
    with log.check("complete") as says:
        found = check_complete(contents.catalog, contents.evidence, contents.verdicts)
        says.leave(found.unproven)
        found.raise_if_any()
        answers = counted(len(contents.evidence.plan.answers), "answer")
        says(f"every claim and audit asked for: {answers}, each with its verdict and records")


def _check_origins(
    log: CheckLog,
    report_dir: Path,
    manifest: Manifest,
    evidence: Evidence,
    keys: Sequence[TrustedKey],
) -> None:
    """Each report that figures were taken from lies there whole, as a trusted key signed it."""
    recorded = [p.target for p in evidence.plan.targets if p.provision.kind == "recorded"]
    with log.check("origins") as says:
        check_origins(report_dir, manifest, evidence.plan, keys).raise_if_any()
        says(
            f"measurements of {' and '.join(recorded)} are those of the signed reports they come "
            "from, which lie in the evidence whole"
            if recorded
            else "nothing was taken from another report"
        )
