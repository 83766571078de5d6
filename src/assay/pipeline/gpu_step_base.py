"""The base of steps that measure: where they run, how they measure, how they fail.

A step (see ``gpu_steps``) says what it measures, by ``_begin``, ``_item`` and then ``_batch``; the
rest is in the table of stages.
"""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import dump_record, read_bytes, read_record, write_record
from assay.base.isolation import DEVICE_PATH
from assay.base.progress import say
from assay.base.writable import cache_folder
from assay.catalog.cluster import gpu_type_of
from assay.catalog.project_folder import project_of
from assay.evidence import stages
from assay.images.stage import sif_path
from assay.judging.needs import variants_of
from assay.measuring import resume
from assay.measuring.device_jobs import TargetJobs
from assay.measuring.device_process import run_device_batch
from assay.measuring.held_gpu import held_gpu
from assay.measuring.host_machine import now, record_platform
from assay.measuring.operator_kernels import Builds
from assay.measuring.slurm_grant import SlurmGrant, assert_grant, slurm_grant
from assay.pipeline.dag import Dag, load_dag
from assay.pipeline.slurm_jobs import remember_node, salt_of
from assay.records.base import GpuRecord, Record
from assay.records.builds import BuildRecord
from assay.records.cluster import NO_CLUSTER
from assay.records.plan import TargetPlan
from assay.records.platform import Allocation, Device, PlatformRecord, Target
from assay.runtimes.base import Place, Runtime
from assay.runtimes.choose import open_runtime
from assay.runtimes.host import HostRuntime
from assay.shared.counting import counted
from assay.shared.files import sha256_bytes, sha256_file, write_bytes
from assay.shared.job import DeviceJob

G = TypeVar("G", bound=GpuRecord)
R = TypeVar("R", bound=Record)

PATIENCE_S = 300.0
"""Most seconds of one step beside the figures: each takes a minute or two, and they wait behind."""
PROVEN = (stages.CORRECTNESS, stages.PROGRAMS, stages.CHEATS, stages.SANITIZERS)
"""Stages that prove something of kernels on a GPU, once for the same code, GPU and software."""
NODE_DIGITS = 12
SOFTWARE = {"kernel", "distribution", "runtime", "image_digest", "device", "device_paths"}
"""What a proof rests on, of a platform's record; the code has a digest of its own."""


