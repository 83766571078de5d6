"""Profiles of many arms from one start of Nsight Compute, with stand-ins for it and for the GPU."""

import sys
from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.measuring.nsight_compute import METRICS, profile_arms
from assay.records.side_evidence import ProfileRecord
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime
from assay.shared.job import ProfileJob
from assay.shared.specs import ArmSpec
from tests.jobs import KERNEL, SPARSE, TARGET, comparison
from tests.pipeline.stand_in import write_program

DURATION = METRICS[0]
DEVICE = """#!/usr/bin/env -S "{python}"
import json, sys, time
from pathlib import Path

code = 0
rows = Path({folder!r}, "rows")
for argument in sys.argv[3:]:
    job = json.loads(Path(argument).read_text())
    output, arm = Path(job["output"]), job["job"]["arm"]
    if arm == "unsupported":
        failure = {{"schema": "assay/job_failure/2", "kind": "failed", "message": "no such shape"}}
        output.with_name(output.name + ".failure.json").write_text(json.dumps(failure))
        code = 1
        continue
    if arm == "hangs":
        time.sleep(60)
    with rows.open("a") as file:
        if not (arm == "unmarked" and len(sys.argv) > 4):
            file.write("spin_kernel 1\\n")
        if arm != "broken":
            file.write(f"small_{{arm}} 2\\nbig_{{arm}} 50\\n")
    ok = arm != "broken"
    output.write_text(json.dumps({{"ok": ok, "detail": "" if ok else "illegal address"}}))
sys.exit(code)
"""
NCU = """#!/usr/bin/env -S "{python}"
import subprocess, sys
from pathlib import Path

folder, arguments = Path({folder!r}), sys.argv[1:]
if "--import" in arguments:
    print("==PROF== reading")
    rows = Path(arguments[arguments.index("--import") + 1]).read_text().splitlines()
    print('"ID","Kernel Name","{duration}"')
    print('"","","ns"')
    for number, row in enumerate(rows):
        name, length = row.split()
        print(f'"{{number}}","{{name}}(int, float)","{{length}}"')
    print("==WARNING== nothing of note")
    sys.exit(0)
with (folder / "starts").open("a") as log:
    log.write("start\\n")
(folder / "rows").unlink(missing_ok=True)
code = subprocess.run(arguments[arguments.index("-m") - 1 :]).returncode
log = Path(arguments[arguments.index("--log-file") + 1])
if (folder / "refuse").exists():
    log.write_text("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")
elif (folder / "rows").exists():
    Path(arguments[arguments.index("--export") + 1]).write_text((folder / "rows").read_text())
sys.exit(code)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    names = {"python": sys.executable, "folder": str(tmp_path), "duration": DURATION}
    for name, text in (("ncu", NCU), ("python", DEVICE)):
        write_program(tmp_path / "bin" / name, text.format(**names))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    return Place(HostRuntime(), python=str(tmp_path / "bin" / "python"))


def job(arm: str) -> ProfileJob:
    return ProfileJob(TARGET, comparison(ArmSpec(arm, KERNEL, SPARSE, None)), arm)


def profiled(place: Place, *arms: str) -> list[ProfileRecord]:
    records = profile_arms(place, [job(arm) for arm in arms], "GPU-0")
    assert all(isinstance(record, ProfileRecord) for record in records)
    assert [record.arm for record in records] == list(arms)
    return records


def starts(tmp_path: Path) -> int:
    return len((tmp_path / "starts").read_text().splitlines())


def test_each_arm_has_its_own_kernels_from_one_start(place: Place, tmp_path: Path):
    records = profiled(place, "first", "second", "third")
    assert [r.kernel for r in records] == [f"big_{r.arm}(int, float)" for r in records]
    assert starts(tmp_path) == 1
    assert records[1].metrics == {DURATION: 50.0}
    assert records[1].units == {DURATION: "ns"}
    assert "small_second" in records[1].raw_page
    assert "first" not in records[1].raw_page
    assert "spin_kernel" not in records[1].raw_page


def test_an_arm_that_fails_beside_others_is_tried_by_itself(place: Place, tmp_path: Path):
    records = profiled(place, "first", "unsupported", "broken", "last")
    found, *failed, last = (record.status for record in records)
    assert (found, failed, last) == ("collected", ["unsupported"] * 2, "collected")
    assert "no such shape" in records[1].detail
    assert records[2].detail == "illegal address"
    assert records[3].kernel == "big_last(int, float)"
    assert starts(tmp_path) == 3


def test_a_driver_that_refuses_is_asked_once(place: Place, tmp_path: Path):
    (tmp_path / "refuse").touch()
    records = profiled(place, "first", "second")
    assert {record.status for record in records} == {"permission_denied"}
    assert starts(tmp_path) == 1


def test_an_arm_that_hangs_is_a_status_and_the_others_are_profiled(place, tmp_path, monkeypatch):
    monkeypatch.setattr("assay.measuring.nsight_compute.TOGETHER_S", 6.0)
    monkeypatch.setattr("assay.measuring.nsight_compute.ALONE_S", 6.0)
    jobs = [job(arm) for arm in ("first", "hangs", "last")]
    first, hung, last = profile_arms(place, jobs, "GPU-0")
    assert isinstance(hung, CheckFailed)
    assert str(hung) == "stopped after 6 s"
    assert [r.status for r in (first, last) if isinstance(r, ProfileRecord)] == ["collected"] * 2
    assert starts(tmp_path) == 4


def test_without_a_profiler(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert {record.status for record in profiled(place, "first", "second")} == {"not_installed"}
