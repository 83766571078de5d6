"""``./assay lab``: what only authors of kernels need."""

import os
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.cli import checkout, console
from assay.cli.console import TableColumn, say
from assay.cli.export_kernels import make_kernel_set
from assay.cli.options import (
    CoresOption,
    DevicePathOption,
    DevicePythonOption,
    ExecutorOption,
    RuntimeOption,
)
from assay.cli.tuning_choices import measure_choices
from assay.findings.tuning_outcomes import ChoiceStanding
from assay.images.stage import make_image
from assay.pipeline.request import Options
from assay.records.images import Role, RuntimeWish
from assay.report import formatting as fmt
from assay.runtimes.choose import known
from assay.shared.counting import counted
from assay.shared.exit_codes import ExitCode
from assay.verification.sign import default_signing_key

lab = typer.Typer(name="lab", invoke_without_command=True, rich_markup_mode=None)
TargetOption = Annotated[str, typer.Option(help="Target from config/targets.")]


@lab.callback()
def alone(context: typer.Context) -> None:
    """For authors of kernels: compile them, tune them, make images."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.BAD_INPUT)


@lab.command()
def kernels(
    target: TargetOption = "h100",
    output: Annotated[
        Path | None, typer.Option(help="Folder.", show_default="results/kernels/TARGET")
    ] = None,
    runtime: RuntimeOption = None,
) -> None:
    """Compile the kernels that PyTorch calls."""
    folder = output or Path("results", "kernels", target)
    wish = runtime or checkout.default_run().runtime
    index = make_kernel_set(checkout.ROOT, target, folder, wish)
    say(f"{folder}: {', '.join(entry.variant for entry in index.kernels)}")
    say(f'in Python: import assay.ops; assay.ops.load("{folder}")')


@lab.command()
def image(
    target: TargetOption,
    role: Annotated[Role, typer.Option(help="toolchain compiles, runner measures.")] = "toolchain",
    runtime: Annotated[
        RuntimeWish,
        typer.Option(help="docker or podman; apptainer converts what one of them made."),
    ] = "docker",
) -> None:
    """Make a target's image and load it, as reproduce would."""
    catalog = load_catalog(checkout.ROOT)
    catalog.check_selection((), [target])
    if runtime in ("auto", "host"):
        raise BadInput(f"--runtime {runtime}: name docker, podman or apptainer")
    record = make_image(checkout.ROOT, known(runtime), role, catalog.targets[target])
    say(f"{record.tag}: {record.image_id}")
    say(
        f"{fmt.size(record.bytes)}, {counted(len(record.debian_packages), 'Debian package')}, "
        f"{counted(len(record.python_packages), 'Python distribution')}; {record.engine}"
    )


@lab.command()
def tune(
    target: TargetOption,
    runtime: RuntimeOption = None,
    executor: ExecutorOption = None,
    run: Annotated[str, typer.Option(help="Name of the run: results/NAME.")] = "tuning",
    device_python: DevicePythonOption = None,
    device_path: DevicePathOption = None,
    cores: CoresOption = None,
) -> None:
    """Measure a target's sweeps; say which choices hold or change."""
    defaults = checkout.default_run()
    options = Options(
        run=run,
        sources=(),
        targets=(target,),
        runtime=runtime or defaults.runtime,
        runtime_named=runtime is not None,
        executor=executor or defaults.executor,
        device_python=device_python,
        device_paths=tuple(device_path or ()),
        prebuilt=None,
        recorded=(),
        keys=(),
        signing_key=default_signing_key(),
        host_image=False,
        signs=False,
    )
    found = measure_choices(checkout.ROOT, options, cores or os.cpu_count() or 1)
    heads = ("choice", "variant", "its sweep says", "in full")
    columns = [TableColumn(head, prose=head in heads[2:]) for head in heads]
    rows = [
        (one.choice.id, one.choice.variant, fmt.words(one.standing.value), one.says)
        for one in found
    ]
    console.show_table("tuning", columns, rows)
    made = {choice.id for choice in load_catalog(checkout.ROOT).tuning.choices}
    for one in found:
        if one.standing is ChoiceStanding.ANOTHER_IS_FASTER:
            say(f"{one.choice.id}: {one.choice.variant} -> {one.rival_variant} (arm {one.rival})")
        elif one.standing is ChoiceStanding.CONFIRMED and one.choice.id not in made:
            say(f"{one.choice.id}: none in config/tuning.yaml -> {one.choice.variant}")
