"""The parts of a machine, and its abilities."""

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from assay.base.errors import MissingEnvironment
from assay.building.installed import Installed
from assay.catalog.load import load_catalog
from assay.cli import abilities, console, diagnosis
from assay.cli.abilities import Ability, Machine
from assay.cli.diagnosis import Diagnosis, Finding, State, diagnose
from assay.cli.diagnosis_output import show_diagnosis
from assay.judging.rules import RULES
from assay.measuring import local_gpu
from assay.measuring.host_driver import HostDriver, HostGpu
from assay.measuring.local_gpu import Absence
from assay.records.evaluations import NotRun
from assay.records.plan import Provision
from assay.shared.files import write_bytes
from assay.verification.report_archive import pack_report
from tests.cli.test_tables import Terminal
from tests.report_fixtures import COMMIT, provision, signed_report, write_repository

ROOT = Path(__file__).resolve().parents[2]
H100 = HostGpu("NVIDIA H100 80GB HBM3", "GPU-3bbcccd1-13e6-3079-5729-78a2b5524cd2")
A10 = HostGpu("NVIDIA A10", "GPU-0a")
NEW = HostDriver("580.65.06", 13000, (H100, A10))
OLD = HostDriver("535.104.05", 12020, (H100,))


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


def parts(diagnosis: Diagnosis) -> dict[str, Finding]:
    return {finding.part: finding for finding in diagnosis.findings}


def abilities_of(diagnosis: Diagnosis) -> dict[str, Ability]:
    return {ability.name: ability for ability in diagnosis.abilities}


class TestABareMachine:
    """An optional part is called so, and nothing is said twice."""

    def test_optional_parts_are_optional(self, root: Path) -> None:
        found = parts(diagnose(root, "python3"))
        optional = {part for part, one in found.items() if one.state is State.OPTIONAL}
        assert optional == {
            "NVIDIA driver", "container engines", "Nsight Compute", "Slurm", "git",
        }  # fmt: skip
        assert State.OPTIONAL == "optional, not here"
        assert found["host compiler"].state is State.MISSING

    def test_engines_share_a_line(self, root: Path) -> None:
        found = parts(diagnose(root, "python3"))["container engines"].found
        assert found == "docker not running, podman not running, apptainer not installed"

    def test_no_driver_is_told_once_and_no_package_is_asked_for(self, root: Path) -> None:
        found = diagnose(root, "python3")
        told = [*(f"{one.found} {one.remedy}" for one in found.findings),
                *map(str, found.abilities)]  # fmt: skip
        assert sum("no NVIDIA driver here" in line for line in told) == 1
        assert not any("nvidia-ml-py" in line for line in told)

    def test_what_it_cannot_do_is_told_with_why_and_what_helps(self, root: Path) -> None:
        can = abilities_of(diagnose(root, "python3"))
        assert list(can) == ["verify", "rebuild", "measure"]
        assert str(can["verify"]).startswith("verify: no, because config/trusted_keys holds no key")
        assert str(can["rebuild"]).startswith("rebuild: no, because nvcc needs a C++ compiler")
        assert "apt-get install g++" in str(can["rebuild"])
        measure = str(can["measure"])
        assert measure.startswith("measure: no, because there is no NVIDIA driver here; run on")
        assert all(target in measure for target in load_catalog(root).targets)


