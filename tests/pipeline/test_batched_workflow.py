"""The measuring rules through Snakemake itself, with a stand-in for the device's Python.

The stand-in hands out a made-up record for every job, from the fixture that the report's tests
judge; what is looked at here is which jobs it is given, in how many starts.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import AssayError, CheckFailed
from assay.base.io import read_record, write_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.judging.judge import judge
from assay.pipeline.failures import outputs_to_retry
from assay.pipeline.original_requests import project_commands
from assay.pipeline.plan import make_plan
from assay.pipeline.snakemake_run import run_workflow
from assay.records.base import Record
from assay.records.measurements import BenchmarkRecord
from assay.records.side_evidence import CheatsRecord, StopwatchRecord
from assay.records.timings import StepTiming
from assay.records.verdicts import Verdict
from tests.library_checkout import REPOSITORY, copy_code, write_config
from tests.pipeline.stand_in import do_stages, take_answers, write_stand_in
from tests.report_fixtures import cheats, make_request, provision, stopwatch, write_run

RUN, MEASURED = "batches", "measured/h100"
NAMES = ("duel_a", "duel_b", "duel_c")
STAND_IN = """
names = [comparison_of(job) for job in jobs]
with (folder / "starts").open("a") as log:
    log.write(" ".join([jobs[0]["task"], *names]).strip() + "\\n")
bad, slow, code = listed("bad"), listed("slow"), 0
for job, name in zip(jobs, names):
    output = Path(job["output"])
    if f"{job['task']}.{name}" in slow:
        (folder / "waiting").touch()
        for _ in range(3000):
            if (folder / "go").exists():
                break
            time.sleep(0.1)
    if listed("gone") == [job["task"]]:
        print("the GPU has fallen off the bus", file=sys.stderr)
        sys.exit(3)
    if job["task"] == "device":
        put(output, (folder / "device.json").read_bytes())
    elif f"{job['task']}.{name}" in bad:
        output.with_name(output.name + ".failure.json").write_text(json.dumps(
            {"schema": "assay/job_failure/2", "kind": "failed", "message": "it is bad"}
        ))
        code = 1
    else:
        found = list((folder / "records" / job["task"]).glob(f"{name or job['task']}.json*"))
        if not found:
            os.kill(os.getpid(), 11)
        source = found[0].read_bytes()
        if job["task"] == "benchmark":  # as if measured now, one after the other
            record = json.loads(unpacked(source))
            record["recorded_at"] = now()
            asked_processes(record, job)
            without_pauses(record)
            source = json.dumps(record).encode()
            time.sleep(0.4)  # to a second, the next begins when this one has ended
        put(output, source)
sys.exit(code)
"""


class Checkout:
    """A repository with three comparisons of libraries, and a device that answers from a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "checkout"
        write_config(self.root, ["h100"], NAMES, profiled=["first"])
        self._take_records()
        copy_code(self.root)
        python = folder / "python"
        write_stand_in(python, STAND_IN, folder)
        request = make_request(RUN, [provision()], ["fixture"])
        self.request = request.model_copy(update={"device_python": str(python)})

    def _take_records(self) -> None:
        made = write_run(self.root, "made")
        take_answers(made / "h100", self.folder / "records", self.folder / "device.json")
        shutil.rmtree(made)

    def measure(self, *stages: str) -> None:
        """Do stages, up to the benchmark by default, after the machine was looked at."""
        asked = stages or ("correctness", "benchmark")
        do_stages(self.root, self.request, "h100", "platform", *asked)

    def run(self, goal: str, again: Sequence[str] = ()) -> None:
        """Run the workflow up to a file of the run; raises as the command line would."""
        goal, catalog = f"results/{RUN}/{goal}", load_catalog(self.root)
        plan = make_plan(catalog, self.request)
        run_workflow(self.root, catalog, self.request, plan, cores=1, goal=goal, again=again)

    def run_project(self, folder: Path, again: Sequence[str] = ()) -> dict[str, Verdict]:
        """Measure what a project's source claims; the verdicts, by claim."""
        catalog = load_catalog(self.root, folder)
        commands = project_commands(catalog, ["post"], folder)
        more = {"home": str(folder), "sources": ("post",), "originals": commands}
        request = self.request.model_copy(update=more)
        plan, run_dir = make_plan(catalog, request), folder / "results" / RUN
        goal = str(run_dir / MEASURED)
        run_workflow(self.root, catalog, request, plan, cores=1, goal=goal, again=again)
        verdicts = judge(load_catalog(run_dir), load_evidence(run_dir)).verdicts
        return {verdict.claim: verdict for verdict in verdicts}

    def answer(self, task: str, name: str, record: Record) -> None:
        write_record(record, self.folder / "records" / task / f"{name}.json")

    def to_retry(self) -> list[str]:
        plan = make_plan(load_catalog(self.root), self.request)
        return outputs_to_retry(self.root / "results" / RUN, plan)

    def starts(self) -> list[str]:
        """The task and comparisons of each start of the device side, and forgets them."""
        log = self.folder / "starts"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    def files(self, stage: str) -> list[str]:
        found = (self.root / "results" / RUN / "h100" / stage).glob("[!.]*")
        return sorted(path.name for path in found)


def project(claims: Sequence[dict[str, Any]], **parts: Any) -> dict[str, Any]:
    return {
        "schema": "assay/project/1",
        "sources": [{"id": "post", "title": "A post"}],
        "claims": claims,
        **parts,
    }


