"""An image's archive: the same bytes each time, and refused where it is not what it was."""

import hashlib
import io
import json
import resource
import signal
import tarfile
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.images.archive import partial, verify_archive, write_archive
from assay.images.definition import define
from assay.images.obtain import image_record
from assay.images.wheels import Wheel
from assay.records.images import ImageBase
from tests.conftest import ROOT

DEFINITION = define(ROOT, "toolchain")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "layer").write_bytes(b"a layer")
    write_archive(tmp_path / "layer", tmp_path / "a.tar", DEFINITION)
    return tmp_path / "a.tar"


def test_it_is_the_same_twice_and_names_what_it_holds(archive: Path, tmp_path: Path):
    image, layer = write_archive(tmp_path / "layer", tmp_path / "b.tar", DEFINITION)
    assert archive.read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert verify_archive(archive, DEFINITION.tag) == (image, (layer,))
    assert layer == f"sha256:{hashlib.sha256(b'a layer').hexdigest()}"
    with tarfile.open(archive) as found:
        config = json.load(found.extractfile(found.getnames()[1]))  # type: ignore[arg-type]
    assert config["created"] == "2020-09-13T12:26:40Z"
    assert config["config"]["Labels"]["assay.role"] == "toolchain"
    assert "PYTHONDONTWRITEBYTECODE=1" in config["config"]["Env"]


def test_a_changed_byte_is_another_image(archive: Path):
    before = verify_archive(archive)
    data = bytearray(archive.read_bytes())
    data[512] ^= 1
    archive.write_bytes(data)
    assert verify_archive(archive) != before


def test_another_tag_or_a_second_image_is_refused(archive: Path, tmp_path: Path):
    with pytest.raises(ValueError, match="it would name"):
        verify_archive(archive, "another:tag")
    manifest = json.dumps([{}, {}]).encode()
    with tarfile.open(tmp_path / "two.tar", "w") as two:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(manifest)
        two.addfile(entry, io.BytesIO(manifest))
    with pytest.raises(ValueError, match="exactly one image"):
        verify_archive(tmp_path / "two.tar")


def test_a_full_disk_leaves_nothing(archive: Path, tmp_path: Path):
    """A file-size limit fails writes as a full disk does."""
    (tmp_path / "layer").write_bytes(bytes(1 << 20))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
        with (
            pytest.raises(MissingEnvironment, match="the disk is full"),
            partial(tmp_path / "out" / "x", "making an image") as unfinished,
        ):
            write_archive(tmp_path / "layer", unfinished / "a.tar", DEFINITION)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert list((tmp_path / "out").iterdir()) == []


class TestTheRecord:
    FACTS = {
        "target": "h100", "role": "runner", "runtime": "docker", "engine": "x",
        "definition": "0" * 64, "tag": "x", "image_id": f"sha256:{'1' * 64}",
        "layers": (f"sha256:{'2' * 64}",), "bytes": 1,
        "base": ImageBase(kind="debian", reference="x", sha256=None),
    }  # fmt: skip
    LISTED = json.dumps(
        {
            "debian": [["libc6", "2.36-9", "amd64"]],
            "python": [["nvidia_thing", "1.5"], ["pip", "23"]],
            "ncu": None,
        }
    )

    def test_names_the_file_that_a_package_came_from(self):
        wheel = Wheel(Path("nvidia_thing-1.5-py3-none-any.whl"), "a" * 64)
        record = image_record(self.LISTED, [wheel], **self.FACTS)
        found = [(each.name, each.version, each.sha256) for each in record.python_packages]
        assert found == [("nvidia-thing", "1.5", "a" * 64), ("pip", "23", None)]
        assert record.debian_packages[0].version == "2.36-9"

    def test_a_wheel_that_is_not_installed_is_named(self):
        wheel = Wheel(Path("nvidia_thing-1.6-py3-none-any.whl"), "a" * 64)
        with pytest.raises(CheckFailed, match=r"does not hold nvidia_thing-1\.6"):
            image_record(self.LISTED, [wheel], **self.FACTS)
