"""The diagnosis of this machine: what it can do, its parts, and how to get those it lacks."""

import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.yaml_problems import suggest
from assay.building.inspect_device_code import find_installed
from assay.building.toolchain import find_host_compiler
from assay.catalog.cluster import cluster_files, gpu_type_of, wishes_of
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli.abilities import Ability, Machine
from assay.evidence.stages import TARGET_STAGES
from assay.measuring.host_driver import HostDriver, find_host_driver, remedy_of_old_driver
from assay.measuring.local_gpu import lacking_packages
from assay.measuring.slurm_partitions import Partition, slurm_partitions
from assay.pipeline.request import site_of
from assay.records.cluster import ClusterFile
from assay.records.images import RuntimeName
from assay.runtimes.base import Runtime, RuntimeAbsent
from assay.runtimes.choose import OPENERS, open_runtime
from assay.verification.trusted_keys import trusted_keys

DEVICE_PYTHON = (
    "python3 -m venv ~/assay-device && ~/assay-device/bin/pip install 'torch>=2.11' nvidia-ml-py "
    "&& export ASSAY_DEVICE_PYTHON=~/assay-device/bin/python"
)
"""What makes a Python that can measure."""


class State(StrEnum):
    """The state of one part."""

    OK = "here"
    WRONG = "wrong"
    """Here, and of no use as it is."""
    ABSENT = "not here"


@dataclass(frozen=True)
class Finding:
    """One part of the machine."""

    part: str
    """Its name, which ``doctor --fix`` takes."""
    state: State
    found: str = ""
    """Its version, or what is wrong with it."""
    fix: str = ""
    """The shell line that gets it; empty where none does."""

    @property
    def words(self) -> str:
        """Return the part and what was found."""
        if self.state is State.WRONG:
            return f"{self.part}: {self.found}"
        found = f"({self.found})" if self.found and self.state is State.ABSENT else self.found
        return f"{self.part} {found}".rstrip()


@dataclass(frozen=True)
class Diagnosis:
    """The parts of a machine and what it can do with them."""

    abilities: tuple[Ability, ...]
    findings: tuple[Finding, ...]

    @property
    def fixes(self) -> dict[str, str]:
        """Return the shell line that gets each part that is lacking."""
        return {each.part: each.fix for each in self.findings if each.fix}


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
        _compiler(compiler, no_compiler),
        _program("git", _apt("git")),
        *_gpus(catalog, driver, python, packages),
        *engines,
        _program("ncu", _apt("nsight-compute")),
        _program("sbatch"),
        *cluster_findings(root, catalog, project),
    )
    return Diagnosis(tuple(machine.abilities()), findings)


def _apt(package: str) -> str:
    """Return the line that installs a package of Debian's."""
    return f"{_as_root()}apt-get install -y {package}"


def _as_root() -> str:
    return "" if os.geteuid() == 0 else "sudo "


def _start(engine: str) -> str:
    """Return the line that installs an engine, or that starts one which is installed."""
    there = shutil.which(engine) is not None
    if engine == "docker":
        return f"{_as_root()}systemctl start docker" if there else _apt("docker.io")
    if engine == "podman":
        return "systemctl --user start podman.socket" if there else _apt("podman")
    return ""


def _ask_compiler() -> tuple[str | None, str]:
    """Return the host compiler's version, or why there is none that will do."""
    try:
        return find_host_compiler(), ""
    except MissingEnvironment as error:
        return None, str(error)


def _compiler(version: str | None, objection: str) -> Finding:
    if version is not None:
        return Finding("g++", State.OK, version.split()[-1])
    if shutil.which("g++") is None:
        return Finding("g++", State.ABSENT, fix=_apt("g++"))
    return Finding("g++", State.WRONG, objection)


def _gpus(
    catalog: Catalog, driver: HostDriver | None, python: str, packages: Sequence[Path]
) -> Iterator[Finding]:
    """Yield the driver, GPUs by product, and the Python that would measure on them."""
    if driver is None:
        yield Finding("GPU", State.ABSENT)
        return
    if driver.too_old:
        yield Finding("driver", State.WRONG, f"{driver}: too old; {remedy_of_old_driver()}")
    else:
        yield Finding("driver", State.OK, str(driver).removeprefix("driver "))
    products = Counter(gpu.product for gpu in driver.gpus)
    for product, count in products.items():
        gpu = next(each for each in driver.gpus if each.product == product)
        targets = [name for name, target in catalog.targets.items() if gpu.is_of(target)]
        which = f"target {', '.join(targets)}" if targets else "no target of config/targets"
        yield Finding("GPU", State.OK, f"{count} x {product} ({which})")
    lacking = lacking_packages(python, packages)
    if lacking is None:
        yield Finding("pytorch", State.OK, f"in {python}")
    else:
        yield Finding("pytorch", State.ABSENT, fix=DEVICE_PYTHON)
    yield from _rivals(catalog, python, packages)


