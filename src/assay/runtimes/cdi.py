"""The Container Device Interface: what a container needs to see this host's NVIDIA GPUs.

A specification lists device nodes, mounts and variables. Docker from 25 on applies one itself; for
older engines and for Podman's service we expand it ourselves. Ours needs no hooks: every driver
library is mounted under each of its names into one folder, which LD_LIBRARY_PATH names.

Format: https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import read_text
from assay.base.strict_yaml import parse_yaml
from assay.runtimes.driver import DriverParts, find_driver
from assay.shared.read_limits import Unreadable

VERSION = "0.5.0"
"""Of what we make ourselves."""
KIND = "nvidia.com/gpu"
FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))
"""Where engines look, the later folder winning; in ours each specification stands for itself."""
LIBRARIES = "/usr/local/nvidia/lib64"
"""Folder of the driver's libraries inside of containers."""
PROGRAMS = "/usr/bin"


class _Part(BaseModel):
    """Unknown keys are kept out of what we use and are no error: newer versions add some."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class _Node(_Part):
    path: str
    host_path: str | None = Field(default=None, alias="hostPath")
    permissions: str = "rwm"


class _Mount(_Part):
    host_path: str = Field(alias="hostPath")
    container_path: str = Field(alias="containerPath")


class _Edits(_Part):
    env: list[str] = []
    device_nodes: list[_Node] = Field(default=[], alias="deviceNodes")
    mounts: list[_Mount] = []
    hooks: list[dict[str, Any]] = []


class _Device(_Part):
    name: str
    edits: _Edits = Field(alias="containerEdits")


class Specification(_Part):
    """A CDI specification, as far as it concerns us."""

    version: str = Field(alias="cdiVersion")
    kind: str
    devices: list[_Device] = Field(min_length=1)
    edits: _Edits = Field(default_factory=_Edits, alias="containerEdits")


@dataclass(frozen=True)
class Node:
    """A device node."""

    host: str
    inside: str
    permissions: str


@dataclass(frozen=True)
class Mount:
    """A file or folder of the driver, mounted read-only."""

    host: str
    inside: str


@dataclass(frozen=True)
class Edits:
    """The changes to a container for the devices that were asked for."""

    environment: tuple[str, ...]
    devices: tuple[Node, ...]
    mounts: tuple[Mount, ...]
    hooks: int
    """How many programs the engine would have to run on the container; we run none."""


def look(root: Path = Path("/")) -> DriverParts:
    """This host's driver. Raises MissingEnvironment when there is none."""
    driver = find_driver(root)
    if driver is None:
        raise MissingEnvironment(
            "no NVIDIA driver was found on this host (no /dev/nvidiactl, no GPU's device node, or "
            "no libcuda.so.1)"
        )
    return driver


def make(driver: DriverParts) -> Specification:
    """Return the specification of a driver: each GPU by its number and its UUID, and ``all``."""
    devices = []
    for gpu in driver.gpus:
        edits = {"deviceNodes": [{"path": gpu.node}]}
        names = [str(gpu.minor), *([gpu.uuid] if gpu.uuid else [])]
        devices += [{"name": name, "containerEdits": edits} for name in names]
    every = {"deviceNodes": [{"path": gpu.node} for gpu in driver.gpus]}
    devices.append({"name": "all", "containerEdits": every})
    mounts = [(host, f"{LIBRARIES}/{name}") for name, host in driver.libraries]
    mounts += [(host, f"{PROGRAMS}/{name}") for name, host in driver.programs]
    common = {
        # The toolkit's own hook must not add its mounts to ours where it stands in the way.
        "env": ["NVIDIA_VISIBLE_DEVICES=void", f"LD_LIBRARY_PATH={LIBRARIES}"],
        "deviceNodes": [{"path": node} for node in driver.control_nodes],
        "mounts": [{"hostPath": host, "containerPath": inside} for host, inside in mounts],
    }
    document = {"cdiVersion": VERSION, "kind": KIND, "devices": devices, "containerEdits": common}
    return Specification.model_validate(document)


def load(path: Path) -> Specification:
    """Read a specification, JSON or YAML. Raises BadInput with one sentence."""
    try:
        return Specification.model_validate(parse_yaml(read_text(path)))
    except Unreadable as error:
        raise BadInput(f"{path}: {error}", code=error.code) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{path}: no CDI specification: {where}: {first['msg'].lower()}") from error


def specifications(folders: Iterable[Path]) -> Iterator[Specification]:
    """Yield the specifications of NVIDIA's GPUs in some folders; broken files are passed over."""
    for folder in folders:
        for path in sorted([*folder.glob("*.json"), *folder.glob("*.yaml")]):
            try:
                spec = load(path)
            except BadInput:
                continue
            if spec.kind == KIND:
                yield spec


def names(spec: Specification) -> list[str]:
    """Return the devices that can be asked for."""
    return [device.name for device in spec.devices]


def expand(spec: Specification, wanted: Sequence[str]) -> Edits:
    """Return what the devices ``wanted`` need, each thing once. Raises BadInput for an unknown
    device.
    """
    known: Mapping[str, _Edits] = {device.name: device.edits for device in spec.devices}
    if unknown := [name for name in wanted if name not in known]:
        raise BadInput(f"there is no GPU '{unknown[0]}'; known: {', '.join(known)}")
    parts = [*(known[name] for name in wanted), spec.edits]
    nodes = {node.path: node for part in parts for node in part.device_nodes}
    mounts = {one.container_path: one for part in parts for one in part.mounts}
    return Edits(
        environment=tuple(dict.fromkeys(pair for part in parts for pair in part.env)),
        devices=tuple(
            Node(node.host_path or node.path, node.path, node.permissions)
            for node in nodes.values()
        ),
        mounts=tuple(Mount(one.host_path, one.container_path) for one in mounts.values()),
        hooks=sum(len(part.hooks) for part in parts),
    )
