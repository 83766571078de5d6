"""``./assay tune``: choose each kernel's configuration on a target, by its sweeps."""

import os
from typing import Annotated

import typer

from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.options import (
    CoresOption,
    DevicePathOption,
    DevicePythonOption,
    ExecutorOption,
    RuntimeOption,
)
from assay.cli.result_tables import show_tuning
from assay.cli.tuning_choices import (
    better_choices,
    measure_choices,
    told_changes,
    write_choices,
)
from assay.pipeline.request import Options
from assay.shared.counting import agreeing, counted
from assay.verification.sign import default_signing_key


def tune(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    runtime: RuntimeOption = None,
    executor: ExecutorOption = None,
    run: Annotated[str, typer.Option(help="Name of the run: results/NAME.")] = "tuning",
    device_python: DevicePythonOption = None,
    device_path: DevicePathOption = None,
    write: Annotated[
        bool, typer.Option("--write", help="Put faster configurations into config/tuning.yaml.")
    ] = False,
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
    tuned = measure_choices(checkout.ROOT, options, cores or os.cpu_count() or 1)
    say(f"{target}: {tuned.detail}")
    show_tuning(tuned.outcomes)
    made = load_catalog(checkout.ROOT).tuning.choices
    better = better_choices(tuned, made)
    for line in told_changes(made, better):
        say(line)
    if write:
        write_choices(checkout.ROOT, better)
        say(
            f"config/tuning.yaml: {len(better)} of {counted(len(tuned.outcomes), 'choice')} changed"
        )
    elif better:
        say(
            f"{counted(len(better), 'choice')} would change; --write puts "
            f"{agreeing(len(better), 'it', 'them')} into config/tuning.yaml"
        )
