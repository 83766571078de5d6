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

from assay.base.io import read_record
from assay.building.recipe import Compilation, Kind, describe, file_command
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.cluster import USUAL, gpu_type_of, wishes_of
from assay.catalog.load import catalog_files, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import EVIDENCE_FOLDER, project_of
from assay.evidence import stages as evidence
from assay.judging.needs import variants_of
from assay.pipeline.definitions import Definitions
from assay.pipeline.run_files import MEASURED, VERIFIED, read_bound, report_path, run_path
from assay.pipeline.slurm_jobs import node_of
from assay.records.attestation import ATTESTATION, MANIFEST, SIGNER, TEXTS, VERDICTS
from assay.records.builds import BuildCost, BuildCosts
from assay.records.originals import FileCompileRequest
from assay.records.plan import BuildJob, EarlierReport, Plan, Request, TargetPlan
from assay.records.platform import Target

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
        found = (source.path for source in self.described(wildcards).sources)
        project = f"{EVIDENCE_FOLDER}/"
        return [self.path(n) if n.startswith(project) else self._ours(n) for n in found]

    def build_priority(self, wildcards: Any) -> int:
        """Return processor seconds of a build: what takes longest is started first."""
        return math.ceil(self._cost(wildcards).cpu_seconds)

    def build_memory_mb(self, wildcards: Any) -> int:
        """Return the memory that a build takes, in MB of 1,000,000 bytes."""
        return math.ceil(self._cost(wildcards).peak_bytes * MEMORY_PERCENT / (100 * MB))

    def build_kind(self, artifact: str, arch: str) -> Kind:
        """variant, program or probe."""
        return next(job.kind for job in self.plan.builds if (job.id, job.arch) == (artifact, arch))

    def described(self, wildcards: Any) -> Compilation:
        """Return a build as data; its key changes with anything that its outcome rests on."""
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
        """Return what compiling a published file rests on; a digest stands for the checkout."""
        given, file = self.published(wildcards.artifact, wildcards.arch)
        return f"{given.job.checkout.sha256} {' '.join(file_command(file, wildcards.arch))}"

    def toolchain_target(self, arch: str) -> str | None:
        """Return the target whose image compiles for ``arch``; None when the host does."""
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

    def inputs(self, wildcards: Any) -> Iterator[str]:
        """Yield what a target's figures are made from; not the plan, but definitions decide."""
        plan = self.target_plan(wildcards.target)
        if plan.runner:
            # Docker's own layer of caches must not decide: the step compares digests.
            yield from self.ours("containers/*.*", "requirements/runner.txt")
        if plan.originals:
            yield from self.toolchain_image(self.target(plan.target).arch)
        compiled = variants_of(self.catalog, plan.comparisons)
        for job in self.builds_of(plan.target, compiled.union(j.program for j in plan.programs)):
            yield self.path(evidence.BUILDS.path(job.id, job.arch))

    def definitions(self, target: str) -> Definitions:
        """Return what the target's measurements rest on."""
        return Definitions(self.catalog, self.request, self.target_plan(target))

    def stages_of(self, target: str) -> list[evidence.AnyStage]:
        """Return the stages of a target in the order of TARGET_STAGES: printed figures before the
        benchmark that asks which verdicts hang on them, and figures before what stands beside them,
        for a GPU that is lent may go back. A sweep for its own sake needs nothing beside.
        """
        plan, swept = self.target_plan(target), self.request.tuning and not self.request.sources
        left_out = evidence.Purpose.BESIDE if swept else None
        return [
            each for each in evidence.TARGET_STAGES if each.keys(plan) and each.purpose != left_out
        ]

    def gpu_resources(self) -> dict[str, Callable[[Any], int | str | None]]:
        """Return the functions by which Snakemake asks what a job wants of each resource."""

        def asked(name: str, wildcards: Any) -> int | str | None:
            return self.resources(wildcards.target).get(name)

        targets = [plan.target for plan in self.plan.targets][:1]
        return {name: partial(asked, name) for each in targets for name in self.resources(each)}

    def resources(self, target: str) -> dict[str, int | str | None]:
        """Return Snakemake's resources of a job: one GPU, and of a cluster what its site says; None
        is not asked for, but for memory and minutes, which Snakemake always wants.
        """
        cluster = self.request.cluster
        if cluster is None:
            return {"gpu": 1, "mem_mb": USUAL.memory_mb, "runtime": USUAL.minutes}
        described, wishes = self.target(target), wishes_of(cluster, target)
        gpu_type = gpu_type_of(cluster, described)
        by_gres = cluster.gpu_option == "gres"
        # A further start measures on the node of the first: that of its platform.
        node = node_of(self.root / self.run_dir, target)
        nodes = wishes.nodes if node is None else (node,)
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

    def measurements(self) -> list[str]:
        """Return the word on each target measured here, and a file of each nested report."""
        nested = evidence.nested_reports(self.plan.targets)
        measured = (each for each in self.plan.targets if each.provision.kind == "device")
        return [
            *(self.path(f"{evidence.earlier_path(name)}/{MANIFEST}") for name in nested),
            *(self.path(MEASURED.format(plan.target)) for plan in measured),
        ]

    def portable_files(self) -> list[str]:
        """Return what a machine without a compiler takes over."""
        return [self.path(path) for path in evidence.run_files(self.plan)]

    def timed_files(self) -> list[str]:
        """Return the plan and the word on every target: a sweep needs no more."""
        return [self.path(evidence.plan_path()), *self.measurements()]

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


def load_dag(root: Path, run_dir: str | None) -> Dag:
    """Read what the run in ``run_dir`` is bound to; a linter has none. Raises BadInput."""
    if run_dir is None:
        return Dag(NO_REQUEST, NO_PLAN, root, root)
    return Dag(*read_bound(root / run_dir), root / run_dir, root)


def known_costs(root: Path) -> dict[tuple[str, str], BuildCost]:
    """Return what compilations cost before, by artifact and architecture; {} without a file."""
    path = root / COSTS
    costs = read_record(BuildCosts, path).costs if path.is_file() else ()
    return {(cost.id, cost.arch): cost for cost in costs}
