"""Verify a report: its files, its signature, its evidence, and every verdict once more."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from securesystemslib.signer import SSlibKey

from assay.attestation import (
    check_signatures,
    load_public_key,
    parse_envelope,
    parse_statement,
    public_pem,
)
from assay.config import Catalog, load_catalog
from assay.errors import AssayError, BadInput, CheckFailed
from assay.evidence import Evidence, load_evidence, pipeline_path
from assay.io import dump_record, parse_record, read_record, sha256_file
from assay.judge import judge
from assay.manifest import (
    ATTESTATION,
    MANIFEST,
    SIGNER,
    content_problems,
    shape_problems,
    walk,
)
from assay.origin import origin_problems
from assay.records.attestation import PipelineRecord, Statement
from assay.records.manifest import Manifest
from assay.records.verdicts import VerdictsFile

MOST_NAMED = 8
"""Problems of one kind that a sentence names before it counts the rest."""


@dataclass(frozen=True)
class NamedCheck:
    """One thing that was looked at, and what was found."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class VerificationResult:
    """All checks of a report, in the order in which they ran."""

    run: str
    keyid: str
    checks: tuple[NamedCheck, ...]
    notes: tuple[str, ...]
    """Things worth knowing that are no failures."""

    @property
    def passed(self) -> bool:
        """Whether every check holds; ``verify`` raises where one does not."""
        return all(check.passed for check in self.checks)


@dataclass
class _Log:
    """Collects checks; a check that raises is a failed one, whatever it raises."""

    checks: list[NamedCheck] = field(default_factory=list)

    @contextmanager
    def check(self, name: str) -> Iterator[Callable[[str], None]]:
        """Run the body as check ``name``; the yielded function sets what a pass says."""
        found = ["done"]
        try:
            yield lambda text: found.__setitem__(0, text)
        except AssayError as error:
            self.checks.append(NamedCheck(name, False, str(error)))
        except Exception as error:
            # Whatever a crafted file provokes in a parser or in the judge is a failed check.
            detail = f"could not be done: {type(error).__name__}: {error}"
            self.checks.append(NamedCheck(name, False, detail))
        else:
            self.checks.append(NamedCheck(name, True, found[0]))

    def skip(self, name: str, because: str) -> None:
        """A check that could not run does not read as passed."""
        self.checks.append(NamedCheck(name, False, f"not checked, because {because}"))

    def failed(self) -> list[NamedCheck]:
        return [check for check in self.checks if not check.passed]


def verify(
    report_dir: Path, trusted_keys: Sequence[Path], repository: Path | None = None
) -> VerificationResult:
    """Check a report directory against the given public keys.

    ``repository`` is the checkout, when its present claims are to be compared (a note, no check).
    Raises CheckFailed that lists every failed check; BadInput when there is no such directory, or
    no usable key to verify with.
    """
    if not report_dir.is_dir():
        raise BadInput(f"{report_dir}: no such report directory")
    if not trusted_keys:
        raise BadInput("no public key to verify with: give one with --key")
    keys = [load_public_key(path) for path in trusted_keys]
    log = _Log()
    manifest, shape_holds = _check_shape(log, report_dir)
    if manifest is None or not shape_holds:
        # Nothing below may be read through a link or from outside the directory.
        for name in ("contents", "signature", "statement", "evidence", "verdicts", "origins"):
            log.skip(name, "the directory does not have the shape of a report")
        _raise_if_failed(report_dir, log)
    assert manifest is not None
    with log.check("contents") as says:
        _none(content_problems(report_dir, manifest))
        says(f"{len(manifest.files)} files have the size and SHA-256 that the manifest lists")
    keyid, statement = "", None
    with log.check("signature") as says:
        envelope = parse_envelope((report_dir / ATTESTATION).read_bytes())
        key = check_signatures(envelope, keys)
        if (report_dir / SIGNER).read_bytes() != public_pem(key):
            raise CheckFailed(f"{SIGNER} is not the key that signed ({key.keyid})")
        keyid = key.keyid
        statement = parse_statement(envelope)
        says(f"signed by trusted key {keyid}")
    catalog, evidence = _check_evidence(log, report_dir, manifest, statement)
    if evidence is None or catalog is None:
        for name in ("verdicts", "origins"):
            log.skip(name, "the evidence cannot be read")
    else:
        _check_verdicts(log, report_dir, manifest, catalog, evidence)
        _check_origins(log, report_dir, manifest, evidence, keys)
    _raise_if_failed(report_dir, log)
    notes = _notes(report_dir, repository) if repository else ()
    return VerificationResult(manifest.run, keyid, tuple(log.checks), notes)


