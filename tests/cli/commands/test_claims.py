"""``./assay claims``: every claim and audit, for people and programs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.judging.counts import outcome, rows_by_claim
from assay.records.verdicts import Verdict, VerdictsFile
from assay.report.verdict_text import lead_of
from assay.verification.trust import published_reports

ROOT = Path(__file__).resolve().parents[3]
NEWEST = published_reports(ROOT)[0]


def judged() -> list[Verdict]:
    """Return the newest report's verdicts on claims that there still are."""
    catalog = load_catalog(ROOT)
    there = catalog.claims.keys() | catalog.audits.keys()
    verdicts = read_record(VerdictsFile, NEWEST / "verdicts.json").verdicts
    return [verdict for verdict in verdicts if verdict.claim in there]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """What ``./assay claims --json`` says, started once: it opens every published report."""
    words = [sys.executable, "-m", "assay.cli", "claims", "--json"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # fmt: skip
    found: list[dict[str, Any]] = json.loads(told.stdout)
    return found


class TestClaims:
    """Every claim and every audit."""

    def test_json_lists_claims_and_audits_by_kind(self, rows):
        catalog = load_catalog(ROOT)
        assert {r["claim"] for r in rows if r["kind"] == "claim"} == set(catalog.claims)
        assert {r["claim"] for r in rows if r["kind"] == "audit"} == set(catalog.audits)
        assert len({tuple(row) for row in rows}) == 1, "all rows have the same keys"
        assert all(row["line"] >= 1 and row["statement"] for row in rows)

    def test_a_row_says_where_the_claim_stands_in_the_newest_report(self, rows):
        """The report may hold claims that there are no more."""
        rows = {row["claim"]: row for row in rows}
        for verdict in read_record(VerdictsFile, NEWEST / "verdicts.json").verdicts:
            told = {"target": verdict.target, "status": verdict.status.value,
                    "reason": verdict.reason}  # fmt: skip
            if verdict.claim in rows:
                listed = rows[verdict.claim]["verdicts"]
                assert told in [{name: entry[name] for name in told} for entry in listed]
        assert sum(bool(row["verdicts"]) for row in rows.values()) > len(rows) / 2

    def test_a_claim_is_told_by_the_newest_report_that_speaks_of_it(self, rows):
        """The newest of all was asked for others; whoever names no source sees these, too."""
        assert all(verdict.source != "sm_89" for verdict in judged())
        told: dict[str, set[str | None]] = {}
        for row in rows:
            told.setdefault(row["source"], set()).add(row["status"])
        assert told["sm_89"] == {"reproduced"}
        assert told["l4_model"] == {None, "reproduced"}  # two programs that checked themselves
        assert None not in told["000"]

    def test_of_two_sources_each_is_told_by_its_own_report(self, assay: Any) -> None:
        answer = assay("claims", "--json", "--source", "001", "--source", "sm_89")
        rows = json.loads(answer.out)
        told = {row["source"] for row in rows if row["verdicts"]}
        assert told == {"001", "sm_89"}

    def test_what_was_foretold_stands_beside_each_figure_of_an_l4(self, assay, rows):
        told = [row for row in rows if row["source"] == "004" and row["predicted"]]
        foretold = {row["claim"]: row["predicted"] for row in told}
        assert foretold.keys() == {
            *("s004_fmha_time", "s004_fmha_rate", "s004_fmha_rate_printed"),
            *("s004_sdpa_time", "s004_sdpa_rate", "s004_speedup"),
        }
        (told,) = foretold["s004_speedup"]
        claim = load_catalog(ROOT).claims["l4_model_speedup"]
        assert (told["source"], told["value"], told["to"]) == ("l4_model", claim.value, claim.to)
        heads, *lines = assay("claims", "--source", "004").out.splitlines()
        at = heads.split("\t").index("predicted")
        cells = {line.split("\t")[0]: line.split("\t")[at] for line in lines}
        assert "l4_model" in cells["s004_speedup"]
        assert cells["s004_sparsek_rate"] == ""

    def test_a_status_selects_what_the_page_does(self, assay, rows):
        of_verdicts = rows_by_claim(judged())
        outcomes = {claim: outcome(lead_of(found)) for claim, found in of_verdicts.items()}
        assert len(set(outcomes.values())) > 4
        for row in rows:
            assert row["outcome"] == outcomes.get(row["claim"], row["outcome"])
        chosen = json.loads(assay("claims", "--json", "--source", "003", "--status", "not_run").out)
        assert {row["claim"] for row in chosen} == {
            row["claim"] for row in rows if row["source"] == "003" and row["outcome"] == "not_run"
        }
