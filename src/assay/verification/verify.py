"""Verify a report: its files, its signature, its evidence, and every verdict once more."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from securesystemslib.signer import SSlibKey

from assay.base.check_log import CheckLog, NamedCheck, listed, none
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import dump_record, parse_record, read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.stages import pipeline_path
from assay.judging.judge import judge
from assay.records.attestation import PipelineRecord, Statement
from assay.records.manifest import ATTESTATION, MANIFEST, PAGE, SIGNER, TEXT, VERDICTS, Manifest
from assay.records.verdicts import Verdict, VerdictsFile
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_file
from assay.statistics.shared_summaries import SharedSummaries
from assay.verification.attestation import (
    check_signatures,
    load_public_key,
    parse_envelope,
    parse_statement,
    public_pem,
)
from assay.verification.manifest import content_problems, shape_problems, walk
from assay.verification.origin import origin_problems

TEXTS = (PAGE, TEXT)
LONGEST_VALUE = 60
"""Characters of a differing value that a sentence quotes."""


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
) -> VerificationResult:
    """Check a report directory against the given public keys.

    The report itself must be signed by one of ``trusted_keys``; a report that figures were taken
    over from may as well be signed by one of ``origin_keys``.
    ``repository`` is the checkout, when its present claims are to be compared (a note, no check).
    ``renderer`` makes the readable texts again, to be compared byte for byte.
    Raises CheckFailed that lists every failed check; BadInput when there is no such directory, or
    no usable key to verify with.
    """
    if not report_dir.is_dir():
        raise BadInput(f"{report_dir}: no such report directory")
    if not trusted_keys:
        raise BadInput("no public key to verify with: give one with --key")
    keys = [load_public_key(path) for path in trusted_keys]
    origins = [*keys, *(load_public_key(path) for path in origin_keys)]
    log = CheckLog()
    manifest, shape_holds = _check_shape(log, report_dir)
    if manifest is None or not shape_holds:
        # Nothing below may be read through a link or from outside the directory.
        names = ("contents", "signature", "statement", "evidence", "verdicts", "origins")
        log.skip(names, "the directory does not have the shape of a report")
        log.raise_if_failed(report_dir)
    assert manifest is not None
    with log.check("contents") as says:
        none(content_problems(report_dir, manifest))
        says(
            f"{counted(len(manifest.files), 'file')} "
            f"{agreeing(len(manifest.files), 'has', 'have')} the size and SHA-256 "
            "that the manifest lists"
        )
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
    notes: list[str] = []
    if evidence is None or catalog is None:
        log.skip(("verdicts", "origins"), "the evidence cannot be read")
    else:
        summaries = SharedSummaries()
        _check_verdicts(log, report_dir, manifest, catalog, evidence, summaries)
        _check_origins(log, report_dir, manifest, evidence, origins)
        if renderer is not None and all(check.passed for check in log.checks):
            notes += _check_texts(log, report_dir, renderer, summaries)
        elif renderer is not None:
            log.skip(("texts",), "what they tell of does not hold")
    log.raise_if_failed(report_dir)
    if repository:
        notes += _notes(report_dir, repository)
    return VerificationResult(manifest.run, keyid, tuple(log.checks), tuple(notes))


def _check_shape(log: CheckLog, report_dir: Path) -> tuple[Manifest | None, bool]:
    manifest = None
    with log.check("shape") as says:
        present = set(walk(report_dir))
        manifest = read_record(Manifest, report_dir / MANIFEST)
        none(shape_problems(manifest, present))
        says("plain files only; none missing, none unlisted")
        return manifest, True
    return manifest, False


def _check_evidence(
    log: CheckLog, report_dir: Path, manifest: Manifest, statement: Statement | None
) -> tuple[Catalog | None, Evidence | None]:
    """The statement says what the evidence says; the evidence loads."""
    catalog: Catalog | None = None
    evidence: Evidence | None = None
    with log.check("evidence") as says:
        catalog = load_catalog(report_dir / "evidence")
        evidence = load_evidence(report_dir / "evidence")
        count = len(evidence.benchmarks) + len(evidence.programs)
        says(
            f"{counted(len(catalog.claims), 'claim')} and {counted(count, 'measurement record')} "
            "can be read"
        )
    if statement is None:
        log.skip(("statement",), "no trusted signature vouches for it")
        return catalog, evidence
    with log.check("statement") as says:
        if statement.subject[0].digest.sha256 != sha256_file(report_dir / MANIFEST):
            raise CheckFailed("the signature is about another manifest.json")
        verdicts = read_record(VerdictsFile, report_dir / VERDICTS)
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
    log: CheckLog,
    report_dir: Path,
    manifest: Manifest,
    catalog: Catalog,
    evidence: Evidence,
    summaries: SharedSummaries,
) -> None:
    with log.check("verdicts") as says:
        data = (report_dir / VERDICTS).read_bytes()
        again = judge(catalog, evidence, summaries)
        if dump_record(again) != data:
            given = parse_record(VerdictsFile, data, Path(VERDICTS))
            raise CheckFailed(_difference(given, again))
        listed = {entry.path for entry in manifest.files}
        named = {path for verdict in again.verdicts for path in verdict.evidence}
        none([f"a verdict rests on {path}, which is not here" for path in sorted(named - listed)])
        says(
            f"{counted(len(again.verdicts), 'verdict')}, recomputed from raw samples, "
            "byte for byte the same"
        )


def _difference(given: VerdictsFile, again: VerdictsFile) -> str:
    """One sentence on how recomputed verdicts differ from the given ones."""
    old = {(v.claim, v.target): v for v in given.verdicts}
    new = {(v.claim, v.target): v for v in again.verdicts}
    names = [
        f"{claim}{' on ' + target if target else ''} "
        f"({_changed(old.get((claim, target)), new.get((claim, target)))})"
        for claim, target in sorted(old.keys() | new.keys(), key=str)
        if old.get((claim, target)) != new.get((claim, target))
    ]
    if not names:
        return "verdicts.json holds other bytes than the judge writes"
    return "the judge finds other verdicts in the raw samples: " + listed(names)


def _changed(given: Verdict | None, again: Verdict | None) -> str:
    """The fields in which two verdicts differ, the first one with its values."""
    if given is None or again is None:
        return "not given" if given is None else "not found again"
    old, new = given.model_dump(mode="json"), again.model_dump(mode="json")
    names = [name for name in old if old[name] != new[name]]
    names.sort(key=lambda name: name != "status")
    first, *others = names
    sentence = f"{first}: given {_short(old[first])}, recomputed {_short(new[first])}"
    return sentence + (f"; also {', '.join(others)}" if others else "")


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


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
        log.checks.append(NamedCheck("texts", False, problem))
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
    keys: Sequence[SSlibKey],
) -> None:
    recorded = [plan for plan in evidence.plan.targets if plan.provision.kind == "recorded"]
    with log.check("origins") as says:
        problems = []
        for plan in recorded:
            problems += origin_problems(report_dir, manifest, plan, keys)
        none(problems)
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