class TestPublishedReports:
    """Each is verified by its own name, however it is kept."""

    @pytest.fixture
    def archive(self, root: Path) -> Path:
        made = signed_report(root, "old")
        (root / "config" / "trusted_keys").mkdir()
        shutil.copyfile(root.parent / "key.pub", root / "config" / "trusted_keys" / "key.pub")
        archive = root / "reports" / "published" / "old.tar.xz"
        write_bytes(archive, pack_report(made))
        return archive

    def test_an_archive_verifies(self, root: Path, archive: Path) -> None:
        found = parts(diagnose(root, "python3"))["published report"]
        assert (found.state, found.found) == (State.OK, "old verifies")

    def test_one_of_other_rules_is_left_to_verify_where_its_commit_is_there(
        self, root: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What takes its commit's code a while is not done here; whether it can be, is said."""
        monkeypatch.setattr("assay.verification.judged_again.RULES", 99)
        found = parts(diagnose(root, "python3"))["published report"]
        assert found.state is State.OPTIONAL
        assert found.found == (
            f"old was judged by rules {RULES}; all else holds, and verify cannot judge it again"
        )
        assert "verify it in a full clone" in found.remedy
        monkeypatch.setattr("assay.cli.diagnosis.require_ancestor", lambda *_: COMMIT)
        found = parts(diagnose(root, "python3"))["published report"]
        assert (found.state, found.remedy) == (State.OK, "")
        assert found.found.endswith(
            "all else holds, and verify judges it again by its commit's code"
        )

    def test_a_damaged_archive_is_restored_from_git(self, root: Path, archive: Path) -> None:
        archive.write_bytes(archive.read_bytes()[:-100])
        found = parts(diagnose(root, "python3"))["published report"]
        assert found.state is State.MISSING
        assert found.found.endswith("is no archive of a report: it ends early")
        assert "git checkout" in found.remedy


class TestAMachineWithGpus:
    """Each GPU once, with the target that it is."""

    def test_each_gpu_stands_once(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        have_driver(monkeypatch, NEW)
        have_packages(monkeypatch, None)
        found = parts(diagnose(root, "python3"))
        assert [part for part in found if part.startswith("GPU")] == ["GPU 0", "GPU 1"]
        assert found["GPU 0"].state is State.OK
        assert "target h100" in found["GPU 0"].found
        assert H100.uuid in found["GPU 0"].found
        assert found["GPU 1"].state is State.UNUSED
        assert found["NVIDIA driver"].found == "driver 580.65.06 with CUDA 13.0"

    def test_missing_packages_are_told_once_beside_the_gpus(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        have_driver(monkeypatch, NEW)
        lacking = Absence(NotRun.NO_DEVICE, "python3 lacks PyTorch", "name one with it")
        have_packages(monkeypatch, lacking)
        found = diagnose(root, "python3")
        assert parts(found)["device's Python"] == Finding(
            "device's Python", State.MISSING, "python3 lacks PyTorch", "name one with it"
        )
        measure = str(abilities_of(found)["measure"])
        assert measure == "measure: no, because python3 lacks PyTorch: name one with it"

    def test_an_old_driver_is_told_with_what_helps(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        have_driver(monkeypatch, OLD)
        have_packages(monkeypatch, None)
        found = diagnose(root, "python3")
        row = parts(found)["NVIDIA driver"]
        assert (row.state, row.found) == (
            State.MISSING, "driver 535.104.05 with CUDA 12.2: too old",
        )  # fmt: skip
        assert "CUDA 13.0 needs driver 580.65.06 or newer" in row.remedy
        assert "580.65.06" in str(abilities_of(found)["measure"])

    def test_a_gpu_that_answers_can_be_measured_on(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        have_driver(monkeypatch, NEW)
        have_packages(monkeypatch, None)

        def find(target: object, *_: object) -> str | Absence:
            here = getattr(target, "id", "") == "h100"
            return "NVIDIA H100 (GPU-1)" if here else Absence(NotRun.NO_DEVICE, "not here")

        monkeypatch.setattr(abilities, "find_gpu", find)
        measure = abilities_of(diagnose(root, "python3"))["measure"]
        assert str(measure) == "measure: yes, h100 on NVIDIA H100 (GPU-1)"

    def test_a_cluster_measures_too(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(abilities.shutil, "which", lambda _: "/usr/bin/sbatch")
        monkeypatch.setattr(abilities, "slurm_gpu_models", lambda: {"h100", "a10"})
        machine = Machine(root, load_catalog(root), (), None, "no g++", None, "python3", (), {})
        *_, measure = abilities.abilities(machine)
        assert str(measure) == "measure: yes, on the cluster's h100 nodes, with --executor slurm"


class TestShown:
    """The table ends in what the machine can do; a remedy is at hand at every width."""

    DIAGNOSIS = Diagnosis(
        (
            Finding("GPU 0", State.OK, f"{H100.product}, target h100, {H100.uuid}"),
            Finding("git", State.OPTIONAL, "no git on PATH", "apt-get install git"),
        ),
        (Ability("verify", True, "it needs neither"), Ability("rebuild", False, "why", "how")),
    )

    @pytest.mark.parametrize("width", [60, 80, 100, 200])
    def test_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
        stream = Terminal()
        monkeypatch.setattr(console, "out", Console(file=stream, width=width))
        show_diagnosis(self.DIAGNOSIS)
        text = stream.getvalue()
        assert H100.uuid in text.split()
        assert {"apt-get", "install"} <= set(text.split())
        assert text.splitlines()[-2:] == [
            "verify: yes, it needs neither", "rebuild: no, because why; how",
        ]  # fmt: skip

    def test_to_a_program(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.StringIO()
        monkeypatch.setattr(console, "out", Console(file=stream, width=80))
        show_diagnosis(self.DIAGNOSIS)
        lines = stream.getvalue().splitlines()
        assert lines[0] == "part\tstate\tfound\tremedy"
        assert lines[2] == "git\toptional, not here\tno git on PATH\tapt-get install git"
        assert lines[3] == "verify: yes, it needs neither"


class TestWhatTargetsLack:
    """Told once for all that lack the same."""

    NONE = provision("l4", "none", detail="no NVIDIA driver here", reason=NotRun.NO_DEVICE)
    TAKEN = provision(
        "h100", "recorded", recorded_in="reports/x", detail="figures come from reports/x",
        absence="no NVIDIA driver here",
    )  # fmt: skip
    OLD = provision("h200", "none", detail="too old", reason=NotRun.DRIVER_TOO_OLD)

    @pytest.mark.parametrize(
        ("provisions", "lines"),
        [
            ((NONE, TAKEN), ["no NVIDIA driver here"]),
            ((NONE, OLD), ["l4: no NVIDIA driver here", "h200: too old"]),
            ((provision(),), []),
        ],
    )
    def test_once(self, provisions: tuple[Provision, ...], lines: list[str]) -> None:
        assert console.absences(provisions) == lines

    def test_a_target_says_the_rest(self) -> None:
        assert console.provided(self.NONE) == "not measured (no device)"
        assert console.provided(self.OLD) == "not measured (driver too old)"
        assert console.provided(self.TAKEN) == "figures come from reports/x"


class TestOptionalRivals:
    """Each is told with the line that installs it; one of another version is not it."""

    @pytest.fixture(autouse=True)
    def one_rival(self, root: Path) -> None:
        shutil.copyfile(ROOT / "config" / "rivals.yaml", root / "config" / "rivals.yaml")

    @pytest.mark.parametrize(
        ("version", "state", "found"),
        [
            (None, State.OPTIONAL, "none, and not fa3-fwd 0.0.3"),
            ("0.0.2", State.OPTIONAL, "fa3-fwd 0.0.2, and not fa3-fwd 0.0.3"),
            ("0.0.3", State.OK, "fa3-fwd 0.0.3"),
        ],
    )
    def test_is_told(
        self,
        root: Path,
        monkeypatch: pytest.MonkeyPatch,
        version: str | None,
        state: State,
        found: str,
    ) -> None:
        installed = {} if version is None else {"fa3_fwd": Installed(version, ())}
        monkeypatch.setattr(diagnosis, "find_installed", lambda *_: installed)
        finding = parts(diagnose(root, "python3"))["FlashAttention-3, forward pass"]
        assert (finding.state, finding.found) == (state, found)
        assert ("--require-hashes" in finding.remedy) == (state is State.OPTIONAL)
