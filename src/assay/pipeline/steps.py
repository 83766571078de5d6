"""One method a step of the workflow: find the inputs, call one library function, write its record.

This and ``gpu_steps`` are the composition root: only they know all stages.
"""

import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from assay.base.checkout_root import root_of
from assay.base.errors import AssayError
from assay.base.io import dump_record, write_record
from assay.base.progress import say
from assay.base.signals import leave_on_signals
from assay.base.writable import cache_folder, is_about_writing, unwritable_sentence
from assay.building import build as building
from assay.building.file_compile import compile_file
from assay.building.inspect_device_code import inspect_device_code
from assay.building.inspect_package import inspect_or_take
from assay.building.toolchain import ensure_toolchain
from assay.catalog.project_folder import project_of
from assay.evidence import stages as evidence
from assay.evidence.load import load_evidence
from assay.evidence.timings import write_timing
from assay.images.stage import make_image
from assay.pipeline.failures import StepFailure, failure_path
from assay.pipeline.gpu_steps import MeasuringSteps
from assay.pipeline.run_files import MEASURED, VERIFIED
from assay.records.attestation import VERDICTS
from assay.records.images import Role
from assay.records.plan import Request
from assay.records.timings import Stage
from assay.runtimes import owners
from assay.shared.errors import ExitCode
from assay.shared.files import write_bytes

OWNER_GRACE_S = 60.0
"""Time that a step has to end in, once its command is gone."""
OWNER_POLL_S = 2.0
"""How often a step looks whether its command is still there."""
TOLD_S = 1.0
"""A step that takes less, as a build from the cache does, is not told."""
MEASURE = "measure"
ALWAYS_NEEDED = frozenset({str(Stage.RUNNER_IMAGE), str(Stage.PLATFORM)})
"""Stages without which there is no other of a target."""
GATED = frozenset({str(Stage.BENCHMARK), str(Stage.PROFILE), str(Stage.STOPWATCH)})
"""Stages that measure what has passed the gate."""
TOGETHER = {"report": ["judge", "report"], "sign": ["sign", "verify"]}
"""Rules of several steps."""


