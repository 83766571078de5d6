"""Snakemake on a request: one command at a time has a run, and all that it starts ends with it.

Where the command was killed, each step looks for itself (``steps.leave_with_owner``). So a report
is never signed for a command that is gone.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from assay.base.errors import CheckFailed, Interrupted
from assay.base.isolation import isolated
from assay.base.pip_locks import tail
from assay.base.printable import shown_line
from assay.base.progress import exclusive, quote, say
from assay.base.signals import SignalledExit
from assay.base.writable import cache_folder, own_cache, why_not_writable
from assay.catalog.model import Catalog
from assay.measuring.held_gpu import memory_limit
from assay.pipeline import slurm_jobs
from assay.pipeline.failures import error_of, read_failures
from assay.pipeline.preconditions import require_compiler
from assay.pipeline.run_files import RESULTS, bind_run, run_path
from assay.records.plan import Plan, Request
from assay.runtimes import owners
from assay.shared.counting import counted
from assay.shared.errors import ExitCode
from assay.shared.processes import tied_to_parent

MB = 1_000_000
GRACE_S = 60.0
"""Time that jobs have to remove containers and half-written files when a run is interrupted."""
POLL_S = 0.5
"""How often failures of steps are looked for."""
LOOK_S = 20.0
"""How often jobs of a cluster are looked for that were preempted for good."""
DRAIN_S = 5.0
"""Patience with whoever holds the workflow's output open when the workflow has ended."""
OURS = "assay: "
"""How every line begins that a step says to the person at the terminal."""
WARNING = re.compile(rf"{OURS}  (\S.*Warning: |  )")
"""A library's warning, or the line of code below it: every process of a measurement warns anew."""
STEP = re.compile(rf"{OURS}\S+: [\d.]+ s$")
"""What ``steps.run_job`` says when a step has ended."""
COUNT = re.compile(r"(\d+ of \d+ steps) \(\d+%\) done$")
"""What Snakemake says then."""


def run_workflow(
    root: Path,
    catalog: Catalog,
    request: Request,
    plan: Plan,
    *,
    cores: int,
    goal: str | None = None,
    again: Sequence[str] = (),
    verbose: bool = False,
) -> None:
    """Bind the run to its plan, and run the workflow up to rule ``goal`` (all, by default);
    ``again``: outputs below the run's directory that are made anew. What Snakemake says goes to its
    log, and to the terminal where ``verbose``. Raises the failed steps' error with the first one's
    exit code (what the machine lacks ends all at once), Interrupted.
    """
    require_compiler(request, plan)
    with only_run(root if request.home is None else Path(request.home), request.run):
        bind_run(root, catalog, request, plan)
        run_dir = root / run_path(request)
        if request.cluster is not None or slurm_jobs.was_on_cluster(run_dir):
            slurm_jobs.cancel_orphans(run_dir)
        if request.cluster is not None:
            slurm_jobs.salt_of(run_dir)
        shutil.rmtree(run_dir / "failures", ignore_errors=True)
        say("a step of a second or more is named when it ends")
        if again:
            say(f"failed before and tried again: {', '.join(again)}")
        anew = [f"{run_path(request)}/{output}" for output in again]
        command = [*snakemake_command(root, request, goal), "--cores", str(cores)]
        _run(root, request, [*command, "--forcerun", *anew] if anew else command, verbose=verbose)


def _run(root: Path, request: Request, command: Sequence[str], *, verbose: bool) -> None:
    """Run the workflow's process, and raise what its end is, but for a good one."""
    run_dir, on_cluster = root / run_path(request), request.cluster is not None
    environment = snakemake_environment(root, os.environ)
    try:
        code = run_process(
            command,
            root,
            run_dir,
            environment=environment | owners.variables(run_dir, owners.myself()),
            verbose=verbose,
            on_cluster=on_cluster,
        )
    except (KeyboardInterrupt, SignalledExit) as stop:
        code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
        kept = len(list((run_dir / "kept").glob("*/*/*.json.gz")))
        among = f" ({counted(kept, 'measurement')})" if kept else ""
        raise Interrupted(
            f"interrupted: what was finished is kept in {run_dir}{among}", code
        ) from stop
    if code == 0:
        return
    if failures := read_failures(run_dir):
        raise error_of(failures)
    if not verbose:
        quote(tail(log_path(run_dir)))
    raise CheckFailed(
        f"the workflow ended with code {code}; its last words are above, "
        f"all of them in {log_path(run_dir)}"
    )


