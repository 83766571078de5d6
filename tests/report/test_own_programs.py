"""A source's own program in a report: lines, digests, figures, and that the report verifies."""

from pathlib import Path

from assay.base.io import read_record, write_record
from assay.records.originals import (
    CheckoutCopy,
    GivenLine,
    LineRun,
    OriginalJob,
    OriginalRunRecord,
)
from assay.records.plan import Answer, Plan
from assay.records.verdicts import Status, VerdictsFile
from assay.verification.verify import verify
from tests.report_fixtures import UUID, signed_report, write_repository, write_run, write_verdicts

OWN = """
original:
  id: demo_own
  file: a.cu
  place: {section: Files, line: 1}
  build: {line: nvcc a.cu -o a, place: {section: Files, line: 2}}
  run: null
  figures: [{claim: demo_elsewhere, pattern: '{value} TFLOPS', unit: tflop_per_s}]
"""
JOB = OriginalJob(
    source="demo",
    original="demo_own",
    checkout=CheckoutCopy(files=1, bytes=1, sha256="a" * 64),
    build=GivenLine(line="nvcc a.cu -o a", by="source"),
    run=GivenLine(line="./a | tail -1", by="user"),
)


MEASURED = {"way": "measure", "reason": None, "target": "h100", "detail": "found a GPU"}


def said(text: str) -> LineRun:
    return LineRun(exit_code=0, seconds=1.0, stdout=text, stderr="", cut=False)


def measured(answer: Answer) -> Answer:
    if answer.claim != "demo_elsewhere":
        return answer
    return answer.model_copy(update=MEASURED)


def test_the_report_tells_it_and_verifies(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    (claims,) = (root / "config" / "claims").glob("*.yaml")
    claims.write_text(claims.read_text() + OWN)
    run_dir = write_run(root)
    plan = read_record(Plan, run_dir / "plan.json")
    planned = plan.targets[0].model_copy(update={"originals": (JOB,)})
    answers = tuple(map(measured, plan.answers))
    plan = plan.model_copy(update={"targets": (planned,), "answers": answers})
    write_record(plan, run_dir / "plan.json")
    record = OriginalRunRecord(
        schema="assay/original_run/1",
        source=JOB.source,
        original=JOB.original,
        target="h100",
        gpu_uuid=UUID,
        recorded_at="2026-11-22T06:00:00Z",
        file="a.cu",
        file_sha256="b" * 64,
        checkout=JOB.checkout,
        compiler=said("nvcc\nV13.0"),
        build_line=JOB.build,
        build=said(""),
        run_line=JOB.run,
        runs=tuple(said(f"{value} TFLOPS\n") for value in (450.0, 451.0, 449.0, 450.0, 450.5)),
    )
    folder = run_dir / "h100" / "original"
    folder.mkdir(parents=True)
    write_record(record, folder / "demo_own.json.gz")
    write_verdicts(root, run_dir)
    report = signed_report(root)

    found = read_record(VerdictsFile, report / "verdicts.json").verdicts
    (verdict,) = (entry for entry in found if entry.claim == "demo_elsewhere")
    assert (verdict.status, verdict.artifact) == (Status.REPRODUCED, "original")
    for name, line in (("report.html", "./a | tail -1"), ("report.md", "./a \\| tail -1")):
        page = (report / name).read_text()
        assert line in page
        for words in ("run line as the user gave it", "V13.0", f"a.cu: SHA-256 {'b' * 64}"):
            assert words in page
        assert f"checkout: 1 file, SHA-256 {'a' * 64}" in page
    assert (report / "evidence" / "h100" / "original" / "demo_own.json.gz").is_file()
    assert verify(report, [report / "signer.pub"]).passed
