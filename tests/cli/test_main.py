"""The command line: one sentence and an exit code for whatever is wrong; lists for programs."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from assay.base.io import read_record
from assay.base.progress import SignalledExit
from assay.catalog.load import load_catalog
from assay.cli import main as cli
from assay.cli.tune import Tuned
from assay.evidence.load import load_evidence
from assay.evidence.timings import write_timing
from assay.findings.tuning_outcomes import outcomes
from assay.judging.case import Case
from assay.pipeline import preview
from assay.records.timings import Stage
from assay.records.tuning import TuningChoice
from assay.records.verdicts import Status, VerdictsFile
from assay.verification.trust import published_reports
from tests.report_fixtures import (
    choice,
    make_request,
    provision,
    signed_report,
    write_repository,
    write_run,
    write_tuning,
)

ROOT = Path(__file__).resolve().parents[2]
NEWEST = published_reports(ROOT)[0]
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(cli.app), "commands")  # noqa: B009


class Answer:
    """What a start of the command line said, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def assay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Start the command line in this process."""

    def start(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["cli.py", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Answer(code, said.out, said.err)

    return start


WRONG = [
    (("verify",), "missing argument 'REPORT_DIR' (./assay verify --help says more)"),
    (
        ("verify", "README.md"),
        "README.md: is a file; name the report's directory, or its archive (.tar.xz)",
    ),
    (("verify", "nowhere"), "nowhere: no such report directory"),
    (("verify", "src", "--key", "nowhere.pub"), "nowhere.pub: no such key file"),
    (("verify", "--bogus", "src"), "no such option: --bogus (./assay verify --help says more)"),
    (("compare",), "compare needs two or more report directories, not 0"),
    (("compare", "src"), "compare needs two or more report directories, not 1"),
    (("compare", "src", "README.md"), "README.md: is a file; name the report's directory"),
    (("compare", "src", "src"), "src/verdicts.json: no such file"),
    (("nonsense",), "no such command 'nonsense' (./assay --help says more)"),
    (("--nonsense",), "no such option: --nonsense (./assay --help says more)"),
    (("claims", "--source", "nine"), "there is no source 'nine'; known: 000, 001"),
    (("reproduce", "--runtime", "lxc"), "invalid value for '--runtime': 'lxc' is not one of"),
    (("reproduce", "--cores", "0"), "invalid value for '--cores': "),
    (("reproduce", "extra"), "got unexpected extra argument"),
    (("bundle",), "missing option '--target' (./assay bundle --help says more)"),
    (("tune",), "missing option '--target' (./assay tune --help says more)"),
    (("tune", "--target", "b200"), "there is no target 'b200'; known: "),
    (("tune", "--target", "h200"), "config/tuning.yaml: makes no choice for target 'h200'"),
]


class TestWhatIsWrong:
    """Bad usage is one sentence and exit code 2."""

    @pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=lambda value: str(value)[:40])
    def test_is_one_sentence(
        self, assay: Any, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str], sentence: str
    ) -> None:
        monkeypatch.chdir(ROOT)
        answer = assay(*arguments)
        assert answer.code == 2
        assert answer.out == ""
        assert answer.err.startswith(f"assay: {sentence}")
        assert answer.err.count("\n") == 1

    def test_an_interruption_says_so(self, assay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "load_catalog", interrupted)
        answer = assay("claims", "--source", "000")
        assert answer.code == 130
        assert answer.err == (
            "assay: interrupted: nothing half-made is left; to begin again: "
            "./assay claims --source 000\n"
        )

    def test_a_signal_is_an_interruption_with_its_own_code(
        self, assay: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def ended(_: object) -> None:
            raise SignalledExit(143)

        monkeypatch.setattr(cli, "load_catalog", ended)
        answer = assay("claims")
        assert answer.code == 143
        assert answer.err.count("\n") == 1
        assert answer.err.startswith("assay: interrupted: ")

    def test_the_process_ends_the_same_way(self) -> None:
        ended = subprocess.run(
            [sys.executable, "-m", "assay.cli", "verify"],
            cwd=ROOT, env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.startswith("assay: missing argument")
        assert len(ended.stderr.splitlines()) == 1


class TestHelp:
    """Help names the program as it is typed, and the README names what help names."""

    def test_without_a_command_help_is_shown_and_it_is_bad_usage(self, assay: Any) -> None:
        alone, asked = assay(), assay("--help")
        assert (alone.code, asked.code) == (2, 0)
        assert alone.out == asked.out
        assert asked.out.startswith("Usage: ./assay ")

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_says_how_it_is_typed(self, assay: Any, command: str) -> None:
        if command == "test":  # hands --help on to pytest's arguments
            return
        answer = assay(command, "--help")
        assert answer.code == 0
        assert answer.out.startswith(f"Usage: ./assay {command} ")
        assert "python -m" not in answer.out

    def test_summaries_are_not_cut(self, assay: Any) -> None:
        shown = assay("--help").out
        for name in COMMANDS:
            assert re.search(rf"^  {name} .*\.$", shown, re.MULTILINE), name
        assert "..." not in shown.split("Commands:")[1]

    @pytest.mark.parametrize("command", COMMANDS)
    def test_the_readme_names_every_command(self, command: str) -> None:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        assert re.search(rf"`(\./assay )?{command}\b|^\./assay {command}\b", readme, re.MULTILINE)

    def test_every_option_of_the_readme_exists(self) -> None:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        ours = {
            option for command in COMMANDS.values() for p in command.params for option in p.opts
        }
        spans = re.findall(r"`([^`\n]+)`", readme)
        named = {
            option
            for span in spans
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", span)
            if span.startswith(("--", "./assay", *COMMANDS))
        }
        assert "--strict" in named
        assert named <= ours | {"--help"}


class TestClaims:
    """Every claim and every audit."""

    def test_json_lists_claims_and_audits_by_kind(self, assay: Any) -> None:
        rows = json.loads(assay("claims", "--json").out)
        catalog = load_catalog(ROOT)
        assert {r["claim"] for r in rows if r["kind"] == "claim"} == set(catalog.claims)
        assert {r["claim"] for r in rows if r["kind"] == "audit"} == set(catalog.audits)
        assert len({tuple(row) for row in rows}) == 1, "all rows have the same keys"
        assert all(row["line"] >= 1 and row["statement"] for row in rows)

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
        rows = {row["claim"]: row for row in json.loads(assay("claims", "--json").out)}
        for verdict in read_record(VerdictsFile, NEWEST / "verdicts.json").verdicts:
            told = {"target": verdict.target, "status": verdict.status.value,
                    "reason": verdict.reason}  # fmt: skip
            assert told in rows[verdict.claim]["verdicts"]

    @pytest.mark.parametrize("status", ["not_run", "exceeded", "incorrect"])
    def test_a_status_selects(self, assay: Any, status: str) -> None:
        rows = json.loads(assay("claims", "--json", "--status", status).out)
        standing = read_record(VerdictsFile, NEWEST / "verdicts.json").verdicts
        assert {row["claim"] for row in rows} == {
            verdict.claim for verdict in standing if verdict.status == status
        }

    def test_statuses_add_up(self, assay: Any) -> None:
        rows = json.loads(
            assay("claims", "--json", "--status", "exceeded", "--status", "not_run").out
        )
        found = {verdict["status"] for row in rows for verdict in row["verdicts"]}
        assert found == {"exceeded", "not_run"}

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


class TestCompareAndVerify:
    """Both read report directories."""

    @pytest.fixture(scope="class")
    @staticmethod
    def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
        return signed_report(write_repository(tmp_path_factory.mktemp("cli") / "repo"))

    def test_verdicts_stand_side_by_side(self, assay: Any, report: Path) -> None:
        answer = assay("compare", report, report)
        assert answer.code == 0
        assert answer.out.count(report.name) == 2
        assert "demo_rate" in answer.out

    def test_a_report_verifies_check_by_check(self, assay: Any, report: Path) -> None:
        answer = assay("verify", report, "--key", report / "signer.pub")
        assert answer.code == 0
        lines = answer.out.splitlines()
        assert lines[-1] == f"verified: {report}"
        assert any(line.startswith("ok   signature: signed by") for line in lines)

    def test_a_changed_report_is_a_failed_check(
        self, assay: Any, report: Path, tmp_path: Path
    ) -> None:
        key = tmp_path / "signer.pub"
        key.write_bytes((report / "signer.pub").read_bytes())
        text = report / "report.md"
        before = text.read_bytes()
        text.write_bytes(before + b"!")
        try:
            answer = assay("verify", report, "--key", key)
        finally:
            text.write_bytes(before)
        assert answer.code == 1
        assert "report.md" in answer.err

    def test_a_build_that_there_is_none_of_is_named_before_anything_is_done(
        self, assay: Any, report: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def begun(*_: object, **__: object) -> None:
            raise AssertionError("the report was verified, or a compiler fetched")

        monkeypatch.setattr(cli, "ensure_toolchain", begun)
        monkeypatch.setattr(cli, "compiler_place", begun)
        monkeypatch.setattr(cli, "verify_report", begun)
        key = ("--key", report / "signer.pub")
        answer = assay("verify", report, *key, "--rebuild", "--only", "sm_90a/demo_bk3")
        assert answer.code == 2
        assert "the evidence holds no build 'sm_90a/demo_bk3' (close to it: " in answer.err
        assert "sm_90a/demo_bk32" in answer.err


class TestReproduce:
    """What surrounds the workflow."""

    @pytest.fixture
    def finished(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A repository whose run 'demo_run' has nothing left to do."""
        root = write_repository(tmp_path / "repo")
        (root / "config" / "config.yaml").write_text(
            "schema: assay/run/1\nsources: [demo]\ntargets: [h100]\n"
            "runtime: host\nexecutor: local\n"
        )
        signed_report(root)
        run_dir = root / "results" / "demo_run"
        at = datetime(2026, 1, 2, tzinfo=UTC)
        write_timing(run_dir, "inspect", {}, at, 2.0)
        for artifact, seconds in (("demo_bk32", 4.0), ("demo_bk96", 6.25)):
            arguments = {"arch": "sm_90a", "artifact": artifact}
            write_timing(run_dir, "build", arguments, at, seconds)
        write_timing(run_dir, "report", {}, at, 1.5)
        request = make_request("demo_run", [provision()], ["demo"])
        monkeypatch.setattr(cli, "ROOT", root)
        monkeypatch.setattr(cli, "make_request", lambda *_: request)
        monkeypatch.setattr(cli, "run_workflow", lambda *_, **__: None)
        return root

    def test_timings_are_told_stage_by_stage(self, assay: Any, finished: Path) -> None:
        answer = assay("reproduce", "--run", "demo_run", "--timings")
        assert answer.code == 0
        rows = {
            cells[0]: cells[1:]
            for line in answer.out.splitlines()
            if len(cells := line.split("\t")) == 5 and cells[0] != "stage"
        }
        assert rows == {
            "inspect": ["1", "2.0", "2.0", ""],
            "build": ["2", "10.2", "6.2", "demo_bk96 sm_90a"],
            "report": ["1", "1.5", "1.5", ""],
        }
        assert "4 steps, 6.2\N{NO-BREAK SPACE}s on the clock" in answer.out

    def test_without_the_option_no_time_is_told(self, assay: Any, finished: Path) -> None:
        answer = assay("reproduce", "--run", "demo_run")
        assert answer.code == 0
        assert "where the time went" not in answer.out
        assert "6 verdicts" in answer.err

    def test_a_dry_run_tells_what_is_left_and_no_time_that_passed(
        self, assay: Any, finished: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        build = Stage.BUILD, frozenset({("artifact", "demo_bk32"), ("arch", "sm_90a")})
        monkeypatch.setattr(preview, "build_seconds", lambda *_: {build: 90.0})
        left = [("build", "builds/sm_90a/demo_bk32.json"), ("benchmark", "h100/benchmark")]
        monkeypatch.setattr(preview, "pending_files", lambda *_: left)
        answer = assay("reproduce", "--run", "demo_run", "--timings", "--dry-run")
        assert answer.code == 0, answer.err
        lines = answer.out.splitlines()
        assert any(line.startswith("would be measured on h100: ") for line in lines)
        assert "compiled for sm_90a: 1 variant: demo_bk32" in lines
        assert "steps on h100: benchmark" in lines
        assert lines[-1].replace("\N{NO-BREAK SPACE}", " ").startswith("time: about 90.0 s with ")
        assert lines[-1].endswith("; without 1 step that nobody has timed")
        assert "where the time went" not in answer.out

    @pytest.mark.parametrize("more", [(), ("--dry-run",)])
    def test_what_targets_lack_is_told_once(
        self, assay: Any, finished: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
    ) -> None:
        why = "no NVIDIA driver here"
        lacking = [provision("h100", "recorded", recorded_in="reports/x", absence=why)]
        request = make_request("demo_run", lacking, ["demo"])
        monkeypatch.setattr(cli, "make_request", lambda *_: request)
        monkeypatch.setattr(preview, "pending_files", lambda *_: [])
        answer = assay("reproduce", "--run", "demo_run", *more)
        assert answer.code == 0, answer.err
        assert (answer.out + answer.err).count(why) == 1

    def test_the_last_line_names_every_key_that_was_given(
        self, assay: Any, finished: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        request = make_request("demo_run", [provision()], ["demo"])
        given = request.model_copy(update={"extra_keys": ("/keys/of others.pub",)})
        monkeypatch.setattr(cli, "make_request", lambda *_: given)
        assert assay("reproduce", "--run", "demo_run").out.splitlines()[-1] == (
            "verify: ./assay verify reports/demo_run --key /private/key.pub "
            "--key '/keys/of others.pub'"
        )

    def test_strict_makes_verdicts_count(self, assay: Any, finished: Path) -> None:
        answer = assay("reproduce", "--run", "demo_run", "--strict")
        assert answer.code == 1
        assert "not reproduced, incorrect or inconsistent" in answer.err


class TestTune:
    """Sweeps are told, and the file is changed where that is asked for."""

    @pytest.fixture
    def tuned(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A repository whose one choice a rival has beaten, its sweep measured."""
        root = write_repository(tmp_path / "repo")
        (root / "config" / "config.yaml").write_text(
            "schema: assay/run/1\nsources: [demo]\ntargets: [h100]\n"
            "runtime: host\nexecutor: local\n"
        )
        slow = choice(variant="demo_bk32", evidence={"comparison": "demo_sweep", "arm": "bk32"})
        write_tuning(root, slow)
        evidence = load_evidence(write_run(root))
        found = outcomes(Case(load_catalog(root), evidence))
        monkeypatch.setattr(cli, "ROOT", root)
        monkeypatch.setattr(cli, "tune", lambda *_: Tuned("measured here", found, evidence))
        return root

    def test_a_faster_rival_is_told_and_nothing_is_written(self, assay: Any, tuned: Path) -> None:
        before = (tuned / "config" / "tuning.yaml").read_bytes()
        answer = assay("tune", "--target", "h100")
        assert answer.code == 0
        assert "another is faster" in " ".join(answer.out.split())
        assert "1 choice would change; --write puts it into" in answer.out
        assert (tuned / "config" / "tuning.yaml").read_bytes() == before

    def test_write_hands_over_the_better_choice(
        self, assay: Any, tuned: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written: list[TuningChoice] = []
        monkeypatch.setattr(cli, "write_choices", lambda _, choices: written.extend(choices))
        answer = assay("tune", "--target", "h100", "--write")
        assert answer.code == 0
        assert [entry.variant for entry in written] == ["demo_bk96"]
        assert "1 of 1 choice changed" in answer.out
