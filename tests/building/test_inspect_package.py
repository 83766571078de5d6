"""Counting in files of pinned packages."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.base.io import write_record
from assay.building.inspect_package import inspect_or_take, inspect_packages
from assay.building.toolchain import LOCK
from assay.records.builds import InspectionsRecord
from assay.records.claims import Claim
from assay.records.evaluations import Inspection
from assay.records.units import Unit
from assay.shared.files import sha256_bytes
from tests import builders as b

TEXT = b"one\ntwo\nthree without an end"


def inspected(packages: Path, *claims: Claim) -> InspectionsRecord:
    wanted = [(c.id, c.evaluation) for c in claims if isinstance(c.evaluation, Inspection)]
    return inspect_packages(wanted, packages, {"nvidia-cutlass": "4.2.0.0"})


def claim(path: str = "cutlass/file.hpp", **asked: str) -> Claim:
    given = {"package": "nvidia-cutlass", "path": path, "quantity": "lines", **asked}
    evaluation = Inspection(kind="inspection", **given)
    return b.claim("lines_of_a_file", evaluation, value=2.0, unit=Unit.LINES, flop_formula=None)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    (site / "cutlass").mkdir(parents=True)
    (site / "cutlass" / "file.hpp").write_bytes(TEXT)
    (tmp_path / "secret").write_text("outside")
    return site


def test_lines_are_counted_as_line_feeds(packages: Path):
    (found,) = inspected(packages, claim()).inspections
    assert (found.lines, found.bytes) == (2, len(TEXT))
    assert found.sha256 == sha256_bytes(TEXT)
    assert (found.claim, found.version) == ("lines_of_a_file", "4.2.0.0")


def test_a_text_is_counted_in_a_folder_with_a_digest_of_all_its_files(packages: Path):
    asked = claim("cutlass", quantity="matches", text="two")
    deep = packages / "cutlass" / "deep"
    deep.mkdir()
    (deep / "other.hpp").write_bytes(b"two\n")
    (found,) = inspected(packages, asked).inspections
    assert (found.matches, found.lines, found.bytes) == (2, 3, len(TEXT) + 4)
    (deep / "other.hpp").write_bytes(b"twO\n")
    (changed,) = inspected(packages, asked).inspections
    assert changed.matches == 1
    assert changed.sha256 != found.sha256


@pytest.mark.parametrize("path", ["out/secret", "cutlass/gone.hpp", "cutlass"])
def test_only_files_inside_the_packages(packages: Path, path: str):
    (packages / "out").symlink_to(packages.parent)
    assert (packages / "out" / "secret").is_file()
    with pytest.raises(BadInput, match="has no file"):
        inspected(packages, claim(path))


class TestTakingOver:
    """A node without wheels takes another machine's counts, if they answer the same question."""

    @pytest.fixture
    def prebuilt(self, packages: Path, tmp_path: Path) -> Path:
        (tmp_path / LOCK).parent.mkdir()
        (tmp_path / LOCK).write_text("nvidia-cutlass==4.2.0.0 --hash=sha256:" + "0" * 64 + "\n")
        folder = tmp_path / "prebuilt"
        write_record(inspected(packages, claim()), folder / "inspections.json")
        return folder

    def test_a_few_of_its_questions(self, packages: Path, prebuilt: Path, tmp_path: Path):
        """The other machine prepared every source; here one of them is run."""
        other = claim().model_copy(update={"id": "another"})
        both = inspected(packages, other, claim())
        write_record(both, prebuilt / "inspections.json")
        taken = inspect_or_take(tmp_path, [claim()], prebuilt)
        assert taken == inspected(packages, claim())

    def test_another_version_is_counted_anew(self, packages, prebuilt, tmp_path, monkeypatch):
        (tmp_path / LOCK).write_text("nvidia-cutlass==4.3.0.0 --hash=sha256:" + "0" * 64 + "\n")
        found = "assay.building.inspect_package.ensure_packages"
        monkeypatch.setattr(found, lambda root: packages)
        (found,) = inspect_or_take(tmp_path, [claim()], prebuilt).inspections
        assert found.version == "4.3.0.0"
