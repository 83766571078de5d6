"""Whatever fails of an arm on the GPU, its report is signed, verifies and says what failed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.io import dump_record, read_record, write_record
from assay.device.timing.schedule import CONTROL
from assay.evidence.stages import benchmark_path, build_path, correctness_path, sanitizer_path
from assay.records.attestation import PAGE, TEXT, VERDICTS
from assay.records.base import Record
from assay.records.builds import BuildRecord
from assay.records.measurements import BenchmarkRecord, CorrectnessRecord
from assay.records.side_evidence import SanitizerRecord
from assay.records.verdicts import Status, VerdictsFile
from assay.report.render import render
from assay.verification.sign import sign
from assay.verification.verify import VerificationLog, verify
from tests.catalog.test_project import CODE
from tests.report_fixtures import write_repository, write_run, write_verdicts
from tests.verification.test_project_report import document

RUN = "demo_run"
ARM = "ours"
VARIANT = f"rows_{ARM}"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A finished run of a project with a CUDA arm, a claim on it and one on the other arm."""
    content = document()
    (measurement,) = content["measurements"]
    measurement["small"] = {"rows": 256}
    measurement["arms"][ARM] = {
        "title": "a kernel",
        "source": "rows.cu",
        "symbol": "rows",
        "operands": ["x"],
        "sizes": ["rows"],
        "archs": ["sm_90a"],
    }
    theirs = {"measurement": "rows", "arm": "theirs"}
    content["claims"][1:] = [{**content["claims"][1], "answer": theirs}]
    root = write_repository(tmp_path / "repo")
    (root / "project").mkdir()
    (root / "project" / "assay.yaml").write_text(yaml.safe_dump(content))
    (root / "project" / "rows.py").write_text(CODE)
    (root / "project" / "rows.cu").write_text("// none\n")
    made = write_run(root, RUN)
    watched = made / sanitizer_path("h100")
    record = read_record(SanitizerRecord, watched)
    runs = tuple(
        run.model_copy(update={"shapes": ("small",)}) if run.variant == VARIANT else run
        for run in record.runs
    )
    write_record(record.model_copy(update={"runs": runs}), watched)
    return made


def edit(path: Path, kind: type[Record], change: Callable[[Any], object]) -> None:
    document = json.loads(dump_record(read_record(kind, path)))
    change(document)
    write_record(kind.model_validate_json(json.dumps(document)), path)


def gate(run_dir: Path, name: str, **changes: Any) -> None:
    def change(record: Any) -> None:
        (arm,) = (arm for arm in record["arms"] if arm["arm"] == name)
        arm.update({"checks": [], "refused": None, **changes})

    edit(run_dir / correctness_path("h100", "rows"), CorrectnessRecord, change)


def drop(run_dir: Path, *arms: str, why: str, wrong: bool = False) -> None:
    """Leave the samples of arms out, as a benchmark does that finds them wrong or failed."""
    names = {*arms, CONTROL} if "theirs" in arms else set(arms)

    def without(entries: list[Any]) -> list[Any]:
        return [entry for entry in entries if entry["arm"] not in names]

    def change(record: Any) -> None:
        record.update(not_timed=dict.fromkeys(arms, why), wrong=list(arms) if wrong else [])
        for process in record["processes"]:
            process["arms"] = without(process["arms"])
            for block in process["blocks"]:
                block["turns"] = without(block["turns"])
        record["processes"] = [each for each in record["processes"] if each["arms"]]

    edit(run_dir / benchmark_path("h100", "rows"), BenchmarkRecord, change)


def does_not_compile(run_dir: Path) -> None:
    failed = {"status": "failed", "artifact": None, "diagnostics": "rows.cu: error: no such thing"}
    edit(run_dir / build_path(VARIANT, "sm_90a"), BuildRecord, lambda build: build.update(failed))
    gate(run_dir, ARM, status="failed", binary_sha256=None)
    drop(run_dir, ARM, why="failed: it has no binary")

    def unsanitized(record: Any) -> None:
        record["runs"] = [run for run in record["runs"] if run["variant"] != VARIANT]

    edit(run_dir / sanitizer_path("h100"), SanitizerRecord, unsanitized)


def refuses_the_problem(run_dir: Path) -> None:
    gate(run_dir, ARM, status="unsupported", detail="too many rows")
    drop(run_dir, ARM, why="unsupported: too many rows")


def crashes_in_the_gate(run_dir: Path) -> None:
    gate(run_dir, ARM, status="failed", detail="died of SIGSEGV")
    drop(run_dir, ARM, why="failed: died of SIGSEGV")


def crashes_while_timed(run_dir: Path) -> None:
    drop(run_dir, ARM, why="failed: died of SIGSEGV")


def is_wrong_while_timed(run_dir: Path) -> None:
    why = "incorrect: the output of a timed launch is wrong (relative error 0.9)"
    drop(run_dir, ARM, why=why, wrong=True)


def takes_one_dict(run_dir: Path) -> None:
    """The other arm, which is the control, too."""
    says = "arm 'theirs' (rows.py, line 1) is called with x: TypeError: an unexpected argument"
    gate(run_dir, "theirs", status="failed", detail=says)
    drop(run_dir, "theirs", why=f"failed: {says}")


def nothing_works(run_dir: Path) -> None:
    for arm in (ARM, "theirs"):
        gate(run_dir, arm, status="failed", detail="it died")
    drop(run_dir, ARM, "theirs", why="failed: it died")


FAILURES = {
    does_not_compile: ("not_run", "build_failed", "no such thing"),
    refuses_the_problem: ("not_run", "not_in_build", "too many rows"),
    crashes_in_the_gate: ("not_run", "run_failed", "died of SIGSEGV"),
    crashes_while_timed: ("not_run", "run_failed", "died of SIGSEGV"),
    is_wrong_while_timed: ("incorrect", "wrong_output", "of a timed launch is wrong"),
    takes_one_dict: ("not_run", "run_failed", "rows.py, line 1"),
    nothing_works: ("not_run", "run_failed", "it died"),
}


@pytest.mark.parametrize("fail", FAILURES, ids=lambda fail: str(fail.__name__))
def test_the_report_verifies_and_says_what_failed(fail, run_dir):
    fail(run_dir)
    root = run_dir.parents[1]
    write_verdicts(root, run_dir)
    report, key = root / "reports" / RUN, root.parent / "key"
    render(root, run_dir, report)
    sign(report, key)
    verify(report, [Path(f"{key}.pub")], log=VerificationLog())

    status, reason, words = FAILURES[fail]
    found = {each.claim: each for each in read_record(VerdictsFile, report / VERDICTS).verdicts}
    assert (found["ratio"].status, found["ratio"].reason) == (status, reason)
    assert words in found["ratio"].explanation
    works = found["bandwidth"].status is not Status.NOT_RUN
    assert works is (fail not in (takes_one_dict, nothing_works))
    assert words in (report / PAGE).read_text(encoding="utf-8")
    if status == "incorrect":
        assert "1 incorrect" in (report / TEXT).read_text(encoding="utf-8")
