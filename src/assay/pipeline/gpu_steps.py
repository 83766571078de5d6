"""The steps that measure on a target: what they find, measure and write, or take over.

Most are batches: one job of the workflow measures a stage of all comparisons of a target, in one
start of the device side, and writes a folder. To add one: paths, items, ``_batch``; its job in
``measure.py``, its task in ``device/jobs.py``, its rule in ``workflow/rules``.
"""

from collections.abc import Sequence
from pathlib import Path

from assay.base.io import write_record
from assay.evidence import stages as evidence
from assay.measuring import device_jobs as measure
from assay.measuring.best_effort import (
    failed_cheats,
    failed_operators,
    failed_profile,
    failed_sanitizer,
    failed_stopwatch,
)
from assay.measuring.host_platform import record_platform
from assay.measuring.nsight_compute import profile_arms
from assay.measuring.operator_kernels import operators_job
from assay.measuring.resume import Job, Results, row_at
from assay.pipeline import reuse as recorded
from assay.pipeline.gpu_step_base import MeasuringParts
from assay.records.measurements import (
    BenchmarkRecord,
    CheatsRecord,
    CorrectnessRecord,
    ProfileRecord,
    ProgramRecord,
    StopwatchRecord,
)
from assay.records.operators import OperatorsRecord
from assay.records.sanitizer import SanitizerRecord


class MeasuringSteps(MeasuringParts):
    """The steps that need a target's GPU, where its figures are measured in this run."""

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
            items.append(self._item("correctness", target, comparison, job, path))
        self._batch(target, "correctness", items, CorrectnessRecord)

    def benchmark(self, target: str) -> None:
        """Raw samples of every comparison's arms that passed the gate."""
        paths = {c: evidence.benchmark_path(target, c) for c in self._comparisons(target)}
        if self._take_over_all(target, "benchmark", paths.values()):
            return
        items = self._gated_items("benchmark", target, paths, measure.benchmark_job)
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
            items.append(
                self._item("program", target, None, job, paths[planned.id], name=planned.id)
            )
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
            items.append(
                self._item("profile", target, comparison, job, path, name=f"{comparison}.{arm}")
            )

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
        items = self._gated_items("stopwatch", target, paths, measure.stopwatch_job)
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
