"""A project's command in containers: real engines, a tiny image, and no GPU."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.measuring import command_runs
from assay.measuring.command_runs import CommandPlaces, Lines, run_commands
from assay.records.originals import OriginalRunRecord
from assay.runtimes.base import CommandOutcome, Place, Task
from assay.shared.job import OriginalRunsJob
from tests.containers.fixtures import Bench, bench
from tests.jobs import TARGET

ENGINES = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("podman", marks=pytest.mark.podman),
]
PROGRAM = "printf '#!/bin/sh\\necho m=$1 rate=6$1\\necho warm >&2\\n' >bench && chmod +x bench"


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with bench(request.param) as made:
        yield made


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OriginalRunsJob:
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "data").write_text("of the project\n")
    return OriginalRunsJob(
        TARGET, source="post", original="bench", directory=str(copy), working=".", file=None,
        checkout={"files": 1, "bytes": 1, "sha256": "0" * 64}, build=PROGRAM, build_by="source",
        run="./bench 8", run_by="source", runs=2, build_timeout_s=60.0, run_timeout_s=60.0,
        typed="./bench 4",
    )  # fmt: skip


def places(engine: Bench, **changes: object) -> CommandPlaces:
    """Where commands run: in the tiny image, which is given no GPU, for there is none."""

    def image(reference: str) -> Callable[..., CommandOutcome]:
        found = engine.engine.find_image(reference)
        assert found.image_id == engine.image.image_id
        return lambda task, on_line: engine.runtime.run(replace(task, gpu=False), found, on_line)  # type: ignore[arg-type]

    def nobody() -> Place:
        raise AssertionError("nothing is compiled there")

    values = {
        "runner": Place(engine.runtime, engine.image),
        "compiler": nobody,
        "image": image,
        "gpu_uuid": "GPU-1",
    }
    return CommandPlaces(**{**values, **changes})  # type: ignore[arg-type]


def measured(where: CommandPlaces, job: OriginalRunsJob) -> OriginalRunRecord:
    (record,) = run_commands(where, [job], [Path("unused")])
    return record


class TestItsImage:
    """An image that the command names: its lines are typed there, and nowhere else."""

    def test_it_is_built_and_run_as_typed_and_as_stated(self, engine, job):
        record = measured(places(engine), replace(job, image=engine.image.image_id))
        assert record.build.exit_code == 0
        assert [run.stdout for run in record.runs] == ["m=8 rate=68\n"] * 2
        assert [run.stdout for run in record.typed_runs] == ["m=4 rate=64\n"] * 2
        assert record.runs[0].stderr == "warm\n"
        assert (record.image, record.lacking) == (engine.image.image_id, None)
        assert engine.containers() == []

    def test_a_build_that_fails_runs_nothing(self, engine: Bench, job: OriginalRunsJob) -> None:
        failing = replace(job, build="nvcc bench.cu", image=engine.image.image_id)
        record = measured(places(engine), failing)
        assert record.build.exit_code == 127
        assert "nvcc: not found" in record.build.stderr
        assert (record.runs, record.typed_runs) == ((), ())

    def test_one_that_cannot_be_had_is_said(self, engine: Bench, job: OriginalRunsJob) -> None:
        missing = f"sha256:{'ab' * 32}"
        record = measured(places(engine), replace(job, image=missing))
        assert record.lacking.startswith(f"image {missing} cannot be had: ")
        assert (record.runs, record.build) == ((), None)

    def test_a_name_without_a_registry_that_answers_is_said(self, engine: Bench) -> None:
        with pytest.raises(MissingEnvironment, match="cannot be had"):
            engine.engine.find_image(f"localhost:1/nobody@sha256:{'ab' * 32}")


class TestALine:
    """What a line in a container sees, prints and leaves."""

    def lines(self, engine: Bench, job: OriginalRunsJob) -> Lines:
        return Lines(lambda task, say: engine.runtime.run(task, engine.image, say), job, {"A": "b"})

    def test_it_has_the_copy_and_no_network(self, engine: Bench, job: OriginalRunsJob) -> None:
        run = self.lines(engine, job).run("cat data; echo $A $HOME; ip link | grep -c eth", 60.0)
        assert run.stdout == "of the project\nb /tmp\n0\n"
        assert run.exit_code == 1

    def test_what_hangs_is_stopped(self, engine: Bench, job: OriginalRunsJob) -> None:
        run = self.lines(engine, job).run("echo begun; sleep 60", 1.0)
        assert run.stdout == "begun\n"
        assert run.exit_code != 0
        assert run.stderr.endswith("[stopped after 1 s]\n")
        assert run.seconds < 30


def test_without_an_image_it_is_built_where_kernels_are_compiled(engine, job, monkeypatch):
    """And run where they are measured, by the device side, which finds what was built."""
    asked: list[OriginalRunsJob] = []
    like = measured(places(engine), replace(job, image=engine.image.image_id))
    (Path(job.directory) / "bench").unlink()

    def device(place: Place, told: OriginalRunsJob, record: type) -> OriginalRunRecord:
        asked.append(told)
        assert (Path(told.directory) / "bench").is_file()
        return like.model_copy(update={"build": None, "build_line": None, "image": None})

    monkeypatch.setattr(command_runs, "run_device_job", device)
    tasks: list[Task] = []

    class Compiler:
        """The toolchain's image, for which the tiny one stands."""

        name = "docker"

        def run(self, task: Task, image: object, on_line: Callable[[str], None]) -> CommandOutcome:
            tasks.append(task)
            return engine.runtime.run(replace(task, environment={}), engine.image, on_line)

    where = places(engine, compiler=lambda: Place(Compiler(), engine.image))  # type: ignore[arg-type]
    record = measured(where, job)
    assert [(each.build, each.folders()) for each in asked] == [(None, (job.directory,))]
    assert (record.build.exit_code, record.runs) == (0, like.runs)
    assert tasks[0].environment["PATH"].startswith("/opt/assay/toolchain/")

    # A build that fails there is told, and nothing runs.
    record = measured(where, replace(job, build="exit 3"))
    assert (record.build.exit_code, record.runs, len(asked)) == (3, (), 1)
