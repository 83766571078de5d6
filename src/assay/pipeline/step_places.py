"""Where a step runs: the machine, its GPUs, and of a cluster's job the one that it was granted."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_record, write_record
from assay.base.isolation import DEVICE_PATH
from assay.catalog.cluster import gpu_type_of
from assay.catalog.project_folder import project_of
from assay.evidence.entries import TargetStage
from assay.evidence.stages import PLATFORMS, RUNNER_IMAGES, TOOLCHAIN_IMAGES
from assay.images.stage import sif_path
from assay.measuring.device_jobs import probe_devices
from assay.measuring.gpu_places import cores_of_gpus
from assay.measuring.held_gpu import cgroup_limits, held_gpu, prepare_node
from assay.measuring.host_machine import joined, record_platform
from assay.measuring.slurm_grant import assert_grant, slurm_grant
from assay.pipeline.dag import Dag, load_dag
from assay.pipeline.slurm_jobs import JobJournal, salt_of
from assay.records.cluster import NO_CLUSTER
from assay.records.plan import TargetPlan
from assay.records.platform import Device, PlatformRecord, Target
from assay.runtimes.base import Place, Runtime
from assay.runtimes.choose import open_runtime
from assay.runtimes.host import HostRuntime


class StepPlaces:
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
        self.job: JobJournal | None = None
        """That of the cluster which this process is part of."""
        self.held: dict[str, float] = {}
        """Seconds for which units of work had each GPU to themselves, by UUID."""
        self._lost: set[str] = set()
        """GPUs that were not to be had, or not any more."""
        self._card: str | None = None
        """The GPU that Slurm granted this process, by UUID; None where it granted none."""

    def _begin(self, stage: TargetStage[Any, Any], target: str) -> None:
        """Begin the step of a stage on a target. Take down the job of a cluster that this is, and
        prove the GPU that it was granted.

        Raises CheckFailed where that is anything else than one whole GPU of the target with nobody
        else on it.
        """
        self.target, self.planned = self.dag.target(target), self.dag.target_plan(target)
        request, grant = self.dag.request, slurm_grant(os.environ)
        if grant is None:
            if request.cluster is not None:
                raise CheckFailed(f"{target}, {stage.stage}: a job of the cluster runs outside any")
            return
        cluster = request.cluster or NO_CLUSTER
        self.job = JobJournal(self.run_dir, target, stage.stage, grant, cgroup_limits())
        assert_grant(self.target, gpu_type_of(cluster, self.target), grant)
        prepare_node(cluster)
        gpu = held_gpu(self.target, os.environ, grant.gpu_index)
        self._card = gpu.uuid
        if stage is not PLATFORMS and self._platform().of_card(gpu.uuid) is None:
            self._join(gpu.uuid)
        self.job.held(gpu)

    def _join(self, card: str) -> None:
        """Have the platform's record name the card of this job, where Slurm granted another one of
        the node than before.
        """
        path, earlier = self.run_dir / PLATFORMS.path(self.target.id), self._platform()
        (device,) = probe_devices(self._runner(), self.target, ())
        found = joined(earlier, self._described(device))
        if found.device != earlier.device:
            raise MissingEnvironment(
                f"target {self.target.id} is measured on GPU {earlier.device.gpu.uuid}, and this "
                f"job was given {card}, where driver, software or commit are others by now: start "
                "the run again when that card is free, or a new run"
            )
        dated = path.stat().st_mtime_ns
        write_record(found, path)
        os.utime(path, ns=(dated, dated))  # no measurement rests on which other cards there are

    def end_job(self, error: Exception | None) -> None:
        """Take down how the job of a cluster ended that this is, if it is one."""
        if self.job is not None:
            self.job.end(error)

    def _gpus(self) -> list[str]:
        """Return the GPUs that are measured on now, by UUID: the one that Slurm granted, or those
        of the platform's record that this start offers.
        """
        offered = self.planned.provision.gpus if self._card is None else (self._card,)
        every = [device.gpu.uuid for device in self._platform().devices]
        usable = [uuid for uuid in every if uuid in offered] if offered else every[:1]
        return [uuid for uuid in usable if uuid not in self._lost]

    def _first_gpu(self) -> str:
        """Return the GPU of jobs that make a record of their own."""
        return next(iter(self._gpus()), self._platform().device.gpu.uuid)

    def _place(self, gpu: str) -> Place:
        """Return where jobs on one GPU run, with its share of the processors where it has
        neighbours. Raises MissingEnvironment where an earlier start had it, and it is gone.
        """
        provision, gpus = self.planned.provision, self._gpus()
        if provision.absence is not None:
            raise MissingEnvironment(f"the GPU of this run was gone by then: {provision.absence}")
        runner = self._runner()
        if not provision.gpus:
            return runner  # whoever started this job says which GPU it has
        if len(gpus) == 1:
            return replace(runner, gpu=gpu)
        devices = {device.gpu.uuid: device.gpu for device in self._platform().devices}
        cores = cores_of_gpus(devices[uuid] for uuid in gpus)
        label = f" (GPU {devices[gpu].index})"
        return replace(runner, gpu=gpu, cores=cores.get(gpu, ()), label=label)

    def _runner(self) -> Place:
        """Return where GPU jobs run."""
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
            path = self.run_dir / RUNNER_IMAGES.path(self.target.id)
            image = read_record(RUNNER_IMAGES.record, path)
        project = project_of(self.run_dir)
        return Place(runtime, image, request.device_python, packages, cache, project)

    def _compiler(self, arch: str) -> Place:
        """Return where nvcc runs: on the host, or in the image whose record this run holds."""
        target = self.dag.toolchain_target(arch)
        if target is None:
            return Place(HostRuntime())
        path = self.run_dir / TOOLCHAIN_IMAGES.path(target)
        return Place(self._runtime(), read_record(TOOLCHAIN_IMAGES.record, path))

    def _runtime(self) -> Runtime:
        return open_runtime(
            self.dag.request.runtime, sif_of=lambda image: sif_path(self.root, image)
        )

    def _platform(self) -> PlatformRecord:
        return read_record(PLATFORMS.record, self.run_dir / PLATFORMS.path(self.target.id))

    def _described(self, device: Device, others: Sequence[Device] = ()) -> PlatformRecord:
        """Return the record of this machine, with GPUs that the device side found."""
        self._is_granted(device.gpu.uuid)
        image = self._runner().image  # a runtime refuses to run any other than the one of this id
        salt = "" if self.job is None else salt_of(self.run_dir)
        return record_platform(
            self.dag.request, self.target, device, image.image_id if image else None, others, salt
        )

    def _is_granted(self, uuid: str) -> None:
        """Require the card that Slurm granted, where it granted one."""
        if self._card not in (None, uuid):
            raise CheckFailed(f"this job was given GPU {self._card}, and ran on {uuid}")
