"""Whether a report's files are those that a trusted key signed; nothing else of it is read before.

From the key outwards: the envelope's signature, the statement in it, the manifest that this names
by its digest, the files that the manifest names by theirs. The first that fails ends it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from securesystemslib.dsse import Envelope

from assay.base.check_log import CheckLog, CheckUnderWay, listed, names
from assay.base.errors import AssayError, CheckFailed
from assay.base.io import parse_record
from assay.evidence.stages import earlier_path
from assay.records.attestation import (
    ATTESTATION,
    MANIFEST,
    PROVENANCE,
    SIGNER,
    VERDICTS,
    Manifest,
    Statement,
)
from assay.records.plan import Plan
from assay.records.verdicts import VerdictsFile
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE, MOST_FILE, MOST_KEY_FILE
from assay.verification.attestation import parse_statement, public_pem
from assay.verification.envelope import check_signature, parse_envelope
from assay.verification.manifest import (
    EVIDENCE,
    UNLISTED,
    changed_files,
    check_shape,
    plain_bytes,
    walk,
)
from assay.verification.report_archive import archived_documents, is_archive, report_name
from assay.verification.trusted_keys import TrustedKey

CHECKS = ("signature", "statement", "shape", "contents")
NESTED = f"{EVIDENCE}{earlier_path('')}"


@dataclass(frozen=True)
class SignedFiles:
    """The signed list of a report's files, all of which are as it says."""

    signer: TrustedKey
    statement: Statement
    manifest: Manifest


def check_signed_files(
    log: CheckLog, report_dir: Path, keys: Sequence[TrustedKey], further: Sequence[str] = ()
) -> SignedFiles | None:
    """Return what a trusted key signed; None where a check failed, as ``log`` then says.

    Only the envelope, the public key beside it and, once a trusted key vouches for it, the manifest
    are parsed. ``further`` checks are named as not done where one of these fails.
    """
    signed: tuple[Envelope, TrustedKey] | None = None
    found: SignedFiles | None = None
    with log.check("signature") as says:
        envelope = parse_envelope(plain_bytes(report_dir, ATTESTATION, MOST_ENVELOPE))
        signer = check_signature(envelope, keys)
        who = f"{signer.keyid} ({signer.name})"
        if plain_bytes(report_dir, SIGNER, MOST_KEY_FILE) != public_pem(signer.key):
            raise CheckFailed(f"{SIGNER} is not the key that signed: {who}", code="signer-file")
        says(f"signed by trusted key {who}")
        signed = envelope, signer
    if signed is not None:
        with log.check("statement") as says:
            data = plain_bytes(report_dir, MANIFEST, MOST_DOCUMENT)
            found = _stated(*signed, data, Path(MANIFEST))
            says(f"about this manifest, of run {found.manifest.run}")
    if found is not None:
        with log.check("shape") as says:
            named = found.statement.predicate.provenance is not None
            check_shape(found.manifest, set(walk(report_dir)), says, provenance=named)
            says("plain files only; none missing, none unlisted")
    if found is not None and log.holds:
        with log.check("contents") as says:
            if changed := changed_files(report_dir, found.manifest):
                raise CheckFailed(listed(changed), code="contents")
            count = len(found.manifest.files)
            have = agreeing(count, "has", "have")
            says(f"{counted(count, 'file')} {have} the size and SHA-256 that the manifest lists")
    if found is not None and log.holds and (stated := found.statement.predicate.provenance):
        with log.check("provenance") as says:
            envelope = parse_envelope(plain_bytes(report_dir, PROVENANCE, MOST_ENVELOPE))
            check_signature(envelope, keys)
            if sha256_bytes(envelope.payload) != stated:
                problem = f"{PROVENANCE} is not the one that the statement names"
                raise CheckFailed(problem, code="provenance-statement")
            says(f"{PROVENANCE} is the one that the statement names")
    if log.holds:
        return found
    done = {check.id for check in log.checks}
    left = [name for name in (*CHECKS, *further) if name not in done]
    log.skip(left, "what nobody vouched for is not read")
    return None


def list_signed_by(
    envelope: bytes, manifest: bytes, keys: Sequence[TrustedKey], path: Path
) -> SignedFiles:
    """Return the list of files in ``manifest`` that one of ``keys`` signed with ``envelope``.

    Errors name it ``path``. Raises AssayError.
    """
    parsed = parse_envelope(envelope)
    return _stated(parsed, check_signature(parsed, keys), manifest, path)


def _stated(envelope: Envelope, signer: TrustedKey, manifest: bytes, path: Path) -> SignedFiles:
    statement = parse_statement(envelope.payload)
    signer.check_signed_on(statement.predicate.created)
    if statement.subject[0].digest.sha256 != sha256_bytes(manifest):
        problem = "the signature is about another manifest.json"
        raise CheckFailed(problem, code="statement-subject")
    files = parse_record(Manifest, manifest, path)
    if files.run != statement.predicate.run:
        raise CheckFailed("statement and manifest name different runs", code="statement-run")
    return SignedFiles(signer, statement, files)


