"""A run on a machine over a real ssh: copied, started, followed, cut off, fetched, removed."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from assay.base.errors import BadInput, MissingEnvironment
from assay.cli.remote_machine import RemoteMachine
from tests.remote.sshd import LoopbackMachine

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "assay-remote/demo"

PROGRAM = """
import pathlib, time
print("began", flush=True)
here = pathlib.Path(__file__).parent
while not (here / "go").exists():
    time.sleep(0.05)
print("the end")
raise SystemExit(int((here / "go").read_text() or 0))
"""
"""Stands for ./assay there: waits for a file, ends as that says."""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackMachine]:
    with LoopbackMachine(tmp_path / "machine") as running:
        monkeypatch.setenv("PATH", str(running.ways), prepend=os.pathsep)
        yield running


@pytest.fixture
def there(machine: LoopbackMachine, tmp_path: Path) -> Iterator[RemoteMachine]:
    """A machine that a program was copied to; what goes on at the end is ended."""
    place = RemoteMachine(ROOT, "127.0.0.1", FOLDER)
    assert place.ask("probe")["state"] == ["none"]
    assert not list(machine.home.iterdir()), "a look leaves nothing behind"
    job = tmp_path / "job"
    job.mkdir()
    (job / "program.py").write_text(PROGRAM)
    (job / "run.sh").write_text(
        f'cd "$(dirname "$0")"\n"{sys.executable}" program.py\necho $? > exit\n'
    )
    place.ask("prepare")
    place.push(f"{job}/", "job/")
    yield place
    for pid in machine.home.glob("assay-remote/*/job/pid"):
        with suppress(ProcessLookupError):
            os.killpg(int(pid.read_text()), signal.SIGKILL)


def let_end(machine: LoopbackMachine, code: str = "") -> None:
    (machine.home / FOLDER / "job/go").write_text(code)


def followed(there: RemoteMachine) -> list[str]:
    lines: list[str] = []
    there.follow(lines.append)
    return lines


def _leads_to(link: Path, folder: bytes) -> bool:
    with suppress(OSError):
        return os.fsencode(link.readlink()).startswith(folder)
    return False


@pytest.mark.ssh
class TestRun:
    """The run needs no connection, and its state is told from what lies there."""

    def test_from_its_copy_to_its_end(self, there, machine, tmp_path):
        assert there.ask("state")["state"] == ["copied"]
        assert there.ask("start")["state"] == ["running"]
        for action in ("start", "prepare"):
            with pytest.raises(MissingEnvironment, match="goes on there already"):
                there.ask(action)
        let_end(machine, "3")
        assert followed(there) == ["began", "the end"]
        assert there.ask("state") == {"state": ["ended"], "exit": ["3"]}
        (machine.home / FOLDER / "job/link").symlink_to("/etc/passwd")
        (machine.home / FOLDER / "job/large").write_bytes(bytes(2_000))
        there.fetch("job/", tmp_path / "fetched", 1_000)
        assert (tmp_path / "fetched/log").read_text() == "began\nthe end\n"
        assert not (tmp_path / "fetched/link").is_symlink()
        assert not (tmp_path / "fetched/large").exists()
        assert there.ask("remove", patience="9")["state"] == ["none"]
        assert not list(machine.home.iterdir())

    def test_a_lost_connection_does_not_end_it(self, there, machine):
        there.ask("start")
        with pytest.raises(MissingEnvironment, match="the run goes on there: --resume"):
            there.follow(lambda line: machine.cut())
        machine.start()
        assert there.ask("state")["state"] == ["running"]
        let_end(machine, "0")
        assert followed(there) == ["began", "the end"]
        assert there.ask("state")["exit"] == ["0"]

    def test_what_is_killed_there_is_lost_and_starts_again(self, there, machine):
        there.ask("start")
        os.killpg(int((machine.home / FOLDER / "job/pid").read_text()), signal.SIGKILL)
        followed(there)
        assert there.ask("state")["state"] == ["lost"]
        let_end(machine, "0")
        there.ask("start")
        assert followed(there)[-1] == "the end"

    def test_removing_ends_what_goes_on(self, there, machine):
        there.ask("start")
        job = os.fsencode(machine.home / FOLDER / "job")
        there.ask("remove", patience="9")
        assert not list(machine.home.iterdir())
        assert not [each for each in Path("/proc").glob("[0-9]*/cwd") if _leads_to(each, job)]

    def test_a_link_is_copied_as_a_link_inside_its_folder_and_else_as_the_file(
        self, there: RemoteMachine, machine: LoopbackMachine, tmp_path: Path
    ) -> None:
        given, outside = tmp_path / "my program", tmp_path / "outside.h"
        given.mkdir()
        outside.write_text("// outside\n")
        (given / "a.cu").write_text("// a\n")
        (given / "inside.cu").symlink_to("a.cu")
        (given / "outside.h").symlink_to(outside)
        there.push(str(given), "given/1/")
        copied = machine.home / FOLDER / "given/1/my program"
        assert str((copied / "inside.cu").readlink()) == "a.cu"
        assert (copied / "outside.h").read_text() == "// outside\n"
        assert not (copied / "outside.h").is_symlink()
        there.fetch("given/1/my program/", tmp_path / "fetched", 1_000)
        assert [path.name for path in (tmp_path / "fetched").rglob("*.cu")] == ["a.cu"]

    def test_a_folder_of_somebody_else_stays(self, machine: LoopbackMachine) -> None:
        thesis = machine.home / FOLDER / "job/thesis"
        thesis.parent.mkdir(parents=True)
        thesis.touch()
        there = RemoteMachine(ROOT, "127.0.0.1", FOLDER)
        assert there.ask("remove", patience="9")["state"] == ["foreign"]
        assert thesis.exists()

    def test_what_a_machine_lacks_is_told_at_once(self, there, machine):
        machine.install("nvidia-smi", "exit 6")
        for name in ("python3.14", "python3.13", "python3.12", "python3.11", "python3"):
            machine.install(name, "exit 1")
        gpu, python = there.ask("probe")["lacks"]
        assert "nvidia-smi" in gpu
        assert "Python 3.11" in python


@pytest.mark.parametrize(
    "host", ["-oProxyCommand=touch x", "", "a b", "gpu;id", "me@-oX=y", "gpu\n", "$(id)", "a:b"]
)
def test_what_would_be_an_option_or_a_command_is_no_host(host: str) -> None:
    with pytest.raises(BadInput):
        RemoteMachine(ROOT, host, "demo")


@pytest.mark.parametrize("folder", ["", "/", "~", ".", "..", "a/../b", "a b", "-x", "$HOME", "a'b"])
def test_a_folder_that_is_none_of_its_own_is_refused(folder: str) -> None:
    with pytest.raises(BadInput):
        RemoteMachine(ROOT, "gpu", folder)


def test_without_a_connection_the_machine_lacks_something(tmp_path, monkeypatch):
    there = RemoteMachine(ROOT, "nowhere.invalid", "demo")
    if shutil.which("ssh"):
        with pytest.raises(MissingEnvironment, match="no connection by ssh"):
            there.ask("state")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingEnvironment, match="apt-get install openssh-client"):
        there.ask("state")
