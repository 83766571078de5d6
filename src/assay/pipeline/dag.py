"""What Snakemake must know of a run: which files, from which files, on which machine.

The rules in ``workflow/rules`` ask here; nothing here imports Snakemake. A job runs on a GPU node
only when its target's figures are measured in this run, or when a scheduler is to place it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.base.io import load_yaml, read_record
from assay.building.recipe import Kind
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence import stages as evidence
from assay.pipeline.definitions import Definitions
from assay.pipeline.plan import make_plan
from assay.records.plan import BuildJob, Plan, Provision, Request, RunConfig, TargetPlan
from assay.records.targets import Target
from assay.records.timings import Stage

CLUSTER_CORES = 4
"""Cores that a timed job asks a cluster for: its process, its sampler, compilers at run time."""


@dataclass(frozen=True)
class Dag:
    """File lists of one run; all paths are relative to the repository root."""

    catalog: Catalog
    request: Request
    request_path: str | None
    """Where the run keeps its request; the steps read it there."""
    plan: Plan
    draft_path: str | None = None
    """The file that a dry run reads the request from, where the run's own is not this one yet."""

    @property
    def run_dir(self) -> str:
        """results/<run>."""
        return f"results/{self.request.run}"

    @property
    def request_files(self) -> list[str]:
        """The file whose change makes another plan; none for a bare ``snakemake``."""
        path = self.draft_path or self.request_path
        return [path] if path else []

    @property
    def report_dir(self) -> str:
        """reports/<run>."""
        return f"reports/{self.request.run}"

    def path(self, relative: str) -> str:
        """A record of this run by its evidence path."""
        return f"{self.run_dir}/{relative}"

    def target_plan(self, target: str) -> TargetPlan:
        """All jobs of one target."""
        return next(plan for plan in self.plan.targets if plan.target == target)

    def is_measured_here(self, target: str) -> bool:
        """Whether the target's figures are measured in this run."""
        return self.target_plan(target).provision.kind == "device"

    def needs_gpu(self, target: str) -> bool:
        """Whether jobs of the target ask for a GPU."""
        return self.is_measured_here(target) or self.request.executor == "slurm"

    def target(self, name: str) -> Target:
        """The target's description."""
        return self.catalog.targets[name]

    def binaries(self, target: str) -> list[str]:
        """Build records that the comparisons need on this target; none when taken over."""
        if not self.is_measured_here(target):
            return []
        comparisons = self.target_plan(target).comparisons
        return self._records(
            job for name in comparisons for job in self.kernel_builds(target, name)
        )

    def kernel_builds(self, target: str, comparison: str) -> list[BuildJob]:
        """The compilations whose outcome a comparison's arms run on this target."""
        arms = self.catalog.comparisons[comparison].arms
        return self.builds_of(target, {arm.variant for arm in arms})

    def toolchain_target(self, arch: str) -> str | None:
        """The target whose toolchain image compiles for ``arch``; None when the host does."""
        toolchains = self.plan.toolchains
        fitting = [name for name in toolchains if self.target(name).arch == arch]
        return next(iter([*fitting, *toolchains]), None)

    def toolchain_image(self, arch: str) -> list[str]:
        """The record of the image that compiles for ``arch``."""
        target = self.toolchain_target(arch)
        return [] if target is None else [self.path(evidence.toolchain_image_path(target))]

    def runner_image(self, target: str) -> list[str]:
        """The record of the image that the target is measured in."""
        wanted = self.target_plan(target).runner
        return [self.path(evidence.runner_image_path(target))] if wanted else []

    def program_binaries(self, target: str) -> list[str]:
        """Build records of a target's original programs; none when taken over."""
        if not self.is_measured_here(target):
            return []
        programs = {job.program for job in self.target_plan(target).programs}
        return self._records(self.builds_of(target, programs))

    def measurements(self) -> list[str]:
        """What the steps of every target write that has a device or a recorded report."""
        return [
            self.path(path)
            for plan in self.plan.targets
            if plan.provision.kind != "none"
            for path in evidence.target_outputs(plan)
        ]

    def timed_files(self) -> list[str]:
        """The plan and what the benchmarks of every target write: a sweep needs no more."""
        timed = [path for path in self.measurements() if Path(path).name == Stage.BENCHMARK]
        return [self.path(evidence.plan_path()), *timed]

    def evidence_files(self) -> list[str]:
        """Everything the judge looks at."""
        return [self.path(evidence.plan_path()), *self.portable_files(), *self.measurements()]

    def portable_files(self) -> list[str]:
        """What a machine without a compiler takes over: builds, counts, the compilers' images."""
        return [self.path(path) for path in evidence.run_paths(self.plan)]

    def build_kind(self, artifact: str, arch: str) -> Kind:
        """variant, program or probe."""
        return next(job.kind for job in self.plan.builds if (job.id, job.arch) == (artifact, arch))

    def definitions(self, target: str) -> Definitions:
        """What the target's measurements rest on: measure again when it changes."""
        return Definitions(self.catalog, self.request, self.target_plan(target))

    def definition(self, stage: str, target: str) -> str:
        """Digest of what a stage's records of a target rest on."""
        return self.definitions(target).stage(stage)

    def builds_of(self, target: str, artifacts: Collection[str]) -> list[BuildJob]:
        """The compilations of ``artifacts`` for the architecture of a target."""
        arch = self.target(target).arch
        return [job for job in self.plan.builds if job.arch == arch and job.id in artifacts]

    def operator_binaries(self, target: str) -> list[str]:
        """Build records that the operators need; none when taken over."""
        wanted = self.target_plan(target).operators if self.is_measured_here(target) else ()
        return self._records(self.builds_of(target, wanted))

    def _records(self, jobs: Iterable[BuildJob]) -> list[str]:
        paths = [self.path(evidence.BUILDS.path(job.id, job.arch)) for job in jobs]
        return list(dict.fromkeys(paths))

    def threads(self, target: str, cores: int) -> int:
        """Cores of a timed job; ``cores`` are those of the machine that runs the workflow.

        Here a measurement has the whole machine: compilers beside it would disturb its launches.
        A cluster's node is another machine, which need not have as many.
        """
        if not self.is_measured_here(target):
            return 1
        return CLUSTER_CORES if self.request.executor == "slurm" else cores

    def gpu_resources(self, target: str) -> dict[str, int | str]:
        """Snakemake resources of a job of this target."""
        if not self.needs_gpu(target):
            return {"gpu": 0, "gpu_model": "", "slurm_partition": ""}
        described = self.target(target)
        return {
            "gpu": 1,
            "gpu_model": described.gpu_model,
            "slurm_partition": described.slurm_partition,
        }


def load_dag(root: Path, request_path: str | None, draft_path: str | None = None) -> Dag:
    """Read the request (or take the defaults of config/config.yaml, with no GPU) and plan it.

    ``draft_path`` is read in the place of ``request_path`` where a dry run names one.
    """
    catalog = load_catalog(root)
    if request_path is None:
        request = default_request(root)
    else:
        request = read_record(Request, root / (draft_path or request_path))
    return Dag(catalog, request, request_path, make_plan(catalog, request), draft_path)


def default_request(root: Path) -> Request:
    """What a bare ``snakemake`` runs: the configured sources, nothing measured."""
    defaults = load_yaml(RunConfig, root / "config" / "config.yaml")
    return Request(
        schema="assay/request/1",
        run="default",
        sources=defaults.sources,
        targets=tuple(
            Provision(
                target=name,
                kind="none",
                recorded_in=None,
                detail="snakemake was started without a request; use ./assay reproduce",
            )
            for name in defaults.targets
        ),
        runtime="host",
        executor=defaults.executor,
        device_python="python3",
        prebuilt=None,
        signing_key="",
        commit=None,
        clean_tree=None,
    )
