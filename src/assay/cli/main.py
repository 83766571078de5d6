"""The command line. Its exit codes are assay.shared.exit_codes."""

import os
import shlex
import sys
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from assay import __version__
from assay.base.errors import AssayError, BadInput, CheckFailed, Interrupted
from assay.base.io import load_yaml, read_record
from assay.base.progress import SignalledExit, leave_on_signals
from assay.building.toolchain import ensure_toolchain
from assay.catalog.load import load_catalog
from assay.cli import console
from assay.cli.console import say
from assay.cli.doctor import diagnose
from assay.cli.export_kernels import make_kernel_set
from assay.cli.listing import claim_rows, matching, statuses
from assay.cli.make_bundle import BundlePlan, make_bundle
from assay.cli.preview_words import preview_lines
from assay.cli.tune import better_choices, tune, write_choices
from assay.cli.unwritable import is_about_writing, unwritable_sentence
from assay.evidence.load import load_evidence
from assay.evidence.stages import plan_path
from assay.evidence.timings import collect_timings
from assay.findings.binary_matches import told_not_compiled
from assay.findings.step_timings import gpu_work, stage_totals, timeline
from assay.images.stage import make_image
from assay.pipeline.compiler_place import compiler_place
from assay.pipeline.plan import make_plan
from assay.pipeline.preview import preview
from assay.pipeline.request import (
    Options,
    default_signing_key,
    git_state,
    make_request,
)
from assay.pipeline.request import (
    device_python as named_python,
)
from assay.pipeline.retry import outputs_to_retry
from assay.pipeline.run_files import bound_run
from assay.pipeline.snakemake_run import only_run, run_workflow
from assay.records.images import Role, RuntimeWish
from assay.records.manifest import PAGE, VERDICTS
from assay.records.plan import Executor, Plan, Request, RunConfig
from assay.records.verdicts import Status, VerdictsFile
from assay.report import formatting as fmt
from assay.runtimes.base import Place
from assay.runtimes.cdi import SPECIFICATION, dump, look, make, names, write_spec
from assay.runtimes.choose import known
from assay.shared.counting import agreeing, counted
from assay.shared.exit_codes import ExitCode
from assay.verification.rebuild import check as check_rebuild
from assay.verification.rebuild import check_selection
from assay.verification.report_archive import opened_report, report_name
from assay.verification.sign import public_key_path
from assay.verification.trust import published_reports, trusted_keys
from assay.verification.verify import Renderer
from assay.verification.verify import verify as verify_report

ROOT = Path(os.environ.get("ASSAY_ROOT", Path(__file__).resolve().parents[3]))

STRICT = fmt.either([status.word for status in Status if status.facts.strict])
"""What ``reproduce --strict`` does not let pass."""

app = typer.Typer(
    name="assay",
    help="From a published GPU-kernel figure to a signed verdict.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def reproduce(
    source: Annotated[
        list[str] | None, typer.Option(help="Source id, as ./assay claims lists it; repeatable.")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option(help="Target from config/targets; repeatable.")
    ] = None,
    runtime: Annotated[RuntimeWish | None, typer.Option(help="Container runtime, or host.")] = None,
    executor: Annotated[Executor | None, typer.Option(help="Who places the jobs.")] = None,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild",
            help="Compile everything: also what only a machine with a GPU would run, which takes "
            "long.",
        ),
    ] = False,
    run: Annotated[
        str, typer.Option(help="Name of the run: results/NAME, reports/NAME.")
    ] = "local",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and stop.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help=f"Exit 1 when a claim is {STRICT}."),
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
        typer.Option(
            help="Signed report, or its archive, whose measurements stand in for a GPU; repeatable."
        ),
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
    host_image: Annotated[
        bool,
        typer.Option(
            "--host-image",
            help="Measure in an image of this machine's own file system: for a GPU node that has "
            "PyTorch and an engine, and no way to get wheels.",
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Show what Snakemake says, too, which is kept in results/NAME/logs in any case; "
            "with --dry-run, name every claim and build.",
        ),
    ] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Say at the end how long each stage took.")
    ] = False,
    cores: Annotated[int | None, typer.Option(min=1, help="Local cores to use.")] = None,
) -> None:
    """Build, check, measure, judge, report, sign and verify."""
    catalog = load_catalog(ROOT)
    defaults = _defaults()
    options = Options(
        run=run,
        sources=tuple(source or defaults.sources),
        targets=tuple(target or defaults.targets),
        runtime=runtime or defaults.runtime,
        executor=executor or defaults.executor,
        device_python=device_python,
        prebuilt=prebuilt,
        recorded=tuple(recorded or ()),
        keys=tuple(key or ()),
        signing_key=signing_key or default_signing_key(),
        host_image=host_image,
        rebuild=rebuild,
        writes=not dry_run,
    )
    request = make_request(ROOT, catalog, options)
    plan = make_plan(catalog, request)
    width = cores or os.cpu_count() or 1
    again = outputs_to_retry(ROOT / "results" / request.run, plan)
    console.show_absences(request.targets)
    if dry_run:
        found = preview(ROOT, catalog, request, plan, cores=width, again=again)
        for line in preview_lines(catalog, found, width, every=verbose):
            say(line)
        if again:
            say(f"failed before and would be tried again: {', '.join(again)}")
        return
    console.show_plan(plan)
    with only_run(ROOT, request.run), bound_run(ROOT, catalog, request, plan, scratch=False):
        run_workflow(ROOT, request, cores=width, again=again, verbose=verbose)
    if timings:
        _tell_timings(ROOT / "results" / request.run)
    _finish(request, strict)


