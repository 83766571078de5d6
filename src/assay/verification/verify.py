"""Verify a report: its files, its signature, its evidence, and every verdict once more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from assay.base.check_log import CheckLog, CheckUnderWay
from assay.base.commits import COMMIT
from assay.base.errors import BadInput, CheckFailed
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import ReportContents, load_evidence, read_contents
from assay.evidence.model import Evidence
from assay.judging import RULES
from assay.records.attestation import Predicate
from assay.shared.counting import counted
from assay.verification.completeness import check_complete
from assay.verification.gate import check_binaries, check_gates, check_machines
from assay.verification.made_again import OtherVersion, Renderer, check_texts, check_verdicts
from assay.verification.policy import Policy, check_policy
from assay.verification.remarks import remarks
from assay.verification.sign import make_predicate
from assay.verification.signed_files import (
    SignedFiles,
    check_origins,
    check_place,
    check_signed_files,
)
from assay.verification.trusted_keys import distinct_keys, load_trusted_keys

GATE: dict[str, tuple[Callable[[Catalog, Evidence, CheckUnderWay], None], str]] = {
    "machine": (
        check_machines,
        "each target's records are of one GPU, of its product and architecture",
    ),
    "gate": (check_gates, "each timed arm passed every check of its gate before"),
    "binaries": (check_binaries, "what was timed is what the build records name"),
}
"""Checks of what records say of each other, and what passing says."""
EVIDENCE_CHECKS = ("evidence", "declared", "origins", "complete", *GATE, "verdicts")
"""What is looked at once the files are known to be those that were signed."""


@dataclass
class VerificationLog(CheckLog):
    """The checks of one report and what else is found; kept by who looks where verifying fails."""

    signed: SignedFiles | None = None
    """None until a trusted key vouches for all files."""
    contents: ReportContents | None = None
    """What the report holds, once it could be read."""
    notes: list[str] = field(default_factory=list)
    """Things worth knowing that are no failures."""
    project_title: str | None = None
    """Of a project whose claims are judged, as its evidence has it."""

    def skip_rest(self, asked: Sequence[str], why: str) -> None:
        """Name the checks that are due and are not made."""
        done = {check.id for check in self.checks}
        self.skip([name for name in asked if name not in done], why)


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
    asked = [*EVIDENCE_CHECKS, *(["policy"] if policy else []), *(["texts"] if renderer else [])]
    log.signed = signed = check_signed_files(log, report_dir, keys, asked)
    if signed is None:
        log.raise_if_failed(report_dir)
    assert signed is not None
    predicate = signed.statement.predicate
    check_place(log, log.called[1] if log.called else report_dir, predicate.run, repository)
    log.contents = contents = _read(log, report_dir, predicate)
    if contents is None:
        log.skip_rest(asked, "the evidence cannot be read")
        log.raise_if_failed(report_dir)
    assert contents is not None
    if (rules := contents.verdicts.rules) != RULES:
        why = f"rules {rules} judged it, and this version judges by rules {RULES}"
        log.skip_rest(asked, why)
        if log.failed:
            log.raise_if_failed(report_dir)
        raise _other_version(log, report_dir, contents, f"judged by rules {rules}")
    if policy is not None:
        check_policy(log, report_dir, policy)
    with log.check("origins") as says:
        check_origins(report_dir, signed.manifest, contents.evidence.plan, origins, says)
    _check_records(log, contents)
    now = datetime.now(UTC)
    log.notes += remarks(contents.catalog, contents.evidence, predicate.created, now)
    check_verdicts(log, contents)
    _check_pages(log, report_dir, contents, renderer)
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


def _read(log: VerificationLog, report_dir: Path, predicate: Predicate) -> ReportContents | None:
    """Return what the evidence holds, each file read once; None where it cannot be read.

    The statement must say what signing the same evidence states.
    """
    loaded: tuple[Catalog, Evidence] | None = None
    contents: ReportContents | None = None
    with log.check("evidence") as says:
        catalog = load_catalog(report_dir / "evidence")
        evidence = load_evidence(report_dir / "evidence")
        loaded = catalog, evidence
        log.project_title = catalog.project.title if catalog.project else None
        count = len(evidence.benchmarks) + len(evidence.programs) + len(evidence.originals)
        records = counted(count, "measurement record")
        claims = counted(len(catalog.claims), "claim")
        audits = counted(len(catalog.audits), "audit")
        says(f"{claims}, {audits} and {records} can be read")
    if loaded is None:
        return None
    with log.check("declared") as says:
        contents = read_contents(report_dir, loaded)
        commit = contents.pipeline.commit
        if commit is not None and not COMMIT.fullmatch(commit):
            problem = f"the report names {commit[:80]!a} as the commit that made it"
            raise CheckFailed(problem, code="commit")
        created = predicate.created
        expected = make_predicate(catalog, contents.verdicts, commit, created)
        taken: dict[str, object] = {"provenance": predicate.provenance}
        if predicate.counts is None or contents.verdicts.rules != RULES:
            taken["counts"] = predicate.counts  # how they are counted belongs to the rules
        expected = expected.model_copy(update=taken)
        if predicate != expected:
            problem = "the statement declares other things than the evidence holds"
            raise CheckFailed(problem, code="declared")
        says(f"made {created} by commit {predicate.commit}")
    return contents


def _check_records(log: CheckLog, contents: ReportContents) -> None:
    """Nothing is left out, and records fit each other: what fails keeps no other from its check."""
    catalog, evidence = contents.catalog, contents.evidence
    with log.check("complete") as says:
        check_complete(catalog, evidence, contents.verdicts, says)
        answers = counted(len(evidence.plan.answers), "answer")
        says(f"every claim and audit asked for: {answers}, each with its verdict and records")
    for name, (check, passed) in GATE.items():
        with log.check(name) as says:
            check(catalog, evidence, says)
            says(passed)


def _check_pages(
    log: VerificationLog, report_dir: Path, contents: ReportContents, renderer: Renderer | None
) -> None:
    """Render the texts again. Raises OtherVersion where all else holds and another version did."""
    if renderer is None:
        return
    if not log.holds:
        log.skip(["texts"], "what they tell of does not hold")
    elif other := check_texts(log, report_dir, contents, renderer):
        log.skip(("texts",), f"the report names another version, and {other}")
        raise _other_version(
            log, report_dir, contents, f"its pages are not this version's: {other}"
        )


def _other_version(
    log: VerificationLog, report_dir: Path, contents: ReportContents, what: str
) -> OtherVersion:
    commit, path = contents.pipeline.commit, log.called[1] if log.called else report_dir
    how = f"check out commit {commit}" if commit else "ask its signer: it names no commit"
    return OtherVersion(
        f"{path}: intact, but {what}. ./assay judge judges it by today's rules. "
        f"To verify it as it is, {how}.",
        contents.verdicts.rules,
        commit,
    )
