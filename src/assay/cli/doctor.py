"""What this machine has, what it can answer, what is missing and how to get it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import AssayError, MissingEnvironment
from assay.building.toolchain import find_host_compiler, toolchain_directory
from assay.catalog.load import load_catalog
from assay.measuring.device_jobs import probe_device
from assay.records.images import RuntimeName
from assay.runtimes.base import Place
from assay.runtimes.choose import OPENERS, open_runtime
from assay.runtimes.host import HostRuntime
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trust import published_reports, trusted_keys
from assay.verification.verify import verify


@dataclass(frozen=True)
class Finding:
    """One part of the machine."""

    part: str
    ok: bool
    found: str
    remedy: str


def diagnose(root: Path) -> Iterator[Finding]:
    """Every part that a run can use, whether it is there, and what to do if it is not."""
    yield Finding("python", True, sys.version.split()[0], "")
    yield _host_compiler()
    directory = toolchain_directory(root)
    unpacked = directory.is_dir()
    yield Finding(
        "CUDA compiler",
        True,
        str(directory) if unpacked else "not unpacked yet",
        "" if unpacked else "the first ./assay reproduce installs it from pinned PyPI wheels",
    )
    catalog = load_catalog(root)
    for target in catalog.targets.values():
        try:
            device = probe_device(Place(HostRuntime()), target)
            yield Finding(f"GPU {target.id}", True, f"{device.gpu.product} {device.gpu.uuid}", "")
        except MissingEnvironment as error:
            yield Finding(
                f"GPU {target.id}",
                False,
                str(error),
                "run on a machine that has it, with --device-python for a Python with PyTorch",
            )
    for name in OPENERS:
        if name != "host":
            yield _runtime(name)
    yield _program("ncu", "Nsight Compute", "install nsight-compute to collect its metrics")
    yield _program("sbatch", "Slurm", "log in to a cluster to use --executor slurm")
    yield _program("git", "git", "apt-get install git, so that records can name the commit")
    for report in published_reports(root):
        try:
            with opened_report(report) as folder:
                verify(folder, trusted_keys(root))
            passed, found = True, "verifies"
        except AssayError as error:
            passed, found = False, str(error)
        remedy = "" if passed else "restore it with git checkout"
        yield Finding(f"report {report_name(report)}", passed, found, remedy)


def _host_compiler() -> Finding:
    try:
        return Finding("host compiler", True, find_host_compiler(), "")
    except MissingEnvironment as error:
        return Finding("host compiler", False, "none", str(error))


def _runtime(name: RuntimeName) -> Finding:
    try:
        return Finding(f"runtime {name}", True, open_runtime(name).describe(), "")
    except MissingEnvironment as error:
        return Finding(f"runtime {name}", False, "none", str(error))


def _program(name: str, part: str, remedy: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(part, False, "not on PATH", remedy)
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    lines = [line for line in shown.stdout.splitlines() if line.strip()]
    return Finding(part, True, lines[-1].strip() if lines else path, "")
