"""The diagnosis of this machine: its parts, those missing with how to get them, its abilities."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.building.installed import find_installed
from assay.building.toolchain import find_host_compiler, toolchain_directory
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli.abilities import Ability, Machine, abilities
from assay.cli.cluster_findings import cluster_findings
from assay.cli.findings import Finding, State
from assay.measuring.host_driver import (
    HostDriver,
    find_host_driver,
    remedy_of_old_driver,
)
from assay.measuring.local_gpu import lacking_packages
from assay.records.images import RuntimeName
from assay.runtimes.base import Runtime, RuntimeAbsent
from assay.runtimes.choose import OPENERS, open_runtime
from assay.verification.commit_tree import require_ancestor
from assay.verification.own_rules import NotJudgedAgain
from assay.verification.place import check_place
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trust import published_reports
from assay.verification.trusted_keys import trusted_keys
from assay.verification.verify import VerificationLog, verify


@dataclass(frozen=True)
class Diagnosis:
    """The parts of a machine and what it can do with them."""

    findings: tuple[Finding, ...]
    abilities: tuple[Ability, ...]


def diagnose(
    root: Path, python: str, packages: Sequence[Path] = (), project: Path | None = None
) -> Diagnosis:
    """Look at every part that a run can use.

    ``python`` is the device's, which looks for packages in the directories ``packages`` first;
    ``project`` the folder of a project, whose own site file goes before the repository's.
    """
    catalog, keys = load_catalog(root), trusted_keys(root)
    compiler, no_compiler = _ask_compiler()
    driver = find_host_driver()
    runtimes, engines = _look_for_engines()
    machine = Machine(
        root, catalog, keys, compiler, no_compiler, driver, python, packages, runtimes
    )
    findings = (
        Finding("python", State.OK, sys.version.split()[0]),
        _host_compiler(compiler, no_compiler),
        _cuda_compiler(root),
        *_gpus(catalog, driver, python, packages),
        *engines,
        *_rivals(catalog, python, packages),
        _program("ncu", "Nsight Compute", "install nsight-compute to collect its metrics"),
        _program("sbatch", "Slurm", "log in to a cluster to use --executor slurm"),
        *cluster_findings(root, catalog, project),
        _program("git", "git", "apt-get install git, so that records can name the commit"),
        *_reports(root, keys),
    )
    return Diagnosis(findings, tuple(abilities(machine)))


def _ask_compiler() -> tuple[str | None, str]:
    """Return the host compiler's version, or why there is none that will do."""
    try:
        return find_host_compiler(), ""
    except MissingEnvironment as error:
        return None, str(error)


def _host_compiler(version: str | None, objection: str) -> Finding:
    if version is None:
        return Finding("host compiler", State.MISSING, "none that will do", objection)
    return Finding("host compiler", State.OK, version)


def _cuda_compiler(root: Path) -> Finding:
    directory = toolchain_directory(root)
    if directory.is_dir():
        return Finding("CUDA compiler", State.OK, str(directory.relative_to(root)))
    remedy = "the first ./assay reproduce installs it from pinned PyPI wheels"
    return Finding("CUDA compiler", State.OK, "not unpacked yet", remedy)


def _gpus(
    catalog: Catalog, driver: HostDriver | None, python: str, packages: Sequence[Path]
) -> Iterator[Finding]:
    """Yield the driver, each GPU once, and the Python that would measure on them."""
    if driver is None:
        remedy = "run where a GPU is, to measure; nothing else needs one"
        yield Finding("NVIDIA driver", State.OPTIONAL, "none", remedy)
        return
    if driver.too_old:
        yield Finding("NVIDIA driver", State.MISSING, f"{driver}: too old", remedy_of_old_driver())
    else:
        yield Finding("NVIDIA driver", State.OK, str(driver))
    for number, gpu in enumerate(driver.gpus):
        targets = [name for name, target in catalog.targets.items() if gpu.is_of(target)]
        state = State.OK if targets else State.UNUSED
        which = f"target {', '.join(targets)}" if targets else "no target of config/targets"
        yield Finding(f"GPU {number}", state, f"{gpu.product}, {which}, {gpu.uuid}")
    yield _device_python(python, packages)


