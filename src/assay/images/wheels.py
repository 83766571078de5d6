"""The wheels of a lock as files, each by its hash: an image is built from them offline."""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.base import pip_locks
from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.isolation import isolated
from assay.base.progress import exclusive, quote, say, watch
from assay.images.archive import partial
from assay.shared.files import sha256_file

PYTHON = "3.11"
"""Python of the images' Debian release; the host's may be another."""
GLIBC_MINOR = 36
"""glibc 2.36 of the images' Debian release: the newest that a wheel may ask for."""


@dataclass(frozen=True)
class Wheel:
    """A wheel whose hash the lock names."""

    path: Path
    sha256: str

    @property
    def name(self) -> str:
        """Distribution, normalised as the index does."""
        return pip_locks.normal(self.path.name.split("-")[0])


def ensure_wheels(cache: Path, lock: Path, environ: Mapping[str, str]) -> list[Wheel]:
    """Return the checked wheels of ``lock``, fetched once. Raises AssayError, OSError."""
    folder = cache / pip_locks.lock_digest(lock)[:16]
    cache.mkdir(parents=True, exist_ok=True)
    waiting = "another process is downloading wheels; waiting for it"
    with exclusive(folder.with_name(folder.name + ".lock"), waiting):
        if not folder.is_dir():
            wheels = set(pip_locks.lock_hashes(lock).values())
            say(f"fetching the wheels of {lock.name} ({len(wheels)})")
            with partial(folder, "downloading wheels") as unfinished:
                only = ("--only-binary", ":all:")
                download(lock, unfinished, PYTHON, GLIBC_MINOR, environ, *only)
                for path in unfinished.iterdir():
                    path.chmod(0o644)
    return check_wheels(folder, lock)


def check_wheels(folder: Path, lock: Path) -> list[Wheel]:
    """Return the folder's wheels. Raises CheckFailed for the first that the lock does not name."""
    hashes = pip_locks.lock_hashes(lock)
    wheels = []
    for path in sorted(folder.glob("*.whl")):
        wheel = Wheel(path, sha256_file(path))
        if hashes.get(wheel.sha256) != wheel.name:
            raise CheckFailed(
                f"{path}: its SHA-256 {wheel.sha256} is not one that {lock.name} names for "
                f"{wheel.name}; it is not used: remove {folder} and start again"
            )
        wheels.append(wheel)
    missing = sorted(set(hashes.values()) - {wheel.name for wheel in wheels})
    if missing:
        raise CheckFailed(
            f"{folder}: lacks {missing[0]}, which {lock.name} names: remove it and start again"
        )
    return wheels


def download(
    lock: Path,
    folder: Path,
    python: str,
    glibc_minor: int,
    environ: Mapping[str, str],
    *options: str,
) -> None:
    """Put what ``lock`` pins for ``python`` ("3.12") and a glibc into ``folder``. Raises
    CheckFailed for a file with another hash, MissingEnvironment when one cannot be had.
    """
    command = [*pip_locks.pip_download(lock, folder, python, glibc_minor, environ), *options]
    with tempfile.TemporaryDirectory(prefix="assay-wheels-") as scratch:
        log = Path(scratch) / "log"
        if watch(command, log, isolated(environ)) != 0:
            text = log.read_text(errors="replace")
            if "DO NOT MATCH THE HASHES" in text:
                named = re.search(r"^\s+(\S+==\S+|\S+) from (\S+)", text, re.M)
                what = named.group(0).strip() if named else "a wheel"
                says = f"{what} has another SHA-256 than {lock.name} names; it is not used"
                raise CheckFailed(says)
            quote(pip_locks.tail(log))
            says = f"the wheels of {lock.name} could not be had, see the lines above"
            raise MissingEnvironment(f"{says}: {pip_locks.pip_remedy(log, folder.parent)}")
