"""The base: what is asked of mmdebstrap, and what is done when it, or its archive, is not right."""

import os
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.images import base
from assay.images.base import base_definition, debian_source, ensure_base, mmdebstrap
from assay.images.definition import load_inputs
from assay.images.disk import partial
from assay.shared.files import sha256_bytes
from tests.conftest import ROOT

INPUTS = load_inputs(ROOT).base
PACKAGES = ("python3", "g++")


def test_a_cached_archive_is_used_again_for_its_packages(tmp_path: Path):
    path = tmp_path / f"base-{base_definition(INPUTS, PACKAGES)[:16]}.tar"
    path.write_bytes(b"a base")
    assert ensure_base(tmp_path, INPUTS, PACKAGES, {}) == (path, sha256_bytes(b"a base"))
    assert base_definition(INPUTS, PACKAGES) == base_definition(INPUTS, PACKAGES[::-1])
    assert base_definition(INPUTS, PACKAGES) != base_definition(INPUTS, PACKAGES[:1])


class TestTheCommand:
    def test_names_suite_packages_and_mirror(self, tmp_path: Path):
        command = mmdebstrap(tmp_path / "x.tar", INPUTS, PACKAGES, "deb http://m bookworm main")
        assert command[-3:] == ["bookworm", str(tmp_path / "x.tar"), "deb http://m bookworm main"]
        assert "--include=g++,python3" in command
        assert "--mode=auto" in command

    def test_the_mirror_can_be_named(self):
        source = debian_source(INPUTS, {"ASSAY_DEBIAN_MIRROR": "http://mirror.example/debian"})
        assert source == "deb http://mirror.example/debian bookworm main"

    @pytest.mark.parametrize("suite", ["bookworm", "trixie"])
    def test_apts_own_mirror_is_taken(self, monkeypatch: pytest.MonkeyPatch, suite: str):
        """That of another Debian release will do."""
        listed = [f"http://s/sec {suite}-security Debian", f"http://m/debian {suite} Debian"]
        monkeypatch.setattr(base, "_output", lambda *command: listed)
        assert debian_source(INPUTS, {}) == "deb http://m/debian bookworm main"

    def test_a_machine_of_another_family_is_told_what_to_do(self, monkeypatch: pytest.MonkeyPatch):
        listed = ["http://archive/ubuntu noble Ubuntu"]
        monkeypatch.setattr(base, "_output", lambda *command: listed)
        with pytest.raises(MissingEnvironment, match="ASSAY_DEBIAN_MIRROR"):
            debian_source(INPUTS, {})


class TestFailures:
    def test_without_mmdebstrap(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MissingEnvironment, match="apt-get install mmdebstrap"):
            ensure_base(tmp_path / "cache", INPUTS, PACKAGES, {})
        assert list((tmp_path / "cache").iterdir()) == []

    @pytest.mark.mmdebstrap
    def test_without_a_mirror(self, tmp_path: Path):
        environ = {**os.environ, "ASSAY_DEBIAN_MIRROR": "http://127.0.0.1:9/debian"}
        with pytest.raises(MissingEnvironment, match=r"could not make a Debian.*Debian mirror"):
            ensure_base(tmp_path / "cache", INPUTS, PACKAGES, environ)
        left = [p.suffix for p in (tmp_path / "cache").iterdir()]
        assert left in ([], [".log"])


class TestPartial:
    def test_a_file_is_whole_or_absent(self, tmp_path: Path):
        with pytest.raises(ZeroDivisionError), partial(tmp_path / "x", "trying") as unfinished:
            unfinished.write_text("half")
            raise ZeroDivisionError
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_while_a_layer_is_written(tmp_path: Path):
    """A file-size limit fails writes as a full disk does."""
    import resource
    import signal
    import tarfile

    from assay.images.layer import normalise

    source = tmp_path / "in.tar"
    (tmp_path / "big").write_bytes(bytes(1 << 20))
    with tarfile.open(source, "w") as archive:
        archive.add(tmp_path / "big", "big")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
        with (
            pytest.raises(MissingEnvironment, match="the disk is full"),
            partial(tmp_path / "out" / "x.tar", "writing a layer") as unfinished,
        ):
            normalise(source, unfinished, 1_600_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert list((tmp_path / "out").iterdir()) == []
