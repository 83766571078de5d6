"""A directory that an enemy filled, and variables that lead there: whatever runs of it says so."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

MODULES = (
    "assay/__init__", "docker/__init__", "ensurepip/__init__", "json", "numpy/__init__", "pip",
    "pydantic/__init__", "shutil", "signal", "sitecustomize", "snakemake", "subprocess", "torch",
    "typer", "usercustomize", "venv", "yaml",
)  # fmt: skip
PROGRAMS = ("env", "g++", "git", "ldconfig", "ncu", "nvidia-smi", "python3", "sbatch", "sh")


@dataclass(frozen=True)
class Hostile:
    """The directory, and where its code leaves word of itself."""

    place: Path
    marks: Path

    def environment(self) -> dict[str, str]:
        """Return the variables of a caller who was led there in every way there is."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "PYTHON"))}
        here = Path(sys.executable).parent
        return kept | {
            "PATH": f":.::{here}:{os.environ['PATH']}:",
            "LD_LIBRARY_PATH": ":.",
            "PYTHONHOME": str(self.place),
            "PYTHONPATH": f"{self.place}::.",
            "PYTHONPYCACHEPREFIX": str(self.place / "cache"),
            "PYTHONSTARTUP": str(self.place / "yaml.py"),
            "PYTHONUSERBASE": str(self.place),
            "PYTHONWARNINGS": "ignore::yaml.Warned",
        }

    def ran(self) -> list[str]:
        return sorted(path.name for path in self.marks.iterdir())


def make_hostile(folder: Path) -> Hostile:
    """Fill a directory below ``folder`` with modules and programs that would be looked for."""
    hostile = Hostile(folder / "hostile", folder / "marks")
    hostile.marks.mkdir(parents=True)
    site = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    for name in (*MODULES, f"{site}/usercustomize"):
        path = hostile.place / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        mark = hostile.marks / name.replace("/", ".")
        path.write_text(f"open({str(mark)!r}, 'w').close()\nraise SystemExit(97)\n")
    (hostile.place / site / "enemy.pth").write_text(
        f"import sys; open({str(hostile.marks / 'pth')!r}, 'w').close()\n"
    )
    for name in PROGRAMS:
        program = hostile.place / name
        program.write_text(f"#!/bin/sh\n: >'{hostile.marks / f'program {name}'}'\nexit 97\n")
        program.chmod(0o755)
    return hostile
