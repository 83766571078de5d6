"""How a container gets the GPUs: by engine, by specification, or by the driver."""

from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.runtimes import gpu_access
from assay.runtimes.gpu_access import INSIDE, Access, find_access, find_driver
from tests.containers.engines import ENGINES
from tests.containers.fixtures import bench

VERSION = "580.95.05"
LIBCUDA = f"libcuda.so.{VERSION}"
TOOLKIT = {"nvidia": {}}


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with two GPUs, a driver and its links, and libraries that are not a driver's."""
    nodes = [f"dev/{name}" for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null")]
    stems = ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libnvidia-glcore")
    files = [*(f"{stem}.so.{VERSION}" for stem in stems), "libnvidia-nvvm70.so.4", "libc.so.6"]
    for name in (*nodes, *(f"lib/{file}" for file in files)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "lib/libcuda.so").symlink_to(LIBCUDA)
    (tmp_path / "lib/libnvidia-gpucomp.so.1").symlink_to("libnvidia-gpucomp.so.gone")
    return tmp_path


def found(host: Path) -> Access | None:
    return find_driver(host / "dev", (str(host / "empty"), str(host / "lib")))


class TestDriver:
    """The files found of a driver."""

    def test_each_name_leads_to_the_real_file(self, host: Path, monkeypatch):
        """Links that nobody made are named all the same."""
        monkeypatch.setenv("PATH", str(host))
        access = found(host)
        names = {
            "libcuda.so": LIBCUDA,
            "libcuda.so.1": LIBCUDA,
            "libnvidia-ml.so.1": f"libnvidia-ml.so.{VERSION}",
            "libnvidia-nvvm70.so.4": "libnvidia-nvvm70.so.4",
        }
        stems = ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler")
        names |= {f"{stem}.so.{VERSION}": f"{stem}.so.{VERSION}" for stem in stems}
        nodes = ("nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl")
        assert sorted(access.words) == sorted(
            (
                *(f"--device={host}/dev/{node}:/dev/{node}:rwm" for node in nodes),
                *(f"--volume={host}/lib/{file}:{INSIDE}/{name}:ro" for name, file in names.items()),
            )
        )
        assert access.environment["LD_LIBRARY_PATH"] == INSIDE

    @pytest.mark.parametrize("gone", ["dev/nvidiactl", f"lib/{LIBCUDA}"])
    def test_half_a_driver_is_none(self, host: Path, gone: str):
        (host / gone).unlink()
        assert found(host) is None


class TestAccess:
    """The first way that works."""

    @pytest.fixture(autouse=True)
    def no_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gpu_access, "find_driver", lambda: None)

    @pytest.mark.parametrize(
        ("text", "told"), [('"name": "all"', True), ("name: all", True), ('"name": "0"', False)]
    )
    def test_the_engines_own_cdi_comes_first(self, tmp_path: Path, text: str, told: bool):
        (tmp_path / "x.json").write_text(f'{{"kind": "nvidia.com/gpu", {text}}}')
        info = {"CDISpecDirs": [str(tmp_path)], "Runtimes": TOOLKIT}
        words = find_access(info, is_podman=False).words
        assert (words == ("--device", "nvidia.com/gpu=all")) is told

    def test_devices_that_the_engine_found_count_too(self):
        listed = {"DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=all"}]}
        assert find_access(listed, is_podman=False).words == ("--device", "nvidia.com/gpu=all")

    def test_then_the_toolkits_requests(self):
        assert find_access({"Runtimes": TOOLKIT}, is_podman=False).words == ("--gpus", "all")

    def test_without_a_driver_it_says_what_to_do(self):
        with pytest.raises(MissingEnvironment, match="install the driver"):
            find_access({"Runtimes": TOOLKIT}, is_podman=True)


@pytest.mark.parametrize("name", [pytest.param(n, marks=getattr(pytest.mark, n)) for n in ENGINES])
def test_a_real_container_gets_what_it_is_given(name: str, tmp_path: Path, monkeypatch):
    library, inside = tmp_path / "libcuda.so.1", f"{INSIDE}/libcuda.so.1"
    library.write_text("a driver's library\n")
    access = Access(
        "a test's",
        ("--device=/dev/zero:/dev/net/tun:rwm", f"--volume={library}:{inside}:ro"),
        environment={"LD_LIBRARY_PATH": INSIDE},
    )
    with bench(name) as engine:
        monkeypatch.setattr(engine.runtime, "_access", access)
        script = (
            f"test -c /dev/net/tun; echo $?; cat {inside}; echo $LD_LIBRARY_PATH; touch {inside}"
        )
        _, lines = engine.shell(script, gpu=True)
        assert lines[:3] == ["0", "a driver's library", INSIDE]
        assert "Read-only file system" in lines[3]
        assert engine.shell("ls /dev/net /usr/local")[0].exit_code != 0, "only when asked for"
