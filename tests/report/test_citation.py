"""How a report is cited: an entry and a line of the same facts, whatever stands in them."""

from dataclasses import replace
from pathlib import Path

from assay.report.quoted_report import CitedReport, bibtex

ROOT = Path(__file__).resolve().parents[2]

REPORT = CitedReport(
    run="a_run",
    created="2026-11-22T00:00:00Z",
    authors=("The authors",),
    signer="A lab, first key",
    keyid="ab",
    manifest_sha256="cd" * 32,
    commit=None,
    products=("NVIDIA H100", "NVIDIA H200"),
    project=None,
    version="1.0",
    address=None,
)


def test_the_entry_has_every_fact_once():
    assert bibtex(REPORT) == (
        "@misc{assay_a_run_cdcdcdcd,\n"
        "  title        = {{Published GPU-kernel figures, measured again on NVIDIA H100 and "
        "NVIDIA H200}},\n"
        "  author       = {{The authors}},\n"
        "  year         = {2026},\n"
        "  month        = {November},\n"
        "  howpublished = {Assay 1.0, report a\\_run},\n"
        "  note         = {Signed report of run a\\_run, 2026-11-22; SHA-256 of manifest.json "
        f"{'cd' * 32}; signed by key ab (A lab, first key)}},\n"
        "}\n"
    )


def test_what_tex_would_read_otherwise_is_escaped():
    entry = bibtex(replace(REPORT, authors=("100 % & more", "B{"), signer="a_b"))
    assert r"{{100 \% \& more} and {B\{}}" in entry
    assert r"(a\_b)" in entry
