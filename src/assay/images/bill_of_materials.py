"""The packages installed inside an image, as its own tools list them, and its bill of materials.

The bill is CycloneDX 1.6 as JSON, the same bytes each time.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid5

import docker
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from assay.base.errors import CheckFailed
from assay.base.pip_locks import normal
from assay.images.engine_work import read_inside
from assay.images.wheels import Wheel
from assay.records.images import DebianPackage, PythonPackage

NAMESPACE = UUID("5a3c3c0e-9d1b-5b0e-8b1f-5f2f6a7b9c10")
"""Serial numbers are derived from the image's id, so that they are not random."""
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
class ImageContents:
    """Packages of an image."""

    debian: tuple[DebianPackage, ...]
    python: tuple[PythonPackage, ...]
    nsight_compute: str | None


def read_contents(
    client: docker.DockerClient,
    image: str,
    sites: Iterable[str],
    wheels: Iterable[Wheel],
    python: str = "python3",
) -> ImageContents:
    """Ask the image; join what was installed from ``wheels`` with their files and digests.

    ``sites`` are directories of Python packages beside those Python itself looks into. Raises
    CheckFailed when a wheel is not installed, or in another version.
    """
    code = CODE.replace("SITES", repr(list(sites)))
    answer = json.loads(read_inside(client, image, code, python))
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
    return ImageContents(
        debian=tuple(
            DebianPackage(name=name, version=version, architecture=architecture)
            for name, version, architecture in answer["debian"]
        ),
        python=tuple(sorted(installed, key=lambda package: (package.name, package.version))),
        nsight_compute=answer["ncu"],
    )


def bill_of_materials(tag: str, image_id: str, contents: ImageContents, epoch: int) -> bytes:
    """Return the document for an image and what is installed in it, dated ``epoch``."""
    name, _, version = tag.rpartition(":")
    image = Component(
        name=name,
        version=version,
        type=ComponentType.CONTAINER,
        bom_ref=image_id,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=image_id.removeprefix("sha256:"))],
    )
    bom = Bom(
        serial_number=uuid5(NAMESPACE, image_id),
        metadata=BomMetaData(component=image, timestamp=datetime.fromtimestamp(epoch, UTC)),
        components=[*map(_debian, contents.debian), *map(_python, contents.python)],
    )
    bom.register_dependency(image, bom.components)
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def _debian(package: DebianPackage) -> Component:
    version, qualifiers = package.version, {"arch": package.architecture}
    return _library(PackageURL("deb", "debian", package.name, version, qualifiers))


def _python(package: PythonPackage) -> Component:
    """Return one Python distribution, with its wheel's digest where it has one."""
    qualifiers = {"file_name": package.file} if package.file else None
    purl = PackageURL("pypi", None, package.name, package.version, qualifiers)
    return _library(purl, package.sha256)


def _library(purl: PackageURL, sha256: str | None = None) -> Component:
    return Component(
        name=purl.name,
        version=purl.version,
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=purl.to_string(),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256)] if sha256 else [],
    )
