"""Wheels come by their hashes, from a directory or an index, and no other is used."""

import os
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.images.wheels import ensure_wheels
from tests.base.test_launcher import make_wheel


class Place:
    def __init__(self, folder: Path) -> None:
        self.house = folder / "house"
        self.house.mkdir()
        self.lock = folder / "some.txt"
        names = ("first_part", "second")
        lines = "".join(make_wheel(self.house, name, "1.0", "") for name in names)
        self.lock.write_text(lines.replace(" --hash", " \\\n    --hash"))  # as real locks have it
        self.cache = folder / "cache"
        self.environ = {**os.environ, "ASSAY_WHEELHOUSE": str(self.house)}

    def ensure(self) -> list[str]:
        return [wheel.name for wheel in ensure_wheels(self.cache, self.lock, self.environ)]

    def leftovers(self) -> list[str]:
        return sorted(p.name for p in self.cache.iterdir() if not p.name.isalnum())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestEnsureWheels:
    def test_takes_what_the_lock_names(self, place: Place):
        assert place.ensure() == ["first-part", "second"]
        assert place.leftovers() == []

    def test_a_tampered_wheel_in_the_wheelhouse_is_named_and_not_used(self, place: Place):
        make_wheel(place.house, "second", "1.0", "import evil")
        with pytest.raises(CheckFailed, match=r"second.*not used"):
            place.ensure()
        assert list(place.cache.iterdir()) == []

    def test_a_tampered_wheel_in_the_cache_is_named_and_not_used(self, place: Place):
        place.ensure()
        (folder,) = (p for p in place.cache.iterdir() if p.is_dir())
        make_wheel(folder, "second", "1.0", "import evil")
        with pytest.raises(CheckFailed, match=r"second-1\.0.*is not one that some\.txt names"):
            place.ensure()

    def test_a_wheel_that_went_missing_is_named(self, place: Place):
        place.ensure()
        (folder,) = (p for p in place.cache.iterdir() if p.is_dir())
        (folder / "second-1.0-py3-none-any.whl").unlink()
        with pytest.raises(CheckFailed, match="lacks second"):
            place.ensure()

    def test_a_wheel_that_cannot_be_had_is_a_missing_environment(self, place: Place):
        (place.house / "second-1.0-py3-none-any.whl").unlink()
        with pytest.raises(MissingEnvironment, match="ASSAY_WHEELHOUSE"):
            place.ensure()
        assert list(place.cache.iterdir()) == []
