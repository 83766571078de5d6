"""Whether a report's files are those that a trusted key signed; nothing else of it is read before.

From the key outwards: the envelope's signature, the statement in it, the manifest that this names
by its digest, the files that the manifest names by theirs. The first that fails ends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog, listed
from assay.base.errors import AssayError, CheckFailed
from assay.base.io import parse_record, read_bytes
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
from assay.records.builds import FileDigest
from assay.records.plan import Plan
from assay.records.verdicts import VerdictsFile
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE, MOST_FILE, MOST_KEY_FILE
from assay.verification.attestation import parse_statement, public_pem
from assay.verification.contradictions import Findings, names
from assay.verification.envelope import check_signatures, parse_envelope
from assay.verification.manifest import (
    EVIDENCE,
    UNLISTED,
    changed_files,
    check_shape,
    plain_bytes,
    walk,
)
from assay.verification.report_archive import is_archive, read_archive, report_name
from assay.verification.trusted_keys import TrustedKey

CHECKS = ("signature", "statement", "shape", "contents")


@dataclass(frozen=True)
class SignedFiles:
    """The signed list of a report's files, all of which are as it says."""

    signers: tuple[TrustedKey, ...]
    """The trusted keys that signed, each once."""
    statement: Statement
    manifest: Manifest

    @property
    def keyid(self) -> str:
        """Return the id of the trusted key that signed, of several the first."""
        return self.signers[0].keyid


def check_signed_files(
    log: CheckLog, report_dir: Path, keys: Sequence[TrustedKey], further: Sequence[str] = ()
) -> SignedFiles | None:
    """Return what a trusted key signed; None where a check failed, as ``log`` then says.

    Only the envelope, the public key beside it and, once a trusted key vouches for it, the manifest
    are parsed. ``further`` checks are named as not done where one of these fails.
    """
    found = _signed(log, report_dir, keys)
    if found is None:
        done = {check.name for check in log.checks}
        names = [name for name in (*CHECKS, *further) if name not in done]
        log.skip(names, "what nobody vouched for is not read")
    return found


def _signed(log: CheckLog, report_dir: Path, keys: Sequence[TrustedKey]) -> SignedFiles | None:
    envelope, found = b"", None
    with log.check("signature") as says:
        envelope = plain_bytes(report_dir, ATTESTATION, MOST_ENVELOPE)
        says(_signed_by(report_dir, envelope, keys))
    if not log.holds:
        return None
    with log.check("statement") as says:
        data = plain_bytes(report_dir, MANIFEST, MOST_DOCUMENT)
        found = list_signed_by(envelope, data, keys, Path(MANIFEST))
        says(f"about this manifest, of run {found.manifest.run}")
    if found is None:
        return None
    with log.check("shape") as says:
        stated = found.statement.predicate.provenance is not None
        check_shape(found.manifest, set(walk(report_dir)), provenance=stated)
        says("plain files only; none missing, none unlisted")
    if not log.holds:
        return None
    with log.check("contents") as says:
        if changed := changed_files(report_dir, found.manifest):
            raise CheckFailed(listed(changed), code="contents")
        count = len(found.manifest.files)
        says(
            f"{counted(count, 'file')} {agreeing(count, 'has', 'have')} the size and SHA-256 that "
            "the manifest lists"
        )
    return found if log.holds else None


def _signed_by(report_dir: Path, data: bytes, keys: Sequence[TrustedKey]) -> str:
    """Say which trusted keys signed, one of which lies beside; a name is the verifier's own."""
    envelope = parse_envelope(data)
    signers = check_signatures(envelope, keys)
    beside = plain_bytes(report_dir, SIGNER, MOST_KEY_FILE)
    names = ", ".join(f"{each.keyid} ({each.name})" for each in signers)
    if beside not in [public_pem(each.key) for each in signers]:
        raise CheckFailed(f"{SIGNER} is not the key that signed: {names}", code="signer-file")
    text = f"signed by trusted {agreeing(len(signers), 'key', 'keys')} {names}"
    if strangers := len(envelope.signatures) - len(signers):
        text += f"; {counted(strangers, 'further signature')} not of a trusted key"
    return text


