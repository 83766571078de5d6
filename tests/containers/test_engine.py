"""The rights of a container of Docker and of Podman; every engine here is real."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.runtimes import containers
from assay.runtimes import engine as engines
from assay.runtimes.base import Bind, Task
from assay.runtimes.engine import EngineRuntime, user_of
from tests.containers.engines import ENGINES
from tests.containers.fixtures import VARIABLES, Bench, bench, import_image

EACH = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ENGINES]
EVERY = [*EACH, pytest.param("apptainer", marks=pytest.mark.apptainer)]


@pytest.fixture(scope="module", params=EACH)
def engine(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with bench(request.param) as running:
        yield running


@pytest.fixture
def small(engine: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(engines, "memory_limit", lambda: 64 << 20)
    return engine


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test of an engine, the engine has no container."""
    yield
    if "engine" in request.fixturenames:
        assert request.getfixturevalue("engine").containers() == []


@pytest.mark.parametrize("engine", EVERY, indirect=True)
class TestEveryRuntime:
    """The same on each runtime: an engine, or Apptainer."""

    def test_source_is_read_only_and_output_is_not(self, engine: Bench, tmp_path: Path):
        source, out = tmp_path / "source", tmp_path / "source" / "out"
        out.mkdir(parents=True)
        (source / "file").write_text("content\n")
        script = f"pwd; cat file; touch {source}/x; touch {out}/y"
        binds = (Bind(source), Bind(out, writable=True))
        _, lines = engine.shell(script, *binds, directory=source)
        assert lines == [str(source), "content", f"touch: {source}/x: Read-only file system"]
        assert (out / "y").exists()

    def test_variables_are_the_tasks_whatever_they_hold(self, engine: Bench, monkeypatch):
        monkeypatch.setenv("OUTER", "not seen")
        _, lines = engine.run("env", environment={"INNER": "a=b, c 'd'", "LD_LIBRARY_PATH": "/l"})
        assert "INNER=a=b, c 'd'" in lines
        assert "HOME=/tmp" in lines
        assert any(line.startswith("LD_LIBRARY_PATH=/l") for line in lines)
        assert not any(line.startswith("OUTER=") for line in lines)

    @pytest.mark.parametrize(
        ("script", "expected"),
        [
            ("exit 0", 0),
            ("exit 7", 7),
            ("kill -9 $$", -signal.SIGKILL),
            ("kill -ABRT $$", -signal.SIGABRT),
        ],
    )
    def test_exit_codes_and_signals(self, engine: Bench, script: str, expected: int):
        outcome, _ = engine.shell(script)
        assert outcome.exit_code == expected
        assert not outcome.out_of_memory


class TestInside:
    """The world as a command sees it."""

    def test_another_caller_is_another_user(self, engine: Bench, tmp_path: Path, monkeypatch):
        tmp_path.chmod(0o755)
        own = tmp_path / "own"
        own.mkdir()
        os.chown(own, 4321, 4322)
        monkeypatch.setattr(engines, "caller", lambda: "4321:4322")
        script = (
            f"id -u; id -g; touch {own}/x && echo $HOME >/tmp/y && cat /tmp/y; touch {tmp_path}/no"
        )
        outcome, lines = engine.shell(script, Bind(tmp_path, writable=True))
        assert lines[:3] == ["4321", "4322", "/tmp"]
        assert "Permission denied" in lines[3]
        assert outcome.exit_code == 1
        assert ((own / "x").stat().st_uid, (own / "x").stat().st_gid) == (4321, 4322)

    def test_no_network_no_writing_and_no_privileges_can_be_had(self, engine: Bench):
        status = "grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status"
        _, lines = engine.shell(f"ls /sys/class/net; touch /x; {status}")
        assert lines[:2] == ["lo", "touch: /x: Read-only file system"]
        values = dict(line.split(":\t") for line in lines[2:])
        assert values["CapEff"] == values["CapBnd"] == "0" * 16
        assert values["NoNewPrivs"] == "1"
        assert values["Seccomp"] == "2"

    def test_limits_are_in_force(self, engine: Bench):
        script = (
            "cat /sys/fs/cgroup/memory/memory.limit_in_bytes || cat /sys/fs/cgroup/memory.max;"
            "stat -f -c '%b %S' /dev/shm; grep 'core file' /proc/self/limits"
        )
        _, lines = engine.shell(f"{{ {script}; }} 2>/dev/null")
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert 0.85 * total < int(lines[0]) < 0.91 * total
        blocks, size = lines[1].split()
        assert int(blocks) * int(size) == containers.SHARED_MEMORY
        assert lines[2].split()[4:6] == ["0", "0"]


class TestEnd:
    """The end of a command is told with its cause."""

    def test_too_much_memory_ends_it(self, small: Bench):
        outcome, _ = small.run("dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=200")
        assert outcome.exit_code == -signal.SIGKILL
        assert outcome.out_of_memory

    def test_a_missing_command_is_a_sentence(self, engine: Bench):
        with pytest.raises(MissingEnvironment, match="has no command no-such-program"):
            engine.run("no-such-program")

    def test_a_missing_folder_is_a_sentence_and_is_not_made(self, engine: Bench, tmp_path: Path):
        absent = tmp_path / "absent"
        with pytest.raises(MissingEnvironment, match=f"there is no {absent}"):
            engine.run("true", binds=(Bind(absent),))
        assert not absent.exists()


class TestOutput:
    """Lines arrive whole, in order, once."""

    def test_many_lines_from_the_first_to_the_last(self, engine: Bench):
        _, lines = engine.shell("seq 200000")
        assert lines == [str(number) for number in range(1, 200001)]

    def test_what_is_no_utf8(self, engine: Bench):
        _, lines = engine.shell("printf 'a\\377b\\n'; printf '\\303'; sleep 0.3; printf '\\244'")
        assert lines == ["a\ufffdb", "ä"]


