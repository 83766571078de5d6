"""An archive that a stranger's machine sends."""

import io
import tarfile
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.remote import fetched
from assay.remote.fetched import unpack

PLACES = {"job/log": "log", "source/reports/demo": "report"}


def archive(*entries: tuple[str, bytes, bytes]) -> io.BytesIO:
    """Return an archive of (name, type, content or the name that a link leads to)."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, kind, content in entries:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            if kind == tarfile.REGTYPE:
                entry.size = len(content)
            else:
                entry.linkname = content.decode()
            tar.addfile(entry, io.BytesIO(content))
    stream.seek(0)
    return stream


def test_files_find_their_places(tmp_path: Path) -> None:
    sent = archive(
        ("job/log", tarfile.REGTYPE, b"1"), ("source/reports/demo/a/b", tarfile.REGTYPE, b"2")
    )
    assert unpack(sent, PLACES, tmp_path) is None
    assert (tmp_path / "log").read_bytes() == b"1"
    assert (tmp_path / "report/a/b").read_bytes() == b"2"


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "source/reports/demo/../../../x", "source/reports/demonstration/a", "x"]
)
def test_anything_else_is_refused(tmp_path: Path, name: str) -> None:
    sent = archive((name, tarfile.REGTYPE, b"1"))
    assert "which is no file of the run" in str(unpack(sent, PLACES, tmp_path / "in"))
    assert not list(tmp_path.rglob("*"))


def test_links_are_left_out_and_nothing_is_written_through_one(tmp_path: Path) -> None:
    sent = archive(
        ("source/reports/demo/a", tarfile.SYMTYPE, b"/tmp"),
        ("source/reports/demo/a/b", tarfile.REGTYPE, b"2"),
    )
    assert unpack(sent, PLACES, tmp_path) is None
    assert not (tmp_path / "report/a").is_symlink()
    assert (tmp_path / "report/a/b").read_bytes() == b"2"


def test_more_than_a_run_makes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched, "MOST_BYTES", 3)
    sent = archive(("job/log", tarfile.REGTYPE, b"1234"))
    assert unpack(sent, PLACES, tmp_path) == "sent more than any run makes"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("cut", [0, 10, 60])
def test_what_is_cut_short_is_no_archive(tmp_path: Path, cut: int) -> None:
    data = archive(("job/log", tarfile.REGTYPE, bytes(range(256)) * 40)).getvalue()
    assert "no whole archive" in str(unpack(io.BytesIO(data[:cut]), PLACES, tmp_path))


def test_a_disk_that_is_full_here_is_said(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    (tmp_path / "report").write_bytes(b"")
    sent = archive(("source/reports/demo/a", tarfile.REGTYPE, b"1"))
    with pytest.raises(MissingEnvironment, match="cannot be written"):
        unpack(sent, PLACES, tmp_path)
