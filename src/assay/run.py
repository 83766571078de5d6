"""Starting Snakemake on a request, and turning its end into the right exit code."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from assay.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.records.plan import Request

ERRORS: dict[int, type[AssayError]] = {1: CheckFailed, 2: BadInput, 3: MissingEnvironment}


def run_workflow(
    root: Path,
    request: Request,
    request_path: Path,
    *,
    cores: int,
    dry_run: bool = False,
    goal: str | None = None,
) -> None:
    """Run the workflow for ``request`` up to rule ``goal`` (all, by default).

    Raises the first failed step's error with its exit code.
    """
    run_dir = root / "results" / request.run
    shutil.rmtree(run_dir / "failures", ignore_errors=True)
    profile = "slurm" if request.executor == "slurm" else "default"
    named = request_path.relative_to(root) if request_path.is_relative_to(root) else request_path
    command = [
        sys.executable, "-m", "snakemake", *([goal] if goal else []),
        "--snakefile", str(root / "Snakefile"),
        "--directory", str(root),
        "--workflow-profile", str(root / "profiles" / profile),
        "--cores", str(cores),
        "--config", f"request={named}",
    ]  # fmt: skip
    if dry_run:
        command += ["--dry-run"]
    ended = subprocess.run(command, cwd=root, check=False)
    if ended.returncode == 0:
        return
    failures = sorted((run_dir / "failures").glob("*.json"), key=lambda p: p.stat().st_mtime_ns)
    if failures:
        first = json.loads(failures[0].read_text())
        raise ERRORS.get(first["exit_code"], CheckFailed)(f"{first['step']}: {first['message']}")
    raise CheckFailed(
        f"the workflow ended with code {ended.returncode}; its last words are above, "
        f"logs are under {run_dir / 'logs'}"
    )
