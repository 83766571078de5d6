"""The bill of materials of an image: CycloneDX 1.6 as JSON, the same bytes each time."""

import json
from datetime import UTC, datetime
from uuid import UUID, uuid5

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from assay.images.contents import ImageContents
from assay.records.images import DebianPackage, PythonPackage

NAMESPACE = UUID("5a3c3c0e-9d1b-5b0e-8b1f-5f2f6a7b9c10")
"""Serial numbers are derived from the image's id, so that they are not random."""


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
        components=[
            *(debian_component(package) for package in contents.debian),
            *(python_component(package) for package in contents.python),
        ],
    )
    bom.register_dependency(image, bom.components)
    document = json.loads(JsonV1Dot6(bom).output_as_string())
    return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()


def debian_component(package: DebianPackage) -> Component:
    """Return one Debian package by its package URL."""
    purl = PackageURL(
        "deb", "debian", package.name, package.version, {"arch": package.architecture}
    )
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=purl.to_string(),
    )


def python_component(package: PythonPackage) -> Component:
    """Return one Python distribution by its package URL, with its wheel's digest where it has
    one.
    """
    qualifiers = {"file_name": package.file} if package.file else None
    purl = PackageURL("pypi", None, package.name, package.version, qualifiers)
    hashes = []
    if package.sha256 is not None:
        hashes.append(HashType(alg=HashAlgorithm.SHA_256, content=package.sha256))
    return Component(
        name=package.name,
        version=package.version,
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=purl.to_string(),
        hashes=hashes,
    )
