"""Abilities of this machine: verify, rebuild, measure; for those it lacks, why and what helps."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.catalog.cluster import gpu_type_of
from assay.catalog.model import Catalog
from assay.images.stage import objection
from assay.measuring.host_driver import NO_DRIVER, HostDriver
from assay.measuring.local_gpu import Absence, find_gpu
from assay.pipeline.request import site_of, slurm_gpu_models
from assay.records.images import RuntimeName
from assay.runtimes.base import Runtime
from assay.runtimes.choose import open_runtime


@dataclass(frozen=True)
class Ability:
    """One thing that is asked of a machine."""

    name: str
    able: bool
    reason: str
    """What does it, or why it cannot be done."""
    remedy: str = ""
    """What helps, where the reason does not say it."""

    @property
    def answer(self) -> str:
        """Return whether it can be done, why, and what helps: ``no: there is no ...``."""
        word = "yes" if self.able else "no"
        return f"{word}: {self.reason}{'; ' if self.remedy else ''}{self.remedy}"


@dataclass(frozen=True)
class Machine:
    """The findings on a machine that its abilities rest on."""

    root: Path
    catalog: Catalog
    keys: Sequence[Path]
    host_compiler: str | None
    """Its version line."""
    no_host_compiler: str
    """The sentence on it, with the remedy, where there is none."""
    driver: HostDriver | None
    python: str
    """The device's, by name."""
    packages: Sequence[Path]
    """Directories in which it looks for packages first."""
    runtimes: Mapping[RuntimeName, Runtime]
    """Container runtimes that work."""


def abilities(machine: Machine) -> Iterator[Ability]:
    """Tell what the machine can do, in the order in which most can."""
    yield _verify(machine)
    yield _rebuild(machine)
    yield _measure(machine)


def _verify(machine: Machine) -> Ability:
    if machine.keys:
        return Ability("verify", True, "it needs neither compiler nor GPU")
    return Ability(
        "verify", False, "config/trusted_keys holds no key", "name one with verify --key"
    )


def _rebuild(machine: Machine) -> Ability:
    if machine.host_compiler is not None:
        version = machine.host_compiler.split()[-1]
        return Ability("rebuild", True, f"on the host with g++ {version}")
    for name, runtime in machine.runtimes.items():
        if _objection(machine, name) is None:
            return Ability("rebuild", True, f"in images of {runtime.describe()}")
    return Ability("rebuild", False, machine.no_host_compiler)


def _objection(machine: Machine, name: RuntimeName) -> str | None:
    targets = machine.catalog.targets.values()
    return objection(machine.root, targets, None, name, host_image=False)


def _measure(machine: Machine) -> Ability:
    """Here, on the host or in a container; else on the cluster that this machine belongs to."""
    here, absences = _targets_here(machine)
    if here:
        return Ability("measure", True, "; ".join(here))
    cluster = _targets_of_cluster(machine)
    if cluster:
        names = ", ".join(cluster)
        return Ability("measure", True, f"on the cluster's {names} nodes, with --executor slurm")
    targets = ", ".join(machine.catalog.targets)
    elsewhere = (
        f"run on a machine with a GPU of config/targets ({targets}), or on the login node of a "
        "cluster that has one"
    )
    if machine.driver is None:
        return Ability("measure", False, f"there is {NO_DRIVER}", elsewhere)
    # What keeps a GPU that is here from measuring says more than that others are not here.
    of_here = [why for target, why in absences.items() if _is_here(machine, target)]
    reasons = dict.fromkeys(str(why) for why in of_here or absences.values())
    return Ability("measure", False, "; ".join(reasons), "" if of_here else elsewhere)


def _is_here(machine: Machine, target: str) -> bool:
    driver = machine.driver
    return driver is not None and driver.gpu_of(machine.catalog.targets[target]) is not None


def _targets_here(machine: Machine) -> tuple[list[str], dict[str, Absence]]:
    """Return targets that can be measured, each with the way; and why the others cannot."""
    found, absences = [], {}
    for name, target in machine.catalog.targets.items():
        on_host = find_gpu(target, machine.driver, "host", machine.python, machine.packages)
        if not isinstance(on_host, Absence):
            found.append(f"{name} on {on_host}")
            continue
        absences[name] = on_host
        for runtime in machine.runtimes:
            inside = find_gpu(target, machine.driver, runtime, machine.python)
            if not isinstance(inside, Absence) and _gives_gpus(machine, runtime):
                found.append(f"{name} on {inside} in {runtime}")
                break
    return found, absences


def _gives_gpus(machine: Machine, name: RuntimeName) -> bool:
    """Return whether a runtime's containers get the GPUs, and its images can be had."""
    try:
        open_runtime(name, gpu=True)
    except MissingEnvironment:
        return False
    return _objection(machine, name) is None


def _targets_of_cluster(machine: Machine) -> list[str]:
    """Return targets that the cluster of this machine has nodes of; none without a cluster."""
    if shutil.which("sbatch") is None:
        return []
    try:
        cluster, types = site_of(machine.root, machine.catalog), slurm_gpu_models()
    except (BadInput, MissingEnvironment):
        return []  # what is wrong with the site's file is a finding of its own
    targets = machine.catalog.targets
    return [name for name, target in targets.items() if gpu_type_of(cluster, target) in types]
