"""How a container of Docker or Podman gets this host's NVIDIA GPUs.

By the engine's own CDI (Container Device Interface), by the NVIDIA container toolkit, or by us: the
driver's nodes and libraries, which are mounted under each of their names into one folder that
LD_LIBRARY_PATH names.
"""

import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.base.errors import MissingEnvironment

KIND = "nvidia.com/gpu"
ALL = f"{KIND}=all"
INSIDE = "/usr/local/nvidia/lib64"
"""Folder of the driver's libraries inside of containers."""
LIBRARIES = (
    "libcuda", "libcudadebugger", "libnvidia-allocator", "libnvidia-cfg", "libnvidia-gpucomp",
    "libnvidia-ml", "libnvidia-nvvm", "libnvidia-nvvm70", "libnvidia-ptxjitcompiler",
    "libnvidia-sandboxutils", "libnvidia-tileiras",
)  # fmt: skip
"""What computing needs of a driver; graphics, video and OpenCL are left out."""
LIBRARY_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib/x86_64-linux-gnu", "/lib64",
    "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/run/opengl-driver/lib",
)  # fmt: skip
"""Beside what ldconfig knows."""
NODES = re.compile(r"nvidia(\d+|ctl|-uvm|-uvm-tools)")


@dataclass(frozen=True)
class Access:
    """The additions to a container that make it see the GPUs."""

    how: str
    """In a few words, for messages."""
    words: tuple[str, ...] = ()
    """Of an engine's command line."""
    environment: Mapping[str, str] = field(default_factory=dict)


def find_access(info: Mapping[str, Any], *, is_podman: bool) -> Access:
    """Return the first way that this engine has of giving all GPUs. Dockers before 25 know no CDI,
    and older Podmans no newer specification of it: they get the driver by hand. Raises
    MissingEnvironment when none works.
    """
    if not is_podman:
        listed = [one.get("ID") for one in info.get("DiscoveredDevices") or ()]
        folders = map(Path, info.get("CDISpecDirs") or ())
        if ALL in listed or any(map(_describes_gpus, folders)):
            return Access("the engine's CDI", ("--device", ALL))
        hook = "nvidia-container-runtime-hook"
        if "nvidia" in (info.get("Runtimes") or {}) or shutil.which(hook):
            return Access("the NVIDIA container toolkit", ("--gpus", "all"))
    if (access := find_driver()) is None:
        raise MissingEnvironment(
            "this machine's NVIDIA driver was not found (no /dev/nvidiactl or no libcuda.so.1), "
            "and the engine has no CDI specification of it; install the driver"
        )
    return access


def _describes_gpus(folder: Path) -> bool:
    """Return whether a CDI specification in a folder describes all of NVIDIA's GPUs."""
    for path in (*folder.glob("*.json"), *folder.glob("*.yaml")):
        with suppress(OSError):
            text = path.read_text(errors="replace")
            if KIND in text and re.search(r"""\bname["']?\s*:\s*["']?all\b""", text):
                return True
    return False


def find_driver(
    devices: Path = Path("/dev"), folders: tuple[str, ...] | None = None
) -> Access | None:
    """Return this host's driver for a container; None without a GPU, nvidiactl or libcuda.so.1."""
    names = [path.name for path in sorted(devices.glob("nvidia*")) if NODES.fullmatch(path.name)]
    folders = (*_folders_of_ldconfig(), *LIBRARY_FOLDERS) if folders is None else folders
    libraries = next(filter(None, (_libraries(Path(folder)) for folder in folders)), None)
    if not libraries or "nvidiactl" not in names or not any(name[6].isdigit() for name in names):
        return None
    words = [f"--device={devices / name}:/dev/{name}:rwm" for name in names]
    words += [f"--volume={file}:{INSIDE}/{name}:ro" for name, file in libraries.items()]
    if program := shutil.which("nvidia-smi"):
        words.append(f"--volume={Path(program).resolve()}:/usr/bin/nvidia-smi:ro")
    return Access(
        "NVIDIA driver mounted by hand",
        tuple(words),
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
    """Return the driver's libraries in a folder, by name; none without libcuda, one version."""
    paths = folder.glob("libcuda.so.[0-9]*.*")
    versions = sorted(path.name.removeprefix("libcuda.so.") for path in paths)
    try:
        loaded = Path("/proc/driver/nvidia/version").read_text().split()
    except OSError:
        loaded = []
    # The kernel module's when several lie there.
    version = next(iter([*(one for one in versions if one in loaded), *versions]), None)
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
