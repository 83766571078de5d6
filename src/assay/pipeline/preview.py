"""The preview of a run: its steps and about how long they take; nothing is written for it."""

import os
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.cache_place import cache_folder
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record
from assay.building.cache_seal import is_sealed
from assay.catalog.model import Catalog
from assay.evidence.stages import FINISHING, plan_path, planned_steps
from assay.findings.step_timings import ON_GPU, measured_here
from assay.pipeline.compilations import Compilations, known_costs
from assay.pipeline.durations import Estimate, Step, estimate
from assay.pipeline.gpu_forecast import gpu_forecast
from assay.pipeline.places import home_of, run_path
from assay.pipeline.places import run_dir as run_dir_of
from assay.pipeline.recorded_seconds import recorded_seconds
from assay.pipeline.run_files import bound_run
from assay.pipeline.snakemake_run import (
    forced,
    plugin_folders,
    snakemake_command,
    snakemake_environment,
)
from assay.records.plan import Plan, Request
from assay.records.timings import Stage, StepTiming
from assay.verification.trust import published_reports, reports_in

FINISHING_S = {Stage.REPORT: 15.0, Stage.SIGN: 1.0, Stage.VERIFY: 8.0}
"""Seconds of what comes after the timings that a report holds, where this run has none yet."""
PENDING = "update pending"
"""How Snakemake's summary marks a file that a start would make."""


@dataclass(frozen=True)
class Preview:
    """The steps that a start would run, with their plan and an estimate."""

    plan: Plan
    steps: frozenset[Step]
    """What is still to be done of the plan; empty for a finished run."""
    estimate: Estimate


def preview(
    root: Path,
    catalog: Catalog,
    request: Request,
    plan: Plan,
    *,
    cores: int,
    again: Sequence[str],
    known: Mapping[Step, float],
) -> Preview:
    """Look ahead. ``again``: outputs of the run that would be made anew though they are there.
    ``known``: seconds of steps (``step_seconds``).

    Raises CheckFailed when Snakemake cannot read the run.
    """
    steps = pending_steps(root, catalog, request, plan, again)
    pending = {step: seconds for step, seconds in known.items() if step in steps}
    return Preview(plan, steps, estimate(steps, pending, cores))


def step_seconds(
    root: Path, catalog: Catalog, request: Request, plan: Plan, steps: Collection[Step]
) -> dict[Step, float]:
    """Return what each of ``steps`` likely takes, as far as that is known.

    What is taken over from a report takes no time worth telling.
    """
    home = None if request.home is None else Path(request.home)
    known: dict[Step, float] = {(stage, frozenset()): took for stage, took in FINISHING_S.items()}
    known |= known_seconds(root, request)
    known |= build_seconds(root, catalog, plan, steps, project=home)
    known |= _of_units(root, catalog, request, plan)
    here = measured_here(plan)
    known |= {step: 0.0 for step in steps if step[0] in ON_GPU and target_of(step) not in here}
    return {step: seconds for step, seconds in known.items() if step in steps}


def target_of(step: Step) -> str:
    """Return the target that a step is about; empty for one of the whole run."""
    return dict(step[1]).get("target", "")


def every_step(plan: Plan) -> frozenset[Step]:
    """Return the steps of a whole run."""
    planned = [*planned_steps(plan), *((stage, dict[str, str]()) for stage in FINISHING)]
    return frozenset((stage, frozenset(arguments.items())) for stage, arguments in planned)


def pending_steps(
    root: Path, catalog: Catalog, request: Request, plan: Plan, again: Sequence[str]
) -> frozenset[Step]:
    """Return the steps that a start would run: all of them where the run was never begun."""
    every = every_step(plan)
    run_dir = run_dir_of(root, request)
    if not (run_dir / plan_path()).is_file():
        return every
    files = pending_files(root, catalog, request, plan, again)
    targets = {target.target for target in plan.targets}
    return frozenset(_step(Stage(rule), path, targets) for rule, path in files) & every


