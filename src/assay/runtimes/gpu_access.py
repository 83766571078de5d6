"""How a container of Docker or Podman gets this host's NVIDIA GPUs.

By the engine's own CDI (Container Device Interface), by the NVIDIA container toolkit, or by us: a
CDI specification applied mount by mount, else the driver's nodes and libraries, which are mounted
under each of their names into one folder that LD_LIBRARY_PATH names.

Format: https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker.types

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import read_text
from assay.base.strict_yaml import parse_yaml
from assay.shared.read_limits import Unreadable

KIND = "nvidia.com/gpu"
ALL = f"{KIND}=all"
CDI_FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))
INSIDE = "/usr/local/nvidia/lib64"
"""Folder of the driver's libraries inside of containers."""
LIBRARIES = (
    "libcuda",
    "libcudadebugger",
    "libnvidia-allocator",
    "libnvidia-cfg",
    "libnvidia-gpucomp",
    "libnvidia-ml",
    "libnvidia-nvvm",
    "libnvidia-nvvm70",
    "libnvidia-ptxjitcompiler",
    "libnvidia-sandboxutils",
    "libnvidia-tileiras",
)
"""What computing needs of a driver; graphics, video and OpenCL are left out."""
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/run/opengl-driver/lib",
)
"""Beside what ldconfig knows."""
NODES = re.compile(r"nvidia(\d+|ctl|-uvm|-uvm-tools)")
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
    devices: tuple[str, ...] = ()
    """Nodes as engines take them: the host's, the container's, permissions."""
    mounts: Mapping[str, str] = field(default_factory=dict)
    """Path inside to the host's, read-only."""
    environment: Mapping[str, str] = field(default_factory=dict)


def find_access(info: Mapping[str, Any], *, is_podman: bool) -> Access:
    """Return the first way that this engine has of giving a container all GPUs.

    Docker before 25 knows no CDI, and Podman's service ignores device requests without a word: for
    them we do what a specification without hooks says. Raises MissingEnvironment when none works.
    """
    if not is_podman:
        listed = [one.get("ID") for one in info.get("DiscoveredDevices") or ()]
        folders = map(Path, info.get("CDISpecDirs") or ())
        if ALL in listed or any(True for folder in folders for _ in _edits_of_all(folder)):
            request = docker.types.DeviceRequest(driver="cdi", device_ids=[ALL])
            return Access(how="the engine's CDI", requests=(request,))
        hook = "nvidia-container-runtime-hook"
        if "nvidia" in (info.get("Runtimes") or {}) or shutil.which(hook):
            request = docker.types.DeviceRequest(count=-1, capabilities=[["gpu"]])
            return Access(how="the NVIDIA container toolkit", requests=(request,))
    for edits in (edits for folder in CDI_FOLDERS for edits in _edits_of_all(folder)):
        if not any(part.get("hooks") for part in edits):
            return _specified(edits)
    access = find_driver()
    if access is None:
        raise MissingEnvironment(NO_DRIVER)
    return access


def _edits_of_all(folder: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield what each specification of NVIDIA's GPUs in a folder has for all of them; broken files
    are passed over.
    """
    for path in sorted([*folder.glob("*.json"), *folder.glob("*.yaml")]):
        try:
            spec = parse_yaml(read_text(path))
            every = [one["containerEdits"] for one in spec["devices"] if one["name"] == "all"]
            if spec["kind"] == KIND and every:
                yield [*every, spec.get("containerEdits") or {}]
        except (BadInput, Unreadable, KeyError, TypeError):
            continue


def _specified(edits: list[dict[str, Any]]) -> Access:
    nodes = {one["path"]: one for part in edits for one in part.get("deviceNodes") or ()}
    mounts = [one for part in edits for one in part.get("mounts") or ()]
    return Access(
        "CDI specification applied by hand",
        devices=tuple(
            f"{node.get('hostPath') or path}:{path}:{node.get('permissions') or 'rwm'}"
            for path, node in nodes.items()
        ),
        mounts={one["containerPath"]: one["hostPath"] for one in mounts},
        environment=dict(pair.split("=", 1) for part in edits for pair in part.get("env") or ()),
    )


def find_driver(
    devices: Path = Path("/dev"), folders: tuple[str, ...] | None = None
) -> Access | None:
    """Return what gives a container this host's driver; None without a GPU's node, a control node,
    or a libcuda.so.1.
    """
    names = [path.name for path in sorted(devices.glob("nvidia*")) if NODES.fullmatch(path.name)]
    folders = (*_folders_of_ldconfig(), *LIBRARY_FOLDERS) if folders is None else folders
    libraries = next(filter(None, (_libraries(Path(folder)) for folder in folders)), None)
    if not libraries or "nvidiactl" not in names or not any(name[6].isdigit() for name in names):
        return None
    mounts = {f"{INSIDE}/{name}": str(file) for name, file in libraries.items()}
    if program := shutil.which("nvidia-smi"):
        mounts["/usr/bin/nvidia-smi"] = str(Path(program).resolve())
    return Access(
        "NVIDIA driver mounted by hand",
        devices=tuple(f"{devices / name}:/dev/{name}:rwm" for name in names),
        mounts=mounts,
        # The toolkit's own hook must not add its mounts to ours where it stands in the way.
        environment={"NVIDIA_VISIBLE_DEVICES": "void", "LD_LIBRARY_PATH": INSIDE},
    )


def _folders_of_ldconfig() -> list[str]:
    """Return folders in which ldconfig knows a 64-bit libcuda.so.1, in its order."""
    program = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        text = subprocess.run([program, "-p"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return []
    found = re.findall(r"^\s+libcuda\.so\.1 \([^)]*x86-64[^)]*\) => (\S+)\s*$", text, re.MULTILINE)
    return [str(Path(path).parent) for path in found]


def _libraries(folder: Path) -> dict[str, Path]:
    """Return name to file of the driver's libraries in a folder: none where it has no libcuda.

    All from one folder, since libraries of two driver versions do not work together.
    """
    version = _version(folder)
    if version is None:
        return {}
    found = {
        path.name: path.resolve()
        for stem in LIBRARIES
        for path in sorted(folder.glob(f"{stem}.so*"))
        if path.is_file()
    }
    # A container that the toolkit made may lack the links that ldconfig would have made.
    for stem in ("libcuda", "libnvidia-ml"):
        if file := found.get(f"{stem}.so.{version}"):
            found.setdefault(f"{stem}.so.1", file)
    return found


def _version(folder: Path) -> str | None:
    """Return the version of the libcuda in a folder; the kernel module's when several lie there."""
    paths = folder.glob("libcuda.so.[0-9]*.*")
    versions = sorted(path.name.removeprefix("libcuda.so.") for path in paths)
    try:
        loaded = Path("/proc/driver/nvidia/version").read_text().split()
    except OSError:
        loaded = []
    return next(iter([*(one for one in versions if one in loaded), *versions]), None)
