"""The measuring rules through Snakemake itself, with a stand-in for the device's Python.

The stand-in hands out a made-up record for every job, from the fixture that the report's tests
judge; what is looked at here is which jobs it is given, in how many starts.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import AssayError, CheckFailed
from assay.io import dump_record, read_record, write_bytes, write_record
from assay.records.measurements import CheatsRecord, StopwatchRecord
from assay.records.platform import PlatformRecord
from assay.records.sanitizer import SanitizerRecord
from assay.records.timings import StepTiming
from assay.run import run_workflow
from tests.report_fixtures import JUDGING, PROTOCOLS, make_request, provision, write_run

REPOSITORY = Path(__file__).resolve().parents[1]
CODE = ("Snakefile", "workflow", "profiles", "src", "requirements")
RUN = "batches"
NAMES = ("duel_a", "duel_b", "duel_c")
STAND_IN = """#!{python}
import json, os, shutil, sys
from pathlib import Path

folder, jobs = Path({folder!r}), [json.loads(Path(path).read_text()) for path in sys.argv[3:]]
names = [job["comparison"]["id"] if "comparison" in job else "" for job in jobs]
with (folder / "starts").open("a") as log:
    log.write(" ".join([jobs[0]["task"], *names]).strip() + "\\n")
bad = (folder / "bad").read_text().split() if (folder / "bad").exists() else []
code = 0
for job, name in zip(jobs, names):
    output = Path(job["output"])
    if job["task"] == "device":
        shutil.copyfile(folder / "device.json", output)
    elif f"{{job['task']}}.{{name}}" in bad:
        output.with_name(output.name + ".failure.json").write_text('{{"message": "it is bad"}}')
        code = 1
    else:
        if job["task"] in ("cheats", "sanitize", "operators"):
            os.kill(os.getpid(), 11)
        source = next((folder / "records" / job["task"]).glob(f"{{name}}.json*")).read_bytes()
        if source[:2] != b"\\x1f\\x8b":
            import gzip
            source = gzip.compress(source)
        output.write_bytes(source)
sys.exit(code)
"""
CLAIMS = f"""
schema: assay/claims/1
source:
  {{id: fixture, title: A test fixture, date: "2025-11-01", file: none.txt, sha256: {"ab" * 32}}}
claims:
""" + "".join(
    f"""
  - id: fixture_{name}
    kind: measurement
    statement: One library beside another
    place: {{section: Results, line: 1}}
    value: 1.4
    unit: ratio
    resolution: 0.1
    hardware: {{target: h100, as_stated: h100}}
    evaluation:
      kind: benchmark
      metric: rate_ratio
      terms: [{{comparison: {name}, arm: second, over: first}}]
"""
    for name in NAMES
)
WORKLOADS = """
schema: assay/workloads/1
workloads:
  - id: fixture_bsr
    operation: bsr_gemm
    dtype: float16
    distribution: normal
    seed: 1
    m: 1024
    n: 1024
    k: 1024
    pattern: {kind: random, block_rows: 128, block_cols: 128, blocks_per_row: 2}
    relative_tolerance: 1.0e-3
"""
COMPARISONS = "schema: assay/comparisons/1\ncomparisons:\n" + "".join(
    f"""
  - id: {name}
    title: Two libraries
    protocol: standard
    control: first
    profile: [first]
    arms:
      - {{id: first, variant: torch_bsr, workload: fixture_bsr}}
      - {{id: second, variant: cusparse_bsr, workload: fixture_bsr}}
"""
    for name in NAMES
)
KERNELS = "schema: assay/kernels/1\nvariants:\n" + "".join(
    f"""
  - id: {name}
    operation: bsr_gemm
    title: "{name}"
    kind: library
    entry: {name}
    artifact: original
    built_from: as installed
