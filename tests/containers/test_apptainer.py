"""Apptainer: the command line that it gets, and what it does with it where it is installed."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.runtimes.apptainer import ApptainerRuntime, command_line, make_sif, outer_environment
from assay.runtimes.base import Bind, Task
from assay.runtimes.choose import open_image
from assay.runtimes.containers import SHELL
from tests.containers.fixtures import Bench, record
from tests.containers.fixtures import bench as a_bench

real = pytest.mark.apptainer
ID = f"sha256:{'1' * 64}"


def fake(folder: Path, script: str) -> str:
    """A program that stands for Apptainer, where only its failures are of interest."""
    program = folder / "apptainer"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


class TestCommandLine:
    """Pure parts."""

    TASK = Task(
        ("nvcc", "--version"),
        Path("/src"),
        "x",
        binds=(Bind(Path("/src")), Bind(Path("/out"), writable=True)),
    )

    def line(self, **keywords: object) -> list[str]:
        task = Task(**{**vars(self.TASK), **keywords})  # type: ignore[arg-type]
        return command_line("/bin/apptainer", ("--net",), task, Path("/i.sif"), Path("/scratch"))

    def test_the_container_is_closed_but_for_the_binds(self):
        line = self.line()
        assert {"--containall", "--cleanenv", "--no-home", "--net"} < set(line)
        assert "type=bind,source=/src,destination=/src,ro" in line
        assert "type=bind,source=/out,destination=/out" in line
        assert line[line.index("--pwd") + 1] == "/src"
        after = line[line.index("/i.sif") + 1 :]
        assert after == ["env", "HOME=/tmp", *SHELL, "nvcc", "--version"]

    def test_variables_go_by_its_own_prefix(self, monkeypatch):
        monkeypatch.setenv("APPTAINERENV_LEAK", "x")
        monkeypatch.setenv("SINGULARITYENV_LEAK", "x")
        outer = outer_environment("/bin/apptainer", {"A": "b,c", "HOME": "/h"})
        assert outer["APPTAINERENV_A"] == "b,c"
        assert not {"APPTAINERENV_LEAK", "SINGULARITYENV_LEAK"} & outer.keys()
        assert "APPTAINERENV_HOME" not in outer
        assert "SINGULARITYENV_A" in outer_environment("/bin/singularity", {"A": "b"})


class TestFailures:
    """One sentence each."""

    def test_an_image_that_a_command_names_is_not_started(self):
        image = f"docker.example/a/b@sha256:{'ab' * 32}"
        with pytest.raises(MissingEnvironment) as refused:
            open_image("apptainer", image)
        assert refused.value.exit_code == 3
        assert str(refused.value) == (
            f"it runs in image {image}, and --runtime apptainer starts none by its digest: "
            "--runtime docker or podman does"
        )

    @pytest.mark.parametrize(
        ("script", "sentence"),
        [
            ("echo FATAL: bad tar >&2; exit 255", "made no SIF file from .*bad tar"),
            ("echo No space left on device >&2; exit 255", "the disk is full"),
            ("exit 0", "made no SIF file"),
        ],
    )
    def test_a_failed_build_leaves_nothing(self, tmp_path, monkeypatch, script, sentence):
        (tmp_path / "bin").mkdir()
        fake(tmp_path / "bin", script)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}", prepend=os.pathsep)
        sif = tmp_path / "out" / "a.sif"
        with pytest.raises(MissingEnvironment, match=sentence):
            make_sif(tmp_path / "a.tar", sif)
        assert list(sif.parent.iterdir()) == []

    @pytest.mark.parametrize("digest", [None, "0" * 64])
    def test_a_sif_that_was_replaced(self, tmp_path: Path, digest: str | None):
        sif = tmp_path / "a.sif"
        sif.write_text("something else")
        runtime = ApptainerRuntime("apptainer", "1", lambda image: sif)
        with pytest.raises(CheckFailed, match=str(sif)):
            runtime.run(Task(("true",), Path("/"), "x"), record(ID, digest), print)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with a_bench("apptainer") as made:
        yield made


@real
class TestReal:
    """A SIF file made from a docker archive, run by the real program."""

    def test_as_the_caller_in_the_image(self, bench: Bench):
        outcome, lines = bench.shell("id -u; id -g; ls /bin/busybox")
        assert outcome.exit_code == 0
        assert lines == [str(os.getuid()), str(os.getgid()), "/bin/busybox"]
        assert outcome.image_id == bench.image.image_id

    def test_no_network_where_it_says_so(self, bench: Bench):
        _, lines = bench.shell("ls /sys/class/net; cat /proc/net/dev | grep -c :")
        if "the host's network" not in bench.runtime.describe():
            assert lines[-1] == "1"
        print(bench.runtime.describe())
        assert bench.runtime.describe().startswith("Apptainer 1.")

    def test_the_root_is_read_only_and_tmp_is_its_own(self, bench: Bench):
        script = "touch /x; cd /tmp && ls && printf '#!/bin/sh\\necho ran\\n' >x; chmod +x x && ./x"
        _, lines = bench.shell(script)
        assert lines == ["touch: /x: Read-only file system", "ran"]

    def test_an_exception_in_the_caller_ends_it(self, bench: Bench):
        mark = f"6{os.getpid()}"

        def stop(line: str) -> None:
            raise KeyboardInterrupt(line)

        task = Task(("sh", "-c", f"echo up; sleep {mark}"), Path("/"), "a test")
        with pytest.raises(KeyboardInterrupt, match="up"):
            bench.runtime.run(task, bench.image, stop)
        running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        assert f"sleep {mark}" not in running.stdout
