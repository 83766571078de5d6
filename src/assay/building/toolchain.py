"""nvcc, its companions and CUTLASS, unpacked from hash-pinned wheels into ``.toolchain/``."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.base import pip_locks
from assay.base.errors import MissingEnvironment
from assay.base.isolation import isolated
from assay.base.progress import exclusive, quote, say, watch
from assay.base.writable import own_cache
from assay.records.builds import ToolchainRecord
from assay.runtimes.base import Place, Task
from assay.runtimes.host import HostRuntime
from assay.shared.counting import counted

LOCK = pip_locks.TOOLCHAIN_LOCK
FOLDER = ".toolchain"
CUDA = "nvidia/cu13"
"""Where the wheels of CUDA 13 unpack to, below the site directory."""
OUR_LINKS = {f"{CUDA}/lib64": "lib", f"{CUDA}/lib/libcudart.so": "libcudart.so.13"}
"""Links that nvcc's -Llib64 -lcudart needs and the wheels lack, below the site directory."""
DRIVER_API = 13_000
"""CUDA that a driver must offer to run what this toolchain compiles, as cuDriverGetVersion says it.

Changes with the lock's release of nvcc, as does the next line."""
OLDEST_DRIVER = "580.65.06"
"""First Linux driver that offers it: CUDA 13.0's release notes, "CUDA Toolkit and Corresponding
Driver Versions" (https://docs.nvidia.com/cuda/archive/13.0.0/cuda-toolkit-release-notes/)."""
DATE = 1_600_000_000
"""Time stamp of every file that is compiled, in seconds since 1970; any constant would do."""
IMAGE_SITE = Path("/opt/assay/toolchain")
"""Where the images hold the packages (containers/images.yaml)."""
HOST_COMPILER_MAJORS = range(6, 16)
"""g++ releases that nvcc 13.0 accepts (crt/host_config.h refuses anything above 15)."""
NVCC_VERSION = r"\bV(\d+(?:\.\d+)+)"


@dataclass(frozen=True)
class Toolchain:
    """A compiler that was seen to start, with its host compiler."""

    place: Place
    site: Path
    """Directory of its packages, as that place sees it."""
    record: ToolchainRecord


def toolchain_lock_digest(root: Path) -> str:
    """Return the SHA-256 of the lock that the toolchain is installed from."""
    return pip_locks.lock_digest(root / LOCK)


def locked_versions(root: Path) -> dict[str, str]:
    """Return the versions that the lock pins, by the distribution's name."""
    return pip_locks.lock_versions(root / LOCK)


def toolchain_directory(root: Path) -> Path:
    """Return where the lock's wheels are unpacked; another lock has another directory.

    A project's run takes those that are in the repository, and unpacks none there.
    """
    name = toolchain_lock_digest(root)[:12]
    ours, other = root / FOLDER / name, own_cache()
    return ours if other is None or ours.is_dir() else other / "toolchain" / name


def ensure_toolchain(root: Path, place: Place | None = None) -> Toolchain:
    """Return the compilers of ``place`` (the host, by default), seen to start.

    On the host the packages are unpacked where needed; an image holds them already. Raises
    MissingEnvironment.
    """
    if place is None or place.image is None:
        find_host_compiler()
        place, site = Place(HostRuntime()), ensure_packages(root).resolve()
        tag, image, again = str(site), {}, "unpacked"
    else:
        site, tag, again = IMAGE_SITE, place.image.tag, "made"
        image = {"runtime": place.runtime.name, "image_id": place.image.image_id}
    lines: list[str] = []
    ask = f'g++ --version | head -n 1 && "$0"/{CUDA}/bin/nvcc --version'
    task = Task(
        ("/bin/sh", "-c", ask, str(site)), Path("/"), "ask the compilers for their versions"
    )
    outcome = place.run(task, lines.append)
    match = re.search(NVCC_VERSION, "\n".join(lines))
    if outcome.exit_code != 0 or match is None:
        raise MissingEnvironment(
            f"nvcc does not start in {tag}: remove that, so that it is {again} again "
            f"({' '.join(lines)[-200:]})"
        )
    record = ToolchainRecord(
        schema="assay/toolchain/1",
        nvcc=match.group(1),
        host_compiler=lines[0].strip(),
        wheels=locked_versions(root),
        lock_sha256=toolchain_lock_digest(root),
    )
    return Toolchain(place, site, record.model_copy(update=image))


def ensure_packages(root: Path) -> Path:
    """Unpack the lock's wheels into ``.toolchain/<digest>/``, unless they are there already.

    Raises MissingEnvironment when a wheel cannot be had. Needs no compiler.
    """
    site = toolchain_directory(root)
    if site.is_dir():
        return site
    try:
        site.parent.mkdir(parents=True, exist_ok=True)
        waiting = "waiting for the CUDA toolchain, which another step unpacks"
        with exclusive(site.with_suffix(".lock"), waiting):
            if not site.is_dir():
                _unpack(root / LOCK, site)
    except OSError as error:
        raise MissingEnvironment(
            f"cannot unpack the CUDA toolchain in {site.parent}: {error.strerror or error}"
        ) from error
    return site


def _unpack(lock: Path, site: Path) -> None:
    """Install the wheels beside ``site``, then rename: ``site`` is whole or absent."""
    partial = site.with_suffix(".partial")
    if partial.exists():
        shutil.rmtree(partial)
    log = site.with_suffix(".log")
    count = len(pip_locks.lock_versions(lock))
    say(f"unpacking the CUDA toolchain and CUTLASS ({counted(count, 'wheel')}, each by its hash)")
    command = pip_locks.pip_install(Path(sys.executable), lock, os.environ)
    command += ["--target", str(partial), "--only-binary", ":all:"]
    if watch(command, log, isolated(os.environ)) != 0:
        quote(pip_locks.tail(log))
        raise MissingEnvironment(
            f"the CUDA toolchain could not be installed from {LOCK}, see the lines above: "
            f"{pip_locks.pip_remedy(log, site.parent)}"
        )
    for name, target in OUR_LINKS.items():
        (partial / name).symlink_to(target)
    for path in partial.rglob("*"):  # line tables hold the dates of headers
        os.utime(path, (DATE, DATE), follow_symlinks=False)
    partial.rename(site)


def find_host_compiler() -> str:
    """Return ``g++ --version``'s first line. Raises MissingEnvironment without a g++ for nvcc."""
    if shutil.which("g++") is None:
        raise MissingEnvironment(
            "nvcc needs a C++ compiler and there is no g++: install it "
            "(apt-get install g++) and start again"
        )
    oldest, newest = HOST_COMPILER_MAJORS[0], HOST_COMPILER_MAJORS[-1]
    remedy = f"put one that works first on PATH as g++ (apt-get install g++-{newest - 1})"
    try:
        release, line = (_first_line("g++", option) for option in ("-dumpversion", "--version"))
        major = int(release.split(".")[0])
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError) as error:
        raise MissingEnvironment(
            f"the g++ that comes first on PATH ({shutil.which('g++')}) does not say its release "
            f"({error}): {remedy}"
        ) from error
    if major not in HOST_COMPILER_MAJORS:
        raise MissingEnvironment(
            f"g++ is release {major} and nvcc 13.0 accepts {oldest} to {newest}: {remedy}"
        )
    return line


def _first_line(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True)
    return run.stdout.strip().splitlines()[0].strip()
