"""``./assay judge``: judge an earlier report by today's rules, and sign it anew."""

import os
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import project_of
from assay.cli import checkout
from assay.cli import options as opt
from assay.cli.commands.reproduce import finish
from assay.cli.console import say
from assay.evidence.stages import plan_path
from assay.pipeline.project_check import sound_project
from assay.pipeline.request import Options
from assay.pipeline.reuse import held_plans
from assay.records.plan import Plan
from assay.verification.report_archive import opened_report
from assay.verification.sign import default_signing_key
from assay.verification.verify import VerificationLog, require_intact


def judge(
    report: opt.ReportArgument,
    run: Annotated[
        str | None,
        typer.Option(help="Name of the new report: reports/NAME.", show_default="RUN_judged"),
    ] = None,
    key: opt.AlsoTrustedOption = None,
    signing_key: opt.SigningKeyOption = None,
    cores: opt.CoresOption = None,
    project: opt.ProjectOption = None,
) -> None:
    """Judge an earlier report by today's rules, and sign it anew.

    Nothing is compiled and no GPU is asked. The new report holds the earlier one whole.
    """
    keys = tuple(key or ())
    opt.require_report(report)
    with opened_report(report) as folder:
        own = opt.project_folder(project) if project_of(folder / "evidence") else None
        log = VerificationLog(called=(folder, report))
        require_intact(folder, [*keys, *opt.keys_of(own)], checkout.ROOT, log)
        if own is None and project_of(folder / "evidence"):
            raise BadInput(f"{report}: is of a project: name its folder with --project")
        plan = read_record(Plan, folder / "evidence" / plan_path())
        measured = tuple(held_plans(folder))
    opt.use_own_cache(own)
    catalog = load_catalog(checkout.ROOT) if own is None else sound_project(checkout.ROOT, own)
    sources, claims, targets = _still_there(report, catalog, plan, measured)
    options = Options(
        run=run or f"{plan.run}_judged",
        sources=sources,
        claims=claims,
        targets=targets,
        runtime="host",
        recorded=(report,),
        keys=keys,
        signing_key=signing_key or default_signing_key(),
        project=own,
        judges_only=True,
    )
    finish(catalog, options, cores=cores or os.cpu_count() or 1)


def _still_there(
    report: Path, catalog: Catalog, plan: Plan, measured: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return what there still is of a report; say what is gone. Raises BadInput without any."""
    found = []
    for noun, names, known in (
        ("source", plan.sources, catalog.sources.keys()),
        ("claim", plan.claims, catalog.claims.keys() | catalog.audits.keys()),
        ("target", measured, catalog.targets.keys()),
    ):
        gone = [name for name in names if name not in known]
        left = tuple(name for name in names if name in known)
        if gone:
            say(f"{report}: {noun} {', '.join(gone)}: there is none today, so it is left out")
        if not left and (names or noun == "target"):
            raise BadInput(f"{report}: holds no {noun} that could be judged today")
        found.append(left)
    sources, claims, targets = found
    return sources, claims, targets
