"""The seal of cached builds: made with a key that lies elsewhere, and broken by any change."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.building import cache_seal
from assay.building.cache_seal import RECORD, SEAL, is_sealed, write_seal


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


def test_what_was_sealed_is_sealed(folder: Path, key: Path) -> None:
    assert is_sealed(folder)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert os.listdir(key.parent) == [key.name]  # noqa: PTH208


def test_a_key_is_made_once(folder: Path, key: Path) -> None:
    before = key.read_bytes()
    write_seal(folder)
    assert key.read_bytes() == before and is_sealed(folder)


CHANGES: dict[str, Callable[[Path], object]] = {
    "library": lambda folder: (folder / "small.so").write_bytes(b"c0de"),
    "record": lambda folder: (folder / RECORD).write_text("another"),
    "no seal": lambda folder: (folder / SEAL).unlink(),
    "no text": lambda folder: (folder / SEAL).write_bytes(b"\xff"),
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
    other = folder.rename(folder.with_name("4567"))
    assert not is_sealed(other)


def test_another_key_is_another_users(folder: Path, key: Path) -> None:
    key.write_bytes(bytes(cache_seal.KEY_BYTES))
    assert not is_sealed(folder)


def test_a_key_that_others_read_is_none(
    folder: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key.chmod(0o644)
    assert not is_sealed(folder)
    (folder / SEAL).unlink()
    write_seal(folder)
    assert not (folder / SEAL).exists()
    assert "no key to seal what is cached with" in capsys.readouterr().err
