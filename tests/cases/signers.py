"""Who signs a changed report, and how careless or dishonest they are."""

import json
from collections.abc import Callable
from typing import Any

from assay.base.errors import AssayError
from assay.base.io import dump_record, write_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.judging.judge import judge
from assay.shared.files import sha256_bytes
from assay.verification.attestation import load_signer
from assay.verification.envelope import dump_envelope, signed_envelope
from assay.verification.manifest import build_manifest
from assay.verification.sign import sign
from tests.cases.site import Site


def unsigned(site: Site) -> None:
    """Nobody signs: what an enemy can do who has no key."""


def listed(site: Site) -> None:
    """The manifest lists the files as they are, and nobody signs it."""
    run = site.statement()["predicate"]["run"]
    site.put("manifest.json", dump_record(build_manifest(site.report, run)))


def manifest(site: Site) -> None:
    """The trusted key signs the manifest as the change left it."""
    statement = site.statement()
    digest = sha256_bytes((site.report / "manifest.json").read_bytes())
    statement["subject"][0]["digest"]["sha256"] = digest
    site.payload = spelled(statement)
    payload(site)


def payload(site: Site) -> None:
    """The trusted key signs the statement that the change made."""
    envelope = signed_envelope(site.payload, [load_signer(site.base / "key")])
    site.put("attestation.json", dump_envelope(envelope))


def trusted(site: Site) -> None:
    """The trusted key signs what lies there, as signing does.

    Signing reads the evidence: of what it cannot read, the statement says what it said before.
    """
    try:
        sign(site.report, site.base / "key")
    except AssayError:
        listed(site)
        manifest(site)


def judged(site: Site) -> None:
    """Verdicts are judged anew from the evidence as it stands; then the trusted key signs."""
    verdicts = judge(load_catalog(site.evidence), load_evidence(site.evidence))
    write_record(verdicts, site.report / "verdicts.json")
    sign(site.report, site.base / "key")


def enemy(site: Site) -> None:
    """A key that nobody trusts signs all of it, and lies beside it."""
    sign(site.report, site.base / "enemy")


SIGNERS: dict[str, Callable[[Site], None]] = {
    "none": unsigned, "listed": listed, "manifest": manifest, "payload": payload,
    "trusted": trusted, "judged": judged, "enemy": enemy,
}  # fmt: skip


def spelled(statement: Any) -> bytes:
    """Return a statement as signing spells it."""
    return json.dumps(statement, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
