"""Copies of a user's checkout."""

import os
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.building import checkout_copy
from assay.building.checkout_copy import copy_checkout


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
    copied = copy_checkout(checkout, tmp_path / "copy")
    found = {p.relative_to(tmp_path / "copy").as_posix() for p in (tmp_path / "copy").rglob("*")}
    assert found == {"src", "src/a.cu", "run.sh", "latest"}
    assert os.access(tmp_path / "copy" / "run.sh", os.X_OK)
    assert (tmp_path / "copy" / "latest").is_symlink()
    assert copied.files == 3


def test_its_digest_is_of_every_file(checkout: Path, tmp_path: Path) -> None:
    first = copy_checkout(checkout, tmp_path / "first")
    assert copy_checkout(checkout, tmp_path / "second") == first
    (checkout / ".git" / "config").write_text("other\n")
    assert copy_checkout(checkout, tmp_path / "third") == first
    (checkout / "src" / "a.cu").write_text("int main() { }\n")
    assert copy_checkout(checkout, tmp_path / "fourth").sha256 != first.sha256


def test_the_users_files_stay_as_they_are(checkout: Path, tmp_path: Path) -> None:
    copy_checkout(checkout, tmp_path / "copy")
    (tmp_path / "copy" / "src" / "a.cu").write_text("changed\n")
    assert (checkout / "src" / "a.cu").read_text() == "int main() {}\n"


@pytest.mark.parametrize("leads_to", ["../outside", "src/../../outside", "/etc/passwd"])
def test_a_link_that_leads_out_is_refused(checkout: Path, tmp_path: Path, leads_to: str) -> None:
    (tmp_path / "outside").write_text("outside\n")
    (checkout / "link").symlink_to(leads_to)
    with pytest.raises(BadInput, match="leads out of the checkout"):
        copy_checkout(checkout, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_an_absolute_link_is_refused_wherever_it_leads(checkout: Path, tmp_path: Path) -> None:
    """In the copy it would still lead into the user's own files."""
    (checkout / "link").symlink_to(checkout / "src")
    with pytest.raises(BadInput, match="leads out"):
        copy_checkout(checkout, tmp_path / "copy")


def test_a_pipe_is_refused(checkout: Path, tmp_path: Path) -> None:
    os.mkfifo(checkout / "pipe")
    with pytest.raises(BadInput, match="neither a file nor a link"):
        copy_checkout(checkout, tmp_path / "copy")


@pytest.mark.parametrize(("bound", "why"), [("MOST_FILES", "files"), ("MOST_BYTES", "bytes")])
def test_bounds(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, why: str
) -> None:
    monkeypatch.setattr(checkout_copy, bound, 2)
    with pytest.raises(BadInput, match=why):
        copy_checkout(checkout, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_what_is_no_directory(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such directory"):
        copy_checkout(checkout / "run.sh", tmp_path / "copy")
    with pytest.raises(BadInput, match="lies in it"):
        copy_checkout(checkout, checkout / "results" / "copy")
