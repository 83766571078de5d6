"""The files of a run as Snakemake must know them: from which files, on which machine.

The rules in ``workflow/rules`` ask here; nothing here imports Snakemake. A job runs on a GPU node
only when its target's figures are measured in this run.
"""

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from assay.base.errors import MissingEnvironment
from assay.base.io import read_record
from assay.building.recipe import Compilation, Kind, describe, file_command
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.cluster import USUAL, gpu_type_of, wishes_of
from assay.catalog.load import catalog_files, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import EVIDENCE_FOLDER, project_of
from assay.evidence import stages as evidence
from assay.evidence.entries import Purpose, TargetStage
from assay.measuring.slurm_grant import gpus_of_node
from assay.pipeline.definitions import Definitions
from assay.pipeline.plan import variants_of
from assay.pipeline.run_files import VERIFIED, read_bound, report_path, run_path
from assay.pipeline.slurm_jobs import node_of
from assay.records.attestation import ATTESTATION, MANIFEST, SIGNER, TEXTS, VERDICTS
from assay.records.builds import BuildCost, BuildCosts
from assay.records.originals import FileCompileRequest
from assay.records.plan import BuildJob, EarlierReport, Plan, Request, TargetPlan
from assay.records.platform import Target
from assay.records.timings import Stage

GPU_RESOURCES = (
    "gpu", "gpu_model", "gres", "slurm_partition", "slurm_account", "qos", "constraint",
    "slurm_extra", "runtime", "mem_mb", "cpus_per_task",
)  # fmt: skip
UNASKED = {"mem_mb": 0, "runtime": 0, "gpu": 0}
"""Of resources that Snakemake wants as a number, the one for which Slurm is asked nothing."""

COSTS = "config/build_costs.json"
MEMORY_PERCENT = 110
"""Of what the largest process takes: the shell, nvcc and Snakemake's own stand beside it."""
MB = 1_000_000

NO_REQUEST = Request(
    schema="assay/request/1", run="none", sources=(), targets=(), runtime="host",
    executor="local", device_python="python3", prebuilt=None, signing_key="", commit=None,
    clean_tree=None,
)  # fmt: skip
NO_PLAN = Plan(schema="assay/plan/1", run="none", sources=(), builds=(), targets=(), answers=())
"""Of a bare ``snakemake``, which can run nothing."""