def _check_shape(log: _Log, report_dir: Path) -> tuple[Manifest | None, bool]:
    manifest = None
    with log.check("shape") as says:
        present = set(walk(report_dir))
        manifest = read_record(Manifest, report_dir / MANIFEST)
        _none(shape_problems(manifest, present))
        says("plain files only; none missing, none unlisted")
        return manifest, True
    return manifest, False


def _check_evidence(
    log: _Log, report_dir: Path, manifest: Manifest, statement: Statement | None
) -> tuple[Catalog | None, Evidence | None]:
    """The statement says what the evidence says; the evidence loads."""
    catalog: Catalog | None = None
    evidence: Evidence | None = None
    with log.check("evidence") as says:
        catalog = load_catalog(report_dir / "evidence")
        evidence = load_evidence(report_dir / "evidence")
        count = len(evidence.benchmarks) + len(evidence.programs)
        says(f"{len(catalog.claims)} claims and {count} measurement records can be read")
    if statement is None:
        log.skip("statement", "no trusted signature vouches for it")
        return catalog, evidence
    with log.check("statement") as says:
        if statement.subject[0].digest.sha256 != sha256_file(report_dir / MANIFEST):
            raise CheckFailed("the signature is about another manifest.json")
        verdicts = read_record(VerdictsFile, report_dir / "verdicts.json")
        counts = Counter(verdict.status for verdict in verdicts.verdicts)
        predicate = statement.predicate
        if not predicate.run == manifest.run == verdicts.run:
            raise CheckFailed("statement, manifest and verdicts name different runs")
        if dict(counts) != predicate.verdicts:
            raise CheckFailed("the statement counts other verdicts than verdicts.json holds")
        pipeline = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path())
        if predicate.commit != pipeline.commit:
            raise CheckFailed("statement and evidence name different commits")
        if catalog is None or predicate.judging != catalog.judging:
            raise CheckFailed("the statement declares other margins than the evidence holds")
        says(f"about this manifest; made {predicate.created} by commit {predicate.commit}")
    return catalog, evidence


def _check_verdicts(
    log: _Log, report_dir: Path, manifest: Manifest, catalog: Catalog, evidence: Evidence
) -> None:
    with log.check("verdicts") as says:
        data = (report_dir / "verdicts.json").read_bytes()
        again = judge(catalog, evidence)
        if dump_record(again) != data:
            given = parse_record(VerdictsFile, data, Path("verdicts.json"))
            raise CheckFailed(_difference(given, again))
        listed = {entry.path for entry in manifest.files}
        named = {path for verdict in again.verdicts for path in verdict.evidence}
        _none([f"a verdict rests on {path}, which is not here" for path in sorted(named - listed)])
        says(f"{len(again.verdicts)} verdicts, recomputed from raw samples, byte for byte the same")


def _difference(given: VerdictsFile, again: VerdictsFile) -> str:
    """One sentence on how recomputed verdicts differ from the given ones."""
    old = {(v.claim, v.target): v for v in given.verdicts}
    new = {(v.claim, v.target): v for v in again.verdicts}
    names = [
        f"{claim}{' on ' + target if target else ''}"
        + (
            f" (given {old[claim, target].status}, recomputed {new[claim, target].status})"
            if (claim, target) in old and (claim, target) in new
            else " (not in both)"
        )
        for claim, target in sorted(old.keys() | new.keys(), key=str)
        if old.get((claim, target)) != new.get((claim, target))
    ]
    if not names:
        return "verdicts.json holds other bytes than the judge writes"
    return "the judge finds other verdicts in the raw samples: " + _listed(names)


def _check_origins(
    log: _Log, report_dir: Path, manifest: Manifest, evidence: Evidence, keys: Sequence[SSlibKey]
) -> None:
    recorded = [plan for plan in evidence.plan.targets if plan.provision.kind == "recorded"]
    with log.check("origins") as says:
        problems = []
        for plan in recorded:
            problems += origin_problems(report_dir, manifest, plan, keys)
        _none(problems)
        says(
            "measurements of "
            + ", ".join(plan.target for plan in recorded)
            + " are those of the signed reports they come from"
            if recorded
            else "nothing was taken from another report"
        )


def _none(problems: list[str]) -> None:
    if problems:
        raise CheckFailed(_listed(problems))


def _listed(problems: list[str]) -> str:
    rest = len(problems) - MOST_NAMED
    return "; ".join(problems[:MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def _raise_if_failed(report_dir: Path, log: _Log) -> None:
    failed = log.failed()
    if failed:
        lines = "".join(f"\n  {check.name}: {check.detail}" for check in failed)
        raise CheckFailed(f"{report_dir} does not verify:{lines}")


def _notes(report_dir: Path, root: Path) -> tuple[str, ...]:
    """Where the repository's present claims are not those that were judged."""
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
