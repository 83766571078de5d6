"""``./assay reproduce``: what surrounds the workflow."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assay.cli import checkout
from assay.cli.commands import reproduce
from assay.cli.run_figures import MOST_CLAIMS
from assay.evidence.timings import write_timing
from assay.pipeline.original_requests import Given
from assay.pipeline.preconditions import name_of_run
from assay.pipeline.request import Options
from tests.report_fixtures import make_request, provision


class TestReproduce:
    """The command's own words and exit code, before and after the workflow."""

    @pytest.fixture
    def finished(self, own_report: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A repository whose run 'demo_run' has nothing left to do."""
        root = own_report.parents[1]
        (root / "config" / "config.yaml").write_text(
            "schema: assay/run/1\nsources: [demo]\ntargets: [h100]\n"
            "runtime: host\nexecutor: local\n"
        )
        monkeypatch.chdir(root)
        request = make_request("demo_run", [provision()], ["demo"])
        monkeypatch.setattr(checkout, "ROOT", root)
        monkeypatch.setattr(reproduce, "make_request", lambda *_: request)
        monkeypatch.setattr(reproduce, "run_workflow", lambda *_, **__: None)
        return root

    def test_the_result_is_short(self, assay: Any, finished: Path) -> None:
        """The headline, why not, the claims that say most, the report, the next command."""
        answer = assay("reproduce", "--run", "demo_run")
        lines = answer.out.splitlines()
        assert len(lines) <= 14
        assert re.match(r"\d published speed figures: .*reproduced", lines[0])
        shown = [line for line in lines if re.match(r"\w+: claimed \S.*: \S", line)]
        assert 0 < len(shown) <= MOST_CLAIMS
        assert lines[-2].startswith("report: ") or lines[-2].startswith("signed by: your key ")
        assert lines[-1].startswith("verify: ./assay verify reports/demo_run")

    def test_a_checkout_and_its_lines_reach_the_request(self, assay, finished, monkeypatch):
        asked: list[Options] = []
        request = make_request("demo_run", [provision()], ["demo"])
        monkeypatch.setattr(
            reproduce, "make_request", lambda *given: asked.append(given[2]) or request
        )
        lines = ("--original-build", "demo=nvcc a.cu -o a", "--original-run", "demo=./a 1")
        answer = assay("reproduce", "--run", "demo_run", "--original", "demo=there", *lines)
        assert answer.code == 0, answer.err
        (given,) = asked
        assert given.originals == {"demo": Given(Path("there"), "nvcc a.cu -o a", "./a 1")}

    def test_the_last_line_names_every_key_that_was_given(self, assay, finished, monkeypatch):
        request = make_request("demo_run", [provision()], ["demo"])
        given = request.model_copy(update={"extra_keys": ("/keys/of others.pub",)})
        monkeypatch.setattr(reproduce, "make_request", lambda *_: given)
        assert assay("reproduce", "--run", "demo_run").out.splitlines()[-1] == (
            "verify: ./assay verify reports/demo_run --key /private/key.pub "
            "--key '/keys/of others.pub'"
        )

    def test_strict_makes_verdicts_count(self, assay: Any, finished: Path) -> None:
        answer = assay("reproduce", "--run", "demo_run", "--strict")
        assert answer.code == 1
        assert "not reproduced, misstated, incorrect or inconsistent" in answer.err


def test_claim_and_source_do_not_go_together(assay: Any) -> None:
    answer = assay("reproduce", "--claim", "s002_final", "--source", "002")
    assert answer.code == 2
    assert "leave --source out" in answer.err


def test_some_claims_alone_leave_a_report_of_all_where_it_is(own_report: Path) -> None:
    """The page offers ``reproduce --claim`` to copy, and the report of all is there by then."""
    root = own_report.parents[1]
    claim = ["demo_bk32"]
    assert name_of_run(root, claim, claim) == "local"
    own_report.rename(root / "reports" / "local")
    assert name_of_run(root, claim, claim) == "demo_bk32"
    assert name_of_run(root, ["another"], claim) == "another"  # a source
    assert name_of_run(root, [], []) == "local"


def test_the_longest_stage_comes_first_and_what_did_not_run_now_is_left_out(tmp_path, capsys):
    options = Options("a", (), (), "host", Path("key"))
    run, now = tmp_path / "results" / "a", datetime.now(UTC)
    long_ago = now.replace(year=now.year - 1)
    write_timing(run, "build", {"artifact": "x", "arch": "sm_90a"}, now, 2.0)
    write_timing(run, "build", {"artifact": "y", "arch": "sm_90a"}, now, 3.0)
    write_timing(run, "benchmark", {"target": "h100"}, now, 60.0, {"GPU-1": 45.0})
    write_timing(run, "cheats", {"target": "h100"}, long_ago, 9.0)
    reproduce.tell_timings(tmp_path, options, now.timestamp())
    words = [line.split() for line in capsys.readouterr().err.splitlines()]
    assert [(line[0], line[2]) for line in words[:2]] == [("60.0", "benchmark,"), ("5.0", "build")]
    assert "45.0" in words[0]
    assert len(words) == 3
