"""Line tables of published cubins, kept for those who compile them with another host compiler.

``python -m tools.line_tables FOLDER`` takes ``results/<run>/builds`` of a run by the same host
compiler as a published report's. Of each cubin in it that was compiled with line tables and that a
published record lists it keeps the skeleton: ``assay.building.line_tables`` says what that is.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.base.io import read_record
from assay.base.progress import say
from assay.building.line_tables import OPTION, cubins_inside, keep_skeleton
from assay.records.builds import BuildRecord
from assay.shared.files import sha256_bytes

ROOT = Path(__file__).resolve().parents[1]


def with_line_tables(records: Iterable[BuildRecord]) -> Iterator[BuildRecord]:
    """Records of what was compiled with line tables."""
    return (record for record in records if OPTION in record.command and record.artifact)


def keep(root: Path, builds: Path, wanted: Iterable[str]) -> list[Path]:
    """Keep skeletons below ``root`` of the cubins in ``builds`` whose digests are ``wanted``."""
    digests, kept = set(wanted), []
    records = (read_record(BuildRecord, path) for path in sorted(builds.glob("*/*.json")))
    for record in with_line_tables(records):
        assert record.artifact is not None
        for cubin in cubins_inside(builds / record.artifact.path):
            if sha256_bytes(cubin) in digests:
                kept.append(keep_skeleton(root, cubin))
    return kept


def main(folder: str) -> None:
    """Keep what the newest published report needs."""
    published = ROOT / "reports" / "published"
    paths = sorted(published.glob("*/evidence/builds/*/*.json"))
    records = with_line_tables(read_record(BuildRecord, path) for path in paths)
    wanted = {cubin.sha256 for record in records for cubin in record.cubins}
    kept = keep(ROOT, Path(folder), wanted)
    say(f"skeletons of {len(kept)} of {len(wanted)} published cubins with line tables are kept")


if __name__ == "__main__":
    main(sys.argv[1])
