"""Versions of what was imported: by its distribution, and from any folder."""

import importlib
import sys

import pytest

from assay.device.worker.imported import imported_packages


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder with a distribution ``My.Kernels`` of ``my_kernels``, and a broken one."""
    about = tmp_path / "my_kernels-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: My.Kernels\nVersion: 1.2\n")
    (about / "top_level.txt").write_text("my_kernels\nmy_other_kernels\n")
    broken = tmp_path / "my_broken-1.dist-info"
    broken.mkdir()
    (broken / "top_level.txt").write_text("my_stray\n")
    for module in ("my_kernels", "my_other_kernels", "my_stray"):
        (tmp_path / f"{module}.py").touch()
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("elsewhere")
def test_a_distribution_counts_once_it_is_imported():
    assert "My.Kernels" not in imported_packages()
    importlib.import_module("my_kernels")
    assert imported_packages()["My.Kernels"] == "1.2"
