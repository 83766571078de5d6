"""The host's half of the platform record: read from the machine, never typed."""

import datetime as dt
import importlib.metadata
import os
import platform
import re
import socket
from collections.abc import Iterable
from pathlib import Path

from assay.records.plan import Request
from assay.records.platform import Device, PackageDirectory, PlatformRecord
from assay.records.targets import Target
from assay.shared.files import sha256_bytes

PACKAGES = ("snakemake", "pydantic", "numpy", "scipy", "pandas", "securesystemslib")


def record_platform(
    request: Request,
    target: Target,
    device: Device,
    image_id: str | None,
    others: Iterable[Device] = (),
    salt: str = "",
) -> PlatformRecord:
    """Return the platform record of this machine and its GPUs; ``image_id`` is that of the
    container. ``salt`` stands before the name of the machine when that is digested.
    """
    return PlatformRecord(
        schema="assay/platform/1",
        target=target.id,
        recorded_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        hostname_sha256=sha256_bytes(f"{salt}{socket.gethostname()}".encode()),
        cpu=_first(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo")) or platform.processor(),
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        kernel=platform.release(),
        distribution=_first(r'PRETTY_NAME="?([^"\n]+)', Path("/etc/os-release")) or "unknown",
        runtime=request.runtime,
        image_digest=image_id,
        device=device,
        allocation=None,
        commit=request.commit,
        clean_tree=request.clean_tree,
        packages={name: importlib.metadata.version(name) for name in PACKAGES},
        device_paths=package_directories(map(Path, request.device_paths)),
        others=tuple(others),
    )


def joined(earlier: PlatformRecord | None, now: PlatformRecord) -> PlatformRecord:
    """Return the record of a run that goes on: the earlier one, with the GPUs that came to it.

    ``now`` itself where anything else of the machine is another: then all is measured again.
    """
    if earlier is None or _machine(earlier) != _machine(now):
        return now
    known = {device.gpu.uuid for device in earlier.devices}
    new = tuple(device for device in now.devices if device.gpu.uuid not in known)
    return earlier.model_copy(update={"others": (*earlier.others, *new)})


def _machine(record: PlatformRecord) -> tuple[object, ...]:
    """Return what two starts of a run on one machine agree in."""
    own = {"recorded_at": "", "device": None, "others": (), "allocation": None}
    software = {"gpu": None, "peers": ()}
    return record.model_copy(update=own), record.device.model_copy(update=software)


def package_directories(paths: Iterable[Path]) -> tuple[PackageDirectory, ...]:
    """Return directories of packages with what lies in each."""
    return tuple(PackageDirectory(path=str(path), packages=_versions(path)) for path in paths)


def _versions(path: Path) -> dict[str, str]:
    """Return the version of each distribution in a directory; of broken ones nothing is told."""
    found = {}
    for distribution in importlib.metadata.distributions(path=[str(path)]):
        about = distribution.metadata
        if about["Name"] and about["Version"]:
            found[about["Name"]] = about["Version"]
    return dict(sorted(found.items()))


def _first(pattern: str, path: Path) -> str | None:
    try:
        found = re.search(pattern, path.read_text())
    except OSError:
        return None
    return found.group(1).strip() if found else None
