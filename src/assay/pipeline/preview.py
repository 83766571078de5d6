"""A look ahead at a run: its steps, and about how long they take. Nothing is written for it."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import CheckFailed
from assay.catalog.model import Catalog
from assay.evidence.stages import FINISHING, TARGET_STAGES, plan_path, planned_steps
from assay.measuring.gpu_places import guessed_seconds
from assay.pipeline.planned_builds import compiling_seconds, known_costs
from assay.pipeline.run_files import bound_run, run_path
from assay.pipeline.run_files import run_dir as run_dir_of
from assay.pipeline.snakemake_run import (
    forced,
    plugin_folders,
    snakemake_command,
    snakemake_environment,
)
from assay.records.plan import BuildJob, Plan, Request
from assay.records.timings import Stage

Step = tuple[Stage, frozenset[tuple[str, str]]]
"""A step by its rule and its wildcards."""
ALWAYS_S = 60.0
"""Of the plan, Snakemake's start, judging, the report and its verification."""
GPU_START_S = 30.0
"""Of describing a GPU and of trying kernels that cheat."""
BESIDE = 1.5
"""What a comparison takes with its gate and its profiles, over its benchmark."""
ON_GPU = frozenset(entry.stage for entry in TARGET_STAGES if entry.holds_gpu)
"""Stages whose steps hold a GPU where the target is measured in this run."""
PENDING = "update pending"
"""How Snakemake's summary marks a file that a start would make."""


def measured_here(plan: Plan) -> frozenset[str]:
    """Return targets whose figures the run measures itself."""
    return frozenset(t.target for t in plan.targets if t.provision.kind == "device")


@dataclass(frozen=True)
class Estimate:
    """About how long steps take, in s on the clock."""

    seconds: float
    gpu_seconds: float
    """The part of it in which a GPU is held."""


def estimate(
    root: Path, catalog: Catalog, plan: Plan, steps: frozenset[Step], cores: int
) -> Estimate:
    """Add up what compilers and GPUs likely take of ``steps``."""
    costs = known_costs(root)
    builds = [
        costs[job.id, job.arch].cpu_seconds if (job.id, job.arch) in costs else 0.0
        for job in plan.builds
        if build_step(job) in steps
    ]
    here = measured_here(plan)
    timed = {target_of(step) for step in steps if step[0] is Stage.BENCHMARK}
    gpu = 0.0
    for target in plan.targets:
        if target.target in here & timed:
            work = sum(guessed_seconds(catalog, name) for name in target.comparisons)
            gpu += GPU_START_S + BESIDE * work / max(1, len(target.provision.gpus))
    always = ALWAYS_S if steps else 0.0
    return Estimate(always + compiling_seconds(builds, cores) + gpu, gpu)


def build_step(job: BuildJob) -> Step:
    """Return the step that compiles something."""
    return Stage.BUILD, frozenset({"artifact": job.id, "arch": job.arch}.items())


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
    """Return the steps that a start would run: all of them where the run was never begun.

    ``again``: outputs of the run that are made anew though they are there.
    """
    every = every_step(plan)
    if not (run_dir_of(root, request) / plan_path()).is_file():
        return every
    files = pending_files(root, catalog, request, plan, again)
    targets = {target.target for target in plan.targets}
    return frozenset(_step(Stage(rule), path, targets) for rule, path in files) & every


def _step(stage: Stage, path: str, targets: set[str]) -> Step:
    """Return the step that makes an output, which lies at ``path`` below the run's directory."""
    parts = Path(path).with_suffix("").parts
    if stage in (Stage.BUILD, Stage.FILE_COMPILE):
        return stage, frozenset({"arch": parts[-2], "artifact": parts[-1]}.items())
    if stage is Stage.EARLIER:
        return stage, frozenset({"report": parts[-2]}.items())
    return stage, frozenset(("target", part) for part in parts if part in targets)


def pending_files(
    root: Path, catalog: Catalog, request: Request, plan: Plan, again: Sequence[str]
) -> list[tuple[str, str]]:
    """Rule and path, below the run's directory, of every file that a start would make.

    Snakemake says so; its own state it reads, its caches go to a folder that is removed. Raises
    CheckFailed where it cannot read the run.
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
