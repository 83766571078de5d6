"""sanitizer: every kernel under every tool, by a stand-in that writes their logs."""

import json
import sys
from pathlib import Path

import pytest

from assay.device.tasks import sanitizer
from assay.device.tasks.sanitizer import run_sanitizer
from assay.shared import project_calls
from assay.shared.files import sha256_file
from assay.shared.job import SanitizerJob
from assay.shared.specs import ArmSpec, ArtifactSpec, CodeSpec, VariantSpec, WorkloadSpec
from tests.device.helpers import SteadyGpu, bsr_bsr_workload, bsr_workload
from tests.jobs import TARGET

RACE = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at bsr_kernel(const Problem)+0x90 in k.cu:41
=========     and Read access at bsr_kernel(const Problem)+0x100 in k.cu:51 [508 hazards]
=========
========= Warning: Race reported between Read access at bsr_kernel(const Problem)+0x90
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at memcheck+0xb0
=========     by thread (32,0,0) in block (0,0,0)
=========     Access at 0x7f0000100100 is out of bounds
=========
========= Invalid __global__ write of size 4 bytes
=========     at memcheck+0xb0
=========     by thread (33,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 132 errors
========= ERROR SUMMARY: 32 errors were not printed. Use --print-limit option to adjust
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"

PROJECT = """
import torch

def case(rows, device):
    return {"inputs": lambda seed: {"x": torch.ones(rows, device=device)},
            "oracle": lambda x: 2 * x.double()}
"""


def test_a_projects_kernel_runs_at_its_small_problem(monkeypatch, tmp_path):
    (tmp_path / "twice.py").write_text(PROJECT)
    monkeypatch.setenv(project_calls.VARIABLE, str(tmp_path))
    code = CodeSpec("twice.py", "case", {"twice.py": sha256_file(tmp_path / "twice.py")})
    workload = WorkloadSpec(
        "twice", "callable", "float16", "own", 1, 0.01, code=code, parameters={"rows": 4096},
        small={"rows": 48},
    )  # fmt: skip
    variant = VariantSpec("ours", "callable", "kernel", symbol="twice", abi="project",
                          operands=("x",), sizes=("rows",))  # fmt: skip
    library = tmp_path / "ours.so"
    library.write_bytes(b"ELF")
    arm = ArmSpec("ours", variant, workload, ArtifactSpec(str(library), sha256_file(library)))
    spec = sanitizer.write_spec(arm, tmp_path)
    (shape,) = spec["shapes"]
    assert (shape["name"], shape["scalars"], shape["output_bytes"]) == ("small", [48], 2 * 48)
    assert [Path(path).stat().st_size for path in shape["operands"].values()] == [4 * 48]


FAKE = """#!/usr/bin/env -S "{python}"
import json, pathlib, sys
spot = pathlib.Path(__file__).parent
arguments = sys.argv[1:]
if arguments == ["--help"]:
    print("  --port arg (=49152)\\n  --padding arg (=0)\\n  --launch-timeout arg")
elif arguments == ["--version"]:
    print("NVIDIA (R) Compute Sanitizer\\nVersion 2025.3.1.0 (build 1)")
else:
    tool = arguments[arguments.index("--tool") + 1]
    log = pathlib.Path(arguments[arguments.index("--log-file") + 1])
    spec = json.loads(pathlib.Path(arguments[-1]).read_text())
    names = ["control"] if "control" in spec else []
    for kernel in spec.get("kernels", []):
        names.append(pathlib.Path(kernel["library"]).stem)
        for shape in kernel["shapes"]:
            for path in shape["operands"].values():
                assert pathlib.Path(path).stat().st_size > 0
    with (spot / "calls").open("a") as calls:
        calls.write(json.dumps([names, tool, arguments]) + "\\n")
    plan = json.loads((spot / "plan.json").read_text())
    told = [plan[name][tool] for name in names]
    log.write_text(next((each["log"] for each in told if each["log"] != {clean!r}), {clean!r}))
    kernels = [each.get("launches") for each in told]
    if all(kernels) or "control" in spec:
        pathlib.Path(spec["result"]).write_text(json.dumps({{"error": "", "kernels": kernels}}))
    else:
        print("Segmentation fault")
"""
RAN = [{"name": name, "code": 0, "error": ""} for name in ("regular", "ragged")]
RAN.append({"name": "unaligned", "code": 1, "error": ""})
CAUGHT = {"log": MEMCHECK}


@pytest.fixture
def arms(tmp_path):
    """Two kernels with a library, and one that was not built."""
    made = []
    for name, workload in (("ours", bsr_workload()), ("theirs", bsr_bsr_workload())):
        path = tmp_path / f"{name}.so"
        path.write_bytes(name.encode())
        variant = VariantSpec(name, workload.operation, "kernel", "launch", workload.operation)
        made.append(ArmSpec(name, variant, workload, ArtifactSpec(str(path), sha256_file(path))))
    unbuilt = VariantSpec("unbuilt", "bsr_gemm", "kernel", "launch", "bsr_gemm")
    return (*made, ArmSpec("unbuilt", unbuilt, bsr_workload(), None))


@pytest.fixture
def run(monkeypatch, tmp_path, arms, validated):
    """Sanitize with the stand-in, which says of each name and tool what ``plan`` says."""
    command = tmp_path / "compute-sanitizer"
    command.write_text(FAKE.format(python=sys.executable, clean=CLEAN))
    command.chmod(0o755)
    monkeypatch.setattr(sanitizer, "find_command", lambda: str(command))
    monkeypatch.setattr(sanitizer, "WORKERS", 1)  # so that the two kernels share a start

    def work(plan):
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        record = run_sanitizer(SanitizerJob(TARGET, arms), SteadyGpu())
        return validated("SanitizerRecord", record)

    return work


def clean(**changes):
    told = {tool: {"log": CLEAN, "launches": RAN} for tool in sanitizer.TOOLS}
    return {**told, **changes}


def calls_of(folder):
    """The kernels and the arguments of each start that was no control's."""
    lines = (folder / "calls").read_text().splitlines()
    return [(names, tool, arguments) for names, tool, arguments in map(json.loads, lines)
            if names != ["control"]]  # fmt: skip


def test_clean_kernels_share_a_start_of_each_tool(run, tmp_path):
    record = run({"control": dict.fromkeys(sanitizer.TOOLS, CAUGHT), "ours": clean(),
                  "theirs": clean()})  # fmt: skip
    assert [(r.variant, r.tool) for r in record.runs] == [
        (variant, tool) for variant in ("ours", "theirs") for tool in sanitizer.TOOLS
    ]
    assert {r.status for r in record.runs} == {"clean"}
    assert record.runs[0].shapes == ("regular", "ragged")
    assert record.runs[0].detail == "unaligned refused"
    assert record.version == "2025.3.1.0"
    assert all(control.caught for control in record.controls)
    calls = calls_of(tmp_path)
    assert [names for names, *_ in calls] == 3 * [["ours", "theirs"]]
    for _, tool, arguments in calls:
        # Only what this version's help names; memory options only where they mean something.
        assert "--report-api-errors" not in arguments
        assert ("--padding" in arguments) == (tool == "memcheck")
        assert "--port" in arguments


def test_findings_are_the_kernels_own(run, tmp_path):
    plan = {
        "control": dict.fromkeys(sanitizer.TOOLS, CAUGHT),
        "ours": clean(racecheck={"log": RACE, "launches": RAN}),
        "theirs": clean(synccheck={"log": "", "launches": None}),
    }
    by_key = {(r.variant, r.tool): r for r in run(plan).runs}
    race = by_key["ours", "racecheck"]
    assert (race.status, race.errors, race.warnings) == ("errors", 1, 1)
    silent = by_key["theirs", "synccheck"]
    assert (silent.status, silent.detail) == ("failed", "Segmentation fault")
    assert sum(r.status == "clean" for r in by_key.values()) == 4
    started = [(names, tool) for names, tool, _ in calls_of(tmp_path)]
    assert (["ours"], "racecheck") in started and (["theirs"], "synccheck") in started
    assert (["ours"], "memcheck") not in started


def test_after_a_launch_that_failed_each_kernel_is_started_alone(run, tmp_path):
    """It may have taken the context, and with it the launches of its neighbours."""
    failed = [{"name": "regular", "code": 700, "error": ""}]
    plan = {
        "control": dict.fromkeys(sanitizer.TOOLS, CAUGHT),
        "ours": clean(memcheck={"log": CLEAN, "launches": failed}),
        "theirs": clean(),
    }
    by_key = {(r.variant, r.tool): r.status for r in run(plan).runs}
    assert (by_key["ours", "memcheck"], by_key["theirs", "memcheck"]) == ("failed", "clean")
    assert (["theirs"], "memcheck") in [call[:2] for call in map(tuple, calls_of(tmp_path))]


def test_a_tool_that_misses_its_control_is_named(run):
    shown = {"memcheck": CAUGHT, "racecheck": {"log": RACE}, "synccheck": {"log": CLEAN}}
    plan = {"control": shown, "ours": clean(), "theirs": clean()}
    caught = {control.tool: control.caught for control in run(plan).controls}
    assert caught == {"memcheck": True, "racecheck": True, "synccheck": False}


def test_without_the_command_nothing_reads_as_clean(monkeypatch, tmp_path, arms, validated):
    monkeypatch.setattr(sanitizer, "find_command", lambda: None)
    record = run_sanitizer(SanitizerJob(TARGET, arms), SteadyGpu())
    assert validated("SanitizerRecord", record).status == "not_installed"
    assert record["runs"] == []
