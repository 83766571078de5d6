"""A source's own program in a report: lines, digests, figures, and that the report verifies."""

from pathlib import Path

from assay.base.io import read_record
from assay.records.verdicts import Status, VerdictsFile
from assay.verification.verify import verify
from tests.checkout_fixtures import describe_checkout_claims, with_checkout, write_checkout_records
from tests.report_fixtures import WHEN, signed_report, write_repository, write_run, write_verdicts


def test_the_report_tells_it_and_verifies(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    describe_checkout_claims(root)
    run_dir = write_run(root, asking=with_checkout)
    write_checkout_records(run_dir, WHEN)
    write_verdicts(root, run_dir)
    report = signed_report(root)

    found = read_record(VerdictsFile, report / "verdicts.json").verdicts
    (verdict,) = (entry for entry in found if entry.claim == "demo_elsewhere")
    assert (verdict.status, verdict.artifact) == (Status.REPRODUCED, "original")
    page = (report / "report.html").read_text()
    for words in (
        "./a | tail -1",
        "run line as the user gave it",
        "V13.0",
        f"a.cu: SHA-256 {'b' * 64}",
        f"checkout: 2 files, SHA-256 {'a' * 64}",
    ):
        assert words in page
    assert (report / "evidence" / "h100" / "original" / "demo_own.json.gz").is_file()
    assert verify(report, [report / "signer.pub"]).holds