def _tell_timings(run_dir: Path) -> None:
    """How long each stage took: in this call or, where it had nothing to do, the last time."""
    plan = read_record(Plan, run_dir / plan_path())
    steps = collect_timings(run_dir, plan, finishing=True).steps
    work = gpu_work(load_evidence(run_dir), steps)
    console.show_timings(stage_totals(steps), timeline(steps).length, work)


def _finish(request: Request, strict: bool) -> None:
    """Say where the report is and what it says."""
    report = ROOT / "reports" / request.run
    verdicts = read_record(VerdictsFile, report / VERDICTS).verdicts
    counts = Counter(verdict.status for verdict in verdicts)
    console.show_counts(counts)
    for provision in request.targets:
        say(f"{provision.target}: {console.provided(provision)}")
    plan = read_record(Plan, ROOT / "results" / request.run / plan_path())
    if left := told_not_compiled(plan):
        say(left)
    say(f"report: {report / PAGE}")
    say(f"verify: {shlex.join(_verify_command(request))}")
    failed = sum(counts[status] for status in Status if status.facts.strict)
    if strict and failed:
        raise CheckFailed(
            f"--strict: {counted(failed, 'verdict')} {agreeing(failed, 'is', 'are')} {STRICT}"
        )


def _verify_command(request: Request) -> list[str]:
    """What verifies the report of a run here: its own key, and those its origins were trusted by.

    The repository's keys need no naming for origins.
    """
    own = public_key_path(Path(request.signing_key))
    keys = [part for path in (own, *request.extra_keys) for part in ("--key", str(path))]
    return ["./assay", "verify", f"reports/{request.run}", *keys]


@app.command()
def verify(
    report_dir: Annotated[
        Path, typer.Argument(help="Report directory, or its archive.", metavar="REPORT_DIR")
    ],
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="Public key that must have signed; else config/trusted_keys, which recorded "
            "figures may be signed by in any case."
        ),
    ] = None,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Compile the sources; compare with what was measured."),
    ] = False,
    runtime: Annotated[
        RuntimeWish | None,
        typer.Option(help="Where --rebuild compiles: a container runtime, or host."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="Build that --rebuild compares, by id; repeatable.")
    ] = None,
) -> None:
    """Check signature and every byte; judge the raw samples again."""
    with opened_report(report_dir) as folder:
        for path in key or ():
            if not path.is_file():
                raise BadInput(f"{path}: no such key file")
        if (runtime or only) and not rebuild:
            raise BadInput("--runtime and --only belong to --rebuild")
        check_selection(folder, only or ())
        from assay.report.render import texts_of  # noqa: PLC0415 - loads what draws and tabulates

        place = _compiler_place(runtime) if rebuild else None
        renderer = Renderer(partial(texts_of, ROOT), *git_state(ROOT))
        ours = trusted_keys(ROOT)
        result = verify_report(
            folder, key or ours, repository=ROOT, renderer=renderer, origin_keys=ours
        )
        console.show_checks(result.checks, result.notes)
        if place is not None:
            toolchain = ensure_toolchain(ROOT, place)
            check, notes = check_rebuild(folder, ROOT, toolchain, only=tuple(only or ()))
            console.show_checks((check,), notes)
    say(f"verified: {report_dir}")


