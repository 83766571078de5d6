"""Pack a published report as the archive it is kept as once a newer one lies beside it.

``python -m tools.archive_report REPORT_DIR`` verifies the report and writes ``REPORT_DIR.tar.xz``,
the same bytes every time; ``git rm -r REPORT_DIR`` is left to whoever calls. ``--key PUBLIC_KEY``
adds to the keys that the repository trusts.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from assay.base.errors import AssayError, BadInput, MissingEnvironment
from assay.shared.files import write_bytes
from assay.verification.report_archive import SUFFIX, pack_report
from assay.verification.trusted_keys import trusted_keys
from assay.verification.verify import verify

ROOT = Path(__file__).resolve().parents[1]


def archive_report(report: Path, keys: Sequence[Path]) -> Path:
    """Write the archive of a report directory beside it; its path.

    Raises CheckFailed for a report that does not verify, BadInput for one whose directory is not
    named like its run, MissingEnvironment where the archive cannot be written.
    """
    signed = verify(report, keys, repository=ROOT).signed
    assert signed is not None
    run = signed.statement.predicate.run
    directory = report.resolve()
    if directory.name != run:
        raise BadInput(f"{report}: is the report of run '{run}', and named otherwise: rename it")
    archive = directory.with_name(run + SUFFIX)
    try:
        write_bytes(archive, pack_report(directory))
    except OSError as error:
        raise MissingEnvironment(f"{archive}: cannot be written: {error.strerror}") from error
    return archive


def main(arguments: Sequence[str]) -> int:
    """The exit code, as the command line of Assay has them."""
    parser = argparse.ArgumentParser(prog="python -m tools.archive_report")
    parser.add_argument("report", type=Path, metavar="REPORT_DIR")
    parser.add_argument("--key", type=Path, action="append", default=[], metavar="PUBLIC_KEY")
    given = parser.parse_args(arguments)
    try:
        archive = archive_report(given.report, [*given.key, *trusted_keys(ROOT)])
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{archive}: {archive.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
