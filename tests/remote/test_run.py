"""A run on a machine over a real ssh: copied, started, followed, cut off, fetched, removed."""

import io
import os
import shlex
import signal
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.remote import run as remote_run
from assay.remote.host import RemotePlace
from assay.remote.payload import BUNDLE, Copied, Payload, There, run_script
from assay.remote.run import RemoteRun
from tests.remote.sshd import LoopbackMachine

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.ssh

PROGRAM = """
import pathlib, sys, time
print("words:", sys.argv[1:], flush=True)
here = pathlib.Path(__file__).parent
while not (here / "go").exists():
    time.sleep(0.05)
for folder in ("results", "reports"):
    (here / folder / "demo").mkdir(parents=True, exist_ok=True)
    (here / folder / "demo" / "file").write_text(folder)
print("the end")
raise SystemExit(int((here / "go").read_text() or 0))
"""
"""Stands for ./assay there: waits for a file, writes a run, ends as that says."""


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[LoopbackMachine]:
    with LoopbackMachine(tmp_path / "machine") as running:
        yield running


@pytest.fixture
def there(machine: LoopbackMachine) -> Iterator[RemoteRun]:
    """A run of that machine; what goes on at the end is ended."""
    place = RemotePlace("127.0.0.1", "assay-remote/demo", tuple(machine.options))
    yield RemoteRun(ROOT, place, "demo", "source")
    for process in machine.home.glob("assay-remote/*/job/process"):
        with suppress(ProcessLookupError):
            os.killpg(int(process.read_text().split()[0]), signal.SIGKILL)


def payload(*further: Copied) -> Payload:
    script = run_script(["--a b", There("job/key.pub", "--key=")], None, sys.executable)
    return Payload((Copied("source/assay", PROGRAM.encode()), *further, script))


def let_end(machine: LoopbackMachine, code: str = "") -> None:
    (machine.home / "assay-remote/demo/source/go").write_text(code)


def started(there: RemoteRun, *further: Copied) -> None:
    copied = payload(*further)
    there.copy(copied)
    there.start(copied.stamp())


def test_a_run_from_its_copy_to_its_results(
    there: RemoteRun, machine: LoopbackMachine, tmp_path: Path
) -> None:
    found, before = there.probe()
    assert (found.gpus, before.state) == (("NVIDIA H100 80GB HBM3",), "none")
    assert not list(machine.home.iterdir()), "a look leaves nothing behind"
    started(there)
    assert there.state().state == "running"
    let_end(machine)
    lines: list[str] = []
    there.follow(lines.append)
    key = machine.home / "assay-remote/demo/job/key.pub"
    assert lines == [f"words: ['reproduce', '--a b', '--key={key}']", "the end"]
    ended = there.state()
    assert (ended.state, ended.code, ended.stamp) == ("ended", 0, payload().stamp())
    there.fetch(tmp_path / "fetched")
    assert (tmp_path / "fetched" / "report" / "file").read_text() == "reports"
    assert (tmp_path / "fetched" / "results" / "file").read_text() == "results"
    assert there.remove().state == "ended"
    assert not list(machine.home.iterdir())


def test_a_machine_says_what_its_driver_says(there: RemoteRun, machine: LoopbackMachine) -> None:
    machine.install("nvidia-smi", "echo 'no devices were found'; exit 6")
    found, _ = there.probe()
    assert (found.gpus, found.gpu_problem) == ((), "no devices were found")
    (machine.programs / "nvidia-smi").unlink()
    found, _ = there.probe()
    assert (found.gpus, found.gpu_problem) == ((), None)


def test_an_old_python_is_told_from_none(there: RemoteRun, machine: LoopbackMachine) -> None:
    for name in ("python3.14", "python3.13", "python3.12", "python3.11"):
        machine.install(name, "exit 127")
    machine.install("python3", "echo 3.10")
    found, _ = there.probe()
    assert (found.python, found.old_python) == (None, "3.10")


def test_a_lost_connection_does_not_end_the_run_and_repeats_no_line(
    there: RemoteRun, machine: LoopbackMachine, capfd: pytest.CaptureFixture[str]
) -> None:
    started(there)
    lines: list[str] = []

    def lose() -> None:
        while not lines:
            time.sleep(0.05)
        machine.cut()
        let_end(machine)
        machine.start()

    thread = threading.Thread(target=lose)
    thread.start()
    there.follow(lines.append)
    thread.join()
    assert [line.partition(":")[0] for line in lines] == ["words", "the end"]
    assert "the run goes on there" in capfd.readouterr().err
    assert there.state().code == 0


def test_a_machine_that_stays_away_is_left_with_a_sentence(
    there: RemoteRun, machine: LoopbackMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_run, "PATIENCE_S", 0.0)
    started(there)
    threading.Timer(1.0, machine.cut).start()
    with pytest.raises(MissingEnvironment, match="--resume picks it up"):
        there.follow(lambda _: None)
    machine.start()
    let_end(machine)
    there.follow(lambda _: None)
    assert there.state().code == 0


def test_what_is_killed_there_is_lost_and_starts_again(
    there: RemoteRun, machine: LoopbackMachine
) -> None:
    started(there)
    process = machine.home / "assay-remote/demo/job/process"
    os.killpg(int(process.read_text().split()[0]), 9)
    there.follow(lambda _: None)
    assert there.state().state == "lost"
    let_end(machine, "3")
    there.start(None)
    there.follow(lambda _: None)
    assert (there.state().state, there.state().code) == ("ended", 3)