def snakemake_command(root: Path, request: Request, goal: str | None = None) -> list[str]:
    """Return how Snakemake is started, without a limit on cores; nothing of a project's run lands
    in the repository. Compilers share the memory that a control group grants. Naming any limit sets
    aside those of the profile: its one GPU stands here again.
    """
    cluster, home = request.cluster, request.home
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [f"compile_mb={min(memory, memory_limit() or memory) // MB}"]
    limits += ["gpu=1"] if request.executor == "local" else []
    profile, placed = "default", list[str]()
    if cluster is not None:
        profile, placed = "slurm", slurm_jobs.executor_options(cluster, root / run_path(request))
    return [
        sys.executable, "-m", "snakemake", *([goal] if goal else []),
        "--snakefile", str(root / "Snakefile"),
        "--directory", str(root if home is None else Path(home, RESULTS)),
        "--workflow-profile", str(root / "profiles" / profile),
        *placed,
        "--nolock", "--rerun-incomplete", "--resources", *limits,
        "--config", f"run={run_path(request)}",
    ]  # fmt: skip


def snakemake_environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without what would run code from elsewhere, and with another
    cache where none below the home can be written: there Snakemake and libraries end with a
    traceback.
    """
    ours = isolated(environ, [root / "src"])
    if own_cache() is not None:
        ours["PYTHONDONTWRITEBYTECODE"] = "1"  # into the repository
    home = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/")) / ".cache"
    if why_not_writable(Path(home) / "snakemake") is None:
        return ours
    return {**ours, "XDG_CACHE_HOME": str(cache_folder(root) / "home")}


@contextmanager
def only_run(home: Path, name: str) -> Iterator[None]:
    """Hold a run, waiting while another process has it (Snakemake's locks outlive a killed one),
    and end what a killed command left. Raises MissingEnvironment where that cannot be.
    """
    path = home / RESULTS / f".{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path, f"another process is at run '{name}' of {home}; waiting for it"):
        owners.end_leftovers(home / RESULTS / name)
        yield


def run_process(
    command: Sequence[str],
    root: Path,
    run_dir: Path,
    *,
    environment: Mapping[str, str] | None = None,
    verbose: bool = False,
    on_cluster: bool = False,
) -> int:
    """Exit code of the workflow, whose output goes to its log. Its jobs end with it at an
    interrupt, and where a step lacks something of this machine; ``on_cluster`` the next node may
    have it.
    """
    log = log_path(run_dir)
    log.parent.mkdir(parents=True, exist_ok=True)
    tie = tied_to_parent(signal.SIGINT if on_cluster else signal.SIGKILL)
    process = subprocess.Popen(
        command, cwd=root, env=environment, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        preexec_fn=tie,
    )  # fmt: skip
    silenced = threading.Event()
    told = process.stdout, log, verbose, silenced
    copying = threading.Thread(target=_copy, args=told, daemon=True)
    copying.start()
    try:
        return _wait(process, run_dir, on_cluster=on_cluster)
    finally:
        if process.poll() is None:
            silenced.set()
            _end_group(process, on_cluster=on_cluster)
        copying.join(DRAIN_S)


def log_path(run_dir: Path) -> Path:
    """Return where Snakemake's own words go."""
    return run_dir / "logs" / "snakemake.log"


def _copy(stream: IO[str], path: Path, verbose: bool, silenced: threading.Event) -> None:
    """Copy a workflow's words into its log; tell lines for people until they are silenced."""
    warned: set[str] = set()
    count = ""
    with path.open("w", encoding="utf-8") as log:
        for line in stream:
            log.write(line)
            log.flush()
            key = re.sub(r"\d+", "#", line) if WARNING.match(line) else ""
            meant = verbose or (line.startswith(OURS) and key not in warned)
            if found := COUNT.match(line):
                count = f" (after {found[1]})"
            if meant and not silenced.is_set():
                told = shown_line(line.rstrip("\n")) + (count if STEP.match(line) else "")
                with suppress(OSError):  # nobody listens any more: the log does
                    print(told, file=sys.stderr, flush=True)
            warned |= {key} - {""}


def _wait(process: "subprocess.Popen[str]", run_dir: Path, *, on_cluster: bool) -> int:
    """Wait, saying which steps failed; return 3 early where this machine lacks something."""
    known, due = set[str](), time.monotonic() + LOOK_S
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(POLL_S)
        if on_cluster and time.monotonic() > due:
            due = time.monotonic() + LOOK_S
            slurm_jobs.requeue_preempted(run_dir)
        for failure in read_failures(run_dir):
            if failure.lacks_something and not on_cluster:
                return failure.exit_code
            if failure.step not in known:
                known.add(failure.step)
                say(f"{failure.step} failed; what does not depend on it goes on")


def _end_group(process: "subprocess.Popen[str]", *, on_cluster: bool) -> None:
    """Ask the workflow and its jobs to end, then end them; an interrupt ends the patience."""
    if on_cluster:  # Snakemake cancels the jobs it placed when it is interrupted, and only then
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(GRACE_S)
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(patience)
            return
