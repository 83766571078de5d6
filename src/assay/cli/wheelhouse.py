"""The distributions that a lock pins, fetched for a Python that need not be the one that runs."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from packaging.markers import Marker, default_environment

from assay.base.errors import MissingEnvironment
from assay.base.isolation import isolated
from assay.base.pip_locks import REMEDY, pip_download

GLIBC_MINOR = 34
"""glibc 2.34, of the Linuxes of the last years: the newest that a node may be asked for."""
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
        command = pip_download(chosen, folder, python, GLIBC_MINOR, os.environ)
        done = subprocess.run(
            [*command, "--quiet"],
            capture_output=True,
            text=True,
            check=False,
            env=isolated(os.environ),
        )
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.lower().startswith("error")]
        raise MissingEnvironment(
            f"what {lock.name} pins for Python {python} could not be fetched "
            f"({' '.join(said[-1:]) or 'pip does not say why'}): {REMEDY}"
        )


def entries_for(lock: str, python: str) -> Iterator[str]:
    """Yield the entries of a lock that apply to ``python`` on Linux, without their markers."""
    environment: dict[str, str] = {
        **{name: str(value) for name, value in default_environment().items()},
        "python_version": python,
        "python_full_version": f"{python}.0",
    }
    for entry in _ENTRY.finditer(lock):
        marker = entry["marker"]
        if marker is None or Marker(marker.strip()).evaluate(environment):
            yield f"{entry['pin']}{entry['rest']}"