def _rivals(catalog: Catalog, python: str, packages: Sequence[Path]) -> Iterator[Finding]:
    """Yield optional packages of the device's Python; another version is not the one measured."""
    installed = find_installed(python, list(catalog.rivals.values()), packages)
    for name, rival in catalog.rivals.items():
        here = installed.get(name)
        if here is not None and here.version == rival.main.version:
            yield Finding(name, State.OK, here.version)
        else:
            yield Finding(name, State.ABSENT, fix=rival.install_line(python))


def _look_for_engines() -> tuple[dict[RuntimeName, Runtime], list[Finding]]:
    """Return container runtimes that work, and a finding on each."""
    working: dict[RuntimeName, Runtime] = {}
    findings = []
    for name in OPENERS:
        if name == "host":
            continue
        try:
            working[name] = open_runtime(name)
        except RuntimeAbsent as error:
            findings.append(Finding(name, State.ABSENT, error.brief, _start(name)))
        except MissingEnvironment as error:
            findings.append(Finding(name, State.WRONG, str(error)))
        else:
            findings.append(Finding(name, State.OK, working[name].describe()))
    return working, findings


def _program(name: str, fix: str = "") -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, State.ABSENT, fix=fix)
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    lines = shown.stdout.split("\n") if shown.returncode == 0 else []
    words = [line.split() for line in lines if line.strip()]
    return Finding(name, State.OK, words[-1][-1] if words else shlex.quote(path))


def cluster_findings(root: Path, catalog: Catalog, project: Path | None) -> Iterator[Finding]:
    """Yield what is to be said of the site's files; nothing where there is none."""
    files = cluster_files(root, project)
    if not files:
        return
    part = "cluster file"
    try:
        cluster = site_of(root, catalog, project)
    except BadInput as error:
        says = "; ".join(map(str.strip, str(error).splitlines()))
        yield Finding(part, State.WRONG, f"{says}; docs/running.md has its keys")
        return
    named = (path.relative_to(root) if root in path.parents else path for path in files)
    names = ", ".join(map(str, named))
    if shutil.which("sinfo") is None:
        yield Finding(part, State.OK, f"{names}, held against no cluster: there is no sinfo here")
        return
    try:
        wrong = list(dict.fromkeys(_unknown(cluster, catalog, slurm_partitions())))
    except MissingEnvironment as error:
        remedy = "ask on the cluster's login node; only --executor slurm needs it"
        yield Finding(part, State.WRONG, f"{error}; {remedy}")
        return
    if wrong:
        yield Finding(part, State.WRONG, f"{'; '.join(wrong)}; see sinfo, and mend {names}")
    else:
        yield Finding(part, State.OK, f"{names}, which this cluster can do")


def _unknown(
    cluster: ClusterFile, catalog: Catalog, offered: dict[str, Partition]
) -> Iterator[str]:
    """Yield what jobs would ask for and this cluster has not.

    Of a target whose GPU no partition has, nothing: it is measured elsewhere, or not at all.
    """
    for name, target in catalog.targets.items():
        gpu_type = gpu_type_of(cluster, target)
        has_type = any(gpu_type in each.gpu_types for each in offered.values())
        if not has_type and name not in cluster.targets:
            continue
        for stage in (entry.stage.value for entry in TARGET_STAGES if entry.holds_gpu):
            wishes = wishes_of(cluster, name, stage)
            queue = wishes.partition or target.slurm_partition
            if queue not in offered:
                yield f"there is no partition '{queue}' for {name}{suggest(queue, offered)}"
                continue
            partition = offered[queue]
            if gpu_type not in partition.gpu_types:
                meant = suggest(gpu_type, partition.gpu_types)
                yield f"partition '{queue}' has no GPU of type '{gpu_type}' for {name}{meant}"
            if partition.minutes is not None and (wishes.minutes or 0) > partition.minutes:
                yield (
                    f"{stage} on {name} asks for {wishes.minutes} minutes, and partition '{queue}' "
                    f"grants {partition.minutes}"
                )
