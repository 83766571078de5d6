"""Which folders a report may take the place of (an empty one, or a report's, whole or half made),
and how what was built beside its place takes it.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    a_report = ours and any((folder / name).is_file() for name in HELD_BY_REPORTS)
    if not (a_report or (ours and not any(folder.iterdir()))):
        raise BadInput(
            f"{folder}: is there, and is neither an empty folder nor a report: move it away, or "
            "name another run with --run"
        )


@contextmanager
def built_beside(
    place: Path, take_over: Callable[[Path], object] = lambda before: None
) -> Iterator[Path]:
    """Yield an empty directory that takes a place at the end, whole or not at all.

    ``take_over`` is called with what was there, before that is removed.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    before = building.with_name(f"{building.name}.before")
    try:
        yield building
        building.chmod(0o755)
        if place.exists():
            place.rename(before)
        building.rename(place)
        if before.exists():
            take_over(before)
            shutil.rmtree(before)
    finally:
        if before.exists() and not place.exists():
            before.rename(place)
        shutil.rmtree(building, ignore_errors=True)
