"""``./assay badge``: what came of a report's published figures, as a small picture."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.cli.console import say
from assay.cli.options import KeyOption, ReportArgument
from assay.cli.signed_report import VerifyOption, signed_report
from assay.findings.headline import headline_counts
from assay.report.badge import badge as draw_badge
from assay.shared.files import write_bytes


def badge(
    report_dir: ReportArgument,
    key: KeyOption = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; without it: to standard output.")
    ] = None,
    verify: VerifyOption = False,
) -> None:
    """Draw the SVG badge of a signed report.

    Its signature and every byte are checked; with --verify it is judged again first.
    """
    if out is not None and not out.absolute().parent.is_dir():
        raise BadInput(f"--out {out}: there is no folder {out.parent}")
    contents = signed_report(report_dir, key, whole=verify).contents
    text = draw_badge(headline_counts(contents.catalog, contents.verdicts.verdicts))
    if out is None:
        sys.stdout.write(text)
    else:
        write_bytes(out, text.encode())
        say(f"badge: {out}")
