"""What a site wants of its nodes."""

import os
import tempfile
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.measuring.held_gpu import prepare_node, with_modules
from assay.records.cluster import ClusterFile

MODULE = "() { [ $2 != absent/1 ] && export LOADED=$2:$3 || { echo no module $2 >&2; return 1; }; }"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ``module`` function, as a login shell has it."""
    monkeypatch.setenv("BASH_FUNC_module%%", MODULE)


def test_a_module_that_is_not_there_is_told(modules: None) -> None:
    with pytest.raises(MissingEnvironment, match=r"module load absent/1 fails .* no module absent"):
        with_modules(["absent/1"])


@pytest.mark.parametrize(
    ("scratch", "why"),
    [("$NOBODY_SET_THIS", "no such variable"), ("file/below", "cannot be made on this node")],
)
def test_a_scratch_folder_that_cannot_be(tmp_path: Path, scratch: str, why: str) -> None:
    (tmp_path / "file").write_text("")
    site = ClusterFile(schema="assay/cluster/1", scratch=f"{tmp_path}/{scratch}")
    with pytest.raises(MissingEnvironment, match=why):
        prepare_node(site)


def test_a_job_gets_both(modules: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", "before")
    monkeypatch.setenv("LOADED", "before")
    site = ClusterFile(schema="assay/cluster/1", modules=("a/1",), scratch=str(tmp_path / "s"))
    prepare_node(site)
    assert (os.environ["LOADED"], tempfile.gettempdir()) == ("a/1:", str(tmp_path / "s"))
