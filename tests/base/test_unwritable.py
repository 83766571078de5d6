"""A place that cannot be written is one sentence with what helps, never a traceback."""

import errno
from pathlib import Path

import pytest

from assay.base.unwritable import is_about_writing, unwritable_sentence
from assay.base.writable import why_not_writable

ROOT = Path("/somewhere/assay")
READ_ONLY = (errno.EROFS, "Read-only file system")


@pytest.mark.parametrize(
    ("place", "named", "help_"),
    [
        (ROOT / ".venv" / "assay.json", ROOT / ".venv" / "assay.json", "ASSAY_NO_VENV=1"),
        (ROOT / ".toolchain" / "x.lock", ROOT / ".toolchain" / "x.lock", "--runtime docker"),
        (ROOT / "results" / "a" / ".plan.json.x7", ROOT / "results" / "a", "run from a copy"),
        (Path.home() / ".config" / "assay", Path.home() / ".config" / "assay", "--signing-key"),
        (Path("/tmp/assay-job-x"), Path("/tmp/assay-job-x"), "TMPDIR"),
    ],
)
def test_the_sentence_names_the_place_and_what_helps(place: Path, named: Path, help_: str):
    told = unwritable_sentence(OSError(*READ_ONLY, str(place)), ROOT)
    assert told.startswith(f"{named}: cannot be written: Read-only file system; ")
    assert help_ in told
    assert "\n" not in told


def test_an_error_of_the_program_stays_one():
    assert is_about_writing(OSError(*READ_ONLY, "/x"))
    assert not is_about_writing(OSError(errno.ENOENT, "No such file", "/x"))
    assert not is_about_writing(OSError(errno.EPIPE, "Broken pipe"))


def test_a_file_in_the_place_of_a_folder_is_found_before_anything_is_written(tmp_path: Path):
    (tmp_path / "file").touch()
    assert why_not_writable(tmp_path / "new" / "folder" / "key") is None
    told = why_not_writable(tmp_path / "file" / "folder" / "key")
    assert told == f"{tmp_path / 'file'}: Not a directory"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