def claimed(name: str, value: str, **answer: str) -> dict[str, Any]:
    """Return a claim of such a document on what an H100 does."""
    return {
        "id": name,
        "statement": "It is fast",
        "place": {"section": "Results", "line": 3},
        "value": value,
        "target": "h100",
        "answer": answer,
    }


def checkout_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """Return one whose processes run this repository's code and keep their locks in ``folder``."""
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(folder / "locks"))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "src"))
    return Checkout(folder)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return checkout_in(tmp_path, monkeypatch)


def test_a_stage_is_one_start_and_what_it_finished_outlives_a_failure(checkout: Checkout) -> None:
    (checkout.folder / "bad").write_text("benchmark.duel_b")
    with pytest.raises(AssayError) as caught:
        checkout.run(MEASURED)
    assert isinstance(caught.value, CheckFailed)
    assert "benchmark.h100: 1 of 3 failed" in str(caught.value)
    assert "duel_b: device job 'benchmark' failed: it is bad" in str(caught.value)
    every = " ".join(NAMES)
    first = ["device", f"correctness {every}", f"benchmark {every}"]
    assert checkout.starts()[:3] == first
    assert checkout.files("correctness") == [f"{name}.json" for name in NAMES]

    # What stands beside the figures fails into its record, and never the step.
    (checkout.folder / "bad").write_text("stopwatch.duel_a stopwatch.duel_b stopwatch.duel_c")
    checkout.run(MEASURED)
    assert checkout.starts() == ["benchmark duel_b", f"stopwatch {every}", "cheats"]
    assert checkout.files("benchmark") == [f"{name}.json.gz" for name in NAMES]
    path = checkout.root / "results" / RUN / "timings" / "benchmark.h100.json"
    assert read_record(StepTiming, path).arguments == {"target": "h100"}
    # No Nsight Compute here: that is a status of each arm's record.
    assert checkout.files("profile") == [f"{name}.first.json.gz" for name in NAMES]
    folder = checkout.root / "results" / RUN / "h100"
    for name in NAMES:
        found = read_record(StopwatchRecord, folder / "stopwatch" / f"{name}.json")
        assert [(arm.status, arm.detail) for arm in found.arms] == [
            ("failed", "device job 'stopwatch' failed: it is bad")
        ]
    told = read_record(CheatsRecord, folder / "cheats.json")
    assert told.status == "failed"
    assert "ended with code -11" in told.detail
    checkout.run(MEASURED)
    assert checkout.starts() == []

    # One definition changed: the plan does too, and what depends on it is found in the same run.
    comparisons = checkout.root / "config" / "comparisons" / "fixture.yaml"
    changed = comparisons.read_text().replace("control: first", "control: second", 1)
    comparisons.write_text(changed)
    checkout.run(MEASURED)
    assert {"correctness duel_a", "benchmark duel_a"} <= set(checkout.starts())


def test_another_start_tries_again_what_failed_and_nothing_else(checkout: Checkout) -> None:
    catalog, every = load_catalog(checkout.root), " ".join(NAMES)
    stages = ("cheats", "correctness", "benchmark", "stopwatch", "profile")
    (checkout.folder / "bad").write_text("stopwatch.duel_a stopwatch.duel_b stopwatch.duel_c")
    checkout.measure(*stages)
    # The profiles lack a tool, and will lack it again.
    assert checkout.to_retry() == [MEASURED]
    (checkout.folder / "bad").write_text("stopwatch.duel_c")
    for name in NAMES:
        checkout.answer("stopwatch", name, stopwatch(catalog, name, "h100"))
    checkout.starts()
    checkout.measure(*stages)
    assert checkout.starts() == ["cheats", f"stopwatch {every}"]

    assert checkout.to_retry() == [MEASURED]
    (checkout.folder / "bad").unlink()
    checkout.answer("cheats", "cheats", cheats("h100"))
    checkout.measure(*stages)
    assert checkout.starts() == ["cheats", "stopwatch duel_c"]
    assert checkout.files("stopwatch") == [f"{name}.json" for name in NAMES]
    path = checkout.root / "results" / RUN / "h100" / "cheats.json"
    assert read_record(CheatsRecord, path).status == "collected"
    assert checkout.to_retry() == []


class TestLooks:
    """A claim near the edge of its margin has its comparison looked at again."""

    @pytest.fixture
    def near(self, checkout: Checkout) -> Checkout:
        for name, old, new in (
            ("protocols.yaml", "processes: 5", "processes: [3, 5, 8]"),
            ("judging.yaml", "confidence:", "state_gap: 0.03\nconfidence:"),
        ):
            path = checkout.root / "config" / name
            path.write_text(path.read_text().replace(old, new))
        path = checkout.root / "config" / "claims" / "fixture.yaml"
        before, mine, after = path.read_text().partition("fixture_duel_b_h100")
        after = after.replace("value: 1.4", "value: 1.35", 1)
        path.write_text(before + mine + after.replace("resolution: 0.1", "resolution: 0.001", 1))
        return checkout

    def processes(self, checkout: Checkout) -> list[int]:
        folder = checkout.root / "results" / RUN / "h100" / "benchmark"
        records = [read_record(BenchmarkRecord, folder / f"{name}.json.gz") for name in NAMES]
        return [len(record.processes) for record in records]

    def test_only_what_a_verdict_hangs_on_is_measured_again(self, near: Checkout) -> None:
        near.measure()
        assert near.starts()[-2:] == [f"benchmark {' '.join(NAMES)}", "benchmark duel_b"]
        assert self.processes(near) == [3, 5, 3]