def check_place(log: CheckLog, report: Path, run: str, repository: Path | None) -> None:
    """Hold the name of a report's directory, or of its archive, against the run that was signed.

    Among a checkout's own reports another name fails, a link's as well as that of what it leads to.
    Anywhere else a copy may be called anything: what its name says is then not proven.
    """
    places = [report.parent.resolve() / report.name, report.resolve()]
    if report.name in ("", ".."):
        places = places[1:]
    other = [place for place in places if report_name(place) != run]
    if not other:
        return
    ours = [] if repository is None else [repository / "reports", repository / "reports/published"]
    folders = {each.resolve() for each in ours}
    with log.check("name") as says:
        problem = f"it lies as '{report_name(other[0])}' and is the report of run '{run}'"
        if any(place.parent in folders for place in other):
            raise CheckFailed(problem, code="run-name")
        says("")
        says.leave(f"the name: {problem}")


def measurer_of(signer: TrustedKey, manifest: Manifest, keys: Iterable[TrustedKey]) -> str:
    """Return who vouches for having measured what a signed report tells: its signer; where it holds
    earlier reports whole, the signers of the innermost of them, however often they were judged.
    """
    ends = f"/{SIGNER}"
    folders = {
        entry.path.removesuffix(ends): entry.sha256
        for entry in manifest.files
        if entry.path.startswith(NESTED) and entry.path.endswith(ends)
    }
    known = {sha256_bytes(public_pem(each.key)): each.signer for each in keys}
    innermost = {
        known.get(digest, digest)
        for folder, digest in folders.items()
        if not any(other.startswith(f"{folder}/{NESTED}") for other in folders)
    }
    return " and ".join(sorted(innermost)) or signer.signer


def signed_verdicts(report: Path, keys: Sequence[TrustedKey]) -> tuple[str, VerdictsFile]:
    """Return a report's verdicts as its signer states them, and who measured (``measurer_of``).

    Nothing is judged again. Raises AssayError where none of ``keys`` signed.
    """
    sizes = {ATTESTATION: MOST_ENVELOPE, MANIFEST: MOST_DOCUMENT, VERDICTS: MOST_FILE}
    packed = archived_documents(report) if is_archive(report) else None
    envelope, manifest, data = (
        plain_bytes(report, name, most) if packed is None else packed.get(name, b"")
        for name, most in sizes.items()
    )
    signed = list_signed_by(envelope, manifest, keys, report / MANIFEST)
    digests = {entry.path: entry.sha256 for entry in signed.manifest.files}
    if digests.get(VERDICTS) != sha256_bytes(data):
        raise CheckFailed(f"{report}: {VERDICTS} is not what was signed", code="contents")
    measurer = measurer_of(signed.signer, signed.manifest, keys)
    return measurer, parse_record(VerdictsFile, data, report / VERDICTS)


def check_origins(
    report_dir: Path,
    manifest: Manifest,
    plan: Plan,
    keys: Sequence[TrustedKey],
    says: CheckUnderWay,
) -> None:
    """Refuse what is wrong with reports that figures come from: none of them is taken on trust."""
    sound = check_nested(report_dir, manifest, keys, says)
    recorded = [each for each in plan.targets if each.provision.kind == "recorded"]
    for target in recorded:
        if f"{EVIDENCE}{target.provision.within}" not in sound:
            what = "no report lies in the evidence that vouches for its figures"
            says.refuse("origin-missing", f"{target.target}: {what}")
    which = " and ".join(target.target for target in recorded)
    says(
        f"measurements of {which} are those of the signed reports they come from, which lie in the "
        "evidence whole"
        if recorded
        else "nothing was taken from another report"
    )


def check_nested(
    folder: Path,
    manifest: Manifest,
    keys: Sequence[TrustedKey],
    says: CheckUnderWay,
    prefix: str = "",
) -> set[str]:
    """Return the evidence folders of the reports that lie in the one at ``folder``.

    ``manifest``: what that lists. Refuses whatever is not as a trusted key signed it. ``prefix``:
    of paths below the outermost report.
    """
    found = set[str]()
    nested = [each for each in manifest.files if each.path.startswith(NESTED)]
    for name in sorted({each.path.removeprefix(NESTED).partition("/")[0] for each in nested}):
        top = f"{NESTED}{name}/"
        where = f"{prefix}{top}"
        try:
            signed = list_signed_by(
                plain_bytes(folder / top, ATTESTATION, MOST_ENVELOPE),
                plain_bytes(folder / top, MANIFEST, MOST_DOCUMENT),
                keys,
                Path(where, MANIFEST),
            )
        except AssayError as error:
            says.refuse(f"origin-{error.code}", f"{where}: {error}")
            continue
        if signed.manifest.run != name:
            says.refuse("origin-run", f"{where} is the report of run '{signed.manifest.run}'")
        beside = UNLISTED | ({PROVENANCE} if signed.statement.predicate.provenance else set())
        there = {
            (each.path.removeprefix(top), each.sha256, each.bytes)
            for each in nested
            if each.path.startswith(top)
        }
        there = {each for each in there if each[0] not in beside}
        listed_there = {(each.path, each.sha256, each.bytes) for each in signed.manifest.files}
        if wrong := {path for path, *_ in there ^ listed_there}:
            how = f"not as report '{signed.manifest.run}' was signed: {names(wrong)}"
            says.refuse("origin-file", f"{where}: {how}")
        found.add(f"{where}{EVIDENCE}".rstrip("/"))
        found |= check_nested(folder / top, signed.manifest, keys, says, where)
    return found
