"""The packages installed inside an image, as its own tools list them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import docker

from assay.base.errors import CheckFailed
from assay.base.pip_locks import normal
from assay.images.engine_work import read_inside
from assay.images.wheels import Wheel
from assay.records.images import DebianPackage, PythonPackage

CODE = """
import glob, importlib.metadata as m, json, shutil, subprocess, sys
fields = "${Package}\\t${Version}\\t${Architecture}\\t${db:Status-Status}\\n"
rows = []
if shutil.which("dpkg-query"):
    listed = subprocess.run(["dpkg-query", "-W", "-f", fields], capture_output=True, text=True)
    rows = [line.split("\\t") for line in listed.stdout.splitlines()]
sites = SITES
found = {(d.metadata["Name"], d.version) for d in m.distributions(path=sites + sys.path)
         if d.metadata and d.metadata["Name"]}
ncu = [shutil.which("ncu")] + sorted(glob.glob("/usr/local/cuda*/bin/ncu"), reverse=True)
ncu += sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True)
print(json.dumps({
    "debian": sorted(row[:3] for row in rows if row[3] == "installed"),
    "python": sorted(map(list, found)),
    "ncu": next((path for path in ncu if path), None),
}))
"""


@dataclass(frozen=True)
class InstalledPackages:
    """Packages of an image."""

    debian: tuple[DebianPackage, ...]
    python: tuple[PythonPackage, ...]
    nsight_compute: str | None


def read_packages(
    client: docker.DockerClient,
    image: str,
    sites: Iterable[str],
    wheels: Iterable[Wheel],
    python: str = "python3",
) -> InstalledPackages:
    """Ask the image; join what was installed from ``wheels`` with their files and digests.

    ``sites`` are directories of Python packages beside those Python itself looks into. Raises
    CheckFailed when a wheel is not installed, or in another version.
    """
    code = CODE.replace("SITES", repr(list(sites)))
    answer = json.loads(read_inside(client, image, code, python)[-1])
    files = {(wheel.name, wheel.path.name.split("-")[1]): wheel for wheel in wheels}
    installed = []
    for name, version in answer["python"]:
        wheel = files.pop((normal(name), version), None)
        installed.append(
            PythonPackage(
                name=normal(name),
                version=version,
                file=wheel.path.name if wheel else None,
                sha256=wheel.sha256 if wheel else None,
            )
        )
    if files:
        wheel = next(iter(files.values()))
        raise CheckFailed(f"the image does not hold {wheel.path.name}, which it was built from")
    return InstalledPackages(
        debian=tuple(
            DebianPackage(name=name, version=version, architecture=architecture)
            for name, version, architecture in answer["debian"]
        ),
        python=tuple(sorted(installed, key=lambda package: (package.name, package.version))),
        nsight_compute=answer["ncu"],
    )