def _compiler_place(runtime: RuntimeWish | None) -> Place:
    """Where compilers run, asked for before anything takes time: one may be missing."""
    return compiler_place(ROOT, runtime or _defaults().runtime)


def _defaults() -> RunConfig:
    return load_yaml(RunConfig, ROOT / "config" / "config.yaml")


@app.command()
def bundle(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    output: Annotated[
        Path | None,
        typer.Option(
            help="The archive; .gz names are compressed.", show_default="assay-TARGET.tar"
        ),
    ] = None,
    runtime: Annotated[
        RuntimeWish | None, typer.Option(help="Where to compile; host leaves out the images.")
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(help="Python version of the node, as 3.12; repeatable.", show_default="this"),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Source id, to pack only its kernels; repeatable.")
    ] = None,
    runner: Annotated[
        bool, typer.Option("--runner", help="Put the image that measures in, too: several GB.")
    ] = False,
    cores: Annotated[int | None, typer.Option(min=1, help="Local cores to use.")] = None,
) -> None:
    """One archive that runs reproduce on a node without any network."""
    defaults = _defaults()
    plan = BundlePlan(
        target=target,
        output=output or Path(f"assay-{target}.tar"),
        runtime=runtime or defaults.runtime,
        pythons=tuple(python or ()),
        sources=tuple(source or defaults.sources),
        runner=runner,
        cores=cores or os.cpu_count() or 1,
    )
    size = make_bundle(ROOT, plan)
    say(f"bundle: {plan.output} ({size / 1e6:.0f} MB)")
    say("on the node: tar xf it, then run.sh in the folder that comes out")


@app.command(name="tune")
def tune_target(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    runtime: Annotated[RuntimeWish | None, typer.Option(help="Container runtime, or host.")] = None,
    executor: Annotated[Executor | None, typer.Option(help="Who places the jobs.")] = None,
    run: Annotated[str, typer.Option(help="Name of the run: results/NAME.")] = "tuning",
    device_python: Annotated[
        str | None,
        typer.Option(
            help="Python 3.11+ with PyTorch 2.11+ for the GPU side.",
            envvar="ASSAY_DEVICE_PYTHON",
        ),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put faster configurations into config/tuning.yaml.")
    ] = False,
    cores: Annotated[int | None, typer.Option(min=1, help="Local cores to use.")] = None,
) -> None:
    """Measure a target's tuning sweeps; say which choices hold."""
    defaults = _defaults()
    options = Options(
        run=run,
        sources=(),
        targets=(target,),
        runtime=runtime or defaults.runtime,
        executor=executor or defaults.executor,
        device_python=device_python,
        prebuilt=None,
        recorded=(),
        keys=(),
        signing_key=default_signing_key(),
        host_image=False,
        signs=False,
    )
    tuned = tune(ROOT, options, cores or os.cpu_count() or 1)
    say(f"{target}: {tuned.detail}")
    console.show_tuning(tuned.outcomes)
    better = better_choices(tuned)
    if write:
        write_choices(ROOT, better)
        say(
            f"config/tuning.yaml: {len(better)} of {counted(len(tuned.outcomes), 'choice')} changed"
        )
    elif better:
        say(
            f"{counted(len(better), 'choice')} would change; --write puts "
            f"{agreeing(len(better), 'it', 'them')} into config/tuning.yaml"
        )


@app.command()
def kernels(
    target: Annotated[str, typer.Option(help="Target from config/targets.")] = "h100",
    output: Annotated[
        Path | None, typer.Option(help="Folder.", show_default="results/kernels/TARGET")
    ] = None,
    runtime: Annotated[
        RuntimeWish | None, typer.Option(help="Where to compile: a container runtime, or host.")
    ] = None,
) -> None:
    """Compile the kernels that PyTorch calls."""
    folder = output or Path("results", "kernels", target)
    wish = runtime or _defaults().runtime
    index = make_kernel_set(ROOT, target, folder, wish)
    say(f"{folder}: {', '.join(entry.variant for entry in index.kernels)}")
    say(f'in Python: import assay.ops; assay.ops.load("{folder}")')


@app.command()
def image(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    role: Annotated[Role, typer.Option(help="toolchain compiles, runner measures.")] = "toolchain",
    runtime: Annotated[
        RuntimeWish,
        typer.Option(help="docker or podman; apptainer converts what one of them made."),
    ] = "docker",
) -> None:
    """Make a target's image and load it, as reproduce would."""
    catalog = load_catalog(ROOT)
    catalog.check_selection((), [target])
    if runtime in ("auto", "host"):
        raise BadInput(f"--runtime {runtime}: name docker, podman or apptainer")
    name = known(runtime)
    record, _ = make_image(ROOT, name, role, catalog.targets[target])
    console.show_image(record)


