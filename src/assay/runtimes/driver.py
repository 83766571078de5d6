"""This host's NVIDIA driver: device nodes, libraries, programs. Read off the file system."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

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
FOLDERS = (
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
CONTROL = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools")
PROGRAMS = ("nvidia-smi",)
PROGRAM_FOLDERS = ("/usr/bin", "/usr/local/nvidia/bin", "/usr/local/bin", "/usr/sbin")
LINKS = 16
"""More links in a row are a loop."""


@dataclass(frozen=True)
class GpuNode:
    """One GPU's device node."""

    minor: int
    node: str
    uuid: str | None


@dataclass(frozen=True)
class DriverParts:
    """A driver's parts. Paths are the host's, links resolved."""

    gpus: tuple[GpuNode, ...]
    control_nodes: tuple[str, ...]
    libraries: tuple[tuple[str, str], ...]
    """Name that programs load, and the file: libcuda.so.1, /usr/lib/.../libcuda.so.580.95.05."""
    programs: tuple[tuple[str, str], ...]


def find_driver(
    root: Path = Path("/"), ldconfig: str | None = None, smi: str | None = None
) -> DriverParts | None:
    """The driver below ``root``; None without a GPU's node, a control node, or a libcuda.so.1.

    ``ldconfig`` is the output of ``ldconfig -p`` and ``smi`` that of ``nvidia-smi -q``; both are
    asked of the host when not given.
    """
    libraries = _libraries(root, _output("ldconfig", "-p") if ldconfig is None else ldconfig)
    minors = sorted(
        int(path.name.removeprefix("nvidia"))
        for path in (root / "dev").glob("nvidia[0-9]*")
        if path.name.removeprefix("nvidia").isdigit()
    )
    if not minors or not libraries or not (root / "dev/nvidiactl").exists():
        return None
    uuids = parse_uuids(_output("nvidia-smi", "-q") if smi is None else smi)
    return DriverParts(
        gpus=tuple(GpuNode(minor, f"/dev/nvidia{minor}", uuids.get(minor)) for minor in minors),
        control_nodes=tuple(node for node in CONTROL if (root / node[1:]).exists()),
        libraries=tuple(sorted(libraries.items())),
        programs=tuple(_programs(root)),
    )


def parse_uuids(text: str) -> dict[int, str]:
    """UUID of each GPU by its device node's number, from the output of ``nvidia-smi -q``."""
    found: dict[int, str] = {}
    uuid = None
    for key, value in re.findall(r"^\s+(GPU UUID|Minor Number)\s+: (\S+)\s*$", text, re.MULTILINE):
        if key == "GPU UUID":
            uuid = value
        elif uuid and value.isdigit():
            found[int(value)] = uuid
    return found


def parse_ldconfig(text: str) -> list[str]:
    """Return folders in which ldconfig knows a 64-bit libcuda.so.1, in its order."""
    pattern = re.compile(r"^\s+libcuda\.so\.1 \(([^)]*)\) => (\S+)\s*$", re.MULTILINE)
    return [
        str(PurePosixPath(path).parent)
        for flags, path in pattern.findall(text)
        if "x86-64" in flags
    ]


def _libraries(root: Path, ldconfig: str) -> dict[str, str]:
    """Name to file of the driver's libraries, all from the folder that has libcuda.so.1.

    One folder, since libraries of two driver versions do not work together. Empty without one.
    """
    for folder in dict.fromkeys([*parse_ldconfig(ldconfig), *FOLDERS]):
        version = _version(root, folder)
        if version is None:
            continue
        found: dict[str, str] = {}
        for stem in LIBRARIES:
            for path in sorted((root / folder[1:]).glob(f"{stem}.so*")):
                real = resolve(root, f"{folder}/{path.name}")
                if real is not None:
                    found[path.name] = real
        # A container that the toolkit made may lack the link that ldconfig would have made.
        found.setdefault("libcuda.so.1", found[f"libcuda.so.{version}"])
        if management := found.get(f"libnvidia-ml.so.{version}"):
            found.setdefault("libnvidia-ml.so.1", management)
        return found
    return {}


def _version(root: Path, folder: str) -> str | None:
    """Return the version of the libcuda in a folder; the kernel module's when several lie there."""
    names = [path.name for path in (root / folder[1:]).glob("libcuda.so.[0-9]*.*")]
    versions = sorted(name.removeprefix("libcuda.so.") for name in names)
    try:
        loaded = (root / "proc/driver/nvidia/version").read_text()
    except OSError:
        loaded = ""
    running = [version for version in versions if version in loaded.split()]
    return next(iter([*running, *versions]), None)


def _programs(root: Path) -> list[tuple[str, str]]:
    found = []
    for name in PROGRAMS:
        paths = (resolve(root, f"{folder}/{name}") for folder in PROGRAM_FOLDERS)
        if real := next((path for path in paths if path), None):
            found.append((name, real))
    return found


def resolve(root: Path, path: str) -> str | None:
    """Return the file that ``path`` names below ``root``, links followed; None when there is none.

    Only the last part of the path may be a link; an absolute link starts at ``root`` again.
    """
    for _ in range(LINKS):
        here = root / path[1:]
        if not here.is_symlink():
            return path if here.is_file() else None
        target = PurePosixPath(path).parent / str(here.readlink())
        path = str(_normal(target))
    return None


def _normal(path: PurePosixPath) -> PurePosixPath:
    """Return an absolute path without ``..``."""
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            parts[-1:] = []
        else:
            parts.append(part)
    return PurePosixPath("/", *parts)


def _output(*command: str) -> str:
    """Standard output of a program; empty when it is absent or fails."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        try:
            run = subprocess.run(
                [f"/sbin/{command[0]}", *command[1:]],
                capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return ""
    return run.stdout if run.returncode == 0 else ""
