"""Sign a report: list its files, state what the list stands for, seal the statement."""

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from securesystemslib.signer import CryptoSigner, SSlibKey

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import dump_record, read_record
from assay.base.writable import why_not_writable
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.stages import pipeline_path
from assay.judging.counts import count_verdicts
from assay.records.attestation import (
    ATTESTATION,
    MANIFEST,
    PREDICATE_TYPE,
    PROVENANCE,
    SIGNER,
    STATEMENT_TYPE,
    VERDICTS,
    DigestSet,
    PipelineRecord,
    Predicate,
    SignedFile,
    SigningKey,
    Statement,
)
from assay.records.verdicts import VerdictsFile
from assay.shared.files import sha256_bytes, write_bytes
from assay.verification.attestation import dump_statement, load_signer, public_pem
from assay.verification.envelope import seal
from assay.verification.manifest import build_manifest
from assay.verification.trusted_keys import load_trusted_keys


def sign(report_dir: Path, key_path: Path) -> str:
    """Write manifest.json, signer.pub and attestation.json into ``report_dir``.

    Returns the key id.
    ``key_path`` is an Ed25519 private key; where no file is, a key pair is made there first (mode
    0600). Its public half is written beside it unless that is there. Raises BadInput for a bad key
    or an unfinished report, MissingEnvironment where no key can be made, CheckFailed for links and
    special files.
    """
    signer = load_or_create_signer(key_path)
    _require_named(report_dir, signer)
    evidence = report_dir / "evidence"
    verdicts = read_record(VerdictsFile, report_dir / VERDICTS)
    manifest = dump_record(build_manifest(report_dir, verdicts.run))
    predicate = make_predicate(
        load_catalog(evidence),
        verdicts,
        read_record(PipelineRecord, evidence / pipeline_path()).commit,
        _signed_at(),
    )
    statement = dump_statement(_statement(predicate, sha256_bytes(manifest)))
    (report_dir / PROVENANCE).unlink(missing_ok=True)  # of a version that signed one
    write_bytes(report_dir / MANIFEST, manifest)
    write_bytes(report_dir / SIGNER, public_pem(signer.public_key))
    write_public_key(key_path, signer)
    write_bytes(report_dir / ATTESTATION, seal(statement, signer))
    return str(signer.public_key.keyid)


def _signed_at() -> str:
    """Return the UTC that is signed: now, or SOURCE_DATE_EPOCH. Raises BadInput for no number."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = time.gmtime(float(seconds) if seconds else None)
    except (ValueError, OverflowError, OSError) as error:
        raise BadInput(f"SOURCE_DATE_EPOCH is no number of seconds: {seconds!r}") from error
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", moment)


def signing_key(key_path: Path, trusted: Sequence[Path]) -> SigningKey | None:
    """Return the key at ``key_path`` as records name it; None where there is none yet.

    ``trusted``: public keys whose notes may say what it is called. Raises BadInput for no key.
    """
    if not key_path.exists():
        return None
    return named_key(load_signer(key_path).public_key, trusted)


def named_key(key: SSlibKey, trusted: Sequence[Path]) -> SigningKey:
    """Return a public key as records name it, by what the notes of ``trusted`` call it."""
    noted = (each for each in load_trusted_keys(trusted) if each.noted)
    name = next((each.name for each in noted if each.keyid == key.keyid), None)
    return SigningKey(keyid=key.keyid, public=key.keyval["public"], name=name)


def _require_named(report_dir: Path, signer: CryptoSigner) -> None:
    """Raise BadInput for another key than the one that the report's page says signs it."""
    named = read_record(PipelineRecord, report_dir / "evidence" / pipeline_path()).signing_key
    keyid = signer.public_key.keyid
    if named is not None and named.keyid != keyid:
        raise BadInput(
            f"{report_dir}: its pages say that key {named.keyid} signs it, and this is key "
            f"{keyid}: render it again with the key that signs (./assay reproduce, same --run)"
        )


def default_signing_key() -> Path:
    """Return the private key of whoever runs this; made on first use. Raises MissingEnvironment."""
    try:
        return Path.home() / ".config" / "assay" / "signing_key.pem"
    except RuntimeError as error:
        raise MissingEnvironment(
            "this account has no home: set HOME, or name the key with --signing-key or "
            "ASSAY_SIGNING_KEY"
        ) from error


def public_key_path(key_path: Path) -> Path:
    """Return where the public half of a private key lies: ``<key>.pub`` beside it."""
    return key_path.with_name(key_path.name + ".pub")


def write_public_key(key_path: Path, signer: CryptoSigner) -> None:
    """Write the public half of a private key beside it, unless something is there."""
    if not public_key_path(key_path).exists():
        write_bytes(public_key_path(key_path), public_pem(signer.public_key))


def load_or_create_signer(path: Path) -> CryptoSigner:
    """The signer at ``path``; makes a key pair there on first use.

    Raises BadInput for what is no key, MissingEnvironment where none can be made.
    """
    require_key_place(path)
    if path.exists():
        return load_signer(path)
    signer = CryptoSigner.generate_ed25519()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Exclusive, and private from the first byte on: nobody reads it between open and chmod.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return load_signer(path)
    except OSError as error:
        raise MissingEnvironment(_no_key(path, f"{error.filename}: {error.strerror}")) from error
    with os.fdopen(handle, "wb") as stream:
        stream.write(signer.private_bytes)
    return signer


def require_key_place(path: Path) -> None:
    """Raise MissingEnvironment unless a key is at ``path``, or one can be made there.

    The public half must find its place beside it, too: a report is signed at the end of a run that
    may have taken hours. Writes nothing. Raises BadInput for a folder.
    """
    if path.is_dir():
        raise BadInput(
            f"{path}: is a folder: name the file of the private key with --signing-key or "
            "ASSAY_SIGNING_KEY"
        )
    try:
        wanted = public_key_path(path) if path.exists() else path
        why = None if wanted.exists() else why_not_writable(wanted)
    except OSError as error:
        why = f"{error.filename}: {error.strerror}"
    if why is not None:
        raise MissingEnvironment(_no_key(path, why))


def _no_key(path: Path, why: str) -> str:
    return (
        f"no signing key can be made at {path} ({why}): name another place, to key new or with "
        "--signing-key or ASSAY_SIGNING_KEY"
    )


def make_predicate(
    catalog: Catalog, verdicts: VerdictsFile, commit: str | None, created: str
) -> Predicate:
    """Return what signing a report states, beside the digest of its list of files."""
    counts = Counter(verdict.status for verdict in verdicts.verdicts)
    return Predicate(
        run=verdicts.run,
        commit=commit,
        judging=catalog.judging,
        verdicts=dict(sorted(counts.items())),
        counts=count_verdicts(catalog, verdicts.verdicts),
        project=None if catalog.project is None else catalog.project.sha256,
        created=created,
    )


def _statement(predicate: Predicate, manifest_sha256: str) -> Statement:
    subject = SignedFile(name=MANIFEST, digest=DigestSet(sha256=manifest_sha256))
    return Statement.model_validate(
        {
            "_type": STATEMENT_TYPE,
            "subject": (subject,),
            "predicateType": PREDICATE_TYPE,
            "predicate": predicate,
        }
    )
