"""SLSA provenance: derived from the build records, signed with the report, derived again."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from assay.building.toolchain import LOCK
from assay.evidence.stages import build_path
from assay.records.attestation import PROVENANCE
from assay.shared.files import sha256_bytes, write_bytes
from assay.verification.provenance import provenance_payload
from assay.verification.report_archive import opened_report
from assay.verification.sign import public_key_path
from assay.verification.verify import verify
from tests.report_fixtures import (
    REPOSITORY,
    binary_sha256,
    signed_report,
    write_repository,
    write_run,
)
from tests.verification.slsa import SlsaStatement

DOCKER = REPOSITORY / "reports" / "published" / "h100_docker_20261121.tar.xz"
"""Compiled in one image and measured in another."""
WHEEL = "ab" * 32


@pytest.fixture
def report(own_report: Path) -> Path:
    return own_report


def statement(report: Path) -> Any:
    return json.loads(base64.b64decode(json.loads((report / PROVENANCE).read_bytes())["payload"]))


class TestStatement:
    """What it says."""

    def test_fits_the_specifications_own_schema(self, report: Path) -> None:
        SlsaStatement.model_validate_json(json.dumps(statement(report)))

    def test_subjects_are_the_binaries_that_the_records_name(self, report: Path) -> None:
        subjects = {each["name"]: each["digest"]["sha256"] for each in statement(report)["subject"]}
        names = ("demo_bk32", "demo_bk64", "demo_bk96", "demo_88", "demo_probe")
        assert subjects == {f"{name}.sm_90a.so": binary_sha256(name, "sm_90a") for name in names}

    def test_it_names_the_command_and_the_compiler_of_each_binary(self, report: Path) -> None:
        definition = statement(report)["predicate"]["buildDefinition"]
        asked = {each["id"]: each for each in definition["externalParameters"]["builds"]}
        record = json.loads((report / "evidence" / build_path("demo_bk32", "sm_90a")).read_bytes())
        assert asked["demo_bk32"]["command"] == record["command"]
        assert asked["demo_bk32"]["builtElsewhere"] == record["built_elsewhere"]
        (toolchain,) = definition["internalParameters"]["toolchains"]
        assert toolchain["nvcc"] == record["toolchain"]["nvcc"]

    def test_wheels_have_the_digests_that_the_lock_accepts(self, report: Path) -> None:
        """Where the evidence has the lock that the records name; else their versions alone."""
        lock = f"one==1.0 \\\n    --hash=sha256:{WHEEL}\ntwo==2.0 \\\n    --hash=sha256:{'cd' * 32}"
        lock += f" \\\n    --hash=sha256:{'ef' * 32}\n"
        path = report / "evidence" / build_path("demo_probe", "sm_90a")
        record = json.loads(path.read_bytes())
        record["toolchain"] |= {
            "wheels": {"one": "1.0", "two": "2.0"}, "lock_sha256": sha256_bytes(lock.encode())
        }  # fmt: skip
        path.write_text(json.dumps(record))
        assert [each.keys() for each in self._wheels(report)] == [{"uri"}, {"uri"}]
        write_bytes(report / "evidence" / LOCK, lock.encode())
        one, two = self._wheels(report)
        assert one == {"uri": "pkg:pypi/one@1.0", "digest": {"sha256": WHEEL}}
        assert two["annotations"] == {"oneOfSha256": ["cd" * 32, "ef" * 32]}

    @staticmethod
    def _wheels(report: Path) -> list[Any]:
        payload = provenance_payload(report / "evidence")
        assert payload is not None
        definition = json.loads(payload)["predicate"]["buildDefinition"]
        return [each for each in definition["resolvedDependencies"] if "uri" in each]

    def test_images_are_subjects_where_a_container_runtime_was_used(self) -> None:
        with opened_report(DOCKER) as report:
            payload = provenance_payload(report / "evidence")
            image = json.loads((report / "evidence/images/h100.json").read_bytes())
            runner = json.loads((report / "evidence/h100/image.json").read_bytes())
        assert payload is not None
        SlsaStatement.model_validate_json(payload)
        document = json.loads(payload)
        subjects = {each["name"]: each for each in document["subject"]}
        for record in (image, runner):
            digest = {"sha256": record["image_id"].removeprefix("sha256:")}
            assert subjects[record["tag"]]["digest"] == digest
        predicate = document["predicate"]
        assert predicate["runDetails"]["builder"] == {"id": "urn:assay:builder:docker:1"}
        metadata = predicate["runDetails"]["metadata"]
        assert metadata["startedOn"] < metadata["finishedOn"]
        made_of = predicate["buildDefinition"]["resolvedDependencies"]
        for wheel in image["python_packages"]:
            if wheel["sha256"]:
                (each,) = (each for each in made_of if each.get("name") == wheel["file"])
                assert each["digest"] == {"sha256": wheel["sha256"]}
                assert each["uri"] == f"pkg:pypi/{wheel['name']}@{wheel['version']}"
        boms = {each["digest"]["sha256"] for each in predicate["runDetails"]["byproducts"]}
        assert boms == {image["sbom_sha256"], runner["sbom_sha256"]}


@pytest.mark.parametrize("same", [True, False])
def test_the_lock_lies_in_the_evidence_where_the_records_name_it(
    tmp_path: Path, same: bool
) -> None:
    """A checkout whose lock is another by now has nothing to add."""
    root = write_repository(tmp_path / "repo")
    lock = f"one==1.0 \\\n    --hash=sha256:{WHEEL}\n".encode()
    write_bytes(root / LOCK, lock if same else b"two==2.0\n")
    run_dir = write_run(root)
    for path in (run_dir / "builds").rglob("*.json"):
        record = json.loads(path.read_bytes())
        record["toolchain"] |= {"wheels": {"one": "1.0"}, "lock_sha256": sha256_bytes(lock)}
        write_bytes(path, (json.dumps(record, indent=2, sort_keys=True) + "\n").encode())
    report = signed_report(root)
    assert (report / "evidence" / LOCK).exists() is same
    definition = statement(report)["predicate"]["buildDefinition"]
    (wheel,) = [each for each in definition["resolvedDependencies"] if "uri" in each]
    assert wheel.get("digest") == ({"sha256": WHEEL} if same else None)
    assert verify(report, [public_key_path(tmp_path / "key")]).holds
