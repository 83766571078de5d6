"""The definition of an image: its inputs, and the digest of all that."""

import shutil
from pathlib import Path

import pytest

from assay.base.pip_locks import lock_versions
from assay.images.definition import INPUTS, INSTALL, define, load_inputs
from tests.conftest import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("containers", "requirements"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


class TestInputs:
    def test_the_runner_holds_what_the_device_side_imports(self):
        pins = lock_versions(ROOT / load_inputs(ROOT).roles["runner"].lock)
        assert {"torch", "numpy", "nvidia-ml-py", "triton"} <= pins.keys()


class TestTheDigest:
    def test_is_the_same_in_another_directory(self, tree: Path):
        assert define(tree, "runner").digest == define(ROOT, "runner").digest

    @pytest.mark.parametrize(
        ("path", "old", "new"),
        [
            (INPUTS, "suite: bookworm", "suite: trixie"),
            (INPUTS, "[g++, python3", "[g++, python3, time"),
            (INPUTS, "LANG: C.UTF-8", "LANG: C"),
            (INPUTS, "image.title: Assay", "image.title: assay"),
            (INSTALL, "umask 022", "umask 002"),
            (Path("requirements/toolchain.txt"), "nvidia-nvvm==13.0.88", "nvidia-nvvm==13.0.89"),
            (Path("requirements/build.txt"), "pip==", "pip==1"),
        ],
    )
    def test_changes_with_every_input(self, tree: Path, path: Path, old: str, new: str):
        before = define(tree, "toolchain").digest
        edit(tree / path, old, new)
        assert define(tree, "toolchain").digest != before

    def test_does_not_change_with_what_only_an_import_reads(self, tree: Path):
        before = define(tree, "toolchain").digest
        edit(tree / INPUTS, "- usr/share/doc", "- usr/share/docs")
        assert define(tree, "toolchain").digest == before
