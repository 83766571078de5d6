"""Copies of a user's checkout."""

import os
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.building import checkout_copy
from assay.building.checkout_copy import copy_checkout, describe_checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.cu").write_text("int main() {}\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "latest").symlink_to("src/a.cu")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("secret\n")
    return folder


def test_the_tree_without_its_history(checkout: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copied = copy_checkout(checkout, copy)
    found = {path.relative_to(copy).as_posix() for path in copy.rglob("*")}
    assert found == {"src", "src/a.cu", "run.sh", "latest"}
    assert os.access(copy / "run.sh", os.X_OK) and (copy / "latest").is_symlink()
    assert copied == describe_checkout(checkout)
    assert copied.files == 3
    (copy / "src" / "a.cu").write_text("changed\n")
    assert (checkout / "src" / "a.cu").read_text() == "int main() {}\n"
    (checkout / ".git" / "config").write_text("other\n")
    assert describe_checkout(checkout) == copied
    (checkout / "src" / "a.cu").write_text("int main() { }\n")
    assert describe_checkout(checkout).sha256 != copied.sha256


def test_what_would_be_more_than_the_tree_is_refused(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("outside\n")
    # An absolute link would lead into the user's own files from the copy, too.
    for named in ("../outside", "src/../../outside", "/etc/passwd", checkout / "src"):
        (checkout / "link").symlink_to(named)
        with pytest.raises(BadInput, match="leads out of the checkout"):
            copy_checkout(checkout, tmp_path / "copy")
        (checkout / "link").unlink()
    os.mkfifo(checkout / "pipe")
    with pytest.raises(BadInput, match="neither a file nor a link"):
        copy_checkout(checkout, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(("bound", "why"), [("MOST_FILES", "files"), ("MOST_BYTES", "bytes")])
def test_bounds(checkout, tmp_path, monkeypatch, bound, why):
    monkeypatch.setattr(checkout_copy, bound, 2)
    with pytest.raises(BadInput, match=why):
        copy_checkout(checkout, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_what_is_no_directory(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such directory"):
        copy_checkout(checkout / "run.sh", tmp_path / "copy")
    with pytest.raises(BadInput, match="lies in it"):
        copy_checkout(checkout, checkout / "results" / "copy")
