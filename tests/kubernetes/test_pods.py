"""The pods of a run: made by the plugin's own code, from the workflow's own resources.

No cluster is asked: ``stub`` writes down what would be created, and runs it here.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.errors import BadInput, MissingEnvironment
from assay.catalog.kubernetes import load_kubernetes
from assay.catalog.load import load_catalog
from assay.measuring.slurm_grant import GpuRefused
from assay.pipeline import gpu_step_base
from assay.pipeline import request as requests
from assay.pipeline.dag import Dag
from assay.pipeline.gpu_steps import MeasuringSteps
from assay.pipeline.pods import PLUGIN_FOLDER, pod_options
from assay.pipeline.request import Options
from assay.pipeline.snakemake_run import snakemake_command
from assay.records.kubernetes import KUBERNETES_FILE, KubernetesFile
from assay.records.plan import Plan, Request, TargetPlan
from assay.records.targets import Target
from tests.library_checkout import write_config
from tests.report_fixtures import make_request, provision

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(__file__).parent / "stub"
TARGETS = {"h100": "NVIDIA-H100-80GB-HBM3", "l4": "NVIDIA-L4"}
IMAGES = {name: f"registry.example.org/assay/{name}-runner@sha256:{'a1' * 32}"
          for name in TARGETS}  # fmt: skip
SECRET = "not for pods"


def site(mount: Path) -> KubernetesFile:
    return KubernetesFile.model_validate(
        {
            "schema": "assay/kubernetes/1",
            "namespace": "measuring",
            "claim": "assay",
            "mount": str(mount),
            "attempts": 1,
            "targets": {
                name: {
                    "image": IMAGES[name],
                    "node_selector": {"nvidia.com/gpu.product": product},
                    "cores": 3,
                    "memory_mb": 9000,
                }
                for name, product in TARGETS.items()
            },
        }
    )


def dag_of(mount: Path, *measured: str) -> Dag:
    provisions = [
        provision(name) if name in measured else provision(name).model_copy(
            update={"kind": "recorded", "recorded_in": "a report"}
        )
        for name in TARGETS
    ]  # fmt: skip
    request = make_request("demo", provisions, []).model_copy(
        update={"executor": "kubernetes", "pods": site(mount)}
    )
    plans = tuple(
        TargetPlan(target=each.target, provision=each, comparisons=(), programs=(), profiles=())
        for each in provisions
    )
    plan = Plan(schema="assay/plan/1", run="demo", sources=(), builds=(), targets=plans, answers=())
    return Dag(request, plan, mount, mount)


SNAKEFILE = """
asked = {asked}

rule all:
    input: expand("{{target}}.txt", target=asked)

rule measure:
    output: "{{target}}.txt"
    threads: lambda wildcards: asked[wildcards.target]["threads"]
    resources:
        gpu=lambda wildcards: asked[wildcards.target]["gpu"],
        gpu_manufacturer=lambda wildcards: asked[wildcards.target]["gpu_manufacturer"],
        mem_mb=lambda wildcards: asked[wildcards.target]["mem_mb"],
        pod_image=lambda wildcards: asked[wildcards.target]["pod_image"],
        pod_selector=lambda wildcards: asked[wildcards.target]["pod_selector"],
    shell: "echo $HOME $PWD > {{output}}"

localrules: all
"""


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A workflow of one job a target, the second without a GPU; and the jobs that were created."""
    folder = tmp_path_factory.mktemp("volume")
    bodies = tmp_path_factory.mktemp("bodies")
    dag = dag_of(folder, "h100")
    asked = {
        name: dag.resources(name, "platform") | {"threads": dag.threads(name, 64)}
        for name in TARGETS
    }
    asked["l4"] |= {"gpu": None, "gpu_manufacturer": None}
    (folder / "Snakefile").write_text(SNAKEFILE.format(asked=asked))
    paths = (STUB, ROOT / PLUGIN_FOLDER, ROOT / "src", *sys.path[1:])
    told = {
        **os.environ, "POD_BODIES": str(bodies), "HOME": str(folder), "ASSAY_SIGNING_KEY": SECRET,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }  # fmt: skip
    command = [sys.executable, "-m", "snakemake", "--workflow-profile",
               str(ROOT / "profiles" / "kubernetes"), "--cores", "4",
               "--seconds-between-status-checks", "0", *pod_options(site(folder))]  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=told, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(path.read_text()) for path in bodies.glob("*.json")]
    return bodies, {_target(each): each for each in found}


