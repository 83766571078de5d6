"""Whether a report's files are those that a trusted key signed; nothing else of it is read before.

From the key outwards: the envelope's signature, the statement in it, the manifest that this names
by its digest, the files that the manifest names by theirs. The first that fails ends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from assay.base.check_log import CheckLog, none
from assay.base.errors import CheckFailed
from assay.base.io import parse_record
from assay.records.attestation import Statement
from assay.records.manifest import ATTESTATION, MANIFEST, SIGNER, Manifest
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE, MOST_KEY_FILE
from assay.verification.attestation import (
    check_signatures,
    parse_envelope,
    parse_statement,
    public_pem,
)
from assay.verification.manifest import content_problems, plain_bytes, shape_problems, walk

CHECKS = ("signature", "statement", "shape", "contents")


@dataclass(frozen=True)
class SignedFiles:
    """The signed list of a report's files, all of which are as it says."""

    keyid: str
    statement: Statement
    manifest: Manifest


def check_signed_files(
    log: CheckLog, report_dir: Path, keys: Sequence[SSlibKey], further: Sequence[str] = ()
) -> SignedFiles | None:
    """Return what is signed; None where a check failed, as ``log`` then says.

    Only the envelope, the public key beside it and, once a trusted key vouches for it, the manifest
    are parsed. ``further`` checks are named as not done where one of these fails.
    """
    found = _signed(log, report_dir, keys)
    if found is None:
        done = {check.name for check in log.checks}
        names = [name for name in (*CHECKS, *further) if name not in done]
        log.skip(names, "what nobody vouched for is not read")
    return found


def _signed(log: CheckLog, report_dir: Path, keys: Sequence[SSlibKey]) -> SignedFiles | None:
    envelope, keyid = None, ""
    with log.check("signature") as says:
        envelope, keyid = _signature(report_dir, keys)
        says(f"signed by trusted key {keyid}")
    if not log.holds or envelope is None:
        return None
    found = None
    with log.check("statement") as says:
        found = _statement(report_dir, envelope, keyid)
        says(f"about this manifest, of run {found.manifest.run}")
    if found is None:
        return None
    files = found.manifest.files
    with log.check("shape") as says:
        none(shape_problems(found.manifest, set(walk(report_dir))), "shape")
        says("plain files only; none missing, none unlisted")
    if not log.holds:
        return None
    with log.check("contents") as says:
        none(content_problems(report_dir, found.manifest), "contents")
        says(
            f"{counted(len(files), 'file')} {agreeing(len(files), 'has', 'have')} the size and "
            "SHA-256 that the manifest lists"
        )
    return found if log.holds else None


def _signature(report_dir: Path, keys: Sequence[SSlibKey]) -> tuple[Envelope, str]:
    """Return the envelope, and the id of the trusted key that signed it. Raises CheckFailed."""
    envelope = parse_envelope(plain_bytes(report_dir, ATTESTATION, MOST_ENVELOPE))
    key = check_signatures(envelope, keys)
    if plain_bytes(report_dir, SIGNER, MOST_KEY_FILE) != public_pem(key):
        raise CheckFailed(f"{SIGNER} is not the key that signed ({key.keyid})")
    return envelope, str(key.keyid)


def _statement(report_dir: Path, envelope: Envelope, keyid: str) -> SignedFiles:
    """Return the signed statement with the manifest that it is about. Raises AssayError."""
    statement = parse_statement(envelope)
    data = plain_bytes(report_dir, MANIFEST, MOST_DOCUMENT)
    if statement.subject[0].digest.sha256 != sha256_bytes(data):
        raise CheckFailed("the signature is about another manifest.json")
    manifest = parse_record(Manifest, data, Path(MANIFEST))
    if manifest.run != statement.predicate.run:
        raise CheckFailed("statement and manifest name different runs")
    return SignedFiles(keyid, statement, manifest)
