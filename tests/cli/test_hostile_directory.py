"""Every entry, started in a directory that an enemy filled: nothing of it runs.

Somebody who was sent a report stands in it and types ``./assay verify .``; somebody's PYTHONPATH
leads elsewhere. What would run leaves a mark (see tests/hostile.py), and there is none.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.measuring.device_process import run_device_job
from assay.measuring.local_gpu import lacking_packages
from assay.records.platform import Device
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime
from assay.shared.job import PlatformJob
from tests.hostile import Hostile, make_hostile
from tests.jobs import TARGET
from tests.unmeasured import Unmeasured


class Repository(Unmeasured):
    """A small checkout, and a directory of an enemy's that its command is started in."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.hostile = make_hostile(folder)

    def typed(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        return self.assay(*arguments, cwd=self.hostile.place, **self.hostile.environment())

    def started(self, *more: object) -> subprocess.CompletedProcess[str]:
        return self.reproduce(*more, cwd=self.hostile.place, **self.hostile.environment())


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """One repository, with a run in it that is there for all."""
    found = Repository(tmp_path_factory.mktemp("hostile"))
    packages = found.folder / "packages" / "greeting-2.dist-info"
    packages.mkdir(parents=True)
    (packages / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 2\n")
    ended = found.started("--device-path", packages.parent)
    assert ended.returncode == 0, ended.stderr
    return found


def test_the_launcher_the_workflow_and_its_steps_import_their_own_code(repository):
    assert repository.hostile.ran() == []
    assert (repository.report / "attestation.json").is_file()


def test_verify_in_the_report_itself(repository: Repository) -> None:
    as_it_was_sent = repository.typed("verify", repository.report, "--key", repository.key)
    assert as_it_was_sent.returncode == 0, as_it_was_sent.stderr
    shutil.copytree(repository.report, repository.hostile.place, dirs_exist_ok=True)
    ended = repository.typed("verify", ".", "--key", repository.key)
    assert repository.hostile.ran() == []
    assert ended.returncode == 1, "what an enemy adds to a report is noticed"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """This process stands in an enemy's directory, with the variables of one who was led there."""
    found = make_hostile(tmp_path)
    monkeypatch.chdir(found.place)
    for name, value in found.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    return found


def test_the_device_side(hostile: Hostile) -> None:
    with pytest.raises(MissingEnvironment):
        run_device_job(Place(HostRuntime(), python=sys.executable), PlatformJob(TARGET), Device)
    assert hostile.ran() == []


def test_packages_of_a_named_directory_come_before_the_pythons_own(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    (tmp_path / "pynvml.py").write_text(f"open({str(mark)!r}, 'w').close(); raise ImportError\n")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    assert lacking_packages(sys.executable, [tmp_path]) is None
    place = Place(HostRuntime(), python=sys.executable, packages=(tmp_path,))
    with pytest.raises(MissingEnvironment):
        run_device_job(place, PlatformJob(TARGET), Device, echo=False)
    assert mark.exists()
