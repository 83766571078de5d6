"""Fetch axe-core from npm, pinned by ``requirements/axe.lock``; print where its script lies.

``python3 tests/fetch_axe.py`` keeps it in the user's cache. Standard library only: it runs before
anything is installed. A tarball with another SHA-512 is refused.
"""

import base64
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements" / "axe.lock"
SCRIPT = "package/axe.min.js"


def locked() -> tuple[str, str, str]:
    """Return name, version and integrity of the pinned package."""
    lines = [line for line in LOCK.read_text().splitlines() if line and line[0] != "#"]
    name, version, integrity = lines[0].split()
    return name, version, integrity


def place() -> Path:
    """Return where the script lies once it was fetched: ``ASSAY_AXE``, or the user's cache."""
    if named := os.environ.get("ASSAY_AXE"):
        return Path(named)
    name, version, _ = locked()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "assay" / f"{name}-{version}.min.js"


def integrity_of(data: bytes) -> str:
    """Return the digest of a tarball as npm writes it."""
    return f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"


def script_of(tarball: bytes, integrity: str, folder: Path) -> bytes:
    """Return the script in a tarball. Raises SystemExit for one that is not the pinned one."""
    if integrity_of(tarball) != integrity:
        raise SystemExit("axe-core: npm gave other bytes than requirements/axe.lock names")
    path = folder / "checked.tgz"
    path.write_bytes(tarball)
    with tarfile.open(path) as archive:
        member = archive.extractfile(SCRIPT)
        assert member is not None
        return member.read()


def main() -> None:
    """Fetch what is not there yet, and print its path."""
    name, version, integrity = locked()
    wanted = place()
    if not wanted.is_file():
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            command = ["npm", "pack", "--silent", "--ignore-scripts", f"{name}@{version}"]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            (tarball,) = folder.glob("*.tgz")
            script = script_of(tarball.read_bytes(), integrity, folder)
            wanted.parent.mkdir(parents=True, exist_ok=True)
            wanted.write_bytes(script)
    sys.stdout.write(f"{wanted}\n")


if __name__ == "__main__":
    main()
