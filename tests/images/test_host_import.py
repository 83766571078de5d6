"""Images of a machine's own files: those that go in, and those that never do."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.images.definition import load_inputs
from assay.images.host_import import definition_digest, places_of, tar_command
from tests.conftest import ROOT

INPUTS = load_inputs(ROOT)
SECRET = (
    "etc/shadow",
    "etc/shadow-",
    "etc/ssh/ssh_host_ed25519_key",
    "etc/ssl/private/site",
    "etc/pip.conf",
    "etc/apt/auth.conf.d/mirror.conf",
    "opt/tool/.env",
    "opt/tool/tls/server.pem",
    "opt/tool/deploy/id_rsa",
    "usr/local/share/app_credentials.json",
    "root/.ssh/id_rsa",
    "home/me/notes",
    "var/lib/secret",
)
WANTED = (
    # Without it every start of PyTorch would compile it anew.
    "usr/lib/python3/dist-packages/torch/__pycache__/x.pyc",
    "etc/os-release",
    "opt/tool/bin/tool",
    "usr/bin/python3",
    "usr/lib/gcc/libgcc.a",
    "usr/lib/python3/dist-packages/torch-2.11.0.dist-info/METADATA",
    "var/lib/dpkg/status",
)
BULK = (
    "opt/nvidia/nsight-systems/2025/host/x",
    "usr/local/cuda-13.0/targets/x86_64-linux/lib/libcublas_static.a",
    "usr/share/doc/x",
    "usr/src/linux/Makefile",
)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    tmp_path = tmp_path / "system"
    for name in (*SECRET, *WANTED, *BULK):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("PRETTY_NAME='x'\n")
    (tmp_path / "etc/os-release").write_text('ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04"\n')
    (tmp_path / "bin").symlink_to("usr/bin")
    return tmp_path


def names(system: Path, *extra: Path) -> dict[str, tarfile.TarInfo]:
    command = tar_command(INPUTS, extra, system, system.with_name("empty"))
    written = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(written)) as archive:
        return {info.name: info for info in archive}


class TestWhatIsImported:
    def test_programs_and_packages_and_neither_secrets_nor_bulk(self, system: Path):
        found = names(system)
        assert set(WANTED) <= found.keys()
        assert not {*SECRET, *BULK} & found.keys()
        assert found["tmp"].mode == 0o1777
        assert all(found[name].isdir() for name in ("dev", "proc", "sys", "run", "var/tmp"))

    def test_an_extra_directory_must_exist(self, system: Path):
        with pytest.raises(MissingEnvironment, match="/srv/none is no directory"):
            names(system, Path("/srv/none"))


def test_the_definition_moves_with_the_packages(system: Path):
    before = definition_digest(INPUTS, (), system)
    assert definition_digest(INPUTS, (), system) == before
    (system / "usr/lib/python3/dist-packages/new-1.0.dist-info").mkdir()
    middle = definition_digest(INPUTS, (), system)
    (system / "var/lib/dpkg/status").write_text("Package: another\n")
    assert len({before, middle, definition_digest(INPUTS, (), system)}) == 3


def test_an_interpreter_outside_of_the_list_comes_along():
    places = places_of(sys.executable, INPUTS)
    covered = [*(Path(path) for path in INPUTS.host_import.include), *places]
    for name in (sys.prefix, sys.base_prefix):
        assert any(Path(name).is_relative_to(other) for other in covered)
