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
    assert cosign(report, report / subject, tmp_path) is (subject == "manifest.json")


def cosign(report: Path, subject: Path, home: Path) -> bool:
    """Return whether cosign says that the key signed the report's statement about the file."""
    command = [COSIGN or "", "verify-blob-attestation", "--insecure-ignore-tlog", "--key",
               report / "signer.pub", "--type", "urn:assay:report:1",
               "--signature", report / "attestation.json", subject]  # fmt: skip
    environment = {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    return done.returncode == 0
