"""The choice of a runtime, and the words on the others."""

from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.runtimes import gpu_access
from assay.runtimes.choose import choose, open_runtime
from assay.runtimes.host import HostRuntime
from tests.containers.engines import ENGINES
from tests.containers.fixtures import bench


@pytest.fixture
def bare(tmp_path: Path, monkeypatch) -> None:
    """A machine without any container runtime."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setenv("CONTAINER_HOST", f"unix://{tmp_path}/podman.sock")
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("bare")
class TestBareMachine:
    """Nothing but the host."""

    def test_auto_ends_at_the_host_and_says_why(self):
        runtime, lines = choose("auto", gpu=False)
        assert isinstance(runtime, HostRuntime)
        assert lines == [
            "no container runtime here: docker (not installed), podman (not installed), "
            "apptainer (not installed)",
            "runtime host: the host itself works",
        ]

    @pytest.mark.parametrize("name", ["docker", "podman", "apptainer"])
    def test_what_was_asked_for_is_not_replaced(self, name: str):
        with pytest.raises(MissingEnvironment):
            choose(name, gpu=False)
        with pytest.raises(MissingEnvironment):
            open_runtime(name)

    def test_the_host_can_be_asked_for(self):
        _, lines = choose("host", gpu=True)
        assert lines == ["runtime host: the host itself works"]


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", [pytest.param(n, marks=getattr(pytest.mark, n)) for n in ENGINES])
class TestRunningEngine:
    """A machine whose one engine runs, without a GPU."""

    @pytest.fixture
    def running(self, name: str, bare, monkeypatch):
        monkeypatch.undo()
        with bench(name) as engine:
            other = {"docker": "CONTAINER_HOST", "podman": "DOCKER_HOST"}[name]
            monkeypatch.setenv(other, "unix:///nonexistent.sock")
            yield engine

    def test_auto_takes_it(self, name: str, running):
        runtime, lines = choose("auto", gpu=False)
        assert runtime.name == name
        assert lines[-1] == f"runtime {name}: {runtime.describe()} works"

    def test_it_does_not_do_for_a_gpu_that_is_not_there(self, name: str, running, monkeypatch):
        monkeypatch.setattr(gpu_access, "find_driver", lambda: None)
        with pytest.raises(MissingEnvironment, match="NVIDIA driver was not found"):
            choose(name, gpu=True)
