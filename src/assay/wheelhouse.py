"""The distributions that a lock pins, fetched for a Python that need not be the one that runs."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from packaging.markers import Marker, default_environment

from assay.errors import MissingEnvironment
from assay.pinned import QUIET, REMEDY, clean

PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(34, 4, -1)),
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
    "linux_x86_64",
)
"""Wheel platforms of a Linux of the last years, newest first."""
_ENTRY = re.compile(
    r"^(?P<pin>\S+==[^ ;\\\n]+)(?: ; (?P<marker>[^\\\n]+?))?(?P<rest> *\\\n(?:.*\\\n)*.*\n)",
    re.MULTILINE,
)


def fetch(lock: Path, python: str, folder: Path) -> None:
    """Put every distribution that ``lock`` pins for ``python`` ("3.12") into ``folder``.

    pip checks each against the lock's hashes. What is published as source only arrives as source:
    installing builds it, with the build tools of ``requirements/build.txt``. Raises
    MissingEnvironment when one cannot be had.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-lock-") as scratch:
        chosen = Path(scratch) / lock.name
        chosen.write_text("".join(entries_for(lock.read_text(), python)))
        command = [
            sys.executable, "-m", "pip", "download", *QUIET, "--quiet",
            "--require-hashes", "--no-deps", "--no-build-isolation",
            "--implementation", "cp", "--python-version", python,
            "--abi", f"cp{python.replace('.', '')}", "--abi", "abi3", "--abi", "none",
            *(word for platform in PLATFORMS for word in ("--platform", platform)),
            "--dest", str(folder), "-r", str(chosen),
        ]  # fmt: skip
        if wheelhouse := os.environ.get("ASSAY_WHEELHOUSE"):
            command += ["--no-index", "--find-links", wheelhouse]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=clean(os.environ)
        )
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.lower().startswith("error")]
        raise MissingEnvironment(
            f"what {lock.name} pins for Python {python} could not be fetched "
            f"({' '.join(said[-1:]) or 'pip does not say why'}): {REMEDY}"
        )


def entries_for(lock: str, python: str) -> Iterator[str]:
    """The entries of a lock that apply to ``python`` on Linux, without their markers."""
    environment: dict[str, str] = {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": python,
        "python_full_version": f"{python}.0",
    }
    for entry in _ENTRY.finditer(lock):
        marker = entry["marker"]
        if marker is None or Marker(marker.strip()).evaluate(environment):
            yield f"{entry['pin']}{entry['rest']}"
