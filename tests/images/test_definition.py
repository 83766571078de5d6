"""The definition of an image: the template, the inputs, and the digest of all that."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from assay.base.io import load_yaml
from assay.base.pip_locks import lock_versions
from assay.building.toolchain import DATE
from assay.images.definition import INPUTS, TEMPLATE, define, load_inputs
from assay.records.platform import Target
from tests.conftest import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("containers", "requirements", "config/targets"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def target(root: Path, name: str = "h100") -> Target:
    return load_yaml(Target, root / "config" / "targets" / f"{name}.yaml")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


class TestInputs:
    def test_the_epoch_is_the_date_of_compiled_files(self):
        assert load_inputs(ROOT).base.source_date_epoch == DATE

    def test_the_runner_holds_what_the_device_side_imports(self):
        pins = lock_versions(ROOT / load_inputs(ROOT).roles.runner.lock)
        assert {"torch", "numpy", "nvidia-ml-py", "triton"} <= pins.keys()


class TestTheDockerfile:
    def test_downloads_nothing_on_a_base_of_our_own(self):
        for role in ("toolchain", "runner"):
            text = define(ROOT, target(ROOT), role).dockerfile
            assert "FROM ${BASE}" in text
            assert "apt-get" not in text
            assert "--no-index" in text
            assert "--require-hashes" in text

    def test_installs_with_the_pip_that_is_pinned(self):
        pip = lock_versions(ROOT / "requirements/build.txt")["pip"]
        assert f"pip-{pip}-py3" in define(ROOT, target(ROOT), "runner").dockerfile


class TestTheDigest:
    def test_is_the_same_in_another_directory(self, tree: Path):
        assert define(tree, target(tree), "runner") == dataclasses.replace(
            define(ROOT, target(ROOT), "runner"), lock=tree / "requirements/runner.txt"
        )

    @pytest.mark.parametrize(
        ("path", "old", "new"),
        [
            (INPUTS, "suite: bookworm", "suite: trixie"),
            (INPUTS, "[g++, python3", "[g++, python3, time"),
            (INPUTS, "LANG: C.UTF-8", "LANG: C"),
            (INPUTS, "image.title: Assay", "image.title: assay"),
            (TEMPLATE, "WORKDIR /", "WORKDIR /opt"),
            (Path("requirements/toolchain.txt"), "nvidia-nvvm==13.0.88", "nvidia-nvvm==13.0.89"),
            (Path("requirements/build.txt"), "pip==", "pip==1"),
        ],
    )
    def test_changes_with_every_input(self, tree: Path, path: Path, old: str, new: str):
        before = define(tree, target(tree), "toolchain").digest
        edit(tree / path, old, new)
        assert define(tree, target(tree), "toolchain").digest != before

    def test_does_not_change_with_what_only_an_import_reads(self, tree: Path):
        before = define(tree, target(tree), "toolchain").digest
        edit(tree / INPUTS, "- usr/share/doc", "- usr/share/docs")
        assert define(tree, target(tree), "toolchain").digest == before