class TestRemoval:
    """Nothing is left, whatever happens; the fixture above looks after each of these too."""

    def test_an_exception_in_the_caller(self, engine: Bench):
        def stop(line: str) -> None:
            assert engine.containers() != []
            raise KeyboardInterrupt(line)

        task = Task(("sh", "-c", "echo up; sleep 600"), Path("/"), "a test")
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt, match="up"):
            engine.runtime.run(task, engine.image, stop)
        assert time.monotonic() - started < 10

    def test_a_caller_that_is_asked_to_end_removes_it(self, engine: Bench):
        process = self.start_caller(engine)
        process.send_signal(signal.SIGHUP)
        assert process.wait(20) != 0
        assert engine.containers() == []

    def test_a_caller_that_is_killed_is_cleaned_up_after(self, engine: Bench):
        process = self.start_caller(engine)
        assert engine.engine.reap() == [], "its caller lives"
        process.kill()
        process.wait()
        assert len(engine.containers()) == 1
        EngineRuntime(engine.engine.name)
        assert engine.containers() == []

    def start_caller(self, engine: Bench) -> subprocess.Popen[str]:
        script = f"""
            import signal
            from pathlib import Path
            # Tests that were started in the background inherit that these are ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            from assay.base.signals import leave_on_signals
            leave_on_signals()
            from assay.runtimes.base import Task
            from assay.runtimes.choose import open_runtime
            from tests.containers.fixtures import record
            task = Task(("sh", "-c", "echo up; sleep 600"), Path("/"), "a test")
            say = lambda line: print(line, flush=True)
            open_runtime("{engine.name}").run(task, record("{engine.image.image_id}"), say)
        """
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "up\n"
        return process


def test_the_image_is_asked_of_the_engine_and_a_moved_tag_changes_nothing(engine: Bench):
    other = import_image(engine.engine, note="another image under the same tag")
    assert other != engine.image.image_id
    outcome, lines = engine.run("cat", "/etc/note")
    assert outcome.image_id == engine.image.image_id
    assert lines == []


class TestConnecting:
    """Every way in which an engine cannot be reached is one sentence."""

    @pytest.fixture(params=EACH)
    def name(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    def test_no_socket(self, name: str, tmp_path: Path, monkeypatch):
        monkeypatch.setenv(VARIABLES[name], f"unix://{tmp_path}/none.sock")
        with pytest.raises(MissingEnvironment, match=r"is not running: there is no .*; start it"):
            EngineRuntime(name)

    def test_a_socket_that_nobody_listens_at(self, name: str, tmp_path: Path, monkeypatch):
        import socket

        path = tmp_path / "dead.sock"
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))
        monkeypatch.setenv(VARIABLES[name], f"unix://{path}")
        with pytest.raises(MissingEnvironment, match=f"at unix://{path} does not answer"):
            EngineRuntime(name)

    @pytest.mark.root
    def test_a_socket_of_someone_elses(self, name: str, tmp_path: Path):
        import socket

        path = tmp_path / "closed.sock"
        for folder in (tmp_path, *tmp_path.parents):
            if folder.owner() == "root" and folder.name:
                folder.chmod(folder.stat().st_mode | 0o055)
        script = (
            "import os\nfrom assay.runtimes.engine import EngineRuntime\nos.setuid(65534)\n"
            f"try: EngineRuntime({name!r})\nexcept Exception as e: print(type(e).__name__, e)"
        )
        with socket.socket(socket.AF_UNIX) as closed:
            closed.bind(str(path))
            closed.listen()
            path.chmod(0o600)
            run = subprocess.run(
                [sys.executable, "-c", script],
                env={**os.environ, VARIABLES[name]: f"unix://{path}"}
                | {"PYTHONPATH": os.pathsep.join(sys.path)},
                capture_output=True,
                text=True,
                check=False,
            )
        assert run.stdout.startswith("MissingEnvironment this user may not use"), run.stderr

    def test_another_architecture(self, tmp_path: Path, monkeypatch):
        answer = '{"ServerVersion": "26.1.5", "Architecture": "aarch64"}'
        (tmp_path / "docker").write_text(f"#!/bin/sh\necho '{answer}'\n")
        (tmp_path / "docker").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        with pytest.raises(MissingEnvironment, match="runs aarch64, and the images are amd64"):
            EngineRuntime("docker")

    @pytest.mark.docker
    def test_an_engine_that_stops_while_a_container_runs(self):
        with bench("docker") as own:
            task = Task(("sh", "-c", "echo up; sleep 600"), Path("/"), "a long job")
            process = int((Path(own.url.removeprefix("unix://")).parent / "pid").read_text())

            def stop(line: str) -> None:
                os.kill(process, signal.SIGKILL)

            with pytest.raises(MissingEnvironment, match="stopped answering while a long job ran"):
                own.runtime.run(task, own.image, stop)


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({}, ("7:8", None)),
        ({"SecurityOptions": ["name=seccomp,profile=default"]}, ("7:8", None)),
        ({"SecurityOptions": ["name=userns"]}, ("7:8", "host")),
        ({"SecurityOptions": ["name=rootless"]}, ("0:0", None)),
        ({"host": {"security": {"rootless": False}}}, ("7:8", None)),
        ({"host": {"security": {"rootless": True}}}, ("7:8", "keep-id")),
    ],
)
def test_the_user_inside_is_the_caller_outside(info, expected, monkeypatch):
    monkeypatch.setattr(engines, "caller", lambda: "7:8")
    assert user_of(info) == expected
