"""The bill of materials is valid CycloneDX and the same each time."""

import json

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from assay.images.bill_of_materials import ImageContents, bill_of_materials
from assay.records.images import DebianPackage, PythonPackage

IMAGE = "sha256:" + "ab" * 32
CONTENTS = ImageContents(
    debian=(
        DebianPackage(name="g++", version="4:12.2.0-3", architecture="amd64"),
        DebianPackage(name="adduser", version="3.134", architecture="all"),
    ),
    python=(
        PythonPackage(
            name="torch", version="2.11.0", file="torch-2.11.0-cp311.whl", sha256="cd" * 32
        ),
        PythonPackage(name="pip", version="26.3", file=None, sha256=None),
    ),
    nsight_compute=None,
)


EPOCH = 1_600_000_000


def test_is_valid_and_the_same_each_time():
    text = bill_of_materials("assay/h100-runner:12", IMAGE, CONTENTS, EPOCH)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.decode()) is None
    turned = ImageContents(CONTENTS.debian[::-1], CONTENTS.python[::-1], None)
    assert bill_of_materials("assay/h100-runner:12", IMAGE, turned, EPOCH) == text
    document = json.loads(text)
    components = {c["name"]: c for c in document["components"]}
    assert components["g++"]["purl"] == "pkg:deb/debian/g%2B%2B@4:12.2.0-3?arch=amd64"
    assert components["torch"]["purl"].startswith("pkg:pypi/torch@2.11.0?file_name=torch-2.11.0")
    assert components["torch"]["hashes"] == [{"alg": "SHA-256", "content": "cd" * 32}]
    assert "hashes" not in components["pip"]
    assert document["metadata"]["timestamp"] == "2020-09-13T12:26:40+00:00"
    assert document["metadata"]["component"]["bom-ref"] == IMAGE