def _step(stage: Stage, path: str, targets: set[str]) -> Step:
    """Return the step that makes an output, which lies at ``path`` below the run's directory."""
    parts = Path(path).with_suffix("").parts
    if stage in (Stage.BUILD, Stage.FILE_COMPILE):
        return stage, frozenset({"arch": parts[-2], "artifact": parts[-1]}.items())
    return stage, frozenset(("target", part) for part in parts if part in targets)


def pending_files(
    root: Path, catalog: Catalog, request: Request, plan: Plan, again: Sequence[str]
) -> list[tuple[str, str]]:
    """Rule and path, below the run's directory, of every file that a start would make.

    Snakemake says so; its own state it reads, its caches go to a folder that is removed.
    """
    with (
        tempfile.TemporaryDirectory(prefix="assay-dry-") as cache,
        bound_run(root, catalog, request, plan, scratch=True) as draft,
    ):
        command = snakemake_command(root, request, draft=draft)
        command += ["--cores", "1", "--summary", *forced(root, request, again)]
        environment = snakemake_environment(root, os.environ, plugin_folders(root, request))
        told = subprocess.run(
            command, cwd=root, check=False, capture_output=True, text=True, errors="replace",
            env={**environment, "XDG_CACHE_HOME": cache},
        )  # fmt: skip
    if told.returncode != 0:
        last = " ".join(told.stderr.split())[-400:]
        raise CheckFailed(f"Snakemake cannot say what is left of run '{request.run}': {last}")
    rows = [line.split("\t") for line in told.stdout.splitlines() if "\t" in line]
    run = f"{run_path(request)}/"
    return [
        (cells[2], cells[0].removeprefix(run))
        for cells in rows
        if cells[-1] == PENDING and cells[2] in set(Stage)
    ]


def known_seconds(root: Path, request: Request) -> dict[Step, float]:
    """What steps took: in the newest published report, of a project in the newest of its own, or,
    where it has been there, in this run.

    Compilations are left out: one that was taken from a cache says nothing of the next.
    """
    found: list[StepTiming] = []
    for home in dict.fromkeys((root, home_of(root, request))):
        for report in published_reports(home)[:1]:
            found += recorded_seconds(report)
    for path in sorted((run_dir_of(root, request) / "timings").glob("*.json")):
        try:
            found.append(read_record(StepTiming, path))
        except BadInput:
            continue  # of an earlier version
    return {
        (step.stage, frozenset(step.arguments.items())): step.seconds
        for step in found
        if step.stage is not Stage.BUILD
    }


def _of_units(root: Path, catalog: Catalog, request: Request, plan: Plan) -> dict[Step, float]:
    """Return what stages take by their units. On one GPU a report that a project published says
    more of the project's own than a guess.
    """
    found, home = gpu_forecast(root, catalog, plan), home_of(root, request)
    if home == root or not reports_in(home / "reports" / "published"):
        return found
    several = {each.target for each in plan.targets if len(each.provision.gpus) > 1}
    return {step: seconds for step, seconds in found.items() if target_of(step) in several}


def build_seconds(
    root: Path,
    catalog: Catalog,
    plan: Plan,
    steps: Collection[Step],
    *,
    cached: bool = True,
    project: Path | None = None,
) -> dict[Step, float]:
    """What compilations among ``steps`` take: nothing from the cache, where ``cached`` counts it,
    else the processor seconds that they took."""
    costs = {(cost.id, cost.arch): cost.cpu_seconds for cost in known_costs(root)}
    compilations = Compilations(root, catalog, plan.builds, project)
    cache = cache_folder(root) / "builds"
    found: dict[Step, float] = {}
    for job in plan.builds:
        step = Stage.BUILD, frozenset({"artifact": job.id, "arch": job.arch}.items())
        if step not in steps:
            continue
        folders = cache.glob(f"{compilations.key(job.id, job.arch)}*/") if cached else ()
        if any(map(is_sealed, folders)):
            found[step] = 0.0
        elif (job.id, job.arch) in costs:
            found[step] = costs[job.id, job.arch]
    return found
