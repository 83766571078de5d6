"""The command line.

Exit codes: 0 done, 1 a check failed, 2 bad input, 3 the machine lacks something.
"""

import json
import os
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from assay import __version__
from assay.config import Catalog, load_catalog
from assay.doctor import diagnose
from assay.errors import AssayError, BadInput, CheckFailed
from assay.io import load_yaml, read_record
from assay.plan import make_plan
from assay.published import trusted_keys
from assay.records.claims import Unanswerable
from assay.records.plan import Plan, Request, RunConfig
from assay.records.verdicts import Status, VerdictsFile
from assay.request import Options, make_request, write_request
from assay.run import run_workflow
from assay.verify import verify as verify_report

ROOT = Path(os.environ.get("ASSAY_ROOT", Path(__file__).resolve().parents[2]))

app = typer.Typer(
    name="assay",
    help="From a published GPU-kernel figure to a signed verdict.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class Runtime(StrEnum):
    """Where compilers and GPU jobs run."""

    AUTO = "auto"
    DOCKER = "docker"
    PODMAN = "podman"
    APPTAINER = "apptainer"
    HOST = "host"


class Executor(StrEnum):
    """Who places the jobs."""

    LOCAL = "local"
    SLURM = "slurm"


@app.command()
def reproduce(
    source: Annotated[
        list[str] | None, typer.Option(help="Source id, as ./assay claims lists it; repeatable.")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="Target from config/targets; repeatable.")
    ] = None,
    runtime: Annotated[Runtime | None, typer.Option(help="Container runtime, or host.")] = None,
    executor: Annotated[Executor | None, typer.Option(help="Who places the jobs.")] = None,
    run: Annotated[
        str, typer.Option(help="Name of the run: results/NAME, reports/NAME.")
    ] = "local",
    dry_run: Annotated[bool, typer.Option(help="Say what would be done, and stop.")] = False,
    strict: Annotated[
        bool, typer.Option(help="Exit 1 when a claim is not reproduced, incorrect or inconsistent.")
    ] = False,
    device_python: Annotated[
        str | None,
        typer.Option(
            help="Python 3.11+ with PyTorch 2.11+ for the GPU side.",
            envvar="ASSAY_DEVICE_PYTHON",
        ),
    ] = None,
    prebuilt: Annotated[
        Path | None,
        typer.Option(help="results/<run> of a machine with a compiler, for a node without one."),
    ] = None,
    recorded: Annotated[
        list[Path] | None,
        typer.Option(help="Signed report whose measurements stand in for a GPU; repeatable."),
    ] = None,
    key: Annotated[
        list[Path] | None, typer.Option(help="Public key to trust beside the repository's own.")
    ] = None,
    signing_key: Annotated[
        Path | None,
        typer.Option(
            help="Ed25519 private key; made on first use.",
            envvar="ASSAY_SIGNING_KEY",
            show_default="~/.config/assay/signing_key.pem",
        ),
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Local cores to use.")] = None,
) -> None:
    """Build, check, measure, judge, report, sign and verify."""
    catalog = load_catalog(ROOT)
    defaults = load_yaml(RunConfig, ROOT / "config" / "config.yaml")
    options = Options(
        run=run,
        sources=tuple(source or defaults.sources),
        targets=tuple(target or defaults.targets),
        runtime=runtime.value if runtime else defaults.runtime,
        executor=executor.value if executor else defaults.executor,
        device_python=device_python or "python3",
        prebuilt=prebuilt,
        recorded=tuple(recorded or ()),
        keys=tuple(key or ()),
        signing_key=signing_key or Path.home() / ".config" / "assay" / "signing_key.pem",
    )
    request = make_request(ROOT, catalog, options)
    plan = make_plan(catalog, request)
    _print_plan(plan)
    path = write_request(ROOT, request, scratch=dry_run)
    run_workflow(ROOT, request, path, cores=cores or os.cpu_count() or 1, dry_run=dry_run)
    if not dry_run:
        _finish(request, strict)


def _print_plan(plan: Plan) -> None:
    for target in plan.targets:
        err.print(
            f"[bold]{target.target}[/bold]: {target.provision.detail}; "
            f"{len(target.comparisons)} comparisons, {len(target.programs)} program runs, "
            f"{len(target.profiles)} profiles"
        )
    ways = Counter(answer.way for answer in plan.answers)
    told = ", ".join(f"{count} {way}" for way, count in sorted(ways.items()))
    err.print(f"{len(plan.answers)} answers planned: {told}; {len(plan.builds)} builds")


def _finish(request: Request, strict: bool) -> None:
    """Say where the report is and what it says."""
    report = ROOT / "reports" / request.run
    verdicts = read_record(VerdictsFile, report / "verdicts.json").verdicts
    counts = Counter(verdict.status for verdict in verdicts)
    table = Table(title=f"{len(verdicts)} verdicts", title_justify="left")
    table.add_column("status")
    table.add_column("count", justify="right")
    for status in Status:
        if counts[status]:
            table.add_row(status.value, str(counts[status]))
    out.print(table)
    for provision in request.targets:
        out.print(f"{provision.target}: {provision.detail}")
    out.print(f"report: {report / 'report.html'}", soft_wrap=True)
    out.print(
        f"verify: ./assay verify reports/{request.run} --key {request.signing_key}.pub",
        soft_wrap=True,
    )
    bad = {Status.NOT_REPRODUCED, Status.INCORRECT, Status.INCONSISTENT}
    failed = sum(counts[status] for status in bad)
    if strict and failed:
        raise CheckFailed(
            f"--strict: {failed} verdicts are not reproduced, incorrect or inconsistent"
        )


@app.command()
def verify(
    report_dir: Annotated[Path, typer.Argument(help="Report directory.")],
    key: Annotated[
        list[Path] | None, typer.Option(help="Public key to trust; else config/trusted_keys.")
    ] = None,
) -> None:
    """Check signature, manifest and every byte; judge again from the raw samples."""
    if not report_dir.is_dir():
        raise BadInput(f"{report_dir}: no such report directory")
    for path in key or ():
        if not path.is_file():
            raise BadInput(f"{path}: no such key file")
    result = verify_report(report_dir, key or trusted_keys(ROOT), repository=ROOT)
    for check in result.checks:
        out.print(f"[green]ok[/green]   {check.name}: {check.detail}", soft_wrap=True)
    for note in result.notes:
        out.print(f"note {note}", soft_wrap=True)
    out.print(f"verified: {report_dir}")


@app.command()
def doctor() -> None:
    """What this machine has, what it can answer, what is missing and how to get it."""
    table = Table(show_header=True)
    for heading in ("part", "state", "found", "remedy"):
        table.add_column(heading, overflow="fold")
    for finding in diagnose(ROOT):
        table.add_row(
            finding.part, "ok" if finding.ok else "missing", finding.found, finding.remedy
        )
    out.print(table)


@app.command()
def claims(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    source: Annotated[list[str] | None, typer.Option(help="Source id; repeatable.")] = None,
) -> None:
    """Every claim, where it stands in its source, and how it is answered."""
    catalog = load_catalog(ROOT)
    catalog.check_selection(source or (), ())
    rows = [_claim_row(catalog, claim_id) for claim_id in catalog.claims]
    rows = [row for row in rows if not source or row["source"] in source]
    if as_json:
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return
    table = Table(title=f"{len(rows)} claims", title_justify="left")
    for heading in ("source:line", "claim", "claimed", "target", "answered by", "statement"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        claimed = "" if row["value"] is None else f"{row['value']:g} {row['unit']}"
        place = f"{row['source']}:{row['line']}"
        table.add_row(
            place,
            row["claim"],
            claimed,
            row["target"] or "any",
            row["answered_by"],
            row["statement"],
        )
    out.print(table)


def _claim_row(catalog: Catalog, claim_id: str) -> dict[str, Any]:
    claim = catalog.claims[claim_id]
    evaluation = claim.evaluation
    answered: str = evaluation.kind
    if isinstance(evaluation, Unanswerable):
        answered = f"not_run: {evaluation.reason.value}"
    return {
        "claim": claim.id,
        "source": catalog.source_of[claim.id],
        "section": claim.place.section,
        "line": claim.place.line,
        "statement": claim.statement,
        "value": claim.value,
        "unit": claim.unit.value if claim.unit else None,
        "relation": claim.relation.value,
        "target": claim.hardware.target,
        "answered_by": answered,
    }


@app.command()
def compare(
    report_dirs: Annotated[list[Path], typer.Argument(help="Two or more report directories.")],
) -> None:
    """The verdicts of several reports side by side."""
    if len(report_dirs) < 2:
        raise BadInput("compare needs two or more report directories")
    files = [read_record(VerdictsFile, path / "verdicts.json") for path in report_dirs]
    by_key = [{(v.claim, v.target): v for v in file.verdicts} for file in files]
    table = Table(title="verdicts side by side", title_justify="left")
    table.add_column("claim", overflow="fold")
    table.add_column("target")
    for path in report_dirs:
        table.add_column(path.name, overflow="fold")
    keys = sorted(
        {key for verdicts in by_key for key in verdicts}, key=lambda k: (k[0], k[1] or "")
    )
    for claim, target in keys:
        cells = []
        for verdicts in by_key:
            verdict = verdicts.get((claim, target))
            if verdict is None:
                cells.append("absent")
            elif verdict.measured is None:
                cells.append(f"{verdict.status.value} ({verdict.reason or 'no figure'})")
            else:
                cells.append(f"{verdict.status.value}: {verdict.measured} {verdict.unit or ''}")
        table.add_row(claim, target or "", *cells)
    out.print(table)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def test(context: typer.Context) -> None:
    """The whole test suite; further arguments go to pytest."""
    import pytest  # noqa: PLC0415 - only installed for tests

    os.chdir(ROOT)
    sys.exit(pytest.main(context.args))


@app.command()
def version() -> None:
    """The version of Assay."""
    out.print(__version__)


def main() -> None:
    """Run the command line; an AssayError becomes one sentence and its exit code."""
    try:
        app(standalone_mode=True)
    except AssayError as error:
        err.print(f"assay: {error}", markup=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        err.print("assay: interrupted")
        sys.exit(130)


if __name__ == "__main__":
    main()
