"""``./assay reproduce``: build, check, measure, judge, report, sign and verify."""

import os
import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from assay.base import progress
from assay.base.check_log import CheckLog
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli import checkout, console
from assay.cli import options as opt
from assay.cli.plan_words import claim_lines, guessed_build_seconds, plan_lines
from assay.evidence.load import load_evidence
from assay.evidence.timings import step_timings
from assay.judging.counts import failing_strict
from assay.pipeline.failures import outputs_to_retry
from assay.pipeline.original_requests import given_by_source
from assay.pipeline.plan import make_plan
from assay.pipeline.preconditions import name_of_run, require_compiler, require_kept_report
from assay.pipeline.request import Options, make_request
from assay.pipeline.run_files import RESULTS, report_path, require_own_places, run_path
from assay.pipeline.snakemake_run import run_workflow
from assay.records.attestation import PAGE, SIGNER, VERDICTS
from assay.records.plan import Plan, Request
from assay.records.timings import Stage
from assay.records.verdicts import Status, VerdictsFile
from assay.report import formatting as fmt
from assay.shared.counting import agreeing
from assay.verification.attestation import load_public_key
from assay.verification.policy import Policy, check_policy
from assay.verification.sign import default_signing_key, public_key_path

STRICT = fmt.either([status.word for status in Status if status.facts.strict])


def reproduce(
    source: Annotated[
        list[str] | None, typer.Option(help="Source id, as ./assay claims lists it; repeatable.")
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            help="Target from config/targets; repeatable. Without it: those of config/config.yaml, "
            "and the GPU that is here."
        ),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(
            help="Claim or audit, as ./assay claims lists it: what it needs is run; repeatable."
        ),
    ] = None,
    runtime: opt.RuntimeOption = None,
    executor: opt.ExecutorOption = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Compile everything, also what only a GPU would run.")
    ] = False,
    gpu_minutes: Annotated[
        float | None,
        typer.Option(min=0.1, help="GPU time for timing; after it undecided verdicts stay so."),
    ] = None,
    prove_again: Annotated[
        bool,
        typer.Option("--prove-again", help="Repeat gates, cheats, sanitizers, tuning done before."),
    ] = False,
    run: Annotated[
        str | None,
        typer.Option(
            help="Name of the run: results/NAME, reports/NAME. Without it 'local', or the claim's "
            "or source's where reports/local has more."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and stop.")
    ] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Say at the end where the time went.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help=f"Exit 1 when a claim is {STRICT}.")
    ] = False,
    device_python: opt.DevicePythonOption = None,
    device_path: opt.DevicePathOption = None,
    prebuilt: Annotated[
        Path | None,
        typer.Option(help="results/<run> of a machine with a compiler, for a node without one."),
    ] = None,
    recorded: Annotated[
        list[Path] | None,
        typer.Option(
            help="Signed report, or its archive, whose measurements stand in for a "
            "GPU; repeatable.",
        ),
    ] = None,
    key: opt.AlsoTrustedOption = None,
    signing_key: opt.SigningKeyOption = None,
    unsigned_for: Annotated[
        Path | None,
        typer.Option(
            metavar="PUBLIC_KEY",
            help="Leave the report unsigned: this key's holder signs it elsewhere.",
        ),
    ] = None,
    host_image: Annotated[
        bool,
        typer.Option(
            "--host-image",
            help="Measure in an image of this machine's own files: on a GPU node with PyTorch and "
            "an engine that gets no wheels.",
        ),
    ] = False,
    original: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE=DIR",
            help="Checkout of a source's own program: the lines that the source types are run in a "
            "copy of it. That is a stranger's code, run as you: it can change no record, report or "
            "file of Assay's, and nothing else holds it. A file that a claim says compiles, or "
            "does not, is compiled from it, which needs no GPU. Needs --runtime host; repeatable.",
        ),
    ] = None,
    original_build: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE=LINE",
            help="Build line, where the source's is missing or incomplete; recorded as yours.",
        ),
    ] = None,
    original_run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE=LINE",
            help="Run line, where the source's is missing or incomplete; recorded as yours.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Show what Snakemake says, which results/NAME/logs keeps in any case; with "
            "--dry-run, name every claim.",
        ),
    ] = False,
    cores: opt.CoresOption = None,
    project: opt.ProjectOption = None,
    trust_project: opt.TrustOption = False,
) -> None:
    """Build, check, measure, judge, report, sign and verify."""
    if claim and source:
        raise BadInput("--claim names its source by itself: leave --source out")
    folder = opt.project_folder(project)
    require_own_places(opt.home(folder))
    opt.use_own_cache(folder)
    root = checkout.ROOT
    catalog = load_catalog(root) if folder is None else _checked_project(root, folder)
    defaults = checkout.default_run() if folder is None else opt.default_project_run(catalog)
    asked = claim or [each for each, of in catalog.source_of.items() if of in (source or ())]
    options = Options(
        run=run or name_of_run(opt.home(folder), claim or source or (), asked),
        sources=catalog.sources_of(claim) if claim else tuple(source or defaults.sources),
        claims=tuple(dict.fromkeys(claim or ())),
        targets=tuple(target or defaults.targets),
        runtime=runtime or defaults.runtime,
        runtime_named=runtime is not None,
        executor=executor or defaults.executor,
        device_python=device_python,
        device_paths=tuple(device_path or ()),
        prebuilt=prebuilt,
        recorded=tuple(recorded or ()),
        keys=tuple(key or ()),
        signing_key=signing_key or default_signing_key(),
        signs=unsigned_for is None,
        unsigned_for=unsigned_for,
        host_image=host_image,
        originals=given_by_source(original or (), original_build or (), original_run or ()),
        rebuild=rebuild,
        gpu_minutes=gpu_minutes,
        prove_again=prove_again,
        writes=not dry_run,
        takes_gpu_here=not target,
        project=folder,
    )
    narrowed, cores = bool(target), cores or os.cpu_count() or 1
    if dry_run:
        request = make_request(root, catalog, options)
        plan = make_plan(catalog, request)
        require_compiler(request, plan, starts=False)
        _tell_plan(plan, request.prebuilt)
        for line in claim_lines(catalog, plan, every=verbose):
            console.say(line)
        require_kept_report(root, request, plan, narrowed=narrowed)
    else:
        began = time.time()
        try:
            finish(catalog, options, cores, narrowed, verbose, strict, trusted=trust_project)
        finally:  # also of a run that failed, or that --strict says did
            if timings:
                tell_timings(checkout.ROOT, options, began)


