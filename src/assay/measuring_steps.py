"""The steps that measure on a target: what they find, measure and write, or take over.

Most are batches: one job of the workflow measures a stage of all comparisons of a target, in one
start of the device side, and writes a folder. To add one: paths, items, ``_batch``.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from assay import evidence, measure, recorded
from assay.batch import Item, Job, Measure, Results, measure_batch, row_at
from assay.dag import Dag, load_dag
from assay.device_link import run_device_job
from assay.errors import CheckFailed
from assay.image import sif_path
from assay.io import read_record, sha256_file, write_record
from assay.operator_kernels import operators_job
from assay.platform_probe import assert_allocation, record_platform, slurm_allocation
from assay.profile import profile_arms
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
from assay.side_evidence import (
    PATIENCE_S,
    failed_cheats,
    failed_operators,
    failed_profile,
    failed_sanitizer,
    failed_stopwatch,
    told,
    told_of_all,
)

M = TypeVar("M", CorrectnessRecord, BenchmarkRecord, ProfileRecord, ProgramRecord, StopwatchRecord)
"""Records that are measured in batches; each names its GPU."""
S = TypeVar("S", ProfileRecord, StopwatchRecord)
T = TypeVar("T", CheatsRecord, SanitizerRecord, OperatorsRecord)
"""Records beside the figures, in batches and alone."""


class MeasuringSteps:
    """The steps that need a target's GPU, where its figures are measured in this run."""

    def __init__(self, root: Path, request_path: str | None) -> None:
        self.root = root
        self.dag: Dag = load_dag(root, request_path)
        self.run_dir = root / self.dag.run_dir
        self.report_dir = root / self.dag.report_dir

    def platform(self, target: str) -> None:
        """Record host and device; assert that the GPU is the target."""
        if self._take_over(target, evidence.platform_path(target)):
            recorded.take_origin(self._report_of(target), target, self.run_dir)
            return
        place = self._runner(target)
        device = measure.probe_device(place, self.dag.target(target))
        # A runtime refuses to run any other image than the one with this id.
        image_id = place.image.image_id if place.image else None
        write_record(
            record_platform(self.dag.request, self.dag.target(target), device, image_id),
            self.run_dir / evidence.platform_path(target),
        )

    def correctness(self, target: str) -> None:
        """The gate, of every comparison."""
        paths = {c: evidence.correctness_path(target, c) for c in self._comparisons(target)}
        if self._take_over_all(target, "correctness", paths.values()):
            return
        catalog, items = self.dag.catalog, []
        for comparison, path in paths.items():
            binaries = self._binaries(target, comparison)
            job = measure.correctness_job(catalog, target, comparison, binaries)
            items.append(self._item(target, comparison, job, path))
        self._batch(target, "correctness", items, CorrectnessRecord)

    def benchmark(self, target: str) -> None:
        """Raw samples of every comparison's arms that passed the gate."""
        paths = {c: evidence.benchmark_path(target, c) for c in self._comparisons(target)}
        if self._take_over_all(target, "benchmark", paths.values()):
            return
        items = self._gated_items(target, paths, measure.benchmark_job)
        self._batch(target, "benchmark", items, BenchmarkRecord)

    def program(self, target: str) -> None:
        """Every original program, with each of its lists of arguments."""
        programs = self.dag.target_plan(target).programs
        paths = {planned.id: evidence.program_path(target, planned.id) for planned in programs}
        if self._take_over_all(target, "program", paths.values()):
            return
        items = []
        for planned in programs:
            build, artifact = self._binary(planned.program, self.dag.target(target).arch)
            if build.artifact is None:
                continue  # its build record says why, and the judge looks there
            job = measure.program_job(self.dag.catalog, target, planned, build, artifact)
            items.append(self._item(target, None, job, paths[planned.id], name=planned.id))
        self._batch(target, "program", items, ProgramRecord)

    def profile(self, target: str) -> None:
        """Nsight Compute's metrics of every arm that the comparisons name."""
        arms = self.dag.target_plan(target).profiles
        paths = {(c, arm): evidence.profile_path(target, c, arm) for c, arm in arms}
        if self._take_over_all(target, "profile", paths.values()):
            return
        catalog, place = self.dag.catalog, self._runner(target)
        uuid = self._platform(target).device.gpu.uuid
        items = []
        for (comparison, arm), path in paths.items():
            binaries = self._binaries(target, comparison)
            job = measure.profile_job(catalog, target, comparison, arm, binaries)
            items.append(self._item(target, comparison, job, path, name=f"{comparison}.{arm}"))

        def profile(jobs: Sequence[Job], into: Sequence[Path]) -> Results[ProfileRecord]:
            return profile_arms(place, jobs, uuid)

        told = self._told_of_all(target, profile, ProfileRecord, failed_profile, patience_s=None)
        self._batch(target, "profile", items, ProfileRecord, told)

    def stopwatch(self, target: str) -> None:
        """Another stopwatch on the arms that Nsight Compute profiles."""
        names = self.dag.target_plan(target).stopwatches
        paths = {c: evidence.stopwatch_path(target, c) for c in names}
        if self._take_over_all(target, "stopwatch", paths.values()):
            return
        items = self._gated_items(target, paths, measure.stopwatch_job)
        row = row_at(self._runner(target), StopwatchRecord)
        told = self._told_of_all(target, row, StopwatchRecord, failed_stopwatch)
        self._batch(target, "stopwatch", items, StopwatchRecord, told)

    def cheats(self, target: str) -> None:
        """Kernels that cheat, which the gate or the timed run must catch."""
        path = evidence.cheats_path(target)
        if not self._take_over(target, path):
            job = measure.cheats_job(self.dag.catalog, target)
            self._tell(target, path, job, CheatsRecord, failed_cheats)

    def sanitizer(self, target: str) -> None:
        """compute-sanitizer over every compiled kernel at small shapes."""
        path = evidence.sanitizer_path(target)
        if not self._take_over(target, path):
            jobs = self.dag.sanitizer_builds(target)
            builds = {job.id: self._binary(job.id, job.arch) for job in jobs}
            names = self._comparisons(target)
            job = measure.sanitizer_job(self.dag.catalog, target, names, builds)
            self._tell(target, path, job, SanitizerRecord, failed_sanitizer)

    def operators(self, target: str) -> None:
        """PyTorch's operators, through every kernel behind them."""
        path = evidence.operators_path(target)
        if not self._take_over(target, path):
            jobs = self.dag.operator_builds(target)
            builds = {job.id: self._binary(job.id, job.arch) for job in jobs}
            job = operators_job(self.dag.catalog, target, builds)
            self._tell(target, path, job, OperatorsRecord, failed_operators)

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
        self, target: str, comparison: str | None, job: Job, path: str, *gate: str, name: str = ""
    ) -> Item:
        """One measurement, of a comparison if it has one, by whose name it goes but for ``name``.

        ``gate``: digests of what it depends on beside.
        """
        platform = sha256_file(self.run_dir / evidence.platform_path(target))
        rests_on = (self.dag.definition(target, comparison), platform, *gate)
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
        self, target: str, paths: Mapping[str, str], job_of: Callable[..., Job]
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
            items.append(self._item(target, comparison, job, path, sha256_file(gate_path)))
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
