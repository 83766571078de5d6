"""The launcher, started for real on a small repository with locks and wheels of its own."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.base.launcher import base_python, missing_locks, needed_locks
from assay.base.pip_locks import pip_remedy
from tests.hostile import make_hostile

CLI = "import sys, os, greeting; print(greeting.WORDS, sys.argv[1:], os.getcwd())\n"


def make_wheel(folder: Path, name: str, version: str, source: str) -> str:
    """Write a wheel with one module; returns its line in a lock."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        value = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{path},sha256={value.decode()},{len(text)}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


class Checkout:
    """A repository of nothing but the launcher and its imports, and a wheelhouse."""

    def __init__(self, root: Path, place: Path) -> None:
        self.place = place
        self.wheels = place / "wheels"
        self.wheels.mkdir(parents=True)
        package = place / "src" / "assay"
        for room in ("base", "shared"):
            shutil.copytree(root / "src" / "assay" / room, package / room)
        shutil.copy(root / "src" / "assay" / "__init__.py", package)
        shutil.copy(root / "assay", place)
        (package / "cli.py").write_text(CLI)
        (place / "tests").mkdir()
        self.lock("build", make_wheel(self.wheels, "tooling", "1", ""))
        self.lock("host", make_wheel(self.wheels, "greeting", "1", "WORDS = 'first'\n"))
        self.lock("test", make_wheel(self.wheels, "testing", "1", ""))

    def lock(self, name: str, text: str) -> None:
        folder = self.place / "requirements"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(text)

    def start(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "PYTHON"))}
        return subprocess.run(
            [sys.executable, str(self.place / "assay"), *arguments],
            env={**kept, "ASSAY_WHEELHOUSE": str(self.wheels), **environ},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    def has(self, module: str) -> bool:
        python = self.place / ".venv" / "bin" / "python"
        return subprocess.run([python, "-c", f"import {module}"], check=False).returncode == 0


@pytest.fixture(scope="module")
def checkout(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """One checkout for the whole story below, whose tests run in order."""
    return Checkout(root, tmp_path_factory.mktemp("checkout"))


class TestTheStoryOfAnEnvironment:
    """From nothing to installed, unchanged, extended, interrupted and changed."""

    def test_the_first_start_installs_and_runs(self, checkout: Checkout):
        ended = checkout.start("claims", "--json")
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == "first ['claims', '--json'] /\n"
        assert "step 1 of 3: making .venv" in ended.stderr
        assert "step 3 of 3: installing 1 package of host.txt" in ended.stderr
        assert not (checkout.place / ".venv.lock").exists()

    def test_the_next_start_installs_nothing(self, checkout: Checkout):
        ended = checkout.start("doctor", ASSAY_WHEELHOUSE="/nowhere")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert not checkout.has("testing")

    def test_tests_get_their_own_lock_on_top(self, checkout: Checkout):
        ended = checkout.start("test")
        assert ended.returncode == 0, ended.stderr
        assert "step 1 of 1: installing 1 package of test.txt" in ended.stderr
        assert checkout.has("testing")
        assert checkout.start("doctor").stderr == ""

    def test_a_changed_lock_installs_anew(self, checkout: Checkout):
        checkout.lock("host", make_wheel(checkout.wheels, "greeting", "2", "WORDS = 'second'\n"))
        ended = checkout.start("doctor")
        assert ended.stdout.startswith("second")

    def test_a_wheel_with_another_hash_is_refused(self, checkout: Checkout):
        lock = make_wheel(checkout.wheels, "greeting", "3", "WORDS = 'third'\n")
        make_wheel(checkout.wheels, "greeting", "3", "WORDS = 'forged'\n")
        checkout.lock("host", lock)
        ended = checkout.start("doctor")
        assert ended.returncode == 3
        assert "DO NOT MATCH THE HASHES" in ended.stderr
        assert "set ASSAY_WHEELHOUSE" in ended.stderr.splitlines()[-1]
        assert not (checkout.place / ".venv" / "assay.json").exists()


def test_a_python_that_is_too_old(root: Path, tmp_path: Path):
    old = tmp_path / "python3.10"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    with pytest.raises(MissingEnvironment, match=r"no Python 3\.11 or newer"):
        base_python({"ASSAY_PYTHON": str(old)})


def test_a_python_that_brings_no_pip_is_told_what_does(root: Path, tmp_path: Path):
    place, python = Checkout(root, tmp_path / "here"), tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *ensurepip*) exit 1;; esac\nexec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    ended = place.start("doctor", ASSAY_PYTHON=str(python))
    assert ended.returncode == 3
    assert "apt-get install python3-venv" in ended.stderr


def test_without_a_venv_the_given_interpreter_runs(root: Path, tmp_path: Path):
    place = Checkout(root, tmp_path / "here")
    (place.place / "src" / "greeting.py").write_text("WORDS = 'given'\n")
    ended = place.start("doctor", ASSAY_NO_VENV="1")
    assert (ended.stdout, ended.stderr) == ("given ['doctor'] /\n", "")
    assert not (place.place / ".venv").exists()


def test_nothing_of_a_hostile_directory_runs_at_the_first_start(root: Path, tmp_path: Path):
    place, hostile = Checkout(root, tmp_path / "here"), make_hostile(tmp_path)
    ended = subprocess.run(
        [place.place / "assay", "doctor"],
        env={**hostile.environment(), "ASSAY_WHEELHOUSE": str(place.wheels)},
        cwd=hostile.place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert hostile.ran() == []
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == f"first ['doctor'] {hostile.place}\n"


@pytest.mark.parametrize(
    ("words", "locks"),
    [
        ("lab docs", ["host"]),
        ("lab docs --help", ["host"]),
        ("lab docs site", ["host", "docs"]),
        ("lab --help docs", ["host"]),
        ("verify docs", ["host"]),
    ],
)
def test_what_only_complains_installs_nothing_first(words: str, locks: list[str]):
    assert needed_locks(words.split(), {}) == locks


def test_an_environment_that_was_moved_is_made_anew(tmp_path: Path):
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").touch()
    stamp = {"place": str(venv), "base": "/usr/bin/python3", "host": "a"}
    (venv / "assay.json").write_text(json.dumps(stamp))
    assert missing_locks(venv, {"host": "a"}, None) == []
    assert missing_locks(venv, {"host": "a", "test": "b"}, None) == ["test"]
    assert missing_locks(venv, {"host": "b"}, None) is None
    assert missing_locks(venv, {"host": "a"}, "/opt/python3.13") is None
    (venv / "assay.json").write_text(json.dumps({**stamp, "place": "/elsewhere/.venv"}))
    assert missing_locks(venv, {"host": "a"}, None) is None


@pytest.mark.parametrize("typed", ["./assay", "../a tree/assay", "{place}/assay"])
def test_the_command_line_knows_how_it_was_called(root: Path, tmp_path: Path, typed: str):
    place = Checkout(root, tmp_path / "a tree")
    (place.place / "src" / "assay" / "cli.py").write_text(
        "import os; print(os.environ['ASSAY_TYPED'])\n"
    )
    command = typed.format(place=place.place)
    ended = subprocess.run(
        [command, "doctor"], env={"PATH": os.environ["PATH"], "ASSAY_NO_VENV": "1"},
        cwd=place.place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, f"{command}\n"), ended.stderr


def test_a_full_disk_is_said_and_no_package_index_blamed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("ERROR: No matching distribution found for greeting==3\n")
    assert "package index" in pip_remedy(log, tmp_path)
    log.write_text("ERROR: an OSError: [Errno 28] No space left on device\n")
    assert pip_remedy(log, tmp_path).startswith("the disk is full: free some space below")