def _device_python(python: str, packages: Sequence[Path]) -> Finding:
    lacking = lacking_packages(python, packages)
    if lacking is None:
        return Finding("device's Python", State.OK, f"{python}, with PyTorch and nvidia-ml-py")
    return Finding("device's Python", State.MISSING, lacking.detail, lacking.remedy)


def _rivals(catalog: Catalog, python: str, packages: Sequence[Path]) -> Iterator[Finding]:
    """Optional packages in the device's Python, each with the line that installs it."""
    installed = find_installed(python, list(catalog.rivals.values()), packages)
    for name, rival in catalog.rivals.items():
        wanted = f"{rival.main.name} {rival.main.version}"
        here = installed.get(name)
        if here is not None and here.version == rival.main.version:
            yield Finding(rival.title, State.OK, wanted)
            continue
        found = "none" if here is None else f"{rival.main.name} {here.version}"
        remedy = f"for {rival.purpose} (Python {rival.python}; {rival.needs}): "
        line = rival.install_line(python)
        yield Finding(rival.title, State.OPTIONAL, f"{found}, and not {wanted}", remedy + line)


def _look_for_engines() -> tuple[dict[RuntimeName, Runtime], list[Finding]]:
    """Container runtimes that work, and a line on each; those not here share one."""
    working: dict[RuntimeName, Runtime] = {}
    findings, absent = [], []
    for name in OPENERS:
        if name == "host":
            continue
        try:
            working[name] = open_runtime(name)
        except RuntimeAbsent as error:
            absent.append(f"{name} {error.brief}")
        except MissingEnvironment as error:
            findings.append(Finding(name, State.UNUSABLE, str(error)))
        else:
            findings.append(Finding(name, State.OK, working[name].describe()))
    if absent:
        remedy = "" if working else "install or start one, to compile and measure in containers"
        findings.append(Finding("container engines", State.OPTIONAL, ", ".join(absent), remedy))
    return working, findings


def _program(name: str, part: str, remedy: str) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(part, State.OPTIONAL, f"no {name} on PATH", remedy)
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    lines = [line for line in shown.stdout.splitlines() if line.strip()]
    return Finding(part, State.OK, lines[-1].strip() if lines else path)


def _reports(root: Path, keys: list[Path]) -> Iterator[Finding]:
    for report in published_reports(root):
        name = report_name(report)
        try:
            _verify(root, report, keys)
        except NotJudgedAgain as other:
            yield _of_other_rules(root, name, other)
        except AssayError as error:
            remedy = "restore it with git checkout"
            yield Finding("published report", State.MISSING, f"{name}: {error}", remedy)
        else:
            yield Finding("published report", State.OK, f"{name} verifies")


def _verify(root: Path, report: Path, keys: Sequence[Path]) -> None:
    """Verify a published report; raise CheckFailed for one under another run's name, too."""
    log = VerificationLog()
    with opened_report(report) as folder:
        try:
            verify(folder, keys, log=log)
        finally:
            if log.signed is not None:
                place = CheckLog()
                check_place(place, report, log.signed.manifest.run, root)
                place.raise_if_failed(report)


def _of_other_rules(root: Path, name: str, other: NotJudgedAgain) -> Finding:
    """Return whether ``verify`` could judge a report again by its own commit, which takes it a
    while.
    """
    part, found = "published report", f"{name} was judged by rules {other.rules}; all else holds"
    try:
        require_ancestor(root, other.commit)
    except MissingEnvironment as lack:
        return Finding(
            part, State.OPTIONAL, f"{found}, and verify cannot judge it again", str(lack)
        )
    except CheckFailed as error:
        return Finding(part, State.MISSING, f"{name}: {error}", "restore it with git checkout")
    return Finding(part, State.OK, f"{found}, and verify judges it again by its commit's code")
