"""The tool that tries a site with many reports: what it makes is read as reports are."""

from pathlib import Path

from tools.synthetic_site import try_site

from tests.report_fixtures import signed_report, write_repository


def test_a_site_is_made_of_as_many_reports_as_are_asked_for(tmp_path: Path) -> None:
    base = signed_report(write_repository(tmp_path / "repo"))
    found = try_site(base, tmp_path / "tried", 3)
    reports = sorted(path.name for path in (tmp_path / "tried" / "reports").iterdir())
    assert reports == ["synthetic_0000", "synthetic_0001", "synthetic_0002"]
    assert len(list((tmp_path / "tried" / "site" / "reports").glob("*.html"))) == 3
    evidence = "evidence/plan.json"
    shared = tmp_path / "tried" / "reports" / "synthetic_0000" / evidence
    assert shared.samefile(base / evidence)
    assert found["largest_bytes"] < found["bytes"]
