"""Starting Snakemake on a request, and turning its end into the right exit code."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.base.progress import exclusive, say
from assay.pipeline.request import REQUEST
from assay.records.plan import Request

MB = 1_000_000
CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where a container, or a service, finds what it may use: cgroup v2 and v1."""
GRACE_S = 60.0
"""Time that jobs have to remove their containers when the run is interrupted."""
ERRORS: dict[int, type[AssayError]] = {
    kind.exit_code: kind for kind in (CheckFailed, BadInput, MissingEnvironment)
}


def run_workflow(
    root: Path,
    request: Request,
    request_path: Path,
    *,
    cores: int,
    dry_run: bool = False,
    goal: str | None = None,
    again: Sequence[str] = (),
) -> None:
    """Run the workflow for ``request`` up to rule ``goal`` (all, by default).

    ``again``: outputs below the run's directory that are made anew though they are there. A dry run
    leaves the run as it is, and may read the request from elsewhere. Raises the first failed step's
    error with its exit code.
    """
    run_dir = root / "results" / request.run
    profile = "slurm" if request.executor == "slurm" else "default"
    command = [
        sys.executable, "-m", "snakemake", *([goal] if goal else []),
        "--snakefile", str(root / "Snakefile"),
        "--directory", str(root),
        "--workflow-profile", str(root / "profiles" / profile),
        "--cores", str(cores), "--nolock", "--resources", *_limits(request),
        "--config", *_request_settings(root, run_dir, request_path),
    ]  # fmt: skip
    if dry_run:
        command += ["--dry-run"]
    else:
        shutil.rmtree(run_dir / "failures", ignore_errors=True)
    if again:
        tried = "would be tried" if dry_run else "tried"
        say(f"failed before and {tried} again: {', '.join(again)}")
        command += ["--forcerun", *(f"results/{request.run}/{output}" for output in again)]
    code = _run(command, root)
    if code == 0:
        return
    if dry_run:
        raise CheckFailed(f"the workflow ended with code {code}; its last words are above")
    failures = sorted((run_dir / "failures").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
    if failures:
        first = json.loads(failures[0].read_text())
        raise ERRORS.get(first["exit_code"], CheckFailed)(f"{first['step']}: {first['message']}")
    raise CheckFailed(
        f"the workflow ended with code {code}; its last words are above, "
        f"logs are under {run_dir / 'logs'}"
    )


def _limits(request: Request) -> list[str]:
    """What jobs share on this machine, beside its cores.

    Compilers get its memory (a job that wants more of it runs alone). Naming any limit here sets
    aside those of the profile, so that the one GPU of profiles/default stands here again.
    """
    memory = f"compile_mb={usable_memory() // MB}"
    return [memory] if request.executor == "slurm" else ["gpu=1", memory]


def usable_memory(limits: Iterable[Path] = CGROUP_LIMITS) -> int:
    """Bytes of this machine's memory that its jobs may use: all of it, or what a cgroup grants."""
    granted = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in limits:
        with suppress(OSError, ValueError):  # absent, or "max"
            granted.append(int(path.read_text()))
    return min(granted)


def _request_settings(root: Path, run_dir: Path, request_path: Path) -> list[str]:
    """What the workflow is told of its request.

    A draft, which a dry run has, goes by another name: the place of the request is a parameter of
    every step, and another place would make the whole run look as if it had to be made anew.
    """
    kept = run_dir / REQUEST
    settings = [f"request={kept.relative_to(root)}"]
    return settings if request_path == kept else [*settings, f"draft={request_path}"]


@contextmanager
def only_run(root: Path, name: str) -> Iterator[None]:
    """Hold the run ``name`` of this checkout; waits, saying so, while another process has it.

    Snakemake's own locks outlive a killed process; this one does not.
    """
    folder = root / "results"
    folder.mkdir(exist_ok=True)
    waiting = f"another process is at run '{name}' of this checkout; waiting for it"
    with exclusive(folder / f".{name}.lock", waiting):
        yield


def _run(command: Sequence[str], root: Path) -> int:
    """Exit code of the workflow; its jobs end with it when this process is interrupted."""
    process = subprocess.Popen(command, cwd=root, start_new_session=True)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ask the workflow and its jobs to end, and see to it that they do."""
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            continue
