"""The steps that measure on a target: what they find, measure and write.

Most are batches: one job of the workflow measures a stage of all comparisons of a target, in one
start of the device side, and writes a folder. To add one, see ``evidence.stages``.
"""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from assay.base.errors import CheckFailed
from assay.base.io import write_record
from assay.building.checkout_copy import copy_checkout, copy_files
from assay.evidence.stages import (
    BENCHMARKS,
    CHEATS,
    CORRECTNESS,
    OPERATORS,
    ORIGINALS,
    PLATFORMS,
    PROFILES,
    PROGRAMS,
    SANITIZERS,
    STOPWATCHES,
)
from assay.measuring import device_jobs as measure
from assay.measuring.command_runs import CommandPlaces, commands_at
from assay.measuring.host_machine import joined
from assay.measuring.nsight_compute import profile_arms
from assay.measuring.operator_kernels import operators_job
from assay.measuring.resume import Measure, Results, kept_record
from assay.pipeline.gpu_step_base import MeasuringParts
from assay.records.originals import OriginalRunRecord
from assay.records.side_evidence import ProfileRecord
from assay.runtimes.choose import open_image
from assay.shared.job import DeviceJob, ProfileJob


class MeasuringSteps(MeasuringParts):
    """The steps that need a target's GPU, where its figures are measured in this run."""

    def platform(self, target: str) -> None:
        """Record host and device; assert that the GPU is the target."""
        self._enter_job(PLATFORMS.stage, target)
        place, described = self._runner(target), self.dag.target(target)
        offered = self.dag.target_plan(target).provision.gpus
        device, *others = measure.probe_devices(place, described, offered)
        record = self._described(target, device, others)
        if offered:
            # Snakemake has removed the record itself, which may list GPUs that are not offered now.
            kept = self.run_dir / "kept" / PLATFORMS.stage / f"{target}.json"
            record = joined(kept_record(kept, PLATFORMS.record), record)
            write_record(record, kept)
        write_record(record, self.run_dir / PLATFORMS.path(target))

    def correctness(self, target: str) -> None:
        """The gate, of every comparison."""
        self._enter_job(CORRECTNESS.stage, target)
        self._while_gpus_are_left(target, lambda: self._gate(target))

    def _gate(self, target: str) -> None:
        """Check what has no gate yet, or one on a GPU that takes no part any more and did not time
        it, and whose figures need not come from there.
        """
        items = []
        for key in CORRECTNESS.keys(self.dag.target_plan(target)):
            binaries = self._binaries(*key)
            job = measure.correctness_job(self.dag.catalog, *key, binaries)
            items.append(self._item(CORRECTNESS, key, job))
        usable, folder = self._gpus(target), self._kept_folder(CORRECTNESS, target)
        checked = self._where_kept(CORRECTNESS, target, items)
        bound = self._bound_elsewhere(target)
        for item in items:
            gpu = checked.get(item.name)
            stranded = gpu is not None and gpu not in usable and item.name not in bound
            if stranded and not self._was_timed(target, item.name, gpu):
                item.kept(folder).unlink()
        self._batch(CORRECTNESS, target, items)

    def _was_timed(self, target: str, comparison: str, gpu: str | None) -> bool:
        """Return whether an earlier start timed a comparison on a GPU."""
        paths = self._kept_folder(BENCHMARKS, target).glob(f"{comparison}.*.json.gz")
        found = (kept_record(path, BENCHMARKS.record) for path in paths)
        return any(record is not None and record.gpu_uuid == gpu for record in found)

    def benchmark(self, target: str) -> None:
        """Raw samples of every comparison's arms that passed the gate.

        What a GPU leaves that is lost meanwhile is checked on another, and timed there; so is what
        was checked on another card than Slurm granted now.
        """
        self._enter_job(BENCHMARKS.stage, target)

        def attempt() -> None:
            if not set(self._gates(target).values()) <= set(self._gpus(target)):
                self._gate(target)
            keys = BENCHMARKS.keys(self.dag.target_plan(target))
            items = [self._gated_item(BENCHMARKS, key, measure.benchmark_job) for key in keys]
            self._batch(BENCHMARKS, target, items)

        self._while_gpus_are_left(target, attempt)

    def program(self, target: str) -> None:
        """Every original program, with each of its lists of arguments."""
        self._enter_job(PROGRAMS.stage, target)
        items = []
        for planned in self.dag.target_plan(target).programs:
            build, artifact = self._binary(planned.program, self.dag.target(target).arch)
            if build.artifact is None:
                continue  # its build record says why, and the judge looks there
            job = measure.program_job(self.dag.catalog, target, planned, build, artifact)
            items.append(self._item(PROGRAMS, (target, planned.id), job))
        self._while_gpus_are_left(target, lambda: self._batch(PROGRAMS, target, items))

    def original(self, target: str) -> None:
        """The sources' own programs, each in a fresh copy of the checkout that the user gave."""
        self._enter_job(ORIGINALS.stage, target)
        directories = {given.job: given.directory for given in self.dag.request.originals}
        items = []
        for planned in self.dag.target_plan(target).originals:
            copy = self.run_dir / "originals" / target / planned.original
            shutil.rmtree(copy, ignore_errors=True)
            copy.parent.mkdir(parents=True, exist_ok=True)
            checkout = Path(directories[planned])
            project = self.dag.catalog.project
            copied = (
                copy_checkout(checkout, copy)
                if project is None
                else copy_files(checkout, project.files, copy)
            )
            if copied != planned.checkout:
                raise CheckFailed(f"{checkout}: was changed since this run was asked for")
            described = self.dag.catalog.sources[planned.source].own_program(planned.original)
            assert described is not None
            job = measure.original_job(self.dag.catalog, target, planned, described, copy)
            items.append(self._item(ORIGINALS, (target, planned.original), job))
        bound = self._bound_elsewhere(target)

        def commands(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[OriginalRunRecord]:
            if any(item.name in bound for item in items):
                raise self._needs_its_card(target, bound, (item.name for item in items))
            places = CommandPlaces(
                runner=self._lone_place(target),
                compiler=lambda: self._compiler(self.dag.target(target).arch),
                image=partial(open_image, self.dag.request.runtime),
                gpu_uuid=self._first_gpu(target),
            )
            return commands_at(places)(jobs, into)

        self._measure(ORIGINALS, target, items, self._counted(commands))

    def profile(self, target: str) -> None:
        """Nsight Compute's metrics of every arm that the comparisons name."""
        self._enter_job(PROFILES.stage, target)
        items = []
        for key in PROFILES.keys(self.dag.target_plan(target)):
            _, comparison, arm = key
            binaries = self._binaries(target, comparison)
            job = measure.profile_job(self.dag.catalog, target, comparison, arm, binaries)
            items.append(self._item(PROFILES, key, job))

        def profiles_at(gpu: str) -> Measure[ProfileRecord]:
            place = self._place(target, gpu)
            return lambda jobs, into: profile_arms(
                place, [job for job in jobs if isinstance(job, ProfileJob)], gpu
            )

        self._batch(PROFILES, target, items, profiles_at, patience_s=None)

    def stopwatch(self, target: str) -> None:
        """Another stopwatch on the arms that Nsight Compute profiles."""
        self._enter_job(STOPWATCHES.stage, target)
        keys = STOPWATCHES.keys(self.dag.target_plan(target))
        items = [self._gated_item(STOPWATCHES, key, measure.stopwatch_job) for key in keys]
        self._batch(STOPWATCHES, target, items)

    def cheats(self, target: str) -> None:
        """Kernels that cheat, which the gate or the timed run must catch."""
        self._enter_job(CHEATS.stage, target)
        self._tell(CHEATS, target, measure.cheats_job(self.dag.catalog, target))

    def sanitizer(self, target: str) -> None:
        """compute-sanitizer over every compiled kernel at small shapes."""
        self._enter_job(SANITIZERS.stage, target)
        plan = self.dag.target_plan(target)
        builds = self._built(self.dag.builds_of(target, plan.sanitized))
        job = measure.sanitizer_job(self.dag.catalog, target, plan.comparisons, builds)
        self._tell(SANITIZERS, target, job)

    def operators(self, target: str) -> None:
        """PyTorch's operators, through every kernel behind them."""
        self._enter_job(OPERATORS.stage, target)
        wanted = self.dag.target_plan(target).operators
        builds = self._built(self.dag.builds_of(target, wanted))
        self._tell(OPERATORS, target, operators_job(self.dag.catalog, target, builds))
