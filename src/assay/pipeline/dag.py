"""The files of a run as Snakemake must know them: from which files, on which machine.

The rules in ``workflow/rules`` ask here; nothing here imports Snakemake. A job runs on a GPU node
only when its target's figures are measured in this run.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.base.errors import MissingEnvironment
from assay.building.recipe import Kind, file_command
from assay.catalog.cluster import USUAL, gpu_type_of, wishes_of
from assay.catalog.load import catalog_files, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import EVIDENCE_FOLDER, project_of
from assay.evidence import stages as evidence
from assay.measuring.slurm_grant import gpus_of_node
from assay.pipeline.definitions import Definitions
from assay.pipeline.run_files import VERIFIED, read_bound, report_path, run_path
from assay.pipeline.slurm_jobs import node_of
from assay.records.attestation import ATTESTATION, MANIFEST, SIGNER, TEXTS, VERDICTS
from assay.records.plan import BuildJob, EarlierReport, Plan, Request, TargetPlan
from assay.records.platform import Target
from assay.records.timings import Stage

UNASKED = {"mem_mb": 0, "runtime": 0, "gpu": 0}
"""Of resources that Snakemake wants as a number, the one for which Slurm is asked nothing."""

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

    def ours(self, name: str) -> str:
        """Return a file of the repository as the workflow names it, which works elsewhere for a
        project.
        """
        return name if self.request.home is None else str(self.root / name)

    def compiled(self, name: str) -> str:
        """Return a file that a compiler reads, by its path in the build directory."""
        ours = name.partition("/")[0] != EVIDENCE_FOLDER
        return self.ours(name) if ours else self.path(name)

    @property
    def project(self) -> Path | None:
        """Return the copy of the project whose run it is; None of the repository's own."""
        return project_of(self.files)

    def path(self, relative: str) -> str:
        """Return a record of this run by its evidence path."""
        return f"{self.run_dir}/{relative}"

    def catalog_files(self) -> list[str]:
        """Return the configuration that the run was planned from, as files."""
        return [self.path(name) for name in catalog_files(self.files)]

    @property
    def targets(self) -> list[str]:
        """Return every target that a file of the run is named after."""
        return list(dict.fromkeys([*(t.target for t in self.plan.targets), *self.plan.toolchains]))

    def output(self, stage: str) -> str:
        """Return what the rule of a stage that measures writes, for any target."""
        return self.path(evidence.target_stage(stage).output("{target}"))

    def log(self, stage: str) -> str:
        """Return the log of such a rule."""
        return self.path(f"logs/{{target}}/{stage}.log")

    def target_plan(self, target: str) -> TargetPlan:
        """Return all jobs of one target."""
        return next(plan for plan in self.plan.targets if plan.target == target)

    def target(self, name: str) -> Target:
        """Return the target's description."""
        return self.catalog.targets[name]

    def binaries(self, target: str) -> list[str]:
        """Build records that the comparisons need on this target."""
        comparisons = self.target_plan(target).comparisons
        return self._records(
            job for name in comparisons for job in self.kernel_builds(target, name)
        )

    def kernel_builds(self, target: str, comparison: str) -> list[BuildJob]:
        """Return the compilations whose outcome a comparison's arms run on this target."""
        arms = self.catalog.comparisons[comparison].arms
        return self.builds_of(target, {arm.variant for arm in arms})

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

    def command_images(self, target: str) -> list[str]:
        """Return the records of the images that a target's commands are built and run in."""
        if not self.target_plan(target).originals:
            return []
        return [*self.runner_image(target), *self.toolchain_image(self.target(target).arch)]

    def runner_image(self, target: str) -> list[str]:
        """Return the record of the image that the target is measured in."""
        wanted = self.target_plan(target).runner
        return [self.path(evidence.runner_image_path(target))] if wanted else []

    def program_binaries(self, target: str) -> list[str]:
        """Build records of a target's original programs."""
        programs = {job.program for job in self.target_plan(target).programs}
        return self._records(self.builds_of(target, programs))

    def measurements(self) -> list[str]:
        """Return what the steps of every target write that is measured here, and the reports that
        others' figures come from.
        """
        nested = self.nested_files()
        measured = (plan for plan in self.plan.targets if plan.provision.kind == "device")
        written = (path for plan in measured for path in evidence.target_outputs(plan))
        return [*nested, *map(self.path, written)]

    def nested_files(self) -> list[str]:
        """Return a file of each report that others' figures come from, which is copied whole."""
        names = evidence.nested_reports(self.plan.targets)
        return [self.path(f"{evidence.earlier_path(name)}/{MANIFEST}") for name in names]

    def earlier(self, name: str) -> str:
        """Return what a report that is taken over rests on: copy it again when it is another."""
        return self.earlier_report(name).manifest_sha256

    def earlier_report(self, name: str) -> EarlierReport:
        """Return a report that is taken over."""
        return next(each for each in self.request.earlier if each.name == name)

    def finished_files(self) -> list[str]:
        """Return what a finished run leaves for its reader, and the word that it was verified."""
        signed = (MANIFEST, ATTESTATION, SIGNER)
        report = [*self.rendered_files(), *(f"{self.report_dir}/{name}" for name in signed)]
        return [self.path(VERIFIED), *report]

    def rendered_files(self) -> list[str]:
        """Return what a report is before it is signed."""
        return [f"{self.report_dir}/{name}" for name in (*TEXTS, VERDICTS)]

    def timed_files(self) -> list[str]:
        """Return the plan and what the benchmarks of every target write: a sweep needs no more."""
        timed = [path for path in self.measurements() if Path(path).name == Stage.BENCHMARK]
        return [self.path(evidence.plan_path()), *self.nested_files(), *timed]

    def evidence_files(self) -> list[str]:
        """Everything the judge looks at."""
        return [self.path(evidence.plan_path()), *self.portable_files(), *self.measurements()]

    def portable_files(self) -> list[str]:
        """Return what a machine without a compiler takes over: builds, counts, the compilers'
        images.
        """
        return [self.path(path) for path in evidence.run_files(self.plan)]

    def build_kind(self, artifact: str, arch: str) -> Kind:
        """variant, program or probe."""
        return next(job.kind for job in self.plan.builds if (job.id, job.arch) == (artifact, arch))

    def file_compile(self, artifact: str, arch: str) -> str:
        """Return what the compilation of a file as published rests on: compile again when it
        changes."""
        published = {
            each.id: each for file in self.catalog.sources.values() for each in file.compilations
        }[artifact]
        given = next(e for e in self.request.compilations if e.job.key == (artifact, arch))
        command = " ".join(file_command(published.file, arch))
        return f"{given.job.checkout.sha256} {command}"

    def definitions(self, target: str) -> Definitions:
        """Return what the target's measurements rest on: measure again when it changes."""
        return Definitions(self.catalog, self.request, self.target_plan(target))

    def definition(self, stage: str, target: str) -> str:
        """Digest of what a stage's records of a target rest on."""
        return self.definitions(target).stage(stage)

    def builds_of(self, target: str, artifacts: Collection[str]) -> list[BuildJob]:
        """Return the compilations of ``artifacts`` for the architecture of a target."""
        arch = self.target(target).arch
        return [job for job in self.plan.builds if job.arch == arch and job.id in artifacts]

    def operator_binaries(self, target: str) -> list[str]:
        """Build records that the operators need."""
        return self._records(self.builds_of(target, self.target_plan(target).operators))

    def _records(self, jobs: Iterable[BuildJob]) -> list[str]:
        paths = [self.path(evidence.BUILDS.path(job.id, job.arch)) for job in jobs]
        return list(dict.fromkeys(paths))

    def threads(self, target: str, cores: int) -> int:
        """Cores of a timed job; ``cores`` are those of the machine that runs the workflow.

        Here a measurement has the whole machine: compilers beside it would disturb its launches.
        A cluster's node is another machine, which need not have as many (see ``resources``).
        """
        return cores if self.request.executor == "local" else 1

    def asked(self, name: str) -> Callable[..., int | str | None]:
        """Return the function by which Snakemake asks what a job wants of a resource."""

        def of_job(wildcards: Any, rulename: str) -> int | str | None:
            return self.resources(wildcards.target, rulename).get(name) or UNASKED.get(name)

        return of_job

    @property
    def cards(self) -> dict[str, Callable[..., int]]:
        """Return a resource for each target, of which a run has one: its card on a cluster's node.

        Where a node has several cards, jobs of a target that ran at the same time would each get
        another one, and what is measured of a comparison is measured on one.
        """

        def asked_of(target: str) -> Callable[..., int]:
            return lambda wildcards: int(wildcards.target == target and self._has_choice(target))

        return {card_resource(name): asked_of(name) for name in self.targets}

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