def _target(created: dict[str, Any]) -> str:
    (line,) = _container(created)["args"][1:]
    (name,) = re.findall(r"measure:target=(\w+)", line)
    return str(name)


def _pod(created: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = created["body"]["spec"]["template"]["spec"]
    return pod


def _container(created: dict[str, Any]) -> dict[str, Any]:
    (container,) = _pod(created)["containers"]
    assert isinstance(container, dict)
    return container


def _image(created: dict[str, Any]) -> str:
    return str(_container(created)["image"])


@pytest.mark.kubernetes
class TestPods:
    """One job a pod, on its target's nodes."""

    def test_a_job_that_measures_has_one_gpu_of_its_target(
        self, placed: tuple[Path, dict[str, Any]]
    ) -> None:
        job = placed[1]["h100"]
        assert job["namespace"] == "measuring"
        assert _pod(job)["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
        assert _image(job) == IMAGES["h100"]
        assert _container(job)["resources"] == {
            "requests": {"cpu": "3000m", "memory": "9000M", "nvidia.com/gpu": "1"},
            "limits": {"memory": "9000M", "nvidia.com/gpu": "1"},
        }
        assert _pod(job)["tolerations"] == [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
        ]

    def test_the_volume_is_the_same_place_there(self, placed: tuple[Path, dict[str, Any]]) -> None:
        job = placed[1]["h100"]
        (workdir, volume) = _container(job)["volumeMounts"]
        assert volume == {"name": "assay", "mountPath": str(_container(job)["workingDir"])}
        claims = [each.get("persistentVolumeClaim") for each in _pod(job)["volumes"]]
        assert claims == [None, {"claimName": "assay"}]
        done = Path(volume["mountPath"], "h100.txt").read_text()
        assert done == f"{workdir['mountPath']} {volume['mountPath']}\n"

    def test_nothing_is_fetched_there(self, placed: tuple[Path, dict[str, Any]]) -> None:
        for job in placed[1].values():
            (line,) = _container(job)["args"][1:]
            assert line.startswith(f"{sys.executable} -m snakemake ")
            assert "pip install" not in line
            assert "--deploy-sources" not in line

    def test_no_secret_goes_along(self, placed: tuple[Path, dict[str, Any]]) -> None:
        bodies, jobs = placed
        for job in jobs.values():
            text = json.dumps(job)
            assert SECRET not in text
            assert "secret" not in text.lower()
            assert _pod(job)["automountServiceAccountToken"] is False
        calls = [json.loads(line) for line in (bodies / "calls").read_text().splitlines()]
        assert [told[0]["data"] for kind, told in calls if kind == "secret"] == [{}]

    def test_a_pod_may_do_no_more_than_its_submitter(
        self, placed: tuple[Path, dict[str, Any]]
    ) -> None:
        for job in placed[1].values():
            inside = _container(job)["securityContext"]
            assert inside == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "privileged": False,
            }
            wanted = {"runAsUser": os.getuid(), "runAsGroup": os.getgid()}
            assert _pod(job)["securityContext"] == wanted

    def test_a_job_without_a_gpu_takes_none(self, placed: tuple[Path, dict[str, Any]]) -> None:
        job = placed[1]["l4"]
        assert "tolerations" not in _pod(job)
        assert _container(job)["resources"]["limits"] == {"memory": "9000M"}
        assert "nvidia.com/gpu" not in _container(job)["resources"]["requests"]


class TestSite:
    """The site file, and what the workflow makes of it."""

    def write(self, root: Path, text: str) -> None:
        path = root / KUBERNETES_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def load(self, root: Path) -> KubernetesFile:
        return load_kubernetes(root, root, TARGETS)

    def test_the_file_of_the_repository_is_a_form_to_fill_in(self) -> None:
        with pytest.raises(MissingEnvironment, match="names no claim, mount or targets yet"):
            load_kubernetes(ROOT, ROOT, TARGETS)

    def test_its_comments_are_a_site(self, tmp_path: Path) -> None:
        text = (ROOT / KUBERNETES_FILE).read_text()
        lines = [line.removeprefix("# ") for line in text.splitlines() if ": " in line or
                 line.endswith(":")]  # fmt: skip
        whole = "\n".join(line for line in lines if not line[:1].isupper() and "--" not in line)
        whole = whole.replace("<64 hexadecimal digits>", "0" * 64)
        self.write(tmp_path, whole.replace("/srv/assay", str(tmp_path)))
        assert self.load(tmp_path).targets["h100"].cores == 4

    def test_a_target_that_is_none_is_told(self, tmp_path: Path) -> None:
        text = yaml.safe_dump(site(tmp_path).model_dump(by_alias=True)).replace("l4:", "l5:")
        self.write(tmp_path, text)
        with pytest.raises(BadInput, match="there is no target 'l5'"):
            self.load(tmp_path)

    def test_an_image_by_a_tag_is_refused(self, tmp_path: Path) -> None:
        text = yaml.safe_dump(site(tmp_path).model_dump(by_alias=True))
        self.write(tmp_path, text.replace(f"@sha256:{'a1' * 32}", ":latest"))
        with pytest.raises(BadInput, match="image"):
            self.load(tmp_path)

    def test_a_repository_outside_the_volume_is_told(self, tmp_path: Path) -> None:
        self.write(tmp_path, yaml.safe_dump(site(tmp_path / "x").model_dump(by_alias=True)))
        with pytest.raises(MissingEnvironment, match="the volume that pods mount"):
            self.load(tmp_path)

    def test_only_what_measures_asks_for_a_gpu(self, tmp_path: Path) -> None:
        dag = dag_of(tmp_path, "h100")
        assert dag.resources("h100", "platform")["gpu"] == 1
        assert dag.resources("l4", "platform")["gpu"] is None
        assert dag.threads("h100", 64) == 3

    def test_snakemake_is_started_with_the_profile(self, tmp_path: Path) -> None:
        command = snakemake_command(ROOT, dag_of(tmp_path, "h100").request)
        assert str(ROOT / "profiles" / "kubernetes") in command
        assert f"assay:{tmp_path}" in command
        assert "gpu=1" not in command

    @pytest.fixture
    def ask(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Request]:
        """A request of a repository on the volume, which has H100 nodes alone."""
        root = write_config(tmp_path / "repository", tuple(TARGETS), ["fixture_duel"])
        found = site(tmp_path).model_dump(by_alias=True)
        del found["targets"]["l4"]
        self.write(root, yaml.safe_dump(found))
        monkeypatch.setattr(requests, "find_spec", lambda name: name)

        def asked(**further: Any) -> Request:
            options = Options(
                run="new", sources=("fixture",), targets=tuple(TARGETS), runtime="auto",
                executor="kubernetes", device_python=None, prebuilt=None, recorded=(), keys=(),
                signing_key=tmp_path / "key", host_image=False, runtime_named=False,
            )  # fmt: skip
            return requests.make_request(root, load_catalog(root), replace(options, **further))

        return asked

    def test_a_target_is_measured_where_the_site_has_nodes(
        self, ask: Callable[..., Request]
    ) -> None:
        request = ask()
        assert [(each.target, each.kind) for each in request.targets] == [
            ("h100", "device"),
            ("l4", "none"),
        ]
        assert request.runtime == "host"
        assert request.targets[0].detail == f"measured in pods of {IMAGES['h100']}"
        assert request.targets[1].detail == f"{KUBERNETES_FILE} names no nodes of l4"

    @pytest.mark.parametrize(("target", "asks"), [("h100", 1), ("l4", 0)])
    def test_a_pod_that_measures_proves_its_gpu_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, asks: int
    ) -> None:
        root = write_config(tmp_path / "repository", tuple(TARGETS), ["fixture_duel"])
        asked: list[str] = []

        def refuse(described: Target, environ: Mapping[str, str], index: int | None) -> None:
            asked.append(described.id)
            assert index is None
            raise GpuRefused("the GPU of this job is cut into slices")

        monkeypatch.setattr(gpu_step_base, "held_gpu", refuse)
        steps = object.__new__(MeasuringSteps)
        steps.dag = replace(dag_of(tmp_path, "h100"), files=root)
        with pytest.raises(GpuRefused) if asks else nullcontext():
            if steps.dag.needs_gpu(target):
                steps._enter_job("platform", target)
        assert len(asked) == asks

    def test_no_container_is_started_in_a_pod(self, ask: Callable[..., Request]) -> None:
        with pytest.raises(BadInput, match="pods' own image"):
            ask(runtime="docker", runtime_named=True)

    def test_without_the_plugin_the_remedy_is_said(
        self, ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(requests, "find_spec", lambda name: None)
        with pytest.raises(MissingEnvironment, match=r"requirements/kubernetes\.txt pins it"):
            ask()

    def test_every_product_has_a_target(self) -> None:
        assert set(TARGETS) <= set(load_catalog(ROOT).targets)
