"""Whether a report's files are those that a trusted key signed; nothing else of it is read before.

From the key outwards: the envelope's signature, the statement in it, the manifest that this names
by its digest, the files that the manifest names by theirs. The first that fails ends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog, listed
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import parse_record
from assay.records.attestation import SigningKey, Statement
from assay.records.manifest import ATTESTATION, MANIFEST, SIGNER, Manifest
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE, MOST_KEY_FILE
from assay.verification.attestation import (
    key_of_bytes,
    parse_statement,
    public_key,
    public_pem,
)
from assay.verification.envelope import Envelope, parse_envelope
from assay.verification.manifest import changed_files, check_shape, plain_bytes, walk
from assay.verification.signatures import check_signatures, made_by
from assay.verification.trusted_keys import TrustedKey

CHECKS = ("signature", "statement", "shape", "contents")


@dataclass(frozen=True)
class SignedFiles:
    """The signed list of a report's files, all of which are as it says."""

    signers: tuple[TrustedKey, ...]
    """The trusted keys that signed, each once."""
    statement: Statement
    manifest: Manifest
    envelope: Envelope

    @property
    def keyid(self) -> str:
        """Return the id of the trusted key that signed, of several the first."""
        return self.signers[0].keyid


def check_signed_files(
    log: CheckLog,
    report_dir: Path,
    keys: Sequence[TrustedKey],
    further: Sequence[str] = (),
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


def _signed(
    log: CheckLog,
    report_dir: Path,
    keys: Sequence[TrustedKey],
) -> SignedFiles | None:
    envelope: Envelope | None = None
    signers: tuple[TrustedKey, ...] = ()
    with log.check("signature") as says:
        envelope, signers, beside = _signature(report_dir, keys)
        says(_signed_by(envelope, signers))
        if beside is not None:
            says.leave(
                [f"whose {SIGNER} is: key {beside} signed as well, and nobody here trusts it"]
            )
    if not log.holds or envelope is None:
        return None
    found = None
    with log.check("statement") as says:
        data = plain_bytes(report_dir, MANIFEST, MOST_DOCUMENT)
        found = signed_list(envelope, signers, data, Path(MANIFEST))
        says(f"about this manifest, of run {found.manifest.run}")
    if found is None:
        return None
    files = found.manifest.files
    with log.check("shape") as says:
        stated = found.statement.predicate.provenance is not None
        present = set(walk(report_dir))
        check_shape(found.manifest, present, provenance=stated).raise_if_any()
        says("plain files only; none missing, none unlisted")
    if not log.holds:
        return None
    with log.check("contents") as says:
        if changed := changed_files(report_dir, found.manifest):
            raise CheckFailed(listed([each.says for each in changed]), code="contents")
        says(
            f"{counted(len(files), 'file')} {agreeing(len(files), 'has', 'have')} the size and "
            "SHA-256 that the manifest lists"
        )
    return found if log.holds else None


def _signature(
    report_dir: Path, keys: Sequence[TrustedKey]
) -> tuple[Envelope, tuple[TrustedKey, ...], str | None]:
    """Return the envelope, the trusted keys that signed it, and the id of the key in ``signer.pub``
    where that is none of them. Raises AssayError.
    """
    envelope = parse_envelope(plain_bytes(report_dir, ATTESTATION, MOST_ENVELOPE))
    signers = check_signatures(envelope, keys)
    data = plain_bytes(report_dir, SIGNER, MOST_KEY_FILE)
    if data in [public_pem(each.key) for each in signers]:
        return envelope, signers, None
    beside = _signed_too(envelope, data)
    if beside is None:
        ids = ", ".join(each.keyid for each in signers)
        raise CheckFailed(f"{SIGNER} is not the key that signed ({ids})", code="signer-file")
    return envelope, signers, beside


def _signed_too(envelope: Envelope, data: bytes) -> str | None:
    """Return the id of the key in ``signer.pub``, of those that nobody trusts, where it signed."""
    try:
        key = TrustedKey(public_key(data, Path(SIGNER)), SIGNER)
    except BadInput:
        return None
    signed = any(made_by(signature, envelope.pae(), key) for signature in envelope.signatures)
    return key.keyid if signed and data == public_pem(key.key) else None


def _signed_by(envelope: Envelope, signers: Sequence[TrustedKey]) -> str:
    """Say whose signatures there are, strangers' apart: a name is the verifier's own."""
    names = ", ".join(f"{each.keyid} ({each.name})" for each in signers)
    keys = "key" if len(signers) == 1 else f"{len(signers)} keys:"
    text = f"signed by trusted {keys} {names}"
    if strangers := len(envelope.signatures) - len(signers):
        text += f"; {counted(strangers, 'further signature')} not of a trusted key"
    return text


def signed_list(
    envelope: Envelope, signers: tuple[TrustedKey, ...], data: bytes, path: Path
) -> SignedFiles:
    """Return the list of files in ``data``, which a signed envelope's statement must be about.

    Errors name it ``path``. Raises AssayError.
    """
    statement = parse_statement(envelope)
    for signer in signers:
        signer.check_signed_on(statement.predicate.created)
    if statement.subject[0].digest.sha256 != sha256_bytes(data):
        problem = "the signature is about another manifest.json"
        raise CheckFailed(problem, code="statement-subject")
    manifest = parse_record(Manifest, data, path)
    if manifest.run != statement.predicate.run:
        problem = "statement and manifest name different runs"
        raise CheckFailed(problem, code="statement-run")
    return SignedFiles(signers, statement, manifest, envelope)


def list_signed_by(
    envelope: bytes, manifest: bytes, keys: Sequence[TrustedKey], path: Path
) -> SignedFiles:
    """Return the list of files in ``manifest`` that one of ``keys`` signed with ``envelope``.

    Errors name it ``path``. Raises AssayError.
    """
    parsed = parse_envelope(envelope)
    return signed_list(parsed, check_signatures(parsed, keys), manifest, path)


def require_signed_by(signed: SignedFiles, named: SigningKey) -> None:
    """Raise CheckFailed unless the key that evidence names made one of the signatures.

    Whether anybody trusts it is no matter here: a report's page shows its id.
    """
    key = TrustedKey(key_of_bytes(named.public), named.name or named.keyid)
    message = signed.envelope.pae()
    if key.keyid != named.keyid:
        problem = f"the evidence calls the key {key.keyid} by another id: {named.keyid}"
    elif not any(made_by(each, message, key) for each in signed.envelope.signatures):
        problem = f"the evidence says that key {named.keyid} signs, which made no signature"
    else:
        return
    raise CheckFailed(problem, code="declared-signer")
