"""Installing or fetching with pip exactly what a hash-pinned lock names. Standard library only."""

import hashlib
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from assay.base.errors import MissingEnvironment
from assay.base.writable import disk_is_full

TOOLCHAIN_LOCK = "requirements/toolchain.txt"
"""What the compilers come by, below the repository and below a report's evidence."""
QUIET = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")
PINNED = ("--require-hashes", "--no-deps", "--no-build-isolation")
REMEDY = (
    "give this machine access to a Python package index, or set ASSAY_WHEELHOUSE to a directory "
    "that holds the lock's distributions"
)
LEAST_FREE = 2**20
"""Bytes: with less a disk counts as full."""


def pip_install(python: Path, lock: Path, environ: Mapping[str, str]) -> list[str]:
    """Command that installs ``lock``: no bytecode, and no download with ASSAY_WHEELHOUSE. Raises
    MissingEnvironment where that is no directory.
    """
    command = [str(python), "-m", "pip", "install", "--no-compile", *QUIET, *PINNED]
    return [*command, *_sources(environ), "-r", str(lock)]


def pip_download(
    lock: Path, folder: Path, python: str, glibc_minor: int, environ: Mapping[str, str]
) -> list[str]:
    """Command that fetches ``lock`` for ``python`` ("3.12") and a glibc; raises as pip_install."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(glibc_minor, 4, -1)]
    platforms += ["manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64"]
    command = [
        sys.executable, "-m", "pip", "download", *QUIET, *PINNED, "--dest", str(folder),
        "--implementation", "cp", "--python-version", python,
    ]  # fmt: skip
    for abi in (f"cp{python.replace('.', '')}", "abi3", "none"):
        command += ["--abi", abi]
    for platform in platforms:
        command += ["--platform", platform]
    return [*command, *_sources(environ), "-r", str(lock)]


def _sources(environ: Mapping[str, str]) -> list[str]:
    """Return options that keep pip to ASSAY_WHEELHOUSE, where that is set."""
    wheelhouse = environ.get("ASSAY_WHEELHOUSE")
    if not wheelhouse:
        return []
    if not Path(wheelhouse).is_dir():
        raise MissingEnvironment(f"ASSAY_WHEELHOUSE={wheelhouse} is no directory")
    return ["--no-index", "--find-links", str(Path(wheelhouse).resolve())]


def lock_digest(lock: Path) -> str:
    """SHA-256 of a lock file. Raises MissingEnvironment when it cannot be read."""
    try:
        return hashlib.sha256(lock.read_bytes()).hexdigest()
    except OSError as error:
        raise MissingEnvironment(
            f"{lock} cannot be read ({error.strerror}): this checkout is not whole"
        ) from error


def lock_versions(lock: Path) -> dict[str, str]:
    """Return the version of each distribution that a lock pins (of several, the last)."""
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", lock.read_text(), re.MULTILINE))


def normal(name: str) -> str:
    """Return a distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lock_hashes(lock: Path) -> dict[str, str]:
    """SHA-256 of each file a lock accepts, to the distribution it belongs to."""
    found: dict[str, str] = {}
    name = ""
    for line in lock.read_text().splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)==", line):
            name = normal(match.group(1))
        for digest in re.findall(r"--hash=sha256:([0-9a-f]{64})", line):
            found[digest] = name
    return found


def pip_remedy(log: Path, folder: Path) -> str:
    """Return what helps where pip failed to write into ``folder``: a full disk may cut its log."""
    full = disk_is_full(log.read_text(errors="replace"))
    if full or shutil.disk_usage(folder).free < LEAST_FREE:
        return f"the disk is full: free some space below {folder} and start again"
    return REMEDY


def tail(log: Path, lines: int = 12) -> str:
    """Return the last lines of a log, for the terminal."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
