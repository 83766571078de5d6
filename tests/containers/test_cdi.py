"""The CDI specification of a driver, made from a file system that the test lays out."""

import json
from pathlib import Path

import pytest
import yaml

from assay.base.errors import BadInput, MissingEnvironment
from assay.runtimes import cdi, driver, gpus
from tests.containers.engines import ENGINES
from tests.containers.fixtures import bench

VERSION = "580.95.05"
FOLDER = "/usr/lib/x86_64-linux-gnu"
LDCONFIG = f"""231 libs found in cache `/etc/ld.so.cache'
	libcuda.so.1 (libc6) => /usr/lib/i386-linux-gnu/libcuda.so.1
	libcuda.so.1 (libc6,x86-64) => {FOLDER}/libcuda.so.1
"""
SMI = """
GPU 00000000:18:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-aaaa
    Minor Number                          : 1
GPU 00000000:2A:00.0
    GPU UUID                              : GPU-bbbb
    Minor Number                          : 0
"""


def lay_out(root: Path, version: str = VERSION, folder: str = FOLDER) -> Path:
    """A host with two GPUs, a driver and its links, and libraries that are not a driver's."""
    files = [
        *(f"/dev/{name}" for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null")),
        "/usr/bin/nvidia-smi",
        f"{folder}/libcuda.so.{version}",
        f"{folder}/libnvidia-ml.so.{version}",
        f"{folder}/libnvidia-ptxjitcompiler.so.{version}",
        f"{folder}/libnvidia-nvvm70.so.4",
        f"{folder}/libnvidia-glcore.so.{version}",
        f"{folder}/libc.so.6",
    ]
    for name in files:
        path = root / name[1:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    compiler = f"libnvidia-ptxjitcompiler.so.{version}"
    links = {
        "libcuda.so.1": f"libcuda.so.{version}",
        "libcuda.so": "libcuda.so.1",
        "libnvidia-ml.so.1": f"{folder}/libnvidia-ml.so.{version}",
        "libnvidia-ptxjitcompiler.so.1": f"../{Path(folder).name}/{compiler}",
        "libnvidia-gpucomp.so.1": "libnvidia-gpucomp.so.gone",
    }
    for name, target in links.items():
        (root / folder[1:] / name).symlink_to(target)
    return root


def found(root: Path, ldconfig: str = LDCONFIG, smi: str = SMI) -> driver.DriverParts:
    one = driver.find_driver(root, ldconfig, smi)
    assert one is not None
    return one


class TestDriver:
    """The files found of a driver."""

    def test_each_name_leads_to_the_real_file(self, tmp_path: Path):
        libraries = dict(found(lay_out(tmp_path)).libraries)
        assert libraries == {
            "libcuda.so": f"{FOLDER}/libcuda.so.{VERSION}",
            "libcuda.so.1": f"{FOLDER}/libcuda.so.{VERSION}",
            f"libcuda.so.{VERSION}": f"{FOLDER}/libcuda.so.{VERSION}",
            "libnvidia-ml.so.1": f"{FOLDER}/libnvidia-ml.so.{VERSION}",
            f"libnvidia-ml.so.{VERSION}": f"{FOLDER}/libnvidia-ml.so.{VERSION}",
            "libnvidia-nvvm70.so.4": f"{FOLDER}/libnvidia-nvvm70.so.4",
            "libnvidia-ptxjitcompiler.so.1": f"{FOLDER}/libnvidia-ptxjitcompiler.so.{VERSION}",
            f"libnvidia-ptxjitcompiler.so.{VERSION}": (
                f"{FOLDER}/libnvidia-ptxjitcompiler.so.{VERSION}"
            ),
        }

    def test_gpus_with_their_uuids_by_minor_number(self, tmp_path: Path):
        assert found(lay_out(tmp_path)).gpus == (
            driver.GpuNode(0, "/dev/nvidia0", "GPU-bbbb"),
            driver.GpuNode(1, "/dev/nvidia1", "GPU-aaaa"),
        )

    def test_only_the_control_nodes_that_exist(self, tmp_path: Path):
        assert found(lay_out(tmp_path)).control_nodes == ("/dev/nvidiactl", "/dev/nvidia-uvm")

    @pytest.mark.parametrize("folder", ["/usr/lib64", "/usr/local/nvidia/lib64"])
    def test_without_ldconfig_the_usual_folders_are_searched(self, tmp_path: Path, folder: str):
        one = found(lay_out(tmp_path, folder=folder), ldconfig="")
        assert dict(one.libraries)["libcuda.so.1"] == f"{folder}/libcuda.so.{VERSION}"

    def test_links_that_nobody_made_are_named_all_the_same(self, tmp_path: Path):
        root = lay_out(tmp_path)
        for name in ("libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1"):
            (root / FOLDER[1:] / name).unlink()
        libraries = dict(found(root).libraries)
        assert libraries["libcuda.so.1"] == f"{FOLDER}/libcuda.so.{VERSION}"
        assert libraries["libnvidia-ml.so.1"] == f"{FOLDER}/libnvidia-ml.so.{VERSION}"

    def test_of_two_versions_the_loaded_one_is_taken(self, tmp_path: Path):
        root = lay_out(tmp_path)
        (root / FOLDER[1:] / "libcuda.so.1").unlink()
        (root / FOLDER[1:] / "libcuda.so.470.1").write_text("old")
        proc = root / "proc/driver/nvidia/version"
        proc.parent.mkdir(parents=True)
        proc.write_text(f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Tue\n")
        assert dict(found(root).libraries)["libcuda.so.1"].endswith(VERSION)

    @pytest.mark.parametrize("gone", ["dev/nvidiactl", f"{FOLDER[1:]}/libcuda.so.{VERSION}"])
    def test_half_a_driver_is_none(self, tmp_path: Path, gone: str):
        root = lay_out(tmp_path)
        (root / gone).unlink()
        assert driver.find_driver(root, LDCONFIG, SMI) is None

    def test_a_loop_of_links_ends(self, tmp_path: Path):
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        assert driver.resolve(tmp_path, "/a") is None


class TestSpecification:
    """The document itself."""

    @pytest.fixture
    def spec(self, tmp_path: Path) -> cdi.Specification:
        return cdi.make(found(lay_out(tmp_path)))

    @pytest.mark.parametrize("name", ["nvidia.json", "nvidia.yaml"])
    def test_it_is_read_as_json_and_as_yaml(
        self, spec: cdi.Specification, tmp_path: Path, name: str
    ):
        assert cdi.names(spec) == ["0", "GPU-bbbb", "1", "GPU-aaaa", "all"]
        text = spec.model_dump_json(by_alias=True)
        path = tmp_path / name
        path.write_text(text if name.endswith("json") else yaml.dump(json.loads(text)))
        assert cdi.load(path) == spec

    def test_expanding_one_gpu_and_all(self, spec: cdi.Specification):
        control = ["/dev/nvidiactl", "/dev/nvidia-uvm"]
        assert [node.host for node in cdi.expand(spec, ["1"]).devices] == ["/dev/nvidia1", *control]
        every = cdi.expand(spec, ["all", "0", "GPU-aaaa"])
        assert [node.host for node in every.devices] == ["/dev/nvidia0", "/dev/nvidia1", *control]
        assert len({one.inside for one in every.mounts}) == len(every.mounts) == 9
        assert every.hooks == 0

    def test_an_unknown_gpu_is_a_sentence(self, spec: cdi.Specification):
        with pytest.raises(BadInput, match="there is no GPU '7'; known: 0, GPU-bbbb, 1"):
            cdi.expand(spec, ["7"])

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("{", "not valid YAML"),
            ("[]", "no CDI specification"),
            ("kind: nvidia.com/gpu\ndevices: []", "no CDI specification: cdiVersion"),
        ],
    )
    def test_a_broken_file_is_a_sentence(self, tmp_path: Path, text: str, problem: str):
        path = tmp_path / "x.yaml"
        path.write_text(text)
        with pytest.raises(BadInput, match=problem):
            cdi.load(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with this driver's specification."""
    made = tmp_path / "cdi"
    made.mkdir()
    spec = cdi.make(found(lay_out(tmp_path / "host")))
    (made / "nvidia.json").write_text(spec.model_dump_json(by_alias=True))
    return made


class TestAccess:
    """The way in which a container gets the GPUs."""

    def test_the_engines_own_cdi_comes_first(self, folder: Path):
        info = {"CDISpecDirs": [str(folder)], "Runtimes": {"nvidia": {}}}
        access = gpus.find_access(info, is_podman=False)
        assert access.requests[0]["Driver"] == "cdi"
        assert access.requests[0]["DeviceIDs"] == ["nvidia.com/gpu=all"]

    def test_devices_that_the_engine_lists_itself(self):
        info = {"DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=all"}]}
        assert gpus.find_access(info, is_podman=False).how == "the engine's CDI"

    def test_then_the_toolkits_requests(self, tmp_path: Path):
        info = {"CDISpecDirs": [str(tmp_path)], "Runtimes": {"nvidia": {}}}
        access = gpus.find_access(info, is_podman=False)
        assert access.requests[0]["Capabilities"] == [["gpu"]]
        assert access.requests[0]["Count"] == -1

    def test_podman_gets_it_by_hand(self, folder: Path):
        info = {"CDISpecDirs": [str(folder)], "Runtimes": {"nvidia": {}}}
        access = gpus.find_access(info, is_podman=True, folders=(folder,))
        assert access.requests == ()
        assert [node.host for node in access.devices][:2] == ["/dev/nvidia0", "/dev/nvidia1"]
        assert access.environment["LD_LIBRARY_PATH"] == "/usr/local/nvidia/lib64"

    def test_a_specification_with_hooks_is_not_applied_by_hand(self, folder: Path, monkeypatch):
        path = folder / "nvidia.json"
        document = json.loads(path.read_text())
        document["containerEdits"]["hooks"] = [{"hookName": "createContainer", "path": "/x"}]
        path.write_text(json.dumps(document))
        monkeypatch.setattr(cdi, "find_driver", lambda root: None)
        with pytest.raises(MissingEnvironment, match="install the driver"):
            gpus.find_access({}, is_podman=True, folders=(folder,))

    def test_without_a_driver_it_says_what_to_do(self, tmp_path: Path, monkeypatch):
        monkeypatch.setattr(cdi, "find_driver", lambda root: None)
        with pytest.raises(MissingEnvironment, match="install the driver"):
            gpus.find_access({}, is_podman=True, folders=(tmp_path,))


