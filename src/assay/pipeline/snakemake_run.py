"""Starting Snakemake on a request, and turning its end into the right exit code."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from assay.base.errors import CheckFailed, Interrupted
from assay.base.isolation import isolated
from assay.base.pip_locks import tail
from assay.base.progress import quote, say
from assay.base.signals import SignalledExit
from assay.base.writable import cache_folder, own_cache, why_not_writable
from assay.catalog.model import Catalog
from assay.measuring.held_gpu import memory_limit
from assay.pipeline.failures import error_of, is_damaged, read_failures
from assay.pipeline.preconditions import require_compiler
from assay.pipeline.run_files import RESULTS, bind_run, report_path, run_path
from assay.pipeline.slurm_jobs import (
    cancel_orphans,
    executor_options,
    requeue_preempted,
    was_on_cluster,
)
from assay.pipeline.workflow_process import log_path, only_run, run_process
from assay.records.attestation import PAGE
from assay.records.plan import Plan, Request
from assay.runtimes import owners
from assay.shared.counting import counted
from assay.shared.errors import ExitCode

MB = 1_000_000


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
    """Bind the run to its plan, and run the workflow up to rule ``goal`` (all, by default).

    ``again``: outputs below the run's directory that are made anew though they are there. A report
    that is no longer as it was signed is made again. Raises the failed steps' error with the first
    one's exit code, Interrupted when this process is.
    """
    require_compiler(request, plan)
    with only_run(root if request.home is None else Path(request.home), request.run):
        bind_run(root, catalog, request, plan)
        run_dir = root / run_path(request)
        if request.cluster is not None or was_on_cluster(run_dir):
            cancel_orphans(run_dir)
        shutil.rmtree(run_dir / "failures", ignore_errors=True)
        say("each step is told when it ends, but for those that take less than a second")
        if again:
            say(f"failed before and tried again: {', '.join(again)}")
        anew = [f"{run_path(request)}/{output}" for output in again]
        if is_damaged(root / report_path(request)):
            anew.append(f"{report_path(request)}/{PAGE}")
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
            on_look=partial(requeue_preempted, run_dir) if on_cluster else lambda: None,
        )
    except (KeyboardInterrupt, SignalledExit) as stop:
        code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
        kept = len(list((run_dir / "kept").glob("*/*/*.json.gz")))
        raise Interrupted(
            f"interrupted: what was finished ({counted(kept, 'measurement')}) is kept in {run_dir}",
            code,
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
    """Return how Snakemake is started on a run, without any limit on cores.

    Compilers share this machine's memory, or what a control group grants of it. Naming any limit
    here sets aside those of the profile, so that its one GPU stands here again.
    """
    cluster, home = request.cluster, request.home
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [f"compile_mb={min(memory, memory_limit() or memory) // MB}"]
    limits += ["gpu=1"] if request.executor == "local" else []
    profile, placed = "default", list[str]()
    if cluster is not None:
        profile, placed = "slurm", executor_options(cluster, root / run_path(request))
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
    """Return the caller's environment for Snakemake and its jobs, which run this checkout's code.

    Snakemake and libraries of the steps would end in a traceback without a cache to write to.
    """
    ours = isolated(environ, [root / "src"])
    if own_cache() is not None:
        ours["PYTHONDONTWRITEBYTECODE"] = "1"  # into the repository
    home = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/")) / ".cache"
    if why_not_writable(Path(home) / "snakemake") is None:
        return ours
    return {**ours, "XDG_CACHE_HOME": str(cache_folder(root) / "home")}