def list_signed_by(
    envelope: bytes, manifest: bytes, keys: Sequence[TrustedKey], path: Path
) -> SignedFiles:
    """Return the list of files in ``manifest`` that one of ``keys`` signed with ``envelope``.

    Errors name it ``path``. Raises AssayError.
    """
    parsed = parse_envelope(envelope)
    signers = check_signatures(parsed, keys)
    statement = parse_statement(parsed.payload)
    for signer in signers:
        signer.check_signed_on(statement.predicate.created)
    if statement.subject[0].digest.sha256 != sha256_bytes(manifest):
        problem = "the signature is about another manifest.json"
        raise CheckFailed(problem, code="statement-subject")
    files = parse_record(Manifest, manifest, path)
    if files.run != statement.predicate.run:
        raise CheckFailed("statement and manifest name different runs", code="statement-run")
    return SignedFiles(signers, statement, files)


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
        says.leave([f"the name: {problem}"])


def signed_verdicts(report: Path, keys: Sequence[TrustedKey]) -> tuple[TrustedKey, VerdictsFile]:
    """Return a report's verdicts as its signer states them, and the key of ``keys`` that signed.

    Nothing is judged again. Raises AssayError where none of them did.
    """
    if is_archive(report):
        files = read_archive(report)
        envelope, manifest, data = (files.get(n, b"") for n in (ATTESTATION, MANIFEST, VERDICTS))
    else:
        envelope = plain_bytes(report, ATTESTATION, MOST_ENVELOPE)
        manifest = plain_bytes(report, MANIFEST, MOST_DOCUMENT)
        data = plain_bytes(report, VERDICTS, MOST_FILE)
    signed = list_signed_by(envelope, manifest, keys, report / MANIFEST)
    digests = {entry.path: entry.sha256 for entry in signed.manifest.files}
    if digests.get(VERDICTS) != sha256_bytes(data):
        raise CheckFailed(f"{report}: {VERDICTS} is not what was signed", code="contents")
    return signed.signers[0], parse_record(VerdictsFile, data, report / VERDICTS)


NESTED = f"{EVIDENCE}{earlier_path('')}"


def check_origins(
    report_dir: Path, manifest: Manifest, plan: Plan, keys: Sequence[TrustedKey]
) -> Findings:
    """Return what is wrong with reports that figures come from: none of them is taken on trust."""
    findings = Findings()
    sound = check_nested(report_dir, manifest, keys, findings)
    for target in plan.targets:
        within = target.provision.within
        if target.provision.kind == "recorded" and f"{EVIDENCE}{within}" not in sound:
            says = f"{target.target}: no report lies in the evidence that vouches for its figures"
            findings.refuse("origin-missing", says)
    return findings


def check_nested(
    folder: Path,
    manifest: Manifest,
    keys: Sequence[TrustedKey],
    findings: Findings,
    prefix: str = "",
) -> set[str]:
    """Return the evidence folders of the reports that lie in the one at ``folder``.

    ``manifest``: what that lists. Adds whatever is not as a trusted key signed it. ``prefix``: of
    paths below the outermost report.
    """
    files, found = {each.path: each for each in manifest.files}, set[str]()
    nested = {
        path.removeprefix(NESTED).partition("/")[0] for path in files if path.startswith(NESTED)
    }
    for name in sorted(nested):
        top = f"{NESTED}{name}/"
        held = {path.removeprefix(top): f for path, f in files.items() if path.startswith(top)}
        where = f"{prefix}{top}"
        try:
            signed = list_signed_by(
                read_bytes(folder / top / ATTESTATION, MOST_ENVELOPE),
                read_bytes(folder / top / MANIFEST, MOST_DOCUMENT),
                keys,
                Path(where, MANIFEST),
            )
        except AssayError as error:
            findings.refuse(f"origin-{error.code}", f"{where}: {error}")
            continue
        if signed.manifest.run != name:
            says = f"{where} is the report of run '{signed.manifest.run}'"
            findings.refuse("origin-run", says)
        listed = {each.path: each for each in signed.manifest.files}
        beside = UNLISTED | ({PROVENANCE} if signed.statement.predicate.provenance else set())
        there = {path: _content(each) for path, each in held.items() if path not in beside}
        wanted = {path: _content(each) for path, each in listed.items()}
        if wrong := {p for p in there.keys() | wanted.keys() if there.get(p) != wanted.get(p)}:
            says = f"{where}: not as report '{signed.manifest.run}' was signed: {names(wrong)}"
            findings.refuse("origin-file", says)
        found.add(f"{where}{EVIDENCE}".rstrip("/"))
        found |= check_nested(folder / top, signed.manifest, keys, findings, where)
    return found


def _content(file: FileDigest) -> tuple[str, int]:
    return file.sha256, file.bytes
