"""What a machine can do, its parts, and the lines that get what it lacks."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput, MissingEnvironment
from assay.catalog.load import load_catalog
from assay.cli.commands import doctor as diagnosis
from assay.cli.commands.doctor import Machine, State, diagnose
from assay.measuring import local_gpu
from assay.measuring.host_machine import HostDriver, HostGpu
from assay.measuring.local_gpu import Absence
from assay.records.evaluations import NotRun
from tests.report_fixtures import write_repository

H100 = HostGpu("NVIDIA H100 80GB HBM3", "GPU-3bbcccd1-13e6-3079-5729-78a2b5524cd2")
A10 = HostGpu("NVIDIA A10", "GPU-0a")
NEW = HostDriver("580.65.06", 13000, (H100, A10))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with no published report and no trusted key."""
    root = write_repository(tmp_path / "repo")
    (root / "requirements").mkdir()
    (root / "requirements" / "toolchain.txt").write_text("# pins nothing\n")
    return root


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no engine, no program on PATH, no driver; no GPU answers."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setenv("CONTAINER_HOST", f"unix://{tmp_path}/podman.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    have_driver(monkeypatch, None)

    def refuse(*_: object, **__: object) -> None:
        raise MissingEnvironment("there is no usable GPU")

    monkeypatch.setattr(local_gpu, "probe_device", refuse)


def have_driver(monkeypatch: pytest.MonkeyPatch, driver: HostDriver | None) -> None:
    monkeypatch.setattr(diagnosis, "find_host_driver", lambda: driver)


def have_packages(monkeypatch: pytest.MonkeyPatch, lacking: Absence | None) -> None:
    for module in (diagnosis, local_gpu):
        monkeypatch.setattr(module, "lacking_packages", lambda *_: lacking)


def test_what_is_not_here_is_not_wrong(root: Path) -> None:
    """What it cannot do comes first, with what helps; what is not here is no fault."""
    _, found = diagnose(root, "python3")
    absent = {one.part for one in found if one.state is State.ABSENT}
    assert absent == {"GPU", "g++", "git", "docker", "podman", "apptainer", "ncu", "sbatch"}
    assert not [one for one in found if one.state is State.WRONG]


def test_a_line_that_helps_stands_alone(assay, root, monkeypatch):
    """The conclusion comes first, in about ten lines of a terminal."""
    monkeypatch.setattr("assay.cli.checkout.ROOT", root)
    monkeypatch.setattr("assay.cli.commands.doctor.os.geteuid", lambda: 1000)
    answer = assay("doctor")
    assert "to get git: sudo apt-get install -y git" in answer.out.splitlines()


class TestAMachineWithGpus:
    """GPUs by their product, with the target that it is."""

    def test_a_gpu_that_answers_can_be_measured_on(self, root, monkeypatch):
        have_driver(monkeypatch, NEW)
        have_packages(monkeypatch, None)

        def find(target: object, *_: object) -> str | Absence:
            here = getattr(target, "id", "") == "h100"
            return "NVIDIA H100 (GPU-1)" if here else Absence(NotRun.NO_DEVICE, "not here")

        monkeypatch.setattr(diagnosis, "find_gpu", find)
        measure = diagnose(root, "python3")[0]["measure"]
        assert measure == "yes: h100 on NVIDIA H100 (GPU-1)"

    def test_a_cluster_measures_too(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(diagnosis.shutil, "which", lambda _: "/usr/bin/sbatch")
        monkeypatch.setattr(diagnosis, "gpu_types", lambda: {"h100", "a10"})
        machine = Machine(root, load_catalog(root), "python3", (), None, {})
        assert machine.measures() == "yes: on the cluster's h100 nodes, with --executor slurm"


def test_one_remedy_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    diagnosis.doctor(fix="podman")
    assert capsys.readouterr().out.endswith("apt-get install -y podman\n")
    for part in ("apptainer", "abacus"):
        with pytest.raises(BadInput, match=part):
            diagnosis.doctor(fix=part)
