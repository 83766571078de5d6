"""One method a step of the workflow: find the inputs, call one library function, write its record.

This is the composition root: the only module that knows all stages. The scripts in
``workflow/scripts`` call it; each takes the run's directory of records as ``run_dir``.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from assay import build as building
from assay import evidence, measure, recorded, report, sign
from assay.dag import Dag, load_dag
from assay.errors import AssayError, CheckFailed
from assay.evidence import load_evidence
from assay.image import make_image, sif_path
from assay.inspect_package import inspect_or_take
from assay.io import read_record, write_bytes, write_record, write_record_if_changed
from assay.judge import judge as judge_evidence
from assay.platform_probe import assert_allocation, record_platform, slurm_allocation
from assay.profile import profile_arm
from assay.progress import leave_on_signals, say
from assay.published import trusted_keys
from assay.records.attestation import PipelineRecord
from assay.records.builds import BuildRecord
from assay.records.images import ImageRecord, Role
from assay.records.measurements import CorrectnessRecord
from assay.records.platform import PlatformRecord
from assay.runtimes.base import Place, Runtime
from assay.runtimes.choose import open_runtime
from assay.runtimes.host import HostRuntime
from assay.timings import write_timing
from assay.verify import Renderer
from assay.verify import verify as verify_report


class Steps:
    """The steps of one run, as the workflow's scripts call them."""

    def __init__(self, root: Path, request_path: str | None) -> None:
        self.root = root
        self.dag: Dag = load_dag(root, request_path)
        self.run_dir = root / self.dag.run_dir
        self.report_dir = root / self.dag.report_dir

    def plan(self) -> None:
        """Write plan.json, and pipeline.json: the state of this repository."""
        write_record(self.dag.plan, self.run_dir / evidence.plan_path())
        pipeline = PipelineRecord(
            schema="assay/pipeline/1",
            commit=self.dag.request.commit,
            clean_tree=self.dag.request.clean_tree,
        )
        write_record(pipeline, self.run_dir / evidence.pipeline_path())

    def toolchain_image(self, target: str) -> None:
        """Build or find the image that compiles, and load it where it will run."""
        path = evidence.toolchain_image_path(target)
        if (prebuilt := self._prebuilt()) is not None:
            for name in (path, evidence.sbom_path(path)):
                write_bytes(self.run_dir / name, (prebuilt / name).read_bytes())
        else:
            self._make_image("toolchain", target, path)

    def runner_image(self, target: str) -> None:
        """Build or find the image that measures, and load it where it will run."""
        path = evidence.runner_image_path(target)
        if self.dag.is_measured_here(target):
            self._make_image("runner", target, path)
        else:
            for name in (path, evidence.sbom_path(path)):
                recorded.take(self._report_of(target), name, self.run_dir)

    def build(self, artifact: str, arch: str) -> None:
        """Compile one artifact for one architecture; a refusal of the compiler is a record too."""
        prebuilt = self._prebuilt()
        building.build(
            self.root,
            self.dag.catalog,
            self.dag.build_kind(artifact, arch),
            artifact,
            arch,
            out_dir=self.run_dir / "builds",
            cache_dir=self.root / "results" / "cache",
            place=self._compiler(arch),
            prebuilt=prebuilt / "builds" if prebuilt else None,
        )

    def inspect(self) -> None:
        """Count in the files of pinned packages, or take over what a prebuilt run counted."""
        claims = self.dag.catalog.claims_of(self.dag.plan.sources)
        record = inspect_or_take(self.root, claims, self._prebuilt())
        write_record(record, self.run_dir / evidence.inspections_path())

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

    def correctness(self, target: str, comparison: str) -> None:
        """The gate."""
        path = evidence.correctness_path(target, comparison)
        if not self._take_over(target, path):
            record = measure.measure_correctness(
                self.dag.catalog,
                self._runner(target),
                target,
                comparison,
                self._binaries(target, comparison),
            )
            self._same_gpu(target, record.gpu_uuid)
            write_record(record, self.run_dir / path)

    def benchmark(self, target: str, comparison: str) -> None:
        """Raw samples of the arms that passed the gate."""
        path = evidence.benchmark_path(target, comparison)
        if not self._take_over(target, path):
            gate = self.run_dir / evidence.correctness_path(target, comparison)
            record = measure.measure_benchmark(
                self.dag.catalog,
                self._runner(target),
                target,
                comparison,
                self._binaries(target, comparison),
                read_record(CorrectnessRecord, gate),
            )
            self._same_gpu(target, record.gpu_uuid)
            write_record(record, self.run_dir / path)

    def program(self, target: str, job: str) -> None:
        """An original program with one list of arguments."""
        path = evidence.program_path(target, job)
        if not self._take_over(target, path):
            planned = next(j for j in self.dag.target_plan(target).programs if j.id == job)
            build, artifact = self._binary(planned.program, self.dag.target(target).arch)
            record = measure.run_program(
                self.dag.catalog, self._runner(target), target, planned, build, artifact
            )
            self._same_gpu(target, record.gpu_uuid)
            write_record(record, self.run_dir / path)

    def profile(self, target: str, comparison: str, arm: str) -> None:
        """Nsight Compute's metrics of one arm."""
        path = evidence.profile_path(target, comparison, arm)
        if not self._take_over(target, path):
            builds = self._binaries(target, comparison)
            job = measure.profile_job(self.dag.catalog, target, comparison, arm, builds)
            platform = self._platform(target)
            record = profile_arm(self._runner(target), job, platform.device.gpu.uuid)
            write_record(record, self.run_dir / path)

    def judge(self) -> None:
        """Verdicts from the records alone."""
        verdicts = judge_evidence(self.dag.catalog, load_evidence(self.run_dir))
        write_record(verdicts, self.run_dir / "verdicts.json")

    def report(self) -> None:
        """Render the report directory; unsigned until ``sign``."""
        report.render(self.root, self.run_dir, self.report_dir)

    def sign(self) -> None:
        """Manifest, attestation, public key."""
        sign.sign(self.report_dir, Path(self.dag.request.signing_key))

    def verify(self) -> None:
        """Verify the signed report with the signer's own key and the trusted ones."""
        own = sign.public_key_path(Path(self.dag.request.signing_key))
        keys = [own, *trusted_keys(self.root), *map(Path, self.dag.request.extra_keys)]
        request = self.dag.request
        renderer = Renderer(
            lambda folder: report.texts_of(self.root, folder), request.commit, request.clean_tree
        )
        result = verify_report(self.report_dir, keys, renderer=renderer)
        lines = [f"ok  {check.name}: {check.detail}" for check in result.checks]
        write_bytes(self.run_dir / "verified.txt", ("\n".join(lines) + "\n").encode())

    def _make_image(self, role: Role, target: str, path: str) -> None:
        request = self.dag.request
        record, sbom = make_image(
            self.root,
            request.runtime,
            role,
            self.dag.target(target),
            prebuilt=self._prebuilt(),
            host_python=request.device_python if request.host_image and role == "runner" else None,
        )
        write_bytes(self.run_dir / evidence.sbom_path(path), sbom)
        write_record_if_changed(record, self.run_dir / path)

    def _compiler(self, arch: str) -> Place:
        """Where nvcc runs: on the host, or in the image whose record this run holds."""
        target = self.dag.toolchain_target(arch)
        if target is None:
            return Place(HostRuntime())
        path = self.run_dir / evidence.toolchain_image_path(target)
        return Place(self._runtime(), read_record(ImageRecord, path))

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

    def _prebuilt(self) -> Path | None:
        return Path(self.dag.request.prebuilt) if self.dag.request.prebuilt else None

    def _report_of(self, target: str) -> Path:
        recorded_in = self.dag.target_plan(target).provision.recorded_in
        assert recorded_in is not None
        return Path(self.dag.request.recorded_dirs[target])

    def _take_over(self, target: str, path: str) -> bool:
        """Copy a recorded file where the plan says so. A GPU job first asserts its allocation."""
        allocation = slurm_allocation(os.environ) if self.dag.needs_gpu(target) else None
        if allocation is None and self.dag.request.executor == "slurm":
            raise CheckFailed(f"{path}: a job of the cluster runs outside any Slurm job")
        assert_allocation(self.dag.target(target), allocation)
        if allocation is not None:
            name = path.removeprefix(f"{target}/").split(".json")[0].replace("/", ".")
            write_record(allocation, self.run_dir / "allocations" / target / f"{name}.json")
        if self.dag.is_measured_here(target):
            return False
        recorded.take(self._report_of(target), path, self.run_dir)
        return True

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


def run_step(
    rule: str, arguments: dict[str, str], *, request: str | None, run: str, log: str, **_: object
) -> None:
    """Run one step of a workflow from the repository's root; ``rule`` names a method of Steps.

    Further keyword arguments are what the workflow watches for changes. An AssayError becomes a
    sentence on standard error, in ``log`` and in ``results/<run>/failures/``, where the command
    line finds the exit code it owes its caller. Says how long the step took.
    """
    leave_on_signals()
    run_dir, name = Path("results", run), ".".join([rule, *arguments.values()])
    began, started = datetime.now(UTC), time.monotonic()
    try:
        getattr(Steps(Path.cwd(), request), rule)(**arguments)
    except AssayError as error:
        failure = {"step": name, "exit_code": error.exit_code, "message": str(error)}
        write_bytes(run_dir / "failures" / f"{name}.json", json.dumps(failure).encode())
        write_bytes(Path(log), f"{error}\n".encode())
        say(f"{name}: {error}")
        sys.exit(error.exit_code)
    seconds = time.monotonic() - started
    write_bytes(Path(log), f"done in {seconds:.1f} s\n".encode())
    write_timing(run_dir, rule, arguments, began, seconds)
    if seconds >= 1:
        say(f"{name}: {seconds:.1f} s")
