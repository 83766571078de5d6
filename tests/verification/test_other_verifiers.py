"""Reports are verified by programs that Assay had no hand in: OpenSSL, and cosign where it is."""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

COSIGN = shutil.which("cosign")


@pytest.mark.parametrize("changed", [False, True])
def test_openssl_verifies_the_signature(report: Path, tmp_path: Path, changed: bool) -> None:
    """By DSSE's own formula over the payload; a changed payload is refused."""
    envelope = json.loads((report / "attestation.json").read_text())
    payload = base64.b64decode(envelope["payload"]) + (b" " if changed else b"")
    kind = envelope["payloadType"].encode()
    (tmp_path / "signed").write_bytes(
        b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    )
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    (tmp_path / "signature").write_bytes(signature)
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", report / "signer.pub",
               "-rawin", "-in", tmp_path / "signed",
               "-sigfile", tmp_path / "signature"]  # fmt: skip
    assert subprocess.run(command, capture_output=True, check=False).returncode == int(changed)


@pytest.mark.cosign
@pytest.mark.parametrize("subject", ["manifest.json", "verdicts.json"])
def test_cosign_verifies_the_attestation(report: Path, tmp_path: Path, subject: str) -> None:
    """The manifest is what is signed; no other file is."""
    found = cosign(report, "attestation.json", report / subject, "urn:assay:report:1", tmp_path)
    assert found is (subject == "manifest.json")


@pytest.mark.cosign
@pytest.mark.parametrize(("binary", "verified"), [("demo_bk32 sm_90a", True), ("another", False)])
def test_cosign_verifies_the_provenance_of_a_binary(
    report: Path, tmp_path: Path, binary: str, verified: bool
) -> None:
    """By cosign's own name of SLSA's predicate. The binaries of made-up records hold a text."""
    (tmp_path / "binary").write_text(binary)
    found = cosign(report, "provenance.json", tmp_path / "binary", "slsaprovenance1", tmp_path)
    assert found is verified


def cosign(report: Path, envelope: str, subject: Path, kind: str, home: Path) -> bool:
    """Return whether cosign says that the key signed a statement of this kind about the file."""
    command = [COSIGN or "", "verify-blob-attestation", "--insecure-ignore-tlog", "--key",
               report / "signer.pub", "--type", kind, "--signature", report / envelope,
               subject]  # fmt: skip
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    return done.returncode == 0