class MeasuringStep:
    """A run, and the places that its steps use. A step that measures has a target (``_begin``)."""

    target: Target
    """What the step measures on."""
    planned: TargetPlan
    """All jobs of that."""

    def __init__(self, root: Path, run_dir: str) -> None:
        self.root = root
        self.dag: Dag = load_dag(root, run_dir)
        self.run_dir = root / self.dag.run_dir
        self.report_dir = root / self.dag.report_dir
        self.grant: SlurmGrant | None = None
        """Of the cluster's job that this process is part of."""
        self.held: dict[str, float] = {}
        """Seconds for which units of work had each GPU to themselves, by UUID."""
        self._card: str | None = None
        """The GPU that Slurm granted this process, by UUID; None where it granted none."""

    def _begin(self, stage: stages.AnyStage, target: str) -> None:
        """Begin a stage on a target. Raises CheckFailed where a cluster's job was granted anything
        but one whole GPU of the target with nobody else on it.
        """
        self.target, self.planned = self.dag.target(target), self.dag.target_plan(target)
        request, grant = self.dag.request, slurm_grant(os.environ)
        if grant is None:
            if request.cluster is not None:
                raise CheckFailed(f"{target}, {stage.stage}: a job of the cluster runs outside any")
            return
        self.grant = grant
        assert_grant(self.target, gpu_type_of(request.cluster or NO_CLUSTER, self.target), grant)
        self._card = held_gpu(self.target, os.environ)

    @property
    def jobs(self) -> TargetJobs:
        """Return what makes the target's jobs."""
        return TargetJobs(self.dag.catalog, self.target.id)

    def _gpu(self) -> str:
        """Return the GPU that is measured on, by UUID."""
        return self._platform().device.gpu.uuid

    def _place(self) -> Place:
        """Return where GPU jobs run. Raises MissingEnvironment where the GPU is gone."""
        absence = self.planned.provision.absence
        if absence is not None:
            raise MissingEnvironment(f"the GPU of this run was gone by then: {absence}")
        return self._runner()

    def _runner(self) -> Place:
        """Return where GPU jobs run; whoever started a job of a cluster says which GPU it has."""
        request, image = self.dag.request, None
        packages = tuple(map(Path, request.device_paths))
        for path in packages:
            if not path.is_dir():  # on a cluster's node, where nobody looked before
                raise MissingEnvironment(f"{DEVICE_PATH} {path}: no such directory on this machine")
        cache = self.run_dir / "device_cache"
        cache.mkdir(parents=True, exist_ok=True)
        runtime: Runtime = HostRuntime()
        if self.planned.runner:
            runtime = self._runtime()
            image = self._read(stages.RUNNER_IMAGES, self.target.id)
        project = project_of(self.run_dir)
        gpu = next(iter(self.planned.provision.gpus), None)
        ours = (self.root, cache_folder(self.root), Path(sys.prefix))
        protected = (*ours, self.run_dir.parent, self.report_dir.parent)
        return Place(
            runtime, image, request.device_python, packages, cache, project, gpu, protected
        )

    def _compiler(self, arch: str) -> Place:
        """Return where nvcc runs: on the host, or in the image whose record this run holds."""
        target = self.dag.toolchain_target(arch)
        if target is None:
            return Place(HostRuntime())
        return Place(self._runtime(), self._read(stages.TOOLCHAIN_IMAGES, target))

    def _runtime(self) -> Runtime:
        return open_runtime(
            self.dag.request.runtime, sif_of=lambda image: sif_path(self.root, image)
        )

    def _read(self, stage: stages.RunStage[Any, R] | stages.TargetStage[Any, R], *key: str) -> R:
        return read_record(stage.record, self.run_dir / stage.path(*key))

    def _platform(self) -> PlatformRecord:
        return self._read(stages.PLATFORMS, self.target.id)

    def _described(self, device: Device) -> PlatformRecord:
        """Return the record of this machine, with the GPU that the device side found."""
        if self._card not in (None, device.gpu.uuid):
            raise CheckFailed(f"this job was given GPU {self._card}, and ran on {device.gpu.uuid}")
        image = self._runner().image  # a runtime refuses to run any other than the one of this id
        salt = "" if self.grant is None else salt_of(self.run_dir)
        record = record_platform(
            self.dag.request, self.target, device, image.image_id if image else None, salt
        )
        if (grant := self.grant) is None:
            return record
        remember_node(self.run_dir, self.target.id, grant.node)
        allocation = Allocation(
            scheduler="slurm",
            job_id=grant.job_id,
            node=sha256_bytes(f"{salt}{grant.node}".encode())[:NODE_DIGITS],
            partition=grant.partition,
            gpu_model=grant.gpu_model,
            gpu_count=grant.gpu_count,
        )
        return record.model_copy(update={"allocation": allocation})

    def _item(self, stage: stages.AnyStage, of: str, job: DeviceJob, *gate: str) -> resume.Item:
        """Return a measurement, of parts joined by dots; ``gate``: digests it rests on beside."""
        parts = of.split(".") if stage.each else []
        definition = self.dag.definitions(self.target.id).measurement(stage)
        platform = sha256_bytes(dump_record(self._platform()))
        path = self.run_dir / stage.path(self.target.id, *parts)
        return resume.Item(of, job, path, (definition, platform, *gate), self._kept_folder(stage))

    def _gated_items(
        self, stage: stages.AnyStage, names: Iterable[str], job_of: Callable[..., DeviceJob]
    ) -> list[resume.Item]:
        """Return measurements of the arms that each gate lets through; ``job_of`` gets the gate."""
        items = []
        for name in names:
            path = self.run_dir / stages.CORRECTNESS.path(self.target.id, name)
            gate = read_record(stages.CORRECTNESS.record, path)
            self._is_of_target(gate.gpu_uuid)
            job = job_of(name, self._binaries(name), gate)
            items.append(self._item(stage, name, job, sha256_file(path)))
        return items

    def _batch(
        self,
        stage: stages.TargetStage[Any, G],
        items: Sequence[resume.Item],
        measure: resume.Measure[G] | None = None,
    ) -> None:
        """Measure ``items`` but for the finished, by ``measure`` or in one device start."""
        done = self._measured(stage, items, measure)
        for item in items:
            write_record(done[item.name], item.path)
        self._finish(stage, items)

    def _finish(self, stage: stages.AnyStage, items: Iterable[resume.Item]) -> None:
        """Forget what no measurement of a finished stage rests on any more."""
        resume.forget_others(items, self._kept_folder(stage))
        if stage.each is not None:  # without a single item, too, the workflow expects the folder
            (self.run_dir / stage.output(self.target.id)).mkdir(parents=True, exist_ok=True)

    def _measured(
        self,
        stage: stages.TargetStage[Any, G],
        items: Sequence[resume.Item],
        measure: resume.Measure[G] | None = None,
    ) -> dict[str, G]:
        """Return the records of ``items`` by name; none is written to its place."""

        def accept(found: G, new: bool) -> None:
            self._is_of_target(found.gpu_uuid)
            if new and found.on_gpu is not None:
                before = self.held.get(found.gpu_uuid, 0.0)
                self.held[found.gpu_uuid] = before + found.on_gpu.seconds

        def batch(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> resume.Results[G]:
            return run_device_batch(self._place(), jobs, stage.record, into=into)

        beside = self._beside(stage)
        done = resume.measured_batch(items, stage.record, measure or batch, accept, beside)
        if (proofs := self._proofs(stage)) is not None:
            proofs.put(items, done)
        return done

    def _proofs(self, stage: stages.AnyStage) -> resume.Proofs | None:
        """Return what was proved in a stage; None of figures, or of unknown software."""
        if stage not in PROVEN:
            return None
        folder = cache_folder(self.root) / "proven" / stage.stage / self.target.id
        machine = self._machine()
        return None if machine is None else resume.Proofs(folder, self._gpu(), machine)

    def _machine(self) -> str | None:
        """Return a digest of the GPU and of the software beside it, where that is known."""
        found = self._platform()
        if found.device.packages_sha256 is None:
            return None
        software = found.model_dump(mode="json", include=SOFTWARE)
        return sha256_bytes(json.dumps(software, sort_keys=True).encode())

    def _share_sweeps(self, *, keep: bool) -> None:
        """Keep rivals' swept settings for later runs alike in all that counts, or take theirs."""
        machine = self._machine()
        if machine is None or (self.dag.request.prove_again and not keep):
            return
        code = self.dag.definitions(self.target.id).measurement(stages.BENCHMARKS)
        here = self.run_dir / "device_cache" / "sweeps"
        key = sha256_bytes(f"{code} {machine}".encode())
        kept = cache_folder(self.root) / "proven" / "sweeps" / self.target.id / key
        source, to = (here, kept) if keep else (kept, here)
        for path in sorted(source.glob("*.json")):
            if keep or not (to / path.name).exists():
                write_bytes(to / path.name, read_bytes(path))

    def _proven(
        self, stage: stages.TargetStage[Any, G], items: Sequence[resume.Item]
    ) -> dict[str, G]:
        """Return by name what earlier runs proved of items, unless it is to be proven again."""
        proofs = None if self.dag.request.prove_again else self._proofs(stage)
        return proofs.found(items, stage.record) if proofs else {}

    def _take_proven(self, stage: stages.AnyStage, items: Sequence[resume.Item]) -> None:
        """Take what earlier runs proved among what this one keeps."""
        found = self._proven(stage, items)
        for item in (each for each in items if each.name in found):
            write_record(found[item.name], item.kept)
        if found:
            say(f"{stage.stage}: {counted(len(found), 'record')} of an earlier run on this GPU")

    def _beside(self, stage: stages.TargetStage[Any, G]) -> resume.Beside[G] | None:
        """Return how a stage beside the figures fails: into a record of the target's GPU."""
        if (form := stage.failed) is None:
            return None
        gpu = self._gpu()

        def failed(job: DeviceJob, sentence: str) -> G:
            return form(job, gpu, now(), sentence)

        # The figures are there, or come from an earlier start alone.
        gone = self.planned.provision.absence is not None
        measured = gone or (self.run_dir / stages.BENCHMARKS.output(self.target.id)).is_dir()
        return resume.Beside(failed, measured, None if stage is stages.PROFILES else PATIENCE_S)

    def _kept_folder(self, stage: stages.AnyStage) -> Path:
        return resume.kept_folder(self.run_dir, stage.stage, self.target.id)

    def _binary(self, artifact: str) -> tuple[BuildRecord, Path]:
        record = self._read(stages.BUILDS, artifact, self.target.arch)
        where = self.run_dir / "builds" / record.artifact.path if record.artifact else Path()
        return record, where

    def _binaries(self, comparison: str) -> Builds:
        return self._built(variants_of(self.dag.catalog, [comparison]))

    def _built(self, artifacts: Collection[str]) -> Builds:
        jobs = self.dag.builds_of(self.target.id, artifacts)
        return {job.id: self._binary(job.id) for job in jobs}

    def _is_of_target(self, uuid: str) -> None:
        if uuid != self._gpu():
            raise CheckFailed(
                f"target {self.target.id}: the platform record names GPU {self._gpu()}, but this "
                f"job ran on {uuid}"
            )
