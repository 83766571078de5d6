"""The seal of what is cached: made with a key that lies elsewhere, and broken by any change."""

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.building import cache_seal
from assay.building.cache_seal import (
    RECORD,
    SEAL,
    is_sealed,
    sealed_bytes,
    write_seal,
    write_sealed,
)


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home" / "assay" / "key"
    monkeypatch.setenv(cache_seal.VARIABLE, str(path))
    return path


@pytest.fixture
def folder(tmp_path: Path, key: Path) -> Path:
    place = tmp_path / "cache" / "0123"
    place.mkdir(parents=True)
    (place / RECORD).write_text("a record")
    (place / "small.so").write_bytes(b"code")
    write_seal(place)
    return place


def test_what_was_sealed_is_sealed_by_a_key_of_ones_own(folder: Path, key: Path) -> None:
    before = key.read_bytes()
    write_seal(folder)
    assert key.read_bytes() == before and is_sealed(folder)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert list(key.parent.iterdir()) == [key]


CHANGES: dict[str, Callable[[Path], object]] = {
    "library": lambda folder: (folder / "small.so").write_bytes(b"c0de"),
    "record": lambda folder: (folder / RECORD).write_text("another"),
    "no seal": lambda folder: (folder / SEAL).unlink(),
    "empty seal": lambda folder: (folder / SEAL).write_bytes(b""),
    "further file": lambda folder: (folder / "more.so").write_bytes(b""),
    "no library": lambda folder: (folder / "small.so").unlink(),
    "no record": lambda folder: (folder / RECORD).unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_breaks_it(folder: Path, change: Callable[[Path], object]) -> None:
    change(folder)
    assert not is_sealed(folder)


def test_a_build_does_not_stand_in_for_another(folder: Path) -> None:
    assert not is_sealed(folder.rename(folder.with_name("4567")))


def test_a_file_stands_under_its_own_name_and_bound(key: Path, tmp_path: Path) -> None:
    path = tmp_path / "found"
    write_sealed(path, b"data")
    assert sealed_bytes(path, 1000) == b"data"
    assert sealed_bytes(path, 10) is None
    assert sealed_bytes(path.rename(tmp_path / "other"), 1000) is None


def test_no_other_key_will_do(folder: Path, key: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key.chmod(0o644)
    assert not is_sealed(folder)
    (folder / SEAL).unlink()
    write_seal(folder)
    assert not (folder / SEAL).exists()
    assert "no key to seal" in capsys.readouterr().err
    key.chmod(0o600)
    write_seal(folder)
    key.write_bytes(bytes(cache_seal.KEY_BYTES))
    assert not is_sealed(folder)