@pytest.mark.parametrize("name", [pytest.param(n, marks=getattr(pytest.mark, n)) for n in ENGINES])
def test_a_real_container_gets_what_a_specification_lists(name: str, tmp_path: Path, monkeypatch):
    """No GPU is needed for that: a harmless device node and a file stand in for them."""
    library = tmp_path / "libcuda.so.1"
    library.write_text("a driver's library\n")
    inside = "/usr/local/nvidia/lib64/libcuda.so.1"
    edits = {"deviceNodes": [{"path": "/dev/net/tun", "hostPath": "/dev/zero"}]}
    common = {
        "env": ["LD_LIBRARY_PATH=/usr/local/nvidia/lib64"],
        "mounts": [{"hostPath": str(library), "containerPath": inside}],
    }
    spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "containerEdits": common}
    spec["devices"] = [{"name": "all", "containerEdits": edits}]
    (tmp_path / "x.json").write_text(json.dumps(spec))
    access = gpus.find_access({}, is_podman=True, folders=(tmp_path,))
    with bench(name) as engine:
        monkeypatch.setattr(engine.runtime, "_access", access)
        script = (
            f"test -c /dev/net/tun; echo $?; cat {inside}; echo $LD_LIBRARY_PATH; touch {inside}"
        )
        _, lines = engine.shell(script, gpu=True)
        assert lines[:3] == ["0", "a driver's library", "/usr/local/nvidia/lib64"]
        assert "Read-only file system" in lines[3]
        assert engine.shell("ls /dev/net /usr/local")[0].exit_code != 0, "only when asked for"
