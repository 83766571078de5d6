"""``./assay doctor``: say what this machine can do, and how to get what it lacks."""

import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.isolation import DEVICE_PATH, package_directory
from assay.base.yaml_problems import suggest
from assay.building.inspect_device_code import find_installed
from assay.building.toolchain import find_host_compiler
from assay.catalog.cluster import gpu_type_of, load_cluster
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli import checkout, console
from assay.cli.options import DevicePathOption, DevicePythonOption, ProjectOption, project_folder
from assay.images.stage import objection
from assay.measuring.device_process import device_python as named_python
from assay.measuring.host_machine import (
    NO_DRIVER,
    HostDriver,
    find_host_driver,
    remedy_of_old_driver,
)
from assay.measuring.local_gpu import Absence, find_gpu, lacking_packages
from assay.measuring.slurm_grant import gpu_types
from assay.records.images import RuntimeName
from assay.records.platform import Target
from assay.runtimes.base import Runtime, RuntimeAbsent
from assay.runtimes.choose import RUNTIMES, open_runtime
from assay.verification.trusted_keys import trusted_keys

DEVICE_PYTHON = (
    "python3 -m venv ~/assay-device && ~/assay-device/bin/pip install 'torch>=2.11' nvidia-ml-py "
    "&& export ASSAY_DEVICE_PYTHON=~/assay-device/bin/python"
)
NSIGHT_COMPUTE = "apt-get install -y nsight-compute  # of Ubuntu's multiverse, Debian's non-free"
START = {"docker": "systemctl start docker", "podman": "systemctl --user start podman.socket"}
PACKAGES = {"docker": "docker.io", "podman": "podman"}


def doctor(
    device_python: DevicePythonOption = None,
    device_path: DevicePathOption = None,
    project: ProjectOption = None,
    fix: Annotated[
        str | None, typer.Option(help="Print only the line that gets this part.", metavar="PART")
    ] = None,
) -> None:
    """Say what this machine can do, and how to get what it lacks."""
    packages = [package_directory(DEVICE_PATH, name) for name in device_path or ()]
    folder = project_folder(project)
    abilities, found = diagnose(checkout.ROOT, named_python(device_python), packages, folder)
    if fix is not None:
        console.say(_fix_of(fix, found))
        return
    lines = [*abilities.items()]
    for state in State:
        parts = [each.words for each in found if each.state is state]
        if parts:
            lines.append((state.value, ("; " if state is State.WRONG else ", ").join(parts)))
    for head, text in lines:
        console.say(f"{head + ':':10}{text}")
    for each in found:
        if each.fix:
            console.say(f"to get {each.part}: {each.fix}")


class State(StrEnum):
    """The state of one part."""

    OK = "here"
    WRONG = "wrong"
    """Here, and of no use as it is."""
    ABSENT = "not here"


class Finding(NamedTuple):
    """One part of the machine."""

    part: str
    state: State
    found: str = ""
    """Its version, or what is wrong with it."""
    fix: str = ""
    """The shell line that gets it; empty where none does."""

    @property
    def words(self) -> str:
        """Return the part and what was found."""
        form = {State.OK: " {}", State.WRONG: ": {}", State.ABSENT: " ({})"}[self.state]
        return self.part + (form.format(self.found) if self.found else "")


def _fix_of(part: str, found: Sequence[Finding]) -> str:
    """Return the shell line that gets a part. Raises BadInput where there is none."""
    of = {each.part: each for each in found}
    if part not in of:
        meant = suggest(part, of) or f"; known: {', '.join(of)}"
        raise BadInput(f"there is no part '{part}'{meant}")
    if not of[part].fix:
        raise BadInput(f"{of[part].words} is {of[part].state.value}; no line to paste gets it")
    return of[part].fix


