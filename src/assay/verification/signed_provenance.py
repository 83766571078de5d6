"""The check that a report's provenance is signed, and is what its build records say."""

from collections.abc import Sequence
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.errors import CheckFailed
from assay.base.io import read_bytes
from assay.base.pip_locks import TOOLCHAIN_LOCK
from assay.evidence.model import Evidence
from assay.records.manifest import PROVENANCE
from assay.records.provenance import BUILD_TYPE
from assay.shared.bounded_json import parse_bounded
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE
from assay.verification.envelope import parse_envelope
from assay.verification.manifest import plain_bytes
from assay.verification.provenance import provenance_payload
from assay.verification.signatures import check_signatures
from assay.verification.signed_files import SignedFiles
from assay.verification.trusted_keys import TrustedKey

FROM_BEFORE = (
    "how the binaries were built: the statement names no provenance, as those of older versions do "
    "not; their build records say it"
)
NO_LOCK = "which compilers the builds' toolchain lock pins: it is not there, as in older reports"


def check_provenance(
    log: CheckLog,
    report_dir: Path,
    signed: SignedFiles,
    evidence: Evidence,
    keys: Sequence[TrustedKey],
) -> None:
    """Derive the provenance again, byte for byte: the statement names it by its digest."""
    stated = signed.statement.predicate.provenance
    with log.check("provenance") as says:
        says.leave(_check_lock(report_dir / "evidence" / TOOLCHAIN_LOCK, evidence))
        expected = provenance_payload(report_dir / "evidence", evidence)
        if stated is None:
            if expected is None:
                says("nothing was built")
            else:
                says("")
                says.leave([FROM_BEFORE])
            return
        payload = _signed_payload(report_dir, stated, keys)
        if (kind := _build_type(payload)) != BUILD_TYPE:
            says("")
            says.leave([f"how the binaries were built: of build type {kind!a}, not {BUILD_TYPE}"])
        elif payload != expected:
            problem = f"{PROVENANCE} does not say what the build records say"
            raise CheckFailed(problem, code="provenance-records")
        else:
            count = len(parse_bounded(payload)["subject"])
            has = agreeing(count, "has", "have")
            built = counted(count, "binary or image", "binaries and images")
            says(
                f"{built} {has} signed SLSA provenance, derived again from the build records, byte "
                "for byte the same",
                short=f"{built} {has} SLSA provenance",
            )


def _check_lock(lock: Path, evidence: Evidence) -> list[str]:
    """Return what is left unproven of the lock that compilers came by, where builds name another
    one than lies there. Raises CheckFailed.
    """
    named = {build.toolchain.lock_sha256 for build in evidence.builds.values()}
    if not lock.is_file():
        return [NO_LOCK] if named else []
    held = sha256_bytes(read_bytes(lock, MOST_DOCUMENT))
    if other := sorted(named - {held}):
        problem = (
            f"builds are by the toolchain lock {other[0][:12]}, and {lock.name} is {held[:12]}"
        )
        raise CheckFailed(problem, code="toolchain-lock")
    return []


def _signed_payload(report_dir: Path, sha256: str, keys: Sequence[TrustedKey]) -> bytes:
    """Return what the envelope holds, signed by whom the report is. Raises CheckFailed."""
    envelope = parse_envelope(plain_bytes(report_dir, PROVENANCE, MOST_ENVELOPE))
    if sha256_bytes(envelope.payload) != sha256:
        problem = f"{PROVENANCE} is not the one that the statement names"
        raise CheckFailed(problem, code="provenance-statement")
    check_signatures(envelope, keys)
    return envelope.payload


def _build_type(payload: bytes) -> object:
    try:
        return parse_bounded(payload)["predicate"]["buildDefinition"]["buildType"]
    except (ValueError, KeyError, TypeError) as error:
        problem = f"{PROVENANCE} is malformed: it names no build type"
        raise CheckFailed(problem, code="provenance-records") from error