class Steps(MeasuringSteps):
    """The steps of one run, as the workflow's scripts call them."""

    def toolchain_image(self, target: str) -> None:
        """Build or find the image that compiles, and load it where it will run."""
        path = evidence.toolchain_image_path(target)
        if (prebuilt := self._prebuilt()) is not None:
            write_bytes(self.run_dir / path, (prebuilt / path).read_bytes())
        else:
            self._make_image("toolchain", target, path)

    def runner_image(self, target: str) -> None:
        """Build or find the image that measures, and load it where it will run."""
        self._make_image("runner", target, evidence.runner_image_path(target))

    def earlier(self, report: str) -> None:
        """Take over an earlier report whole."""
        from assay.pipeline.reuse import take_whole  # noqa: PLC0415 - it verifies

        take_whole(self.dag.earlier_report(report), self.run_dir / evidence.earlier_path(report))

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
            cache_dir=cache_folder(self.root),
            place=self._compiler(arch),
            prebuilt=prebuilt / "builds" if prebuilt else None,
            project=project_of(self.run_dir),
        )

    def file_compile(self, artifact: str, arch: str) -> None:
        """Compile a source's file as published, in a fresh copy of the checkout that the user gave;
        a refusal of the compiler is a record."""
        given, file = self.dag.published(artifact, arch)
        folder = (self.run_dir / "originals" / "compiled" / arch / artifact).resolve()
        shutil.rmtree(folder, ignore_errors=True)
        try:
            toolchain = ensure_toolchain(self.root, self._compiler(arch))
            record = compile_file(Path(given.directory), given.job, file, folder, toolchain)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        write_record(record, self.run_dir / evidence.file_compile_path(artifact, arch))

    def inspect(self) -> None:
        """Count in the files of pinned packages, or take over what a prebuilt run counted; look
        into optional packages that the device's Python has."""
        catalog, request = self.dag.catalog, self.dag.request
        claims = list(catalog.claims_of(self.dag.plan.sources, self.dag.plan.claims))
        counted = inspect_or_take(self.root, claims, self._prebuilt())
        packages = [Path(path) for path in request.device_paths]
        code = inspect_device_code(
            self.root, claims, catalog.rivals, request.device_python, packages
        )
        record = counted.model_copy(update={"device_code": code})
        write_record(record, self.run_dir / evidence.inspections_path())

    def judge(self) -> None:
        """Verdicts from the records alone."""
        # What computes, draws and signs takes a second to load: builds do without.
        from assay.judging.judge import judge as judge_evidence  # noqa: PLC0415

        verdicts = judge_evidence(self.dag.catalog, load_evidence(self.run_dir))
        write_record(verdicts, self.run_dir / VERDICTS)

    def report(self) -> None:
        """Render the report directory; unsigned until ``sign``."""
        from assay.report.render import render  # noqa: PLC0415

        render(self.root, self.run_dir, self.report_dir)

    def sign(self) -> None:
        """Manifest, attestation and public key."""
        from assay.verification.sign import sign  # noqa: PLC0415

        sign(self.report_dir, Path(self.dag.request.signing_key))

    def verify(self) -> None:
        """Verify the signed report as its reader will."""
        found = verify_own(self.root, self.report_dir, self.dag.request)
        write_bytes(self.run_dir / VERIFIED, found.encode())

    def _make_image(self, role: Role, target: str, path: str) -> None:
        request = self.dag.request
        record = make_image(
            self.root,
            request.runtime,
            role,
            target,
            prebuilt=self._prebuilt(),
            host_python=request.device_python if request.host_image and role == "runner" else None,
        )
        place = self.run_dir / path
        if not place.is_file() or place.read_bytes() != dump_record(record):
            write_record(record, place)  # else its time stamp stays

    def _prebuilt(self) -> Path | None:
        return Path(self.dag.request.prebuilt) if self.dag.request.prebuilt else None


def leave_with_owner(environ: Mapping[str, str]) -> bool:
    """Have this process ended when the command is gone that it works for; False if it is already.

    The jobs of a cluster, whose command is elsewhere, are cancelled by the run's next start.
    """
    owner = environ.get(owners.VARIABLE, "").partition(" ")[0]

    def watch() -> None:
        while not owners.is_gone(owner):
            time.sleep(OWNER_POLL_S)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(OWNER_GRACE_S)
        os._exit(128 + signal.SIGTERM)

    if owner and owners.is_gone(owner):
        return False
    if owner:
        threading.Thread(target=watch, daemon=True).start()
    return True


def run_job(job: Any) -> None:
    """Run the step of a Snakemake ``job`` (what a script in ``workflow/scripts`` gets)."""
    arguments = dict(job.wildcards.items())
    root = root_of(Path(job.scriptdir))
    run_step(root, job.rule, arguments, run_dir=job.config["run"], log=job.log[0])