@dataclass(frozen=True)
class Machine:
    """This machine, as far as its abilities rest on it."""

    root: Path
    catalog: Catalog
    python: str
    """The device's, by name."""
    packages: Sequence[Path]
    """Directories in which it looks for packages first."""
    driver: HostDriver | None
    runtimes: Mapping[RuntimeName, Runtime]

    def has_images(self, name: RuntimeName) -> bool:
        """Return whether a runtime's images can be had here."""
        return objection(self.root, None, name, host_image=False) is None

    def measures(self, project: Path | None = None) -> str:
        """Return where it measures: on the host, in a container, on its cluster; else why not."""
        targets, driver = self.catalog.targets, self.driver
        ways = {name: self._way(target) for name, target in targets.items()}
        if here := [f"{name} {way}" for name, way in ways.items() if isinstance(way, str)]:
            return f"yes: {'; '.join(here)}"
        if names := ", ".join(self._targets_of_cluster(project)):
            return f"yes: on the cluster's {names} nodes, with --executor slurm"
        elsewhere = "run on a machine with a GPU of config/targets, or on a cluster's login node"
        if driver is None:
            return f"no: there is {NO_DRIVER}; {elsewhere}"
        # What keeps a GPU that is here from measuring says more than that others are not here.
        of_here = [why for name, why in ways.items() if driver.gpu_of(targets[name])]
        reasons = "; ".join(dict.fromkeys(map(str, of_here or ways.values())))
        return f"no: {reasons if of_here else f'{reasons}; {elsewhere}'}"

    def _way(self, target: Target) -> str | Absence:
        """Return on what a target is measured here, and in which runtime; or why it cannot be."""
        on_host = find_gpu(target, self.driver, "host", self.python, self.packages)
        if not isinstance(on_host, Absence):
            return f"on {on_host}"
        for runtime in self.runtimes:
            inside = find_gpu(target, self.driver, runtime, self.python)
            if not isinstance(inside, Absence) and self.has_images(runtime):
                with suppress(MissingEnvironment):
                    open_runtime(runtime, gpu=True)
                    return f"on {inside} in {runtime}"
        return on_host

    def _targets_of_cluster(self, project: Path | None) -> list[str]:
        """Return targets that the cluster of this machine has nodes of; none without a cluster."""
        if shutil.which("sbatch") is None:
            return []
        try:
            cluster, types = load_cluster(self.root, project, self.catalog.targets), gpu_types()
        except (BadInput, MissingEnvironment):
            return []  # reproduce --executor slurm says what is wrong
        targets = self.catalog.targets.items()
        return [name for name, target in targets if gpu_type_of(cluster, target) in types]

    def gpus(self) -> Iterator[Finding]:
        """Yield the driver, GPUs by product, and the Python that would measure on them."""
        driver = self.driver
        if driver is None:
            yield Finding("GPU", State.ABSENT)
            return
        if driver.too_old:
            too_old = f"{driver}: too old; {remedy_of_old_driver()}"
            yield Finding("driver", State.WRONG, too_old)
        else:
            yield Finding("driver", State.OK, str(driver).removeprefix("driver "))
        for product, count in Counter(gpu.product for gpu in driver.gpus).items():
            gpu = next(each for each in driver.gpus if each.product == product)
            targets = [name for name, of in self.catalog.targets.items() if gpu.is_of(of)]
            which = f"target {', '.join(targets)}" if targets else "no target of config/targets"
            yield Finding("GPU", State.OK, f"{count} x {product} ({which})")
        if lacking_packages(self.python, self.packages) is None:
            yield Finding("pytorch", State.OK, f"in {self.python}")
        else:
            yield Finding("pytorch", State.ABSENT, fix=DEVICE_PYTHON)
        installed = find_installed(self.python, list(self.catalog.rivals.values()), self.packages)
        for name, rival in self.catalog.rivals.items():
            version = installed[name].version if name in installed else None
            if version == rival.main.version:  # another version is not the one measured
                yield Finding(name, State.OK, version)
            else:
                yield Finding(name, State.ABSENT, fix=rival.install_line(self.python))


def diagnose(
    root: Path, python: str, packages: Sequence[Path] = (), project: Path | None = None
) -> tuple[dict[str, str], list[Finding]]:
    """Return what this machine, with a ``project``'s site, can do, and all that a run can use."""
    runtimes, engines = _engines()
    machine = Machine(root, load_catalog(root), python, packages, find_host_driver(), runtimes)
    try:
        compiler = Finding("g++", State.OK, find_host_compiler().split()[-1])
        rebuilds = f"yes: on the host with g++ {compiler.found}"
    except MissingEnvironment as error:
        compiler = Finding("g++", State.ABSENT, fix=_as_root("apt-get install -y g++"))
        if shutil.which("g++") is not None:
            compiler = Finding("g++", State.WRONG, str(error))
        images = (r.describe() for name, r in runtimes.items() if machine.has_images(name))
        rebuilds = next((f"yes: in images of {each}" for each in images), f"no: {error}")
    keys = "no: config/trusted_keys holds no key; name one with verify --key"
    abilities = {
        "verify": "yes: without compiler or GPU" if trusted_keys(root) else keys,
        "rebuild": rebuilds,
        "measure": machine.measures(project),
    }
    return abilities, [
        Finding("python", State.OK, sys.version.split()[0]),
        compiler,
        _program("git", _as_root("apt-get install -y git")),
        *machine.gpus(),
        *engines,
        _program("ncu", _as_root(NSIGHT_COMPUTE)),
        _program("sbatch"),
    ]


def _as_root(line: str) -> str:
    return line if os.geteuid() == 0 else f"sudo {line}"


def _engines() -> tuple[dict[RuntimeName, Runtime], list[Finding]]:
    working: dict[RuntimeName, Runtime] = {}
    findings = []
    for name in RUNTIMES:
        if name == "host":
            continue
        try:
            working[name] = open_runtime(name)
        except RuntimeAbsent as error:
            fix = ""
            if name in PACKAGES:
                there = shutil.which(name) is not None
                fix = START[name] if there else f"apt-get install -y {PACKAGES[name]}"
                fix = fix if "--user" in fix else _as_root(fix)
            findings.append(Finding(name, State.ABSENT, error.brief, fix))
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
    words = shown.stdout.split() if shown.returncode == 0 else []
    return Finding(name, State.OK, words[-1] if words else shlex.quote(path))
