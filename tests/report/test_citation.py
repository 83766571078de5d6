"""How a report is cited: an entry and a line of the same facts, whatever stands in them."""

from types import SimpleNamespace
from typing import Any

import pandas as pd

from assay.report.quoted_report import bibtex


def cited(*authors: str, signer: str = "A lab, first key", timed: bool = True) -> str:
    h200 = SimpleNamespace(timed=timed, product="NVIDIA H200 (outputs only)")
    h100 = SimpleNamespace(timed=True, product="NVIDIA H100 (SXM5)")
    report: Any = SimpleNamespace(
        run="a_run",
        commit=None,
        manifest_sha256="cd" * 32,
        verdicts=pd.DataFrame(
            {
                "gpu": ["NVIDIA H200", None, "NVIDIA H100", "NVIDIA H200"],
                "target": ["h200", None, "h100", "h200"],
            }
        ),
        contents=SimpleNamespace(
            catalog=SimpleNamespace(project=None, targets={"h200": h200, "h100": h100})
        ),
        signed=SimpleNamespace(
            signer=SimpleNamespace(keyid="ab", name=signer),
            statement=SimpleNamespace(predicate=SimpleNamespace(created="2026-11-22T00:00:00Z")),
        ),
    )
    return bibtex(report, authors, "1.0")


def test_the_entry_has_every_fact_once():
    assert cited("The authors") == (
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
    entry = cited("100 % & more", "B{", signer="a_b")
    assert r"{{100 \% \& more} and {B\{}}" in entry
    assert r"(a\_b)" in entry