def run_step(root: Path, rule: str, arguments: dict[str, str], *, run_dir: str, log: str) -> None:
    """Run one step of the run in ``run_dir``; ``rule`` names a method of Steps. ``measure`` is
    every stage of a target: what does not depend on a failed one goes on. A report is judged before
    it is rendered, and verified once signed. An AssayError, or a place that cannot be written,
    becomes a sentence on standard error, in ``log`` and in ``results/<run>/failures/``, where the
    command finds it with its exit code; of any other error ``log`` holds the traceback.
    """
    leave_on_signals()
    if not leave_with_owner(os.environ):
        sys.exit(ExitCode.INTERRUPTED)  # its command was killed: nobody waits for it
    folder, words, failed = Path(run_dir), list[str](), dict[str, StepFailure]()
    steps: Steps | None = None
    waiting = TOGETHER.get(rule, [rule])
    while waiting and not any(each.lacks_something for each in failed.values()):
        part, *waiting = waiting
        name = ".".join([part, *arguments.values()])
        failure_path(folder, name).unlink(missing_ok=True)  # of an earlier try of a cluster's job
        began, started = datetime.now(UTC), time.monotonic()
        try:
            steps = steps or Steps(root, run_dir)
            if part == MEASURE:
                waiting = steps.measure(**arguments)
                continue
            getattr(steps, part)(**arguments)
        except KeyboardInterrupt:
            # Whoever interrupted the workflow hears of it from the command line.
            sys.exit(ExitCode.INTERRUPTED)
        except Exception as error:
            if steps is not None and steps.grant is not None:
                error.add_note(str(steps.grant))
            failed[part], text = _told(root, name, log, error)
            # Without the mark of a line for people: the command line says it at the run's end.
            print(f"{name}: {text}", file=sys.stderr, flush=True)
            write_record(failed[part], failure_path(folder, name))
            words.append(text.rstrip())
            if part == Stage.CORRECTNESS:
                waiting = [each for each in waiting if each not in GATED]
            elif rule != MEASURE or part in ALWAYS_NEEDED:
                waiting = []
            continue
        seconds = time.monotonic() - started
        words.append(f"{name}: done in {seconds:.1f} s")
        held, steps.held = steps.held, {}
        write_timing(folder, part, arguments, began, seconds, held)
        if seconds >= TOLD_S:
            say(f"{name}: {seconds:.1f} s")
    write_bytes(Path(log), "\n".join([*words, ""]).encode())
    if failed:
        sys.exit(next(iter(failed.values())).exit_code)
    if rule == MEASURE:
        write_bytes(folder / MEASURED.format(arguments["target"]), b"")


def _told(root: Path, step: str, log: str, error: Exception) -> tuple[StepFailure, str]:
    """Return an error with its notes as a step's failure, and what its log holds of it."""
    code, text = ExitCode.CHECK_FAILED, ""
    if isinstance(error, AssayError):
        code, words = ExitCode(error.exit_code), str(error)
    elif isinstance(error, OSError) and is_about_writing(error):
        code, words = ExitCode.MACHINE_LACKS, unwritable_sentence(error, root)
    else:
        text = traceback.format_exc()
        words = f"{type(error).__name__}: {error}"
    words += "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    if text:
        words += f" (the traceback is in {log})"
    return StepFailure(step=step, exit_code=int(code), message=words), text or words


def verify_own(root: Path, report_dir: Path, request: Request) -> str:
    """Verify a run's report as its reader will, by the signer's and the trusted keys and the rules
    in the repository's history; return a line a check. Rules of a tree that is no commit's are
    listed, and its readers must accept them. Raises CheckFailed.
    """
    from assay.report.render import render_contents  # noqa: PLC0415
    from assay.verification.made_again import Renderer  # noqa: PLC0415
    from assay.verification.policy import Policy  # noqa: PLC0415
    from assay.verification.sign import public_key_path  # noqa: PLC0415
    from assay.verification.trusted_keys import project_keys, trusted_keys  # noqa: PLC0415
    from assay.verification.verify import verify  # noqa: PLC0415

    home = None if request.home is None else Path(request.home)
    own = public_key_path(Path(request.signing_key))
    keys = [own, *project_keys(home), *trusted_keys(root), *map(Path, request.extra_keys)]
    result = verify(
        report_dir,
        keys,
        repository=root,
        renderer=Renderer(partial(render_contents, root), request.commit, request.clean_tree),
        policy=Policy(root, accepted=request.clean_tree is not True),
    )
    lines = [f"ok  {check.id}: {check.says}" for check in result.checks if check.says]
    lines += [f"unproven: {line}" for line in result.unproven]
    return "\n".join(lines) + "\n"
