"""What a machine can do: verify, rebuild, measure; and why not, with what helps."""

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
    """What does it, or why it cannot be done and what helps."""

    @property
    def answer(self) -> str:
        """Return whether it can be done, and why."""
        return f"{'yes' if self.able else 'no'}: {self.reason}"


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

    def abilities(self) -> Iterator[Ability]:
        """Yield what the machine can do, in the order in which most can."""
        if self.keys:
            yield Ability("verify", True, "it needs neither compiler nor GPU")
        else:
            why = "config/trusted_keys holds no key; name one with verify --key"
            yield Ability("verify", False, why)
        yield self._rebuild()
        yield self._measure()

    def _rebuild(self) -> Ability:
        if self.host_compiler is not None:
            version = self.host_compiler.split()[-1]
            return Ability("rebuild", True, f"on the host with g++ {version}")
        for name, runtime in self.runtimes.items():
            if self._has_images(name):
                return Ability("rebuild", True, f"in images of {runtime.describe()}")
        return Ability("rebuild", False, self.no_host_compiler)

    def _has_images(self, name: RuntimeName) -> bool:
        targets = self.catalog.targets.values()
        return objection(self.root, targets, None, name, host_image=False) is None

    def _measure(self) -> Ability:
        """Here, on the host or in a container; else on the cluster that this machine belongs to."""
        here, absences = self._targets_here()
        if here:
            return Ability("measure", True, "; ".join(here))
        if names := ", ".join(self._targets_of_cluster()):
            how = f"on the cluster's {names} nodes, with --executor slurm"
            return Ability("measure", True, how)
        targets = self.catalog.targets
        elsewhere = (
            f"run on a machine with a GPU of config/targets ({', '.join(targets)}), or on the "
            "login node of a cluster that has one"
        )
        driver = self.driver
        if driver is None:
            return Ability("measure", False, f"there is {NO_DRIVER}; {elsewhere}")
        # What keeps a GPU that is here from measuring says more than that others are not here.
        of_here = [why for name, why in absences.items() if driver.gpu_of(targets[name])]
        reasons = "; ".join(dict.fromkeys(map(str, of_here or absences.values())))
        return Ability("measure", False, reasons if of_here else f"{reasons}; {elsewhere}")

    def _targets_here(self) -> tuple[list[str], dict[str, Absence]]:
        """Return targets that can be measured, each with the way; and why the others cannot."""
        found, absences = [], {}
        for name, target in self.catalog.targets.items():
            on_host = find_gpu(target, self.driver, "host", self.python, self.packages)
            if not isinstance(on_host, Absence):
                found.append(f"{name} on {on_host}")
                continue
            absences[name] = on_host
            for runtime in self.runtimes:
                inside = find_gpu(target, self.driver, runtime, self.python)
                if not isinstance(inside, Absence) and self._gives_gpus(runtime):
                    found.append(f"{name} on {inside} in {runtime}")
                    break
        return found, absences

    def _gives_gpus(self, name: RuntimeName) -> bool:
        try:
            open_runtime(name, gpu=True)
        except MissingEnvironment:
            return False
        return self._has_images(name)

    def _targets_of_cluster(self) -> list[str]:
        """Return targets that the cluster of this machine has nodes of; none without a cluster."""
        if shutil.which("sbatch") is None:
            return []
        try:
            cluster, types = site_of(self.root, self.catalog), slurm_gpu_models()
        except (BadInput, MissingEnvironment):
            return []  # what is wrong with the site's file is a finding of its own
        targets = self.catalog.targets.items()
        return [name for name, target in targets if gpu_type_of(cluster, target) in types]
