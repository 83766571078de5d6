"""A project's function through the workflow: gate and stopwatch are the real ones, on a CPU."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.io import read_record
from assay.building.recipe import command_problem
from assay.building.toolchain import Toolchain
from assay.catalog.load import load_catalog
from assay.records.builds import BuildRecord
from assay.records.measurements import CorrectnessRecord
from assay.records.verdicts import Status, Verdict
from tests.library_checkout import REPOSITORY
from tests.pipeline.stand_in import write_stand_in
from tests.pipeline.test_batched_workflow import RUN, Checkout, checkout_in, claimed, project

STAND_IN = f"""
import shutil
with (folder / "starts").open("a") as log:
    log.write(jobs[0]["task"] + "\\n")
if jobs[0]["task"] == "device":
    shutil.copyfile(folder / "device.json", jobs[0]["output"])
    sys.exit(0)
if jobs[0]["task"] not in ("correctness", "benchmark"):
    print("there is no GPU for it", file=sys.stderr)
    sys.exit(1)
sys.path.append({str(REPOSITORY)!r})
import torch
from assay.device import __main__ as program
from assay.device.tasks import benchmark, correctness
from assay.device.worker.locks import OpenGpu
from assay.device.worker.locks import UNKNOWN_USE
from assay.device.worker.telemetry import Choice
from tests.device.helpers import HostStopwatch, SteadySensor

uuid = json.loads((folder / "device.json").read_text())["gpu"]["uuid"]
program.open_target = lambda target: (None, Choice(0, uuid, "NVIDIA H100 80GB HBM3"))
program.require_alone = lambda nvml, choice: (UNKNOWN_USE, "")
OpenGpu.sensor = lambda self: SteadySensor()
OpenGpu.watch = lambda self: None
for module in (correctness, benchmark):
    module.DEVICE, module.open_cuda = "cpu", lambda choice: None
benchmark.CudaStopwatch = lambda cold, counter, send: HostStopwatch(send)
benchmark.open_counter = lambda: (None, "no cycles: no GPU")
from assay.device.kernels import bindings
bindings.bind.__defaults__ = (lambda: 0,)
torch.cuda.synchronize = lambda: None
torch.set_num_threads(1)
sys.exit(program.main(sys.argv[3:]))
"""
CODE = """\
import torch


def case(rows, device):
    def inputs(seed):
        generator = torch.Generator(device=device).manual_seed(seed)
        return {"x": torch.randn(rows, generator=generator, device=device)}

    def wrong(x):
        return x * 2.1

    def fails(x):
        raise RuntimeError("no such kernel")

    return {"inputs": inputs, "oracle": lambda x: 2 * x.double(), "added": lambda x: x + x,
            "scaled": lambda x: 2 * x, "wrong": wrong, "fails": fails}
"""
ROWS = 3_000_000
LAUNCHER = """\
#include <cuda_runtime.h>
#include "factor.h"

