"""The folder of the GPUs' locks: one place for every user and for both Pythons."""

import os

import pytest

from assay.shared import gpu_locks


def test_every_process_meets_in_one_folder_whatever_its_scratch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(gpu_locks.VARIABLE, raising=False)
    before = gpu_locks.lock_path("GPU-1")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert gpu_locks.lock_path("GPU-1") == before == gpu_locks.FOLDER / "assay-gpu-GPU-1.lock"


def test_the_folder_is_for_every_user_and_made_once(tmp_path, monkeypatch):
    monkeypatch.setenv(gpu_locks.VARIABLE, str(tmp_path / "locks"))
    mask = os.umask(0o077)
    try:
        folder = gpu_locks.make_lock_folder()
    finally:
        os.umask(mask)
    assert folder.stat().st_mode & 0o7777 == 0o1777
    assert gpu_locks.make_lock_folder() == folder
