"""The steps that measure on a target: what they find, measure and write.

Most are batches: a stage of all comparisons of a target, in one start of the device side. To add
one, see ``evidence.stages``.
"""

import math
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import write_record
from assay.base.progress import say
from assay.building.checkout_copy import copy_checkout, copy_files
from assay.evidence import stages
from assay.evidence.load import load_evidence
from assay.measuring.command_runs import CommandPlaces, run_commands
from assay.measuring.device_jobs import further_job, probe_device
from assay.measuring.host_machine import same_machine
from assay.measuring.nsight_compute import profile_arms
from assay.measuring.resume import Item, Results, kept_record
from assay.pipeline.gpu_step_base import MeasuringStep
from assay.records.measurements import BenchmarkRecord
from assay.records.originals import OriginalJob, OriginalRunRecord
from assay.records.side_evidence import ProfileRecord
from assay.runtimes.choose import open_image
from assay.shared.counting import counted
from assay.shared.files import sha256_bytes
from assay.shared.job import CheatsJob, DeviceJob, ProfileJob


class MeasuringSteps(MeasuringStep):
    """The steps that need a target's GPU, where its figures are measured in this run."""

    def measure(self, target: str) -> list[str]:
        """Return a target's stages in order, without what an earlier start left of them."""
        found = self.dag.stages_of(target)
        for stage in (each for each in found if each.purpose is not stages.Purpose.MACHINE):
            path = self.run_dir / stage.output(target)
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
        return [each.stage.value for each in found]

    def platform(self, target: str) -> None:
        """Record host and device; assert that the GPU is the target. An earlier start's record
        holds on the same machine and GPU; on any other all that rests on it is measured again.
        """
        self._begin(stages.PLATFORMS, target)
        provision, runner = self.planned.provision, self._runner()
        image = runner.image.image_id if runner.image else ""
        rests_on = f"{self.dag.definitions(target).measurement(stages.PLATFORMS)} {image}"
        kept = self._kept_folder(stages.PLATFORMS) / f"{sha256_bytes(rests_on.encode())}.json"
        record = earlier = kept_record(kept, stages.PLATFORMS.record)
        offered = bool(provision.gpus) and provision.absence is None
        if earlier is None and provision.absence is not None:
            raise MissingEnvironment(
                f"what an earlier start measured is of other code or another --runtime or "
                f"--device-path, and its GPU is gone: {provision.absence}"
            )
        if earlier is None or offered or self._card is not None:
            device = probe_device(runner, self.target, echo=True)
            now = self._described(device)
            if earlier is None or not same_machine(earlier, now):
                record = now
            if earlier is not None and earlier.device.gpu.uuid != now.device.gpu.uuid:
                say(f"{target}: an earlier start measured on another GPU: all is measured again")
        assert record is not None
        write_record(record, kept)
        write_record(record, self.run_dir / stages.PLATFORMS.path(target))

    def correctness(self, target: str) -> None:
        """The gate, of every comparison."""
        self._begin(stages.CORRECTNESS, target)
        self._share_sweeps(keep=False)
        items = []
        for name in self.planned.comparisons:
            job = self.jobs.correctness(name, self._binaries(name))
            items.append(self._item(stages.CORRECTNESS, name, job))
        self._take_proven(stages.CORRECTNESS, items)
        self._batch(stages.CORRECTNESS, items)

    def benchmark(self, target: str) -> None:
        """Raw samples of the arms that passed the gate; more where a verdict hangs on them."""
        self._begin(stages.BENCHMARKS, target)
        self._time()
        self._share_sweeps(keep=True)

    def _time(self) -> None:
        """Measure look after look, until no verdict hangs on samples or all looks are taken."""
        from assay.pipeline.hanging import with_look  # noqa: PLC0415 - it judges

        began = time.monotonic()
        catalog, names = self.dag.catalog, self.planned.comparisons
        first = self._gated_items(stages.BENCHMARKS, names, self.jobs.benchmark)
        records, every, waiting = dict[str, BenchmarkRecord](), list[Item](), first
        while waiting:
            found = self._measured(stages.BENCHMARKS, waiting)
            for item in waiting:
                name, comparison = item.name, catalog.comparisons[item.name]
                looks = catalog.protocols[comparison.protocol].looks
                records[name] = with_look(records.get(name), found[name], looks, comparison.control)
                write_record(records[name], item.path)
            every += waiting
            waiting = self._next_looks(first, records, time.monotonic() - began)
        self._finish(stages.BENCHMARKS, every)

    def _further(
        self, first: Sequence[Item], records: Mapping[str, BenchmarkRecord]
    ) -> Iterator[tuple[float, Item]]:
        """Yield each further look on which a verdict hangs, and about its seconds."""
        if all(len(each.processes) >= max(each.looks, default=0) for each in records.values()):
            return
        from assay.judging.case import Case  # noqa: PLC0415 - as does what asks it
        from assay.pipeline.hanging import hanging  # noqa: PLC0415

        hangs = hanging(Case(self.dag.catalog, load_evidence(self.run_dir)), self.target.id)
        for item in (each for each in first if each.name in hangs):
            record = records[item.name]
            ran = len(record.processes)
            more = next((look for look in record.looks if look > ran > 0), None)
            if more is not None:
                look = replace(item, job=further_job(item.job, record, more))
                # The first one may have swept a rival's settings.
                yield record.processes[-1].seconds * (more - ran), look

    def _next_looks(
        self, first: Sequence[Item], records: Mapping[str, BenchmarkRecord], elapsed: float
    ) -> list[Item]:
        """Return the further looks that the GPU minutes allow, the cheapest first; say, and record,
        which are left. What an earlier start measured is taken anyway. ``elapsed``: seconds of this
        one.
        """
        given = self.dag.request.gpu_minutes
        left = math.inf if given is None else 60 * given
        # Between records lie imports; before this start, earlier ones.
        left -= max(elapsed, sum(record.seconds for record in records.values()))
        looks = [
            (not item.kept.is_file(), cost, item) for cost, item in self._further(first, records)
        ]
        if self.planned.provision.absence is not None:  # what an earlier start measured is all
            return [item for new, _, item in looks if not new]
        taken, rest, seconds = list[Item](), list[tuple[Item, float]](), 0.0
        for new, cost, item in sorted(looks, key=lambda look: look[:2]):
            if new and cost > left:
                rest.append((item, cost))
            else:
                left, seconds = left - cost, seconds + cost * new
                taken.append(item)
        if taken:
            say(f"a verdict hangs on {counted(len(taken), 'comparison')}: about {seconds:.0f} s")
        if rest:
            left_out = (
                f"{counted(len(rest), 'comparison')}, the shortest of about {rest[0][1]:.0f} s"
            )
            say(f"the {given:g} GPU minutes hold no further look at {left_out}")
        for item, cost in rest:
            record = records[item.name]
            words = f"the {given:g} GPU minutes do not hold a look of about {cost:.0f} s"
            update = {"remarks": (*record.remarks, words)}
            write_record(record.model_copy(update=update), item.path)
        return taken

    def program(self, target: str) -> None:
        """Every original program, with each list of arguments. An earlier run's check of its output
        by the same program, GPU and software stands: some take a minute.
        """
        self._begin(stages.PROGRAMS, target)
        items, unchecked = list[Item](), dict[str, DeviceJob]()
        for planned in self.planned.programs:
            build, artifact = self._binary(planned.program)
            if build.artifact is None:
                continue  # its build record says why, and the judge looks there
            job = self.jobs.program(planned, build, artifact)
            items.append(self._item(stages.PROGRAMS, planned.id, job))
            unchecked[planned.id] = replace(job, verify=())
        proven = self._proven(stages.PROGRAMS, items)
        left = [
            replace(item, job=unchecked[item.name]) if item.name in proven else item
            for item in items
        ]
        done = self._measured(stages.PROGRAMS, left)
        for item in items:
            record = done[item.name]
            if item.name in proven:
                checked = {"verification": proven[item.name].verification}
                record = record.model_copy(update=checked)
            write_record(record, item.path)
        self._finish(stages.PROGRAMS, left)

    def original(self, target: str) -> None:
        """The sources' own programs, each in a fresh copy of the checkout that the user gave."""
        self._begin(stages.ORIGINALS, target)
        items = [self._original_item(planned) for planned in self.planned.originals]

        def commands(jobs: Sequence[DeviceJob], into: Sequence[Path]) -> Results[OriginalRunRecord]:
            places = CommandPlaces(
                runner=self._place(),
                compiler=lambda: self._compiler(self.target.arch),
                image=partial(open_image, self.dag.request.runtime),
                gpu_uuid=self._gpu(),
            )
            return run_commands(places, jobs, into)

        self._batch(stages.ORIGINALS, items, commands)

    def _original_item(self, planned: OriginalJob) -> Item:
        """Return one program's measurement, with a copy of its checkout."""
        catalog, target = self.dag.catalog, self.target.id
        checkout = next(
            Path(given.directory) for given in self.dag.request.originals if given.job == planned
        )
        copy = self.run_dir / "originals" / target / planned.original
        shutil.rmtree(copy, ignore_errors=True)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if catalog.project is None:
            copied = copy_checkout(checkout, copy)
        else:
            copied = copy_files(checkout, catalog.project.files, copy)
        if copied != planned.checkout:
            raise CheckFailed(f"{checkout}: was changed since this run was asked for")
        described = catalog.sources[planned.source].own_program(planned.original)
        assert described is not None
        job = self.jobs.original(planned, described, copy)
        return self._item(stages.ORIGINALS, planned.original, job)

    def profile(self, target: str) -> None:
        """Nsight Compute's metrics of every arm that the comparisons name."""
        self._begin(stages.PROFILES, target)
        items = []
        for name, arm in self.planned.profiles:
            job = self.jobs.profile(name, arm, self._binaries(name))
            items.append(self._item(stages.PROFILES, f"{name}.{arm}", job))

        def profiles(jobs: Sequence[DeviceJob], _into: Sequence[Path]) -> Results[ProfileRecord]:
            own = [job for job in jobs if isinstance(job, ProfileJob)]
            return profile_arms(self._place(), own, self._gpu())

        self._batch(stages.PROFILES, items, profiles)

    def stopwatch(self, target: str) -> None:
        """Another stopwatch on the arms that Nsight Compute profiles."""
        self._begin(stages.STOPWATCHES, target)
        names = self.planned.stopwatches
        self._batch(
            stages.STOPWATCHES, self._gated_items(stages.STOPWATCHES, names, self.jobs.stopwatch)
        )

    def cheats(self, target: str) -> None:
        """Kernels that cheat, which the gate or the timed run must catch."""
        self._begin(stages.CHEATS, target)
        self._lone(stages.CHEATS, CheatsJob(self.jobs.spec))

    def sanitizer(self, target: str) -> None:
        """compute-sanitizer over every compiled kernel at small shapes."""
        self._begin(stages.SANITIZERS, target)
        builds = self._built(self.planned.sanitized)
        names = self.planned.comparisons
        self._lone(stages.SANITIZERS, self.jobs.sanitizer(names, builds))

    def _lone(self, stage: stages.AnyStage, job: DeviceJob) -> None:
        """Measure the one record that a stage beside the figures leaves of a target."""
        items = [self._item(stage, stage.stage, job)]
        self._take_proven(stage, items)
        self._batch(stage, items)
