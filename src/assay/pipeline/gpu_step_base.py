"""The base of steps that measure: how they measure, how they fail.

A step (see ``gpu_steps``) says what it measures, by ``_enter_job``, ``_item`` and then ``_batch``,
or ``_tell`` for a lone record beside the figures; the rest is in the table of stages.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import dump_record, read_record, write_record
from assay.evidence.entries import TargetStage
from assay.evidence.outcomes import came_to_nothing
from assay.evidence.stages import (
    BENCHMARKS,
    BUILDS,
    CORRECTNESS,
    ORIGINALS,
    PROFILES,
    PROGRAMS,
    STOPWATCHES,
)
from assay.measuring.best_effort import PATIENCE_S, now, recorded_anyhow
from assay.measuring.gpu_places import GpuPlaces, shared, unit_of
from assay.measuring.operator_kernels import Builds
from assay.measuring.resume import (
    Item,
    Measure,
    Results,
    batch_at,
    kept_folder,
    kept_record,
    measure_batch,
)
from assay.measuring.several_gpus import Assign, GpuLost, spread_over
from assay.pipeline.step_places import StepPlaces
from assay.records.base import GpuRecord
from assay.records.builds import BuildRecord
from assay.records.plan import BuildJob
from assay.records.platform import PlatformRecord
from assay.shared.files import sha256_bytes, sha256_file
from assay.shared.job import ComparisonJob, DeviceJob

G = TypeVar("G", bound=GpuRecord)
Key = tuple[str, ...]
"""A target, then what a record of a batch is of."""


class MeasuringParts(StepPlaces):
    """A run, and what its steps share."""

    def _item(self, stage: TargetStage[Any, Any], key: Key, job: DeviceJob, *gate: str) -> Item:
        """Return one measurement of a batch. ``gate``: digests of what it depends on beside."""
        target, *of = key
        comparison = of[0] if stage.of_comparison else None
        platform = platform_digest(self._platform(target))
        definition = self.dag.definitions(target).measurement(stage.stage, comparison)
        rests_on = (definition, platform, *gate)
        return Item(".".join(of), job, self.run_dir / stage.path(*key), rests_on)

    def _gated_item(
        self, stage: TargetStage[Any, Any], key: Key, job_of: Callable[..., DeviceJob]
    ) -> Item:
        """Return one measurement of a comparison, of the arms that its gate lets through.

        ``job_of``: of catalog, target, comparison, binaries and the gate's record.
        """
        target, comparison = key
        gate_path = self.run_dir / CORRECTNESS.path(*key)
        gate = read_record(CORRECTNESS.record, gate_path)
        self._is_of_target(target, gate.gpu_uuid)
        binaries = self._binaries(target, comparison)
        job = job_of(self.dag.catalog, target, comparison, binaries, gate)
        return self._item(stage, key, job, sha256_file(gate_path))

    def _batch(
        self,
        stage: TargetStage[Any, G],
        target: str,
        items: Sequence[Item],
        measure_at: Callable[[str], Measure[G]] | None = None,
        patience_s: float | None = PATIENCE_S,
    ) -> None:
        """Measure ``items``, or take up what an earlier start of this run finished of them.

        On each GPU in one start of the device side, unless ``measure_at`` says how else. Of a stage
        beside the figures nothing fails the step; ``patience_s`` is then the most that it may take.
        """
        at = measure_at or (lambda gpu: batch_at(self._place(target, gpu), stage.record))
        assign = self._assigned(stage, target, items)
        measure = spread_over(self._gpus(target), at, stage.record, assign, self._lost.add)
        self._measure(stage, target, items, self._counted(measure), patience_s)

    def _while_gpus_are_left(self, target: str, attempt: Callable[[], None]) -> None:
        """Do ``attempt`` again on the GPUs that are left where it lost one."""
        while True:
            try:
                return attempt()
            except GpuLost:
                if not self._gpus(target):
                    raise

    def _measure(
        self,
        stage: TargetStage[Any, G],
        target: str,
        items: Sequence[Item],
        measure: Measure[G],
        patience_s: float | None = PATIENCE_S,
    ) -> None:
        """As ``_batch``, by ``measure``."""
        accept = self._acceptance(stage, target)
        if stage.failed is not None:
            measure = recorded_anyhow(
                measure,
                stage.record,
                accept,
                self._failed(stage, target),
                measured=self._is_measured(target),
                patience_s=patience_s,
            )
        measure_batch(items, stage.record, self._kept_folder(stage, target), measure, accept)
        # Of a batch without a single item, too, the workflow expects the folder.
        (self.run_dir / stage.output(target)).mkdir(parents=True, exist_ok=True)

    def _acceptance(self, stage: TargetStage[Any, G], target: str) -> Callable[[G], None]:
        """Return what raises CheckFailed for a record of a GPU that is none of the target's, or is
        not the one that checked its comparison.
        """
        gates = {} if stage is CORRECTNESS else self._gates(target)

        def accept(found: G) -> None:
            self._is_of_target(target, found.gpu_uuid)
            gate = gates.get(getattr(found, "comparison", ""), found.gpu_uuid)
            if gate != found.gpu_uuid:
                raise CheckFailed(f"it was checked on GPU {gate}, and ran on {found.gpu_uuid}")

        return accept

    def _kept_folder(self, stage: TargetStage[Any, Any], target: str) -> Path:
        return kept_folder(self.run_dir, stage.stage, target)

    def _counted(self, measure: Measure[G]) -> Measure[G]:
        """Return what measures the same, and counts for how long it held each GPU.

        What ran on another card than Slurm granted has failed, so that it is not kept.
        """

        def counted(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[G]:
            results: list[G | CheckFailed] = []
            for found in measure(jobs, into):
                try:
                    if not isinstance(found, CheckFailed):
                        self._count(found)
                    results.append(found)
                except CheckFailed as error:
                    results.append(error)
            return results

        return counted

    def _count(self, found: GpuRecord) -> None:
        self._is_granted(found.gpu_uuid)
        if found.on_gpu is not None:
            before = self.held.get(found.gpu_uuid, 0.0)
            self.held[found.gpu_uuid] = before + found.on_gpu.seconds

    def _assigned(self, stage: TargetStage[Any, Any], target: str, items: Sequence[Item]) -> Assign:
        """Return what gives a stage's jobs to GPUs: where the gate was, or where it shall be."""
        known = self._where_kept(stage, target, items)
        bound = {} if stage is CORRECTNESS else self._bound_elsewhere(target)

        def assign(
            every: Sequence[DeviceJob], usable: Sequence[str]
        ) -> Mapping[str, Sequence[DeviceJob]]:
            jobs = [job for job in every if unit_of(job) not in bound]
            if not jobs:
                raise self._needs_its_card(target, bound, map(unit_of, every))
            gates = {} if stage is CORRECTNESS else self._gates(target)
            if stage in (CORRECTNESS, PROGRAMS):
                if len(usable) == 1:
                    return {usable[0]: jobs}
                return shared(jobs, units.place(usable, {**gates, **known}))
            return shared(jobs, {name: gpu for name, gpu in gates.items() if gpu in usable})

        units = self._gpu_places(target)
        return assign

    def _gpu_places(self, target: str) -> GpuPlaces:
        return GpuPlaces(self.dag.catalog, self.dag.plan, self.dag.target_plan(target))

    def _bound_elsewhere(self, target: str) -> dict[str, str]:
        """Return the units that this job of a cluster must leave to another card than its own, with
        that card: what a claim divides by figures from there, and what was measured there.
        """
        if self._card is None or not self._platform(target).others:
            return {}
        gates, measured = self._gates(target), dict[str, str]()
        for stage in (BENCHMARKS, PROGRAMS, ORIGINALS, STOPWATCHES, PROFILES):
            for path in self._kept_folder(stage, target).glob("*.json.gz"):
                found, name = kept_record(path, stage.record), path.name.partition(".")[0]
                if found is None or came_to_nothing(found):
                    continue
                if gates.get(name, found.gpu_uuid) == found.gpu_uuid:  # or it is not taken up
                    measured[name] = found.gpu_uuid
        return self._gpu_places(target).bound_elsewhere(self._card, measured)

    def _needs_its_card(
        self, target: str, bound: Mapping[str, str], units: Iterable[str]
    ) -> MissingEnvironment:
        """Return the error of a job whose units must all be measured on another card."""
        names = sorted({name for name in units if name in bound})
        cards = " and ".join(sorted({bound[name] for name in names}))
        return MissingEnvironment(
            f"{target}: this job was given GPU {self._card}, and {', '.join(names)} must be "
            f"measured on {cards}, as what claims hold them against was: start the run again when "
            "that card is free, or have config/cluster.yaml name a reservation"
        )

    def _gates(self, target: str) -> dict[str, str]:
        """Return the GPU that each comparison was checked on, as far as it was."""
        paths = {
            name: self.run_dir / CORRECTNESS.path(target, name)
            for name in self.dag.target_plan(target).comparisons
        }
        return {
            name: read_record(CORRECTNESS.record, path).gpu_uuid
            for name, path in paths.items()
            if path.is_file()
        }

    def _where_kept(
        self, stage: TargetStage[Any, Any], target: str, items: Sequence[Item]
    ) -> dict[str, str]:
        """Return the GPU of each item that an earlier start finished, by name."""
        folder = self._kept_folder(stage, target)
        kept = {item.name: kept_record(item.kept(folder), stage.record) for item in items}
        return {name: record.gpu_uuid for name, record in kept.items() if record is not None}

    def _tell(self, stage: TargetStage[Any, G], target: str, job: DeviceJob) -> None:
        """A lone measurement beside the figures, which does not fail the step."""

        def measure(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[G]:
            return batch_at(self._lone_place(target), stage.record)(jobs, into)

        def accept(found: G) -> None:
            self._is_of_target(target, found.gpu_uuid)
            self._count(found)

        failed, measured = self._failed(stage, target), self._is_measured(target)
        path = self.run_dir / stage.path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = recorded_anyhow(measure, stage.record, accept, failed, measured=measured)
        (found,) = whole([job], [path])
        assert not isinstance(found, CheckFailed)
        write_record(found, path)

    def _failed(self, stage: TargetStage[Any, G], target: str) -> Callable[[DeviceJob, str], G]:
        """Return the form of a record of the target's GPU that came to nothing: of job and
        sentence.
        """
        first, gates, form = self._first_gpu(target), self._gates(target), stage.failed
        assert form is not None

        def failed(job: DeviceJob, sentence: str) -> G:
            unit = job.comparison.id if isinstance(job, ComparisonJob) else ""
            return form(job, gates.get(unit, first), now(), sentence)

        return failed

    def _is_measured(self, target: str) -> bool:
        """Return whether the figures of a target are there, or come from an earlier start alone."""
        gone = self.dag.target_plan(target).provision.absence is not None
        return gone or (self.run_dir / BENCHMARKS.output(target)).is_dir()

    def _binary(self, artifact: str, arch: str) -> tuple[BuildRecord, Path]:
        record = read_record(BuildRecord, self.run_dir / BUILDS.path(artifact, arch))
        if record.artifact is None:
            return record, Path()
        return record, self.run_dir / "builds" / record.artifact.path

    def _binaries(self, target: str, comparison: str) -> Builds:
        return self._built(self.dag.kernel_builds(target, comparison))

    def _built(self, jobs: Iterable[BuildJob]) -> Builds:
        return {job.id: self._binary(job.id, job.arch) for job in jobs}

    def _is_of_target(self, target: str, uuid: str) -> None:
        expected = [device.gpu.uuid for device in self._platform(target).devices]
        if uuid not in expected:
            raise CheckFailed(
                f"target {target}: the platform record names GPU {', '.join(expected)}, "
                f"but this job ran on {uuid}"
            )


def platform_digest(record: PlatformRecord) -> str:
    """Return what measurements rest on of a platform: not how many GPUs of the machine take part,
    so that a run goes on on more of them.
    """
    return sha256_bytes(dump_record(record.model_copy(update={"others": ()})))
