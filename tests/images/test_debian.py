"""A Debian by mmdebstrap: what is asked of it, and what is done when it is not to be had."""

from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.images import debian
from assay.images.debian import debian_source
from assay.images.definition import define, load_inputs
from assay.images.obtain import make
from tests.conftest import ROOT

INPUTS = load_inputs(ROOT).base


class TestTheMirror:
    def test_can_be_named(self):
        source = debian_source(INPUTS, {"ASSAY_DEBIAN_MIRROR": "http://mirror.example/debian"})
        assert source == "deb http://mirror.example/debian bookworm main"

    @pytest.mark.parametrize("suite", ["bookworm", "trixie"])
    def test_is_else_apts_own(self, monkeypatch: pytest.MonkeyPatch, suite: str):
        """That of another Debian release will do."""
        listed = [f"http://s/sec {suite}-security Debian", f"http://m/debian {suite} Debian"]
        monkeypatch.setattr(debian, "_output", lambda *command: listed)
        assert debian_source(INPUTS, {}) == "deb http://m/debian bookworm main"

    def test_a_machine_of_another_family_is_told_what_to_do(self, monkeypatch: pytest.MonkeyPatch):
        listed = ["http://archive/ubuntu noble Ubuntu"]
        monkeypatch.setattr(debian, "_output", lambda *command: listed)
        with pytest.raises(MissingEnvironment, match="ASSAY_DEBIAN_MIRROR"):
            debian_source(INPUTS, {})


class TestFailures:
    def test_without_mmdebstrap(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingEnvironment, match="apt-get install mmdebstrap"):
            make(define(ROOT, "toolchain"), "h100", "docker", tmp_path / "cache" / "x")
        assert list((tmp_path / "cache").iterdir()) == []

    @pytest.mark.mmdebstrap
    def test_without_a_mirror(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("ASSAY_DEBIAN_MIRROR", "http://127.0.0.1:9/debian")
        (tmp_path / "wheels").mkdir()
        wheel = debian.Wheel(tmp_path / "wheels" / "pip-1-py3-none-any.whl", "0" * 64)
        monkeypatch.setattr(debian, "ensure_wheels", lambda *_: [wheel])
        with pytest.raises(MissingEnvironment, match=r"could not make a Debian.*Debian mirror"):
            make(define(ROOT, "toolchain"), "h100", "docker", tmp_path / "cache" / "x")
        assert list((tmp_path / "cache").iterdir()) == []