"""
    for name in ("torch_bsr", "cusparse_bsr")
)
CONFIG = """
schema: assay/run/1
sources: [fixture]
targets: [h100]
runtime: host
executor: local
"""


class Checkout:
    """A repository with three comparisons of libraries, and a device that answers from a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "checkout"
        files = {
            "config/config.yaml": CONFIG,
            "config/claims/fixture.yaml": CLAIMS,
            "config/workloads/fixture.yaml": WORKLOADS,
            "config/comparisons/fixture.yaml": COMPARISONS,
            "config/protocols.yaml": PROTOCOLS,
            "config/judging.yaml": JUDGING,
            "kernels/bsr_gemm/kernel.yaml": KERNELS,
        }
        for path, text in files.items():
            write_bytes(self.root / path, text.encode())
        target = "config/targets/h100.yaml"
        write_bytes(self.root / target, (REPOSITORY / target).read_bytes())
        self._take_records()
        for name in CODE:
            source = REPOSITORY / name
            copy: Callable[..., object] = shutil.copytree if source.is_dir() else shutil.copyfile
            copy(source, self.root / name)
        python = folder / "python"
        python.write_text(STAND_IN.format(python=sys.executable, folder=str(folder)))
        python.chmod(0o755)
        request = make_request(RUN, [provision()], ["fixture"])
        self.request = request.model_copy(update={"device_python": str(python)})
        self.request_path = self.root / "results" / RUN / "request.json"

    def _take_records(self) -> None:
        made = write_run(self.root, "made")
        for stage in ("correctness", "benchmark"):
            shutil.copytree(made / "h100" / stage, self.folder / "records" / stage)
        platform = read_record(PlatformRecord, made / "h100" / "platform.json")
        (self.folder / "device.json").write_bytes(dump_record(platform.device))
        shutil.rmtree(made)

    def measure(self, stage: str = "benchmark") -> None:
        """Run the workflow up to the folder of a stage; raises as the command line would."""
        write_record(self.request, self.request_path)
        goal = f"results/{RUN}/h100/{stage}"
        run_workflow(self.root, self.request, self.request_path, cores=1, goal=goal)

    def starts(self) -> list[str]:
        """The task and comparisons of each start of the device side, and forgets them."""
        log = self.folder / "starts"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def files(self, stage: str) -> list[str]:
        found = (self.root / "results" / RUN / "h100" / stage).glob("[!.]*")
        return sorted(path.name for path in found)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "src"))
    return Checkout(tmp_path)


def test_a_stage_is_one_start_and_what_it_finished_outlives_a_failure(checkout: Checkout) -> None:
    (checkout.folder / "bad").write_text("benchmark.duel_b")
    with pytest.raises(AssayError) as caught:
        checkout.measure()
    assert isinstance(caught.value, CheckFailed)
    assert "benchmark.h100: 1 of 3 failed" in str(caught.value)
    assert "duel_b: device job 'benchmark' failed: it is bad" in str(caught.value)
    every = " ".join(NAMES)
    assert checkout.starts() == ["device", f"correctness {every}", f"benchmark {every}"]
    assert checkout.files("correctness") == [f"{name}.json" for name in NAMES]

    (checkout.folder / "bad").unlink()
    checkout.measure()
    assert checkout.starts() == ["benchmark duel_b"]
    assert checkout.files("benchmark") == [f"{name}.json.gz" for name in NAMES]
    path = checkout.root / "results" / RUN / "timings" / "benchmark.h100.json"
    assert read_record(StepTiming, path).arguments == {"target": "h100"}

    # No Nsight Compute here: that is a status of each arm's record.
    checkout.measure("profile")
    assert checkout.files("profile") == [f"{name}.first.json.gz" for name in NAMES]
    assert checkout.starts() == []

    # What stands beside the figures fails into its record, and never the step.
    (checkout.folder / "bad").write_text("stopwatch.duel_a stopwatch.duel_b stopwatch.duel_c")
    checkout.measure("stopwatch")
    folder = checkout.root / "results" / RUN / "h100"
    for name in NAMES:
        found = read_record(StopwatchRecord, folder / "stopwatch" / f"{name}.json")
        assert [(arm.status, arm.detail) for arm in found.arms] == [
            ("failed", "device job 'stopwatch' failed: it is bad")
        ]
    for stage, record in (("cheats", CheatsRecord), ("sanitizer", SanitizerRecord)):
        checkout.measure(f"{stage}.json")
        told = read_record(record, folder / f"{stage}.json")
        assert told.status == "failed"
        assert "ended with code -11" in told.detail
    (checkout.folder / "bad").unlink()
    checkout.starts()

    # One definition changed: the plan does too, and what depends on it is found in the same run.
    comparisons = checkout.root / "config" / "comparisons" / "fixture.yaml"
    changed = comparisons.read_text().replace("Two libraries", "Two old libraries", 1)
    comparisons.write_text(changed)
    checkout.measure()
    assert checkout.starts() == ["correctness duel_a", "benchmark duel_a"]
