"""A batch of jobs through a stand-in for the device's Python, in real processes on this machine."""

import json
import sys
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.measuring.device_process import DeviceJobFailed, run_device_batch, run_device_job
from assay.records.base import Record
from assay.runtimes.base import Bind, CommandOutcome, Place, Task
from assay.runtimes.host import HostRuntime
from assay.shared.job import BenchmarkJob
from tests.jobs import benchmark
from tests.pipeline.stand_in import write_program

STAND_IN = """#!/usr/bin/env -S "{python}"
import json, os, sys
from pathlib import Path

assert sys.argv[1:3] == ["-m", "assay.device"], sys.argv
def names(path):
    return json.loads(path.read_text())["job"]["comparison"]["id"].split("_", 1)


paths = [Path(argument) for argument in sys.argv[3:]]
with open({starts!r}, "a") as log:
    log.write(" ".join(names(path)[0] for path in paths) + "\\n")
code = 0
for path in paths:
    job = json.loads(path.read_text())
    output = Path(job["output"])
    name, does = names(path)
    if does == "work":
        output.write_text(json.dumps({{"name": name}}))
    elif does == "nonsense":
        output.write_text("[]")
    elif does == "fail":
        failure = output.with_name(output.name + ".failure.json")
        failure.write_text(json.dumps(
            {{"schema": "assay/job_failure/2", "kind": "no_room", "message": "the arm is bad"}}
        ))
        code = 1
    elif does == "die":
        print("about to die", flush=True)
        os._exit(139)
    elif does == "lose the gpu":
        print("the GPU is in use: 1 other process")
        sys.exit(3)
sys.exit(code)
"""


class Done(Record):
    """The record that the stand-in writes."""

    name: str


@pytest.fixture(autouse=True)
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))


@pytest.fixture
def starts(tmp_path: Path) -> Path:
    """One line a start of the device side: the jobs it was given."""
    return tmp_path / "starts"


@pytest.fixture
def place(tmp_path: Path, starts: Path) -> Place:
    script = tmp_path / "python"
    write_program(script, STAND_IN.format(python=sys.executable, starts=str(starts)))
    return Place(HostRuntime(), python=str(script))


def batch(*deeds: str) -> list[BenchmarkJob]:
    return [benchmark(name=f"{name}_{deed}") for name, deed in zip("abcdefg", deeds, strict=False)]


def told(results: list[Done | DeviceJobFailed]) -> list[str]:
    return [r.name if isinstance(r, Done) else str(r) for r in results]


def test_a_line_of_progress_says_how_much_is_done(place: Place, capsys: pytest.CaptureFixture[str]):
    run_device_batch(place, batch("work", "work", "die"), Done)
    assert "about to die (2 of 3 done, about 0 s left)" in capsys.readouterr().err


def test_a_job_that_fails_takes_none_along(place: Place, starts: Path):
    results = run_device_batch(place, batch("work", "fail", "work", "nonsense"), Done)
    assert told(results)[:3] == ["a", "device job 'benchmark' failed: the arm is bad", "c"]
    assert "wrote no valid record" in told(results)[3]
    assert starts.read_text() == "a b c d\n"


def test_those_behind_one_that_ended_the_device_side_get_another_start(place: Place, starts: Path):
    results = run_device_batch(place, batch("work", "die", "work", "fail"), Done)
    assert told(results) == [
        "a",
        "device job 'benchmark' ended with code 139: about to die",
        "c",
        "device job 'benchmark' failed: the arm is bad",
    ]
    assert starts.read_text() == "a b c d\nc d\n"


def test_what_was_finished_before_the_gpu_was_lost_stays(place: Place, tmp_path: Path):
    into = [tmp_path / f"{name}.json" for name in "abc"]
    with pytest.raises(MissingEnvironment, match="in use: 1 other process"):
        run_device_batch(place, batch("work", "lose the gpu", "work"), Done, into=into)
    assert json.loads(into[0].read_text()) == {"name": "a"}
    assert not into[1].exists()


def test_a_record_of_an_earlier_start_is_not_this_ones(place: Place, tmp_path: Path):
    into = [tmp_path / "a.json"]
    into[0].write_text('{"name": "old"}')
    (tmp_path / "a.json.failure.json").write_text('{"message": "old"}')
    results = run_device_batch(place, batch("forget"), Done, into=into)
    assert told(results) == ["device job 'benchmark' wrote no record"]
    assert not into[0].exists()


class Container:
    """A runtime that notes what it is asked to run, and runs nothing."""

    name = "podman"

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def describe(self) -> str:
        return "a container"

    def run(self, task, image, on_line):
        self.tasks.append(task)
        return CommandOutcome(1, None)


def test_a_container_sees_named_packages_at_their_own_place_and_cannot_change_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    container = Container()
    place = Place(container, packages=(tmp_path / "packages",))  # type: ignore[arg-type]
    with pytest.raises(DeviceJobFailed):
        run_device_job(place, benchmark(), Done, echo=False)
    (task,) = container.tasks
    assert Bind(tmp_path / "packages", writable=False) in task.binds
    source, *packages = task.environment["PYTHONPATH"].split(":")
    assert (Path(source) / "assay" / "device").is_dir()
    assert packages == [str(tmp_path / "packages")]
    assert task.environment["PYTHONSAFEPATH"] == "1"