def _checked_project(root: Path, folder: Path) -> Catalog:
    """Return a project's catalog, checked; say which of its figures are impossible."""
    # It computes, and numpy takes a fifth of a second to load: other runs do without.
    from assay.pipeline import project_check  # noqa: PLC0415

    catalog = project_check.sound_project(root, folder)
    for remark in project_check.impossible_remarks(catalog):
        progress.say(remark)
    return catalog


def finish(
    catalog: Catalog,
    options: Options,
    cores: int,
    narrowed: bool = True,
    verbose: bool = False,
    strict: bool = False,
    *,
    trusted: bool = False,
) -> None:
    """Plan a run (``narrowed``: of named targets), do what is left, say what its report says."""
    root = checkout.ROOT
    request = make_request(root, catalog, options)
    plan = make_plan(catalog, request)
    require_kept_report(root, request, plan, narrowed=narrowed)
    _tell_plan(plan, request.prebuilt)
    opt.require_trust(catalog, plan, trusted=trusted)
    goal = "unsigned" if request.unsigned_for else None
    done = root / run_path(request)
    again = outputs_to_retry(done, plan)
    run_workflow(root, catalog, request, plan, cores=cores, goal=goal, again=again, verbose=verbose)
    tell_outcome(request, strict, catalog)


def tell_timings(root: Path, options: Options, began: float) -> None:
    """Say how long each stage took that ran since then, and for how long of it GPUs were held."""
    steps = step_timings((options.project or root) / RESULTS / options.run)
    ran = [step for step in steps if step.began >= began - 1]
    taken = {stage: [step for step in ran if step.stage is stage] for stage in Stage}
    seconds = {stage: sum(step.seconds for step in of) for stage, of in taken.items() if of}
    for stage in sorted(seconds, key=lambda each: -seconds[each]):
        held = sum(sum(step.gpus.values()) for step in taken[stage])
        gpu = f", a GPU held for {held:.1f} s" if held else ""
        console.note(f"{seconds[stage]:8.1f} s  {stage.value}{gpu}")
    console.note(f"{time.time() - began:8.1f} s  all of it")


def _tell_plan(plan: Plan, prebuilt: str | None) -> None:
    for line in plan_lines(plan, guessed_build_seconds(checkout.ROOT, plan), prebuilt):
        console.note(line)


def tell_outcome(request: Request, strict: bool, catalog: Catalog | None = None) -> None:
    """Say where the report is and what it says (of an unsigned one its signer's machine does)."""
    report = checkout.ROOT / report_path(request)
    verdicts = read_record(VerdictsFile, report / VERDICTS).verdicts
    catalog = catalog or load_catalog(report / "evidence")
    if request.unsigned_for is None:
        from assay.cli.run_figures import tell_figures  # noqa: PLC0415 - it imports pandas

        tell_figures(catalog, load_evidence(report / "evidence"), verdicts)
        console.say(f"report: {opt.from_here(report / PAGE)}")
        if (report / SIGNER).is_file():
            console.say(f"signed by: your key {load_public_key(report / SIGNER).keyid}")
        console.say(f"verify: {shlex.join(_verify_command(report, request))}")
    else:
        console.say(f"report, for the holder of {request.unsigned_for} to sign: {report / PAGE}")
    failed = failing_strict(catalog, verdicts)
    if strict and failed:
        raise CheckFailed(
            f"--strict: {failed} of what is counted above {agreeing(failed, 'is', 'are')} {STRICT}"
        )


def _verify_command(report: Path, request: Request) -> list[str]:
    """Return what verifies a run's report here; rules that no commit holds are this tree's."""
    own = public_key_path(Path(request.signing_key))
    paths = dict.fromkeys(map(str, (own, *request.extra_keys)))
    keys = [part for path in paths for part in ("--key", path)]
    log = CheckLog()
    if request.clean_tree is False:  # a changed tree may hold no more than somebody's notes
        check_policy(log, report, Policy(checkout.ROOT))
    accepts = ["--accept-policy"] if log.failed else []
    return [checkout.command(), "verify", str(opt.from_here(report)), *keys, *accepts]
