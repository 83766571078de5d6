"""Packs the tree that commands work in beside the package: ``pip install .``, then ``assay``.

What a checkout holds and a run reads (configuration, kernels, the workflow, the locks, published
reports, the code itself) is installed under ``share/assay`` of the environment.
"""

import subprocess
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
PLACE = Path("share") / "assay"
FOLDERS = ("config", "containers", "docs", "kernels", "profiles", "reports/published",
           "reports/templates", "requirements", "src/assay", "workflow")  # fmt: skip
FILES = ("Snakefile", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "README.md")


def tree() -> dict[str, list[str]]:
    """Return the installed folders, each with its files by their names here."""
    found: dict[str, list[str]] = {str(PLACE): list(FILES)}
    for folder in FOLDERS:
        for path in sorted((HERE / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(HERE)
                found.setdefault(str(PLACE / name.parent), []).append(str(name))
    return found


def commit() -> str | None:
    """Return the commit of a clean tree; None where nobody knows it."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(HERE), *words]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return run.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != HERE:
            return None
        return (
            None
            if git("status", "--porcelain", "--untracked-files=no")
            else git("rev-parse", "HEAD")
        )
    except (OSError, subprocess.CalledProcessError):
        return None


files = tree()
if (named := commit()) is not None:
    # setuptools takes files by a path from here, and builds in this folder, too.
    written = Path("build") / "COMMIT"
    (HERE / written).parent.mkdir(exist_ok=True)
    (HERE / written).write_text(f"{named}\n", encoding="utf-8")
    files[str(PLACE)].append(str(written))
setup(data_files=sorted(files.items()))
