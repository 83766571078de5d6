"""Figures that arithmetic contradicts are on the page before anything is measured."""

from pathlib import Path

from assay.records.attestation import PAGE, TEXT
from assay.report.render import render
from tests.report_fixtures import provision, write_repository, write_run


def pages(folder: Path, value: str) -> tuple[str, str]:
    """The page and the text of a run without a GPU; ``value`` is claimed of what never runs."""
    root = write_repository(folder / "repo")
    claims = root / "config" / "claims" / "demo.yaml"
    text = claims.read_text()
    assert text.count("value: 450") == 1
    claims.write_text(text.replace("value: 450", f"value: {value}"))
    report = root / "reports" / "demo_run"
    render(root, write_run(root, provisions=(provision(kind="none"),)), report)
    return (report / PAGE).read_text(), (report / TEXT).read_text()


def test_a_claim_beyond_the_peak_is_listed_and_noted(tmp_path: Path) -> None:
    page, text = pages(tmp_path, "2450")
    (listed,) = [line for line in page.splitlines() if 'href="#demo_elsewhere"' in line
                 and "beyond" in line]  # fmt: skip
    assert "2450 TFLOP/s is beyond" in listed
    assert "By arithmetic alone: 2450 TFLOP/s is beyond" in page
    assert "report.html#demo_elsewhere" in text
    assert "2450 TFLOP/s is beyond" in text
