"""Changes to what a report says of how its binaries were built."""

import base64
import json
from typing import Any

from assay.shared.files import sha256_bytes
from assay.verification.attestation import load_signer, seal_payload
from assay.verification.envelope import parse_envelope
from tests.cases.signers import spelled
from tests.cases.site import Site

PROVENANCE = "provenance.json"


def other_provenance(site: Site) -> None:
    """The trusted key's provenance of something else, in place of the one that is named."""
    _seal(site, b'{"predicate":{"buildDefinition":{"buildType":"urn:assay:build:1"}}}')


def provenance_with(site: Site, path: str, value: Any) -> None:
    """The trusted key signs a provenance with another value, and a statement that names it."""
    document = json.loads(base64.b64decode(site.read(PROVENANCE)["payload"]))
    *folders, name = path.split(".")
    place = document
    for folder in folders:
        place = place[int(folder)] if folder.isdecimal() else place[folder]
    place[name] = value
    payload = spelled(document)
    _seal(site, payload)
    _name(site, sha256_bytes(payload))


def provenance_without_name(site: Site, left: bool) -> None:
    """The trusted key's statement names no provenance; it lies there all the same, or not."""
    _name(site, None)
    if not left:
        (site.report / PROVENANCE).unlink()


def provenance_of_a_stranger(site: Site) -> None:
    """The same provenance below another key's signature."""
    payload = parse_envelope((site.report / PROVENANCE).read_bytes()).payload
    site.put(PROVENANCE, seal_payload(payload, load_signer(site.base / "enemy")))


def _seal(site: Site, payload: bytes) -> None:
    site.put(PROVENANCE, seal_payload(payload, load_signer(site.base / "key")))


def _name(site: Site, sha256: str | None) -> None:
    statement = site.statement()
    statement["predicate"]["provenance"] = sha256
    site.payload = spelled(statement)