def test_a_second_copy_takes_away_what_is_no_more_and_leaves_what_the_run_made(
    there: RemoteRun, machine: LoopbackMachine
) -> None:
    started(there, Copied("source/old", b"1"), Copied("source/kept", b"2"))
    let_end(machine)
    there.follow(lambda _: None)
    started(there, Copied("source/kept", b"3"))
    there.follow(lambda _: None)
    source = machine.home / "assay-remote/demo/source"
    assert not (source / "old").exists()
    assert (source / "kept").read_bytes() == b"3"
    assert (source / "results/demo/file").is_file()


def test_a_bundle_is_unpacked_and_runs_by_its_own_script(
    there: RemoteRun, machine: LoopbackMachine, tmp_path: Path
) -> None:
    archive = tmp_path / "assay-h100.tar"
    with tarfile.open(archive, "w") as tar:
        for name, text in (("run.sh", 'echo "bundle: $*"\n'), ("source/a", "1"), ("old", "2")):
            entry = tarfile.TarInfo(f"assay-h100/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    copied = Payload((Copied(BUNDLE, archive), run_script(["--run=demo"], None, None)))
    there.copy(copied)
    there.start(copied.stamp())
    lines: list[str] = []
    there.follow(lines.append)
    assert lines == ["bundle: --run=demo"]
    folder = machine.home / "assay-remote/demo"
    assert (folder / "source/a").read_text() == "1"
    assert not (folder / BUNDLE).exists()
    started(there)
    assert not (folder / "old").exists(), "what another copy brought goes with it"


def test_two_runs_of_a_folder_are_refused(there: RemoteRun, machine: LoopbackMachine) -> None:
    started(there)
    with pytest.raises(MissingEnvironment, match="goes on there already"):
        there.start(None)


def test_removing_ends_what_goes_on(there: RemoteRun, machine: LoopbackMachine) -> None:
    started(there)
    process = machine.home / "assay-remote/demo/job/process"
    pid = int(process.read_text().split()[0])
    assert there.remove().state == "running"
    assert not list(machine.home.iterdir())
    group = [p for p in Path("/proc").glob("[0-9]*/stat") if _group(p) == str(pid)]
    assert not group, "nothing of the run is left"


def _group(stat: Path) -> str | None:
    """The process group of a process that has not ended."""
    try:
        state, _, group, *_ = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if state == "Z" else group


def test_a_folder_of_somebody_else_stays(there: RemoteRun, machine: LoopbackMachine) -> None:
    folder = machine.home / "assay-remote/demo"
    folder.mkdir(parents=True)
    (folder / "thesis").touch()
    assert there.remove().state == "foreign"
    assert (folder / "thesis").exists()


def test_a_copy_that_is_cut_short_is_not_taken_for_one(
    there: RemoteRun, machine: LoopbackMachine
) -> None:
    started(there)
    let_end(machine)
    there.follow(lambda _: None)
    machine.install(
        "tar", "head -c 100 > /dev/null; echo 'tar: No space left on device' >&2; exit 2"
    )
    with pytest.raises(MissingEnvironment, match="its disk is full"):
        there.copy(payload(Copied("source/more", bytes(10))))
    assert there.state().stamp is None


def test_an_archive_cut_short_leaves_a_sentence(
    there: RemoteRun, machine: LoopbackMachine, tmp_path: Path
) -> None:
    started(there)
    let_end(machine)
    there.follow(lambda _: None)
    machine.install("tar", '/bin/tar "$@" | head -c 60')
    with pytest.raises(CheckFailed, match="no whole archive"):
        there.fetch(tmp_path / "fetched")


class TestConnections:
    """A connection that cannot be had is one sentence, and an exit code of its own."""

    def ask(self, *options: str, host: str = "127.0.0.1") -> AssayError:
        place = RemotePlace(host, "assay-remote/demo", options)
        with pytest.raises(AssayError) as caught:
            RemoteRun(ROOT, place, "demo", "source").probe()
        return caught.value

    def test_of_no_machine(self) -> None:
        assert isinstance(self.ask(host="nowhere.invalid"), BadInput)

    def test_without_ssh(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        assert "apt-get install openssh-client" in str(self.ask())

    def test_without_a_key(self, machine: LoopbackMachine) -> None:
        strange = machine.folder / "host_key"
        error = self.ask(f"IdentityFile={shlex.quote(str(strange))}", *machine.options[:1],
                         *machine.options[2:])  # fmt: skip
        assert isinstance(error, MissingEnvironment)
        assert "does not let you in" in str(error)

    def test_of_an_unknown_machine(self, machine: LoopbackMachine) -> None:
        (machine.folder / "known_hosts").write_text("")
        assert "its key is not known here" in str(self.ask(*machine.options))

    def test_of_another_machine(self, machine: LoopbackMachine) -> None:
        key = (machine.folder / "user_key.pub").read_text()
        (machine.folder / "known_hosts").write_text(f"[127.0.0.1]:{machine.port} {key}")
        error = self.ask(*machine.options)
        assert isinstance(error, CheckFailed)
        assert "may be another machine" in str(error)

    def test_where_nothing_listens(self, machine: LoopbackMachine) -> None:
        machine.cut()
        assert "nothing answers ssh" in str(self.ask(*machine.options))

    def test_with_an_option_that_ssh_lacks(self, machine: LoopbackMachine) -> None:
        assert isinstance(self.ask("Sport=22"), BadInput)

    def test_through_a_jump(self, there: RemoteRun, machine: LoopbackMachine) -> None:
        words = [w for option in machine.options for w in ("-o", option)]
        jump = shlex.join(["ssh", *words, "-W", "%h:%p", "127.0.0.1"])
        place = RemotePlace("127.0.0.1", "x", (f"ProxyCommand={jump}", *machine.options))
        assert RemoteRun(ROOT, place, "demo", "source").probe()[1].state == "none"
