"""``./assay claims``: every claim and audit, for people and programs."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.cli.listing import claim_rows
from assay.cli.result_tables import show_claims
from assay.records.verdicts import Status, VerdictsFile
from assay.verification.trust import published_reports
from tests.report.told import told_report

ROOT = Path(__file__).resolve().parents[3]
NEWEST = published_reports(ROOT)[0]


class TestClaims:
    """Every claim and every audit."""

    def test_json_lists_claims_and_audits_by_kind(self, assay: Any) -> None:
        rows = json.loads(assay("claims", "--json").out)
        catalog = load_catalog(ROOT)
        assert {r["claim"] for r in rows if r["kind"] == "claim"} == set(catalog.claims)
        assert {r["claim"] for r in rows if r["kind"] == "audit"} == set(catalog.audits)
        assert len({tuple(row) for row in rows}) == 1, "all rows have the same keys"
        assert all(row["line"] >= 1 and row["statement"] for row in rows)

    def test_a_figure_that_its_source_does_not_print_says_so(
        self, assay: Any, tmp_path: Path
    ) -> None:
        folder = tmp_path / "mine"
        assert assay("new", folder).code == 0
        path = folder / "assay.yaml"
        computed = "value: 2,500 GB/s\n    computed: half of 5 TB/s"
        text = path.read_text().replace("value: 2,500 GB/s", computed)
        path.write_text(text.replace("value: 640 TFLOP/s", "value: 12,345,678 GFLOP/s"))
        asked = ("claims", "--project", folder)
        rows = {row["claim"]: row for row in json.loads(assay(*asked, "--json").out)}
        assert rows["softmax_bandwidth"]["computed"] == "half of 5 TB/s"
        assert rows["matmul_rate"]["computed"] is None
        listed = assay(*asked).out
        assert "2500 GB/s (computed)" in listed and listed.count("(computed)") == 1
        assert "12345678 GFLOP/s" in listed

    def test_an_audit_carries_the_figure_it_is_about(self, assay: Any) -> None:
        rows = {row["claim"]: row for row in json.loads(assay("claims", "--json").out)}
        gap = rows["s000_audit_gap"]
        assert (gap["value"], gap["unit"], gap["relation"]) == (5.4, "ratio", "equals")
        order = rows["s001_audit_pingpong_faster_s1024"]
        assert (order["value"], order["relation"]) == (None, "greater")

    def test_one_source_is_one_sources_rows(self, assay: Any) -> None:
        rows = json.loads(assay("claims", "--json", "--source", "003").out)
        assert {row["source"] for row in rows} == {"003"}
        assert {row["kind"] for row in rows} == {"claim", "audit"}

    def test_the_table_counts_both(self, assay: Any) -> None:
        catalog = load_catalog(ROOT)
        answer = assay("claims")
        assert answer.err.startswith(
            f"{len(catalog.claims)} claims, {len(catalog.audits)} audits of their arithmetic; "
        )
        assert len(answer.out.splitlines()) == 1 + len(catalog.claims) + len(catalog.audits)

    def test_a_row_says_where_the_claim_stands_in_the_newest_report(self, assay: Any) -> None:
        """The report may hold claims that there are no more."""
        rows = {row["claim"]: row for row in json.loads(assay("claims", "--json").out)}
        for verdict in read_record(VerdictsFile, NEWEST / "verdicts.json").verdicts:
            told = {"target": verdict.target, "status": verdict.status.value,
                    "reason": verdict.reason}  # fmt: skip
            if verdict.claim in rows:
                listed = rows[verdict.claim]["verdicts"]
                assert told in [{name: entry[name] for name in told} for entry in listed]
        assert sum(bool(row["verdicts"]) for row in rows.values()) > len(rows) / 2

    @pytest.mark.parametrize("status", ["not_run", "exceeded", "incorrect"])
    def test_a_status_selects(self, assay: Any, status: str) -> None:
        rows = json.loads(assay("claims", "--json", "--status", status).out)
        standing = read_record(VerdictsFile, NEWEST / "verdicts.json").verdicts
        catalog = load_catalog(ROOT)
        there = catalog.claims.keys() | catalog.audits.keys()
        assert {row["claim"] for row in rows} == {
            verdict.claim
            for verdict in standing
            if verdict.status == status and verdict.claim in there
        }

    def test_statuses_add_up(self, assay: Any) -> None:
        rows = json.loads(
            assay("claims", "--json", "--status", "exceeded", "--status", "not_run").out
        )
        asked = {"exceeded", "not_run"}
        found = [{verdict["status"] for verdict in row["verdicts"]} for row in rows]
        assert set().union(*found) >= asked
        assert all(statuses & asked for statuses in found)

    def test_a_status_that_there_is_none_of(self, assay: Any) -> None:
        answer = assay("claims", "--status", "wrong")
        assert answer.code == 2
        known = ", ".join(status.value for status in Status)
        assert answer.err == f"assay: there is no status 'wrong'; known: {known}\n"

    @pytest.mark.parametrize(
        ("text", "part"),
        [
            ("S003_GROUPED", "claim"),
            ("ping-pong SCHEDULE", "statement"),
            ("hybrid - use", "section"),
            ("assay", "source"),
        ],
    )
    def test_a_search_looks_at_ids_statements_sections_and_sources(
        self, assay: Any, text: str, part: str
    ) -> None:
        every = json.loads(assay("claims", "--json").out)
        rows = json.loads(assay("claims", "--json", "--search", text).out)
        assert 0 < len(rows) < len(every)
        assert any(text.lower() in row[part].lower() for row in rows)
        parts = ("claim", "statement", "section", "source")
        assert all(any(text.lower() in row[one].lower() for one in parts) for row in rows)

    def test_what_matches_nothing_is_an_empty_list(self, assay: Any) -> None:
        assert json.loads(assay("claims", "--json", "--search", "no such words").out) == []
        answer = assay("claims", "--search", "no such words")
        assert answer.code == 0
        assert len(answer.out.splitlines()) == 1


class TestVerdictsOfToday:
    """Causes, readings and figures of other hardware are listed with the claim."""

    @pytest.fixture(scope="class")
    @staticmethod
    def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        report = told_report(tmp_path_factory.mktemp("listed") / "repo")
        verdicts = read_record(VerdictsFile, report / "verdicts.json").verdicts
        listed = claim_rows(load_catalog(report / "evidence"), verdicts)
        return {row["claim"]: row for row in listed}

    def test_a_row_has_cause_and_readings(self, rows: dict[str, Any]) -> None:
        (verdict,) = rows["demo_rate"]["verdicts"]
        assert (verdict["status"], verdict["why"]) == ("misstated", "other_work")
        assert verdict["readings"] == [
            {"id": "primary", "holds": False},
            {"id": "whole", "holds": True},
            {"id": "wide", "holds": False},
        ]

    def test_several_verdicts_are_told_with_their_targets(
        self, rows: dict[str, Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        (verdict,) = rows["demo_ratio"]["verdicts"]
        absent = {**verdict, "target": "l4", "status": "not_run", "why": "no_device"}
        show_claims([{**rows["demo_ratio"], "verdicts": [absent, verdict]}], None)
        (line,) = capsys.readouterr().out.splitlines()[1:]
        assert line.split("\t")[1] == f"l4: not_run (no_device), {verdict['target']}: reproduced"

    def test_the_table_says_what_it_would_be_there_and_the_targets(
        self, rows: dict[str, Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        show_claims([*rows.values()], None)
        lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
        cells = {line[0]: line for line in lines}
        assert cells["demo_there"][1] == "h100: elsewhere (there: not_reproduced)"
        assert cells["demo_there"][4] == "l4"
        assert cells["demo_rate"][1] == "misstated (other_work)"
        assert cells["demo_ratio"][1] == "reproduced"