@dataclass(frozen=True)
class Dag:
    """File lists of one run; all paths are relative to the repository root."""

    request: Request
    plan: Plan
    files: Path
    """The folder that holds what the run is bound to: the run's own."""
    root: Path = Path()
    """The repository."""

    @cached_property
    def catalog(self) -> Catalog:
        """Return the configuration that the run was planned from."""
        return load_catalog(self.files)

    @property
    def run_dir(self) -> str:
        """results/<run>, of a project with its folder."""
        return run_path(self.request)

    @property
    def report_dir(self) -> str:
        """reports/<run>, likewise."""
        return report_path(self.request)

    def path(self, relative: str) -> str:
        """Return a record of this run by its evidence path."""
        return f"{self.run_dir}/{relative}"

    def ours(self, *patterns: str) -> list[str]:
        """Return files of the repository as the workflow names them."""
        found = (path for pattern in patterns for path in self.root.glob(pattern))
        return [self._ours(str(path.relative_to(self.root))) for path in sorted(found)]

    def _ours(self, name: str) -> str:
        """Return a name that works elsewhere, too, where a project's run needs that."""
        return name if self.request.home is None else str(self.root / name)

    def catalog_files(self) -> list[str]:
        """Return the configuration that the run was planned from, as files."""
        return [self.path(name) for name in catalog_files(self.files)]

    @property
    def targets(self) -> list[str]:
        """Return every target that a file of the run is named after."""
        return list(dict.fromkeys([*(t.target for t in self.plan.targets), *self.plan.toolchains]))

    def target_plan(self, target: str) -> TargetPlan:
        """Return all jobs of one target."""
        return next(plan for plan in self.plan.targets if plan.target == target)

    def target(self, name: str) -> Target:
        """Return the target's description."""
        return self.catalog.targets[name]

    # What is compiled

    def sources(self, wildcards: Any) -> list[str]:
        """Return the files that a compiler reads, for the rule of a build; no package's own."""
        found = (source.path for source in self._described(wildcards).sources)
        project = f"{EVIDENCE_FOLDER}/"
        return [self.path(n) if n.startswith(project) else self._ours(n) for n in found]

    def build_key(self, wildcards: Any) -> str:
        """Return the digest that changes with anything that the outcome of a build rests on."""
        return self._described(wildcards).key

    def build_priority(self, wildcards: Any) -> int:
        """Return processor seconds of a build: what takes longest is started first."""
        return math.ceil(self._cost(wildcards).cpu_seconds)

    def build_memory_mb(self, wildcards: Any) -> int:
        """Return the memory that a build takes, in MB of 1,000,000 bytes."""
        return math.ceil(self._cost(wildcards).peak_bytes * MEMORY_PERCENT / (100 * MB))

    def build_kind(self, artifact: str, arch: str) -> Kind:
        """variant, program or probe."""
        return next(job.kind for job in self.plan.builds if (job.id, job.arch) == (artifact, arch))

    def _described(self, wildcards: Any) -> Compilation:
        """Return a build as data; of a project's files in the copy of its folder."""
        artifact, arch = wildcards.artifact, wildcards.arch
        kind, project = self.build_kind(artifact, arch), project_of(self.files)
        return describe(self.root, self.catalog, kind, artifact, arch, self._lock, project)

    def _cost(self, wildcards: Any) -> BuildCost:
        """Return its last known cost; of one never compiled, that of the costliest of its kind."""
        artifact, arch, programs = wildcards.artifact, wildcards.arch, self.catalog.programs
        if (artifact, arch) in self._costs:
            return self._costs[artifact, arch]
        alike = [
            cost for cost in self._costs.values() if (cost.id in programs) == (artifact in programs)
        ]
        seconds = max((cost.cpu_seconds for cost in alike), default=0.0)
        peak = max((cost.peak_bytes for cost in alike), default=0)
        return BuildCost(id=artifact, arch=arch, cpu_seconds=seconds, peak_bytes=peak)

    @cached_property
    def _costs(self) -> dict[tuple[str, str], BuildCost]:
        return known_costs(self.root)

    @cached_property
    def _lock(self) -> str:
        return toolchain_lock_digest(self.root)

    def published(self, artifact: str, arch: str) -> tuple[FileCompileRequest, str]:
        """Return what is compiled as published, and the name of its file in the checkout."""
        given = next(each for each in self.request.compilations if each.job.key == (artifact, arch))
        published = self.catalog.published_file(given.job.source, artifact)
        assert published is not None
        return given, published.file

    def file_compile(self, wildcards: Any) -> str:
        """Return what the compilation of a file as published rests on: compile again when it
        changes. The checkout is the user's: its digest stands for its files.
        """
        given, file = self.published(wildcards.artifact, wildcards.arch)
        return f"{given.job.checkout.sha256} {' '.join(file_command(file, wildcards.arch))}"

    def toolchain_target(self, arch: str) -> str | None:
        """Return the target whose toolchain image compiles for ``arch``; None when the host
        does.
        """
        toolchains = self.plan.toolchains
        fitting = [name for name in toolchains if self.target(name).arch == arch]
        return next(iter([*fitting, *toolchains]), None)

    def toolchain_image(self, arch: str) -> list[str]:
        """Return the record of the image that compiles for ``arch``."""
        target = self.toolchain_target(arch)
        return [] if target is None else [self.path(evidence.toolchain_image_path(target))]

    def builds_of(self, target: str, artifacts: Collection[str]) -> list[BuildJob]:
        """Return the compilations of ``artifacts`` for the architecture of a target."""
        arch = self.target(target).arch
        return [job for job in self.plan.builds if job.arch == arch and job.id in artifacts]

    # What is measured

    @property
    def stages(self) -> tuple[TargetStage[Any, Any], ...]:
        """Return the stages whose steps leave evidence of a target."""
        return evidence.TARGET_STAGES

    def output(self, stage: TargetStage[Any, Any]) -> str:
        """Return what the rule of a stage writes, for any target."""
        return self.path(stage.output("{target}"))

    def inputs(self, stage: TargetStage[Any, Any]) -> Callable[[Any], list[str]]:
        """Return the function by which Snakemake asks from which files a stage is made: not the
        plan, for a changed definition is what measures again.
        """
        return lambda wildcards: list(self._inputs(stage, self.target_plan(wildcards.target)))

    def _inputs(self, stage: TargetStage[Any, Any], plan: TargetPlan) -> Iterator[str]:
        images = [self.path(evidence.runner_image_path(plan.target))] if plan.runner else []
        if stage is evidence.RUNNER_IMAGES:
            # Docker's own layer of caches must not decide: the step compares digests.
            yield from self.ours("containers/*.*", "requirements/runner.txt")
        if stage is evidence.PLATFORMS:
            yield from images
        elif stage not in (evidence.RUNNER_IMAGES, evidence.BENCHMARKS):
            yield self.path(evidence.platform_path(plan.target))
        if stage in (evidence.BENCHMARKS, evidence.PROFILES, evidence.STOPWATCHES):
            yield self.path(evidence.CORRECTNESS.output(plan.target))
        if stage is evidence.ORIGINALS and plan.originals:
            yield from (*images, *self.toolchain_image(self.target(plan.target).arch))
        artifacts: Collection[str] = ()
        if stage.of_comparison or stage is evidence.SANITIZERS:
            artifacts = variants_of(self.catalog, plan.comparisons)
        elif stage is evidence.PROGRAMS:
            artifacts = {job.program for job in plan.programs}
        elif stage is evidence.OPERATORS:
            artifacts = plan.operators
        for job in self.builds_of(plan.target, artifacts):
            yield self.path(evidence.BUILDS.path(job.id, job.arch))

    def definition(self, stage: TargetStage[Any, Any]) -> Callable[[Any], str]:
        """Return the function by which Snakemake asks for the digest of what a stage rests on."""
        return lambda wildcards: self.definitions(wildcards.target).stage(stage)

    def definitions(self, target: str) -> Definitions:
        """Return what the target's measurements rest on: measure again when it changes."""
        return Definitions(self.catalog, self.request, self.target_plan(target))

    def priority(self, stage: TargetStage[Any, Any]) -> int:
        """Return how soon a step is begun, where it could be.

        Figures come before what stands beside them, for a GPU that is lent may go back. A machine
        that is unfit to measure shows at the kernels that cheat, which are short: first of all.
        What programs print is there before a benchmark asks which verdicts hang on it.
        """
        if stage is evidence.CHEATS:
            return 3
        if stage in (evidence.PROGRAMS, evidence.ORIGINALS):
            return 2
        return int(stage.purpose in (Purpose.GATE, Purpose.FIGURES))

    def threads(self, stage: TargetStage[Any, Any], cores: int) -> int:
        """Return the cores of a step; ``cores`` are those of the machine that runs the workflow.

        Here a measurement has the whole machine: compilers beside it would disturb its launches.
        A cluster's node is another machine, which need not have as many (see ``resources``).
        """
        alone = stage.purpose is Purpose.FIGURES and self.request.executor == "local"
        return cores if alone else 1

    def gpu_resources(self) -> dict[str, Callable[..., int | str | None]]:
        """Return the functions by which Snakemake asks what a job wants of each resource.

        Among them is one for each target, of which a run has one: its card on a cluster's node.
        Where a node has several cards, jobs of a target that ran at the same time would each get
        another one, and what is measured of a comparison is measured on one.
        """

        def asked(name: str, wildcards: Any, rulename: str) -> int | str | None:
            return self.resources(wildcards.target, rulename).get(name) or UNASKED.get(name)

        def card(name: str, wildcards: Any) -> int:
            return int(wildcards.target == name and self._has_choice(name))

        cards = {card_resource(name): partial(card, name) for name in self.targets}
        return {**{name: partial(asked, name) for name in GPU_RESOURCES}, **cards}

    def _has_choice(self, target: str) -> bool:
        """Return whether Slurm may give a target's jobs one card or another, as far as known."""
        cluster = self.request.cluster
        if cluster is None:
            return False
        node = node_of(self.root / self.run_dir, target)
        try:
            return node is None or gpus_of_node(node, gpu_type_of(cluster, self.target(target))) > 1
        except MissingEnvironment:
            return True

    def resources(self, target: str, stage: str) -> dict[str, int | str | None]:
        """Return Snakemake's resources of a job: one GPU, and of a cluster what its site says.

        None is not asked for at all; memory and minutes Snakemake wants to have as numbers, also
        where nothing holds jobs to them.
        """
        cluster = self.request.cluster
        if cluster is None:
            return {"gpu": 1, "mem_mb": USUAL.memory_mb, "runtime": USUAL.minutes}
        described, wishes = self.target(target), wishes_of(cluster, target, stage)
        gpu_type = gpu_type_of(cluster, described)
        by_gres = cluster.gpu_option == "gres"
        # All stages of a target measure on one node: that of its platform.
        node = node_of(self.root / self.run_dir, target)
        nodes = wishes.nodes if node is None or stage == Stage.PLATFORM else (node,)
        return {
            "gpu": 0 if by_gres else 1,
            "gpu_model": None if by_gres else gpu_type,
            "gres": f"gpu:{gpu_type}:1" if by_gres else None,
            "slurm_partition": wishes.partition or described.slurm_partition,
            "slurm_account": wishes.account,
            "qos": wishes.qos,
            "constraint": wishes.constraint,
            "slurm_extra": f"--nodelist={','.join(nodes)}" if nodes else None,
            "runtime": wishes.minutes,
            "mem_mb": wishes.memory_mb,
            "cpus_per_task": wishes.cores,
        }

    # What a run ends in

    def earlier_report(self, name: str) -> EarlierReport:
        """Return a report that is taken over."""
        return next(each for each in self.request.earlier if each.name == name)

    def nested_files(self) -> list[str]:
        """Return a file of each report that others' figures come from, which is copied whole."""
        names = evidence.nested_reports(self.plan.targets)
        return [self.path(f"{evidence.earlier_path(name)}/{MANIFEST}") for name in names]

    def measurements(self) -> list[str]:
        """Return what the steps of every target write that is measured here, and the reports that
        others' figures come from.
        """
        measured = (plan for plan in self.plan.targets if plan.provision.kind == "device")
        written = (path for plan in measured for path in evidence.target_outputs(plan))
        return [*self.nested_files(), *map(self.path, written)]

    def portable_files(self) -> list[str]:
        """Return what a machine without a compiler takes over: builds, counts, the compilers'
        images.
        """
        return [self.path(path) for path in evidence.run_files(self.plan)]

    def timed_files(self) -> list[str]:
        """Return the plan and what the benchmarks of every target write: a sweep needs no more."""
        timed = [path for path in self.measurements() if Path(path).name == Stage.BENCHMARK]
        return [self.path(evidence.plan_path()), *self.nested_files(), *timed]

    def evidence_files(self) -> list[str]:
        """Everything the judge looks at."""
        return [self.path(evidence.plan_path()), *self.portable_files(), *self.measurements()]

    def rendered_files(self) -> list[str]:
        """Return what a report is before it is signed."""
        return [f"{self.report_dir}/{name}" for name in (*TEXTS, VERDICTS)]

    def signed_files(self) -> list[str]:
        """Return what signing adds to a report."""
        return [f"{self.report_dir}/{name}" for name in (MANIFEST, ATTESTATION, SIGNER)]

    def finished_files(self) -> list[str]:
        """Return what a finished run leaves for its reader, and the word that it was verified."""
        return [self.path(VERIFIED), *self.rendered_files(), *self.signed_files()]


def card_resource(target: str) -> str:
    """Return the name of the resource that a target's card is to Snakemake."""
    return f"card_{target}"


def load_dag(root: Path, run_dir: str | None) -> Dag:
    """Read what the run in ``run_dir`` (results/<run>) is bound to; nothing is planned here.

    Without a run, as for a linter, there is nothing to do. Raises BadInput where ``./assay`` did
    not start the run.
    """
    if run_dir is None:
        return Dag(NO_REQUEST, NO_PLAN, root, root)
    return Dag(*read_bound(root / run_dir), root / run_dir, root)


def known_costs(root: Path) -> dict[tuple[str, str], BuildCost]:
    """Return what the repository knows of earlier compilations, by artifact and architecture; a
    tree without the file knows nothing.
    """
    path = root / COSTS
    costs = read_record(BuildCosts, path).costs if path.is_file() else ()
    return {(cost.id, cost.arch): cost for cost in costs}
