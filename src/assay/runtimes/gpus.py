"""The ways in which a container of Docker or Podman gets the GPUs."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker.types

from assay.base.errors import MissingEnvironment
from assay.runtimes import cdi

ALL = f"{cdi.KIND}=all"
NO_DRIVER = (
    "this machine's NVIDIA driver was not found (no /dev/nvidiactl or no libcuda.so.1), and no CDI "
    "specification describes it; install the driver"
)


@dataclass(frozen=True)
class Access:
    """The additions to a container that make it see the GPUs."""

    how: str
    """In a few words, for messages."""
    requests: tuple[docker.types.DeviceRequest, ...] = ()
    devices: tuple[cdi.Node, ...] = ()
    mounts: tuple[cdi.Mount, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def find_access(
    info: Mapping[str, Any], *, is_podman: bool, folders: tuple[Path, ...] = cdi.FOLDERS
) -> Access:
    """Return the first way that this engine has of giving a container all GPUs.

    The engine's own CDI, the NVIDIA container toolkit's device requests, and last a CDI
    specification applied by us, mount by mount: Docker before 25 knows no CDI, and Podman's
    service ignores device requests without a word. Raises MissingEnvironment when none works.
    """
    if not is_podman:
        if _engine_knows_cdi(info):
            request = docker.types.DeviceRequest(driver="cdi", device_ids=[ALL])
            return Access(how="the engine's CDI", requests=(request,))
        if "nvidia" in (info.get("Runtimes") or {}) or shutil.which(
            "nvidia-container-runtime-hook"
        ):
            request = docker.types.DeviceRequest(count=-1, capabilities=[["gpu"]])
            return Access(how="the NVIDIA container toolkit", requests=(request,))
    return _by_hand(folders)


def _engine_knows_cdi(info: Mapping[str, Any]) -> bool:
    discovered = [one.get("ID") for one in info.get("DiscoveredDevices") or ()]
    if ALL in discovered:
        return True
    folders = [Path(name) for name in info.get("CDISpecDirs") or ()]
    return any("all" in cdi.names(spec) for spec in cdi.specifications(folders))


def _by_hand(folders: tuple[Path, ...]) -> Access:
    """Return a specification that needs no hooks, applied by us: a found one, else one made now."""
    for spec in cdi.specifications(folders):
        edits = cdi.expand(spec, ["all"]) if "all" in cdi.names(spec) else None
        if edits is not None and not edits.hooks:
            return _access("CDI specification applied by hand", edits)
    try:
        spec = cdi.make(cdi.look())
    except MissingEnvironment as error:
        raise MissingEnvironment(NO_DRIVER) from error
    return _access("NVIDIA driver mounted by hand", cdi.expand(spec, ["all"]))


def _access(how: str, edits: cdi.Edits) -> Access:
    environment = dict(pair.split("=", 1) for pair in edits.environment)
    return Access(how, devices=edits.devices, mounts=edits.mounts, environment=environment)