// The launcher of a kernel, but that the work is done by the host: no GPU is there.
extern "C" int twice(const float* x, float* out, int rows, void* workspace, size_t bytes,
                     cudaStream_t) {
    if (rows % TILE != 0) return cudaErrorInvalidValue;
    if (workspace == nullptr || bytes == 0) return cudaErrorUnknown;
    for (int i = 0; i < rows; ++i) out[i] = factor * x[i];
    return cudaSuccess;
}
"""


def document() -> dict[str, Any]:
    doubled = {
        "id": "doubled",
        "title": "Twice a vector",
        "callable": "twice.py:case",
        "parameters": {"rows": ROWS},
        "arms": {
            "added": "a sum",
            "scaled": "a product",
            "wrong": "something else",
            "fails": "nothing",
        },
        "control": "scaled",
        "dtype": "float32",
        "flops": "rows",
        "bytes": "8 * rows",
        "relative_tolerance": 0.001,
        "protocol": "standard",
    }
    claims = [
        claimed("ratio", "1.0x", measurement="doubled", arm="added", over="scaled"),
        claimed("bandwidth", "3 GB/s", measurement="doubled", arm="added"),
        claimed("wrong", "3 GB/s", measurement="doubled", arm="wrong"),
        claimed("fails", "3 GB/s", measurement="doubled", arm="fails"),
    ]
    return project(claims, title="Twice", measurements=[doubled])


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    made = checkout_in(tmp_path, monkeypatch)
    write_stand_in(tmp_path / "python", STAND_IN, tmp_path)
    return made


def test_its_arms_pass_the_gate_and_are_timed(checkout: Checkout, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "assay.yaml").write_text(yaml.safe_dump(document()))
    (folder / "twice.py").write_text(CODE)
    found, starts = measured(checkout, folder)
    assert isinstance(found["ratio"].measured, float)
    assert found["ratio"].samples is not None
    bandwidth = found["bandwidth"].measured
    assert isinstance(bandwidth, float)
    assert 0.05 < bandwidth < 3000
    assert f"rows={ROWS}" in (found["bandwidth"].ran or "")
    assert found["bandwidth"].artifact == "reimplemented"
    assert found["wrong"].status is Status.INCORRECT
    assert found["fails"].status is Status.NOT_RUN
    assert "RuntimeError: no such kernel" in found["fails"].explanation
    assert starts == ["device", "correctness", "benchmark", "cheats"]

    # An edit of the code is another thing to measure; anything else of the project is none.
    again, starts = measured(checkout, folder)
    assert (again, starts) == (found, [])
    (folder / "twice.py").write_text(CODE.replace("x * 2.1", "x + x"))
    edited, starts = measured(checkout, folder)
    assert starts == ["correctness", "benchmark", "cheats"]
    assert isinstance(edited["wrong"].measured, float)


def measured(checkout: Checkout, folder: Path) -> tuple[dict[str, Verdict], list[str]]:
    """Return the verdicts of a run, and the tasks that the device side was started on."""
    return checkout.run_project(folder), checkout.starts()


def cuda_document() -> dict[str, Any]:
    """Return a project with an arm from a CUDA file beside one of its function."""
    content = document()
    measurement = content["measurements"][0]
    measurement["small"] = {"rows": 1024}
    measurement["arms"] = {
        "ours": {
            "title": "a launcher",
            "source": "csrc/twice.cu",
            "symbol": "twice",
            "operands": ["x"],
            "sizes": ["rows"],
            "archs": ["sm_90a"],
            "defines": {"TILE": 64},
            "flags": ["--use_fast_math"],
        },
        "added": "a sum",
    }
    measurement["control"] = "added"
    answer = {"measurement": "doubled", "arm": "ours", "over": "added"}
    content["claims"] = [{**content["claims"][0], "answer": answer}]
    return content


def write_cuda_project(folder: Path, content: dict[str, Any]) -> None:
    folder.mkdir()
    (folder / "assay.yaml").write_text(yaml.safe_dump(content))
    (folder / "twice.py").write_text(CODE)
    (folder / "csrc").mkdir()
    (folder / "csrc" / "twice.cu").write_text(LAUNCHER)
    (folder / "csrc" / "factor.h").write_text("constexpr float factor = 2.0f;\n")


@pytest.mark.compiler
def test_a_cuda_file_of_it_is_compiled_and_gated_as_our_kernels_are(
    checkout: Checkout, tmp_path: Path, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "toolchain").symlink_to(toolchain.site.parent)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    write_cuda_project(folder, cuda_document())
    found, _ = measured(checkout, folder)
    assert isinstance(found["ratio"].measured, float), found["ratio"].explanation
    assert found["ratio"].binary_sha256 is not None
    run_dir = folder / "results" / RUN
    build = read_record(BuildRecord, run_dir / "builds" / "sm_90a" / "doubled_ours.json")
    assert [each.path for each in build.sources] == [
        "project/csrc/factor.h",
        "project/csrc/twice.cu",
    ]
    assert {"-DTILE=64", "--use_fast_math", "-Iproject"} <= set(build.command)
    assert command_problem(build, load_catalog(run_dir)) is None
    gate = read_record(CorrectnessRecord, run_dir / "h100" / "correctness" / "doubled.json")
    (ours,) = (arm for arm in gate.arms if arm.arm == "ours")
    assert {"timed_shape", "repeat", "small", "poisoned", "inputs_unchanged"} == {
        check.name for check in ours.checks
    }

    # A file that it includes is another kernel, and a wrong one.
    (folder / "csrc" / "factor.h").write_text("constexpr float factor = 3.0f;\n")
    found, _ = measured(checkout, folder)
    assert found["ratio"].status is Status.INCORRECT
