"""``./assay lab``: what only authors of kernels need."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from assay.base import progress
from assay.base.errors import BadInput, CheckFailed, MissingEnvironment
from assay.base.io import write_record
from assay.base.isolation import isolated
from assay.base.writable import cache_folder, require_folder_place, why_not_writable
from assay.building import build as building
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli import checkout, console
from assay.cli import options as opt
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.findings.tuning_outcomes import ChoiceStanding, SweepOutcome, outcomes, unmeasured
from assay.images.stage import compiler_place, make_image
from assay.judging.case import Case
from assay.measuring.operator_kernels import kernel_entries, offered
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options, make_request
from assay.pipeline.snakemake_run import run_workflow
from assay.records.builds import BuildRecord
from assay.records.images import Role, RuntimeWish
from assay.records.rivals import KernelSetRecord
from assay.report import formatting as fmt
from assay.shared.counting import counted
from assay.verification.sign import default_signing_key

lab = opt.command_group("lab", "For authors of kernels: compile them, tune them, make images.")
TargetOption = Annotated[str, typer.Option(help="Target from config/targets.")]


@lab.command()
def kernels(
    target: TargetOption = "h100",
    out: Annotated[
        Path | None, typer.Option(help="Folder.", show_default="results/kernels/TARGET")
    ] = None,
    runtime: opt.RuntimeOption = None,
) -> None:
    """Compile the kernels that PyTorch calls."""
    folder = out or Path("results", "kernels", target)
    wish = runtime or checkout.default_run().runtime
    index = make_kernel_set(checkout.ROOT, target, folder, wish)
    console.say(f"{folder}: {', '.join(entry.variant for entry in index.kernels)}")
    console.say(f'in Python: import assay.ops; assay.ops.load("{folder}")')


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
    if runtime == "auto" or runtime == "host":  # noqa: PLR1714 - which mypy takes as a guard
        raise BadInput(f"--runtime {runtime}: name docker, podman or apptainer")
    record = make_image(checkout.ROOT, runtime, role, target)
    console.say(f"{record.tag}: {record.image_id}")
    console.say(
        f"{fmt.size(record.bytes)}, {counted(len(record.debian_packages), 'Debian package')}, "
        f"{counted(len(record.python_packages), 'Python distribution')}; {record.engine}"
    )


@lab.command()
def tune(
    target: TargetOption,
    runtime: opt.RuntimeOption = None,
    executor: opt.ExecutorOption = None,
    run: Annotated[str, typer.Option(help="Name of the run: results/NAME.")] = "tuning",
    device_python: opt.DevicePythonOption = None,
    device_path: opt.DevicePathOption = None,
    cores: opt.CoresOption = None,
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
        signing_key=default_signing_key(),
        signs=False,
    )
    found = measure_choices(checkout.ROOT, options, cores or os.cpu_count() or 1)
    heads = ("choice", "variant", "its sweep says", "in full")
    columns = [console.TableColumn(head, prose=head in heads[2:]) for head in heads]
    rows = [
        (one.choice.id, one.choice.variant, fmt.words(one.standing.value), one.says)
        for one in found
    ]
    console.show_table("tuning", columns, rows)
    made = {choice.id for choice in load_catalog(checkout.ROOT).tuning.choices}
    for one in found:
        if one.standing is ChoiceStanding.ANOTHER_IS_FASTER:
            console.say(
                f"{one.choice.id}: {one.choice.variant} -> {one.rival_variant} (arm {one.rival})"
            )
        elif one.standing is ChoiceStanding.CONFIRMED and one.choice.id not in made:
            console.say(f"{one.choice.id}: none in config/tuning.yaml -> {one.choice.variant}")


@lab.command()
def docs(
    folder: Annotated[Path, typer.Argument(help="Directory to write.", metavar="DIR")],
) -> None:
    """Build the documents into a static site, with search."""
    if importlib.util.find_spec("mkdocs") is None:
        raise MissingEnvironment(
            "this Python has no MkDocs: start ./assay without ASSAY_NO_VENV, which installs it "
            "from requirements/docs.txt"
        )
    place = folder.resolve()
    require_folder_place(folder, place)
    if place.is_dir() and any(place.iterdir()) and not (place / "search").is_dir():
        raise BadInput(f"{folder}: holds something that is no site: name an empty directory")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    command += ["--config-file", "docs/mkdocs/mkdocs.yml", "--site-dir", str(place)]
    environment = {**isolated(os.environ), "NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, cwd=checkout.ROOT, env=environment, check=False)
    if ended.returncode != 0:
        raise CheckFailed("the documents make no site; the lines above say why")
    console.say(f"site: {folder / 'index.html'}")


INDEX = "kernels.json"  # as assay.ops.kernel_set says; that module belongs to PyTorch's side


def make_kernel_set(root: Path, target: str, output: Path, runtime: RuntimeWish) -> KernelSetRecord:
    """Compile what PyTorch's operators call on ``target`` into ``output``; return its index. A
    kernel that fails is left out, and named. Raises BadInput (unknown target), MissingEnvironment
    (no compiler or no place to write), CheckFailed (none compiled, or a compiler of another wheel).
    """
    catalog = load_catalog(root)
    catalog.check_selection((), [target])
    arch = catalog.targets[target].arch
    if (why := why_not_writable(output / INDEX)) is not None:
        raise MissingEnvironment(
            f"no kernels can be written to {output} ({why}): name another folder with --out"
        )
    place = compiler_place(root, runtime)
    cache = cache_folder(root)
    if why_not_writable(cache / "builds" / target) is not None:
        cache = output / "cache"
    builds: dict[str, tuple[BuildRecord, Path]] = {}
    for variant in (named.variant for named in offered(catalog, target)):
        progress.say(f"compiling {variant} for {arch}")
        record = building.build(
            root, catalog, "variant", variant, arch, out_dir=output, cache_dir=cache, place=place
        )
        if record.artifact is None:
            progress.say(f"{variant} did not compile and is left out: {record.diagnostics}")
        else:
            builds[variant] = (record, output / record.artifact.path)
    index = KernelSetRecord(
        schema="assay/kernel_set/1",
        target=target,
        kernels=kernel_entries(catalog, target, builds),
        choices=catalog.tuning.of(target),
    )
    if not index.kernels:
        raise CheckFailed(f"none of PyTorch's operators has a kernel for {target} ({arch})")
    write_record(index, output / INDEX)
    return index


def measure_choices(root: Path, options: Options, cores: int) -> tuple[SweepOutcome, ...]:
    """Run a target's sweeps. Raises BadInput without any, MissingEnvironment without figures."""
    catalog = load_catalog(root)
    catalog.check_selection((), options.targets)
    (target,) = options.targets
    if not catalog.choices_to_hold(target):
        raise BadInput(f"config/tuning.yaml: has no sweep for target '{target}'")
    request = make_request(root, catalog, replace(options, sources=(), tuning=True))
    plan = make_plan(catalog, request)
    (planned,) = plan.targets
    if not planned.comparisons:
        raise MissingEnvironment(
            f"target {target}: {planned.provision.detail}; no published report holds its sweeps; "
            "./assay doctor says what is missing"
        )
    run_workflow(root, catalog, request, plan, cores=cores, goal="timed")
    return of_target(catalog, load_evidence(root / "results" / request.run), target)


def of_target(catalog: Catalog, evidence: Evidence, target: str) -> tuple[SweepOutcome, ...]:
    """Return what the evidence says of a target's choices, and of those that it begins with."""
    held = catalog.choices_to_hold(target)
    tuning = catalog.tuning.model_copy(update={"choices": held})
    found = list(outcomes(Case(replace(catalog, tuning=tuning), evidence)))
    known = {outcome.choice.id for outcome in found}
    for choice in (each for each in held if each.id not in known):
        words = f"No result of {choice.evidence.comparison} is among the evidence."
        found.append(unmeasured(choice, words))
    return tuple(found)
