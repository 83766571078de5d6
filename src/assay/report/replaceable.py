"""Which folders a report may take the place of: an empty one, or a report's, whole or half made."""

from pathlib import Path

from assay.base.errors import BadInput
from assay.evidence.stages import plan_path
from assay.records.attestation import ATTESTATION, MANIFEST

HELD_BY_REPORTS = (MANIFEST, ATTESTATION, f"evidence/{plan_path()}")
"""One of them is in every report; the last in one that nobody signed, too."""


def require_replaceable(folder: Path) -> None:
    """Raise BadInput where something is at a report's place that no run of ours put there."""
    if not folder.exists() and not folder.is_symlink():
        return
    ours = not folder.is_symlink() and folder.is_dir()
    if not ours or (
        any(folder.iterdir()) and not any((folder / name).is_file() for name in HELD_BY_REPORTS)
    ):
        raise BadInput(
            f"{folder}: is there, and is neither an empty folder nor a report: move it away, or "
            "name another run with --run"
        )
