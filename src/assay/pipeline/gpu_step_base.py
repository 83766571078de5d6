"""What the steps that measure are made of: where they run, what they take over, how they fail.

A step (see ``measuring_steps``) says what it measures and how that fails, by ``_take_over``,
``_item`` and then ``_batch``, or ``_tell`` for a lone record beside the figures.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from assay.base.errors import CheckFailed
from assay.base.io import read_record, write_record
from assay.evidence import stages as evidence
from assay.images.stage import sif_path
from assay.measuring.best_effort import PATIENCE_S, told, told_of_all
from assay.measuring.device_process import run_device_job
from assay.measuring.host_platform import assert_allocation, slurm_allocation
from assay.measuring.resume import Item, Job, Measure, measure_batch, row_at
from assay.pipeline import reuse as recorded
from assay.pipeline.dag import Dag, load_dag
from assay.records.builds import BuildRecord
from assay.records.images import ImageRecord
from assay.records.measurements import (
    BenchmarkRecord,
    CheatsRecord,
    CorrectnessRecord,
    ProfileRecord,
    ProgramRecord,
    StopwatchRecord,
)
from assay.records.operators import OperatorsRecord
from assay.records.platform import PlatformRecord
from assay.records.sanitizer import SanitizerRecord
from assay.runtimes.base import Place, Runtime
from assay.runtimes.choose import open_runtime
from assay.runtimes.host import HostRuntime
from assay.shared.files import sha256_file

M = TypeVar("M", CorrectnessRecord, BenchmarkRecord, ProfileRecord, ProgramRecord, StopwatchRecord)
"""Records that are measured in batches; each names its GPU."""
S = TypeVar("S", ProfileRecord, StopwatchRecord)
T = TypeVar("T", CheatsRecord, SanitizerRecord, OperatorsRecord)
"""Records beside the figures, in batches and alone."""


class MeasuringParts:
    """A run, and what its steps share."""

    def __init__(self, root: Path, request_path: str | None) -> None:
        self.root = root
        self.dag: Dag = load_dag(root, request_path)
        self.run_dir = root / self.dag.run_dir
        self.report_dir = root / self.dag.report_dir

    def _runner(self, target: str) -> Place:
        """Where GPU jobs run."""
        python = self.dag.request.device_python
        cache = self.run_dir / "device_cache"
        cache.mkdir(parents=True, exist_ok=True)
        if not self.dag.target_plan(target).runner:
            return Place(HostRuntime(), python=python, cache=cache)
        path = self.run_dir / evidence.runner_image_path(target)
        image = read_record(ImageRecord, path)
        return Place(self._runtime(), image, python, cache)

    def _runtime(self) -> Runtime:
        return open_runtime(
            self.dag.request.runtime, sif_of=lambda image: sif_path(self.root, image)
        )

    def _report_of(self, target: str) -> Path:
        recorded_in = self.dag.target_plan(target).provision.recorded_in
        assert recorded_in is not None
        return Path(self.dag.request.recorded_dirs[target])

    def _take_over(self, target: str, path: str) -> bool:
        """Copy a recorded file where the plan says so. A GPU job first asserts its allocation."""
        name = path.removeprefix(f"{target}/").split(".json")[0].replace("/", ".")
        return self._take_over_all(target, name, [path])

    def _take_over_all(self, target: str, step: str, paths: Iterable[str]) -> bool:
        """As _take_over, with all files of a step."""
        allocation = slurm_allocation(os.environ) if self.dag.needs_gpu(target) else None
        if allocation is None and self.dag.request.executor == "slurm":
            raise CheckFailed(f"{target}, {step}: a job of the cluster runs outside any Slurm job")
        assert_allocation(self.dag.target(target), allocation)
        if allocation is not None:
            write_record(allocation, self.run_dir / "allocations" / target / f"{step}.json")
        if self.dag.is_measured_here(target):
            return False
        for path in paths:
            recorded.take(self._report_of(target), path, self.run_dir)
        return True

    def _comparisons(self, target: str) -> tuple[str, ...]:
        return self.dag.target_plan(target).comparisons

    def _item(
        self,
        stage: str,
        target: str,
        comparison: str | None,
        job: Job,
        path: str,
        *gate: str,
        name: str = "",
    ) -> Item:
        """One measurement, of a comparison if it has one, by whose name it goes but for ``name``.

        ``gate``: digests of what it depends on beside.
        """
        platform = sha256_file(self.run_dir / evidence.platform_path(target))
        rests_on = (self.dag.definitions(target).measurement(stage, comparison), platform, *gate)
        return Item(name or comparison or "", job, self.run_dir / path, rests_on)

    def _batch(
        self,
        target: str,
        stage: str,
        items: Sequence[Item],
        record: type[M],
        measure: Measure[M] | None = None,
    ) -> None:
        """Measure ``items``, or take up what an earlier start of this run finished of them.

        In one start of the device side, unless ``measure`` says how else.
        """
        measure_batch(
            items,
            record,
            self.run_dir / "kept" / stage / target,
            measure or row_at(self._runner(target), record),
            lambda found: self._same_gpu(target, found.gpu_uuid),
        )
        # Of a batch without a single item, too, the workflow expects the folder.
        (self.run_dir / target / stage).mkdir(parents=True, exist_ok=True)

    def _gated_items(
        self, stage: str, target: str, paths: Mapping[str, str], job_of: Callable[..., Job]
    ) -> list[Item]:
        """An item for each comparison, of the arms that its gate lets through.

        ``job_of``: of catalog, target, comparison, binaries and the gate's record.
        """
        catalog, items = self.dag.catalog, []
        for comparison, path in paths.items():
            gate_path = self.run_dir / evidence.correctness_path(target, comparison)
            gate = read_record(CorrectnessRecord, gate_path)
            self._same_gpu(target, gate.gpu_uuid)
            binaries = self._binaries(target, comparison)
            job = job_of(catalog, target, comparison, binaries, gate)
            items.append(self._item(stage, target, comparison, job, path, sha256_file(gate_path)))
        return items

    def _told_of_all(
        self,
        target: str,
        measure: Measure[S],
        record: type[S],
        failed: Callable[[Job, str, str], S],
        patience_s: float | None = PATIENCE_S,
    ) -> Measure[S]:
        """A batch of which nothing fails the step; ``failed``: of job, GPU and sentence."""
        uuid = self._platform(target).device.gpu.uuid
        return told_of_all(
            measure,
            record,
            lambda found: self._same_gpu(target, found.gpu_uuid),
            lambda job, sentence: failed(job, uuid, sentence),
            measured=self._is_measured(target),
            patience_s=patience_s,
        )

    def _tell(
        self,
        target: str,
        path: str,
        job: Job,
        record: type[T],
        failed: Callable[[Job, str, str], T],
    ) -> None:
        """A lone measurement that does not fail the step; ``failed`` as for _told_of_all."""
        uuid = self._platform(target).device.gpu.uuid

        def attempt() -> T:
            found = run_device_job(self._runner(target), job, record)
            self._same_gpu(target, found.gpu_uuid)
            return found

        found = told(
            attempt,
            lambda sentence: failed(job, uuid, sentence),
            measured=self._is_measured(target),
        )
        write_record(found, self.run_dir / path)

    def _is_measured(self, target: str) -> bool:
        """Whether the figures of a target are there."""
        return (self.run_dir / target / "benchmark").is_dir()

    def _binary(self, artifact: str, arch: str) -> tuple[BuildRecord, Path]:
        record = read_record(BuildRecord, self.run_dir / evidence.build_path(artifact, arch))
        if record.artifact is None:
            return record, Path()
        return record, self.run_dir / "builds" / record.artifact.path

    def _binaries(self, target: str, comparison: str) -> dict[str, tuple[BuildRecord, Path]]:
        jobs = self.dag.kernel_builds(target, comparison)
        return {job.id: self._binary(job.id, job.arch) for job in jobs}

    def _platform(self, target: str) -> PlatformRecord:
        return read_record(PlatformRecord, self.run_dir / evidence.platform_path(target))

    def _same_gpu(self, target: str, uuid: str) -> None:
        expected = self._platform(target).device.gpu.uuid
        if uuid != expected:
            raise CheckFailed(
                f"target {target}: the platform record names GPU {expected}, "
                f"but this job ran on {uuid}"
            )