@app.command()
def cdi(
    write: Annotated[
        bool, typer.Option("--write", help="Write it where engines look for it.")
    ] = False,
) -> None:
    """This machine's GPUs as a CDI specification for containers."""
    if write:
        spec = write_spec()
        say(f"written: {SPECIFICATION} ({', '.join(names(spec))})")
    else:
        sys.stdout.write(dump(make(look())).decode())


@app.command()
def doctor(
    device_python: Annotated[
        str | None,
        typer.Option(
            help="Python that would measure, as for reproduce.", envvar="ASSAY_DEVICE_PYTHON"
        ),
    ] = None,
) -> None:
    """What this machine has, what it lacks, and what it can do."""
    console.show_diagnosis(diagnose(ROOT, named_python(device_python)))


@app.command()
def claims(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
    source: Annotated[list[str] | None, typer.Option(help="Source id; repeatable.")] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(help="Verdict in the newest published report, as not_run; repeatable."),
    ] = None,
    search: Annotated[
        str, typer.Option(help="Text in the id, statement, section or source.", show_default=False)
    ] = "",
) -> None:
    """Every claim and audit: where it stands, how it is answered."""
    wanted = statuses(status or ())
    catalog = load_catalog(ROOT)
    catalog.check_selection(source or (), ())
    report = next(iter(published_reports(ROOT)), None)
    verdicts = _verdicts_of(report).verdicts if report else ()
    rows = matching(claim_rows(catalog, verdicts, source or ()), wanted, search)
    if as_json:
        console.show_json(rows)
    else:
        console.show_claims(rows, report_name(report) if report else None)


@app.command()
def compare(
    report_dirs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Two or more report directories, or their archives.",
            metavar="REPORT_DIR REPORT_DIR",
        ),
    ] = None,
) -> None:
    """The verdicts of several reports side by side."""
    folders = report_dirs or []
    if len(folders) < 2:
        raise BadInput(f"compare needs two or more report directories, not {len(folders)}")
    with ExitStack() as stack:
        opened = [stack.enter_context(opened_report(folder)) for folder in folders]
        files = list(map(_verdicts_of, opened))
    console.show_side_by_side([report_name(folder) for folder in folders], files)


def _verdicts_of(report: Path) -> VerdictsFile:
    with opened_report(report) as folder:
        return read_record(VerdictsFile, folder / VERDICTS)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def test(context: typer.Context) -> None:
    """The whole test suite; further arguments go to pytest."""
    import pytest  # noqa: PLC0415 - only installed for tests

    os.chdir(ROOT)
    sys.exit(pytest.main(context.args))


@app.command()
def version() -> None:
    """The version of Assay."""
    say(__version__)


def main() -> None:
    """Run the command line; whatever is wrong becomes one sentence and an exit code."""
    arguments = sys.argv[1:]
    leave_on_signals()
    try:
        code = app(arguments or ["--help"], prog_name="./assay", standalone_mode=False)
        if code == ExitCode.INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
    except Interrupted as stop:
        _end(f"{stop}; to go on: {_again(arguments)}", stop.exit_code)
    except AssayError as error:
        _end(str(error), error.exit_code)
    except TyperException as error:
        _end(_usage_sentence(error), ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, SignalledExit) as stop:
        code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
        _end(f"interrupted: nothing half-made is left; to begin again: {_again(arguments)}", code)
    except OSError as error:
        if not is_about_writing(error):
            raise
        _end(unwritable_sentence(error, ROOT), ExitCode.MACHINE_LACKS)
    else:
        sys.exit((code or ExitCode.DONE) if arguments else ExitCode.BAD_INPUT)


def _again(arguments: list[str]) -> str:
    """The command as it was typed."""
    return shlex.join(["./assay", *arguments])


def _usage_sentence(error: TyperException) -> str:
    """What is wrong with the arguments, and which help says more."""
    context: typer.Context | None = getattr(error, "ctx", None)
    command = context.command_path if context else "./assay"
    problem = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")
    return f"{problem[:1].lower()}{problem[1:]} ({command} --help says more)"


def _end(sentence: str, exit_code: int) -> NoReturn:
    console.err.print(f"assay: {sentence}", markup=False, soft_wrap=True)
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
