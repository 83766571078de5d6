"""``./assay compare``: what changed first, what else differs, verified before it is shown."""

import re
import shutil
from html import escape
from pathlib import Path
from typing import Any

import pytest

from assay.verification.sign import sign

TITLE, CLAIMED = "Sparse kernel <b>fast</b> | at BK=32", "200 TFLOP/s"
"""Of the fixture's claim ``demo_rate``."""


def rows(answer: Any) -> list[list[str]]:
    return [line.split("\t") for line in answer.out.splitlines()[1:]]


class TestWhatIsShown:
    """Changed and shifted figures, and the rest where it is asked for."""

    def test_changed_ones_come_first_and_say_why(self, assay, report, key, full_report, tmp_path):
        other = shutil.copytree(full_report, tmp_path / "demo_run")
        sign(other, tmp_path / "key")
        both = (*key, "--key", other / "signer.pub")
        answer = assay("compare", report, other, *both, "--all")
        found = rows(answer)
        hows = [row[2] for row in found]
        assert hows == sorted(hows, key=["changed", "shifted", "some", "rest"].index)
        by_claim = {(row[0], row[3]): row for row in found}
        changed = by_claim["demo_rate", "h100"]
        assert changed[2] == "changed"
        assert changed[6].startswith("reproduced: ")
        assert changed[7].startswith("misstated: ")
        assert changed[7].endswith("(other work counted, it seems)")
        short = assay("compare", report, other, *both)
        listed = [row[2] for row in rows(short)]
        for how in ("changed", "shifted"):
            assert listed.count(how) == sum(map(int, re.findall(rf"(\d+) {how}", short.err)))

    def test_the_page_holds_everything(self, assay, report, key, tmp_path):
        page = tmp_path / "page.html"
        answer = assay("compare", report, report, *key, "--all", "--html", page)
        claims = {row[0] for row in rows(answer) if len(row) > 1}
        assert "demo_rate" in claims
        text = page.read_text().replace("\N{NO-BREAK SPACE}", " ")
        assert all(claim in text for claim in claims)
        assert escape(TITLE) in text and CLAIMED in text
        assert "<script" not in text and "http" not in text.replace("http-equiv", "")


def test_a_claim_of_no_report_is_refused(assay: Any, report: Path, key: Any) -> None:
    answer = assay("compare", report, report, *key, "--claim", "demo_rte")
    assert answer.code == 2
    assert "demo_rate" in answer.err


def test_a_changed_file_is_refused_and_says_why(assay, report, key, tmp_path):
    """Nothing is compared with what nobody vouches for."""
    changed = shutil.copytree(report, tmp_path / "changed")
    (changed / "verdicts.json").write_text((report / "verdicts.json").read_text() + " ")
    answer = assay("compare", report, changed, *key, "--all")
    assert (answer.code, answer.out) == (1, "")
    assert "changed: unverified: contents: verdicts.json " in answer.err


class TestHostile:
    """Of a report that does not verify nothing is read."""

    @pytest.fixture
    def enemy(self, report: Path, tmp_path: Path) -> Path:
        return shutil.copytree(report, tmp_path / "enemy")

    @pytest.mark.parametrize("content", [b"", b'{"schema": 1}', bytes(9_000_000)])
    @pytest.mark.parametrize("command", ["history", "site"])
    def test_verdicts_that_cannot_be_read_are_one_line_and_the_rest_goes_on(
        self, assay: Any, report: Path, key: Any, enemy: Path, tmp_path: Path,
        command: str, content: bytes,
    ) -> None:  # fmt: skip
        (enemy / "verdicts.json").write_bytes(content)
        first = {"history": ("demo_rate",), "site": (tmp_path / "site",)}[command]
        answer = assay(command, *first, enemy, report, *key)
        assert answer.code == 0
        assert "enemy: unverified: " in answer.err
        assert len(answer.err.splitlines()) < 8
        if command == "site":
            assert "1 signed report" in answer.out
        else:
            assert any(row[0] in ("demo_rate", "h100") for row in rows(answer))
