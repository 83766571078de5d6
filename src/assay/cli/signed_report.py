"""A signed report as a command takes it: verified whole where that is asked for."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay.base.progress import say
from assay.catalog.project_folder import project_of
from assay.cli import checkout
from assay.cli.commands.verify import Trust, check_report
from assay.cli.project_folder import keys_of, project_folder
from assay.shared.counting import counted
from assay.verification.open_report import OpenReport, open_report
from assay.verification.policy import Policy
from assay.verification.report_archive import opened_report, report_name
from assay.verification.verify import VerificationLog

VerifyOption = Annotated[
    bool,
    typer.Option(
        "--verify", help="Verify it whole first, as ./assay verify does: judge and render again."
    ),
]


def signed_report(path: Path, keys: Sequence[Path] | None, *, whole: bool) -> OpenReport:
    """Return a report whose files are what a trusted key signed; ``whole``: one that verifies.

    Typed in a project's folder, its keys count for a project's report. Says which of the two was
    checked. Raises AssayError.
    """
    log = VerificationLog()
    with opened_report(path) as folder:
        project = project_folder(None) if project_of(folder / "evidence") else None
        if whole:
            log.called = (folder, path) if folder != path else None
            trust = Trust(keys or None, project)
            check_report(folder, trust, Policy(checkout.ROOT), log)
        opened = open_report(folder, keys or keys_of(project))
        report = replace(opened, path=path, judged=whole)
    assert report.signed is not None
    signer = report.signed.signers[0]
    checked = "every file is as it was signed; nothing was judged again (--verify does)"
    if whole:
        left = len(log.unproven)
        checked = "verified" + (f", {counted(left, 'thing')} left unproven" if left else "")
    say(f"{report_name(path)}: signed by key {signer.keyid} ({signer.name}): {checked}")
    return report
