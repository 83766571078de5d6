"""The code of a report's own commit: which may be started, how apart it runs, what it decides."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.shared.files import write_bytes
from assay.verification import own_rules
from assay.verification.attestation import load_signer, public_pem
from assay.verification.commit_tree import require_ancestor, write_tree
from assay.verification.envelope import dump_envelope, parse_envelope, signed_envelope
from assay.verification.own_rules import STARTED_FOR, as_known_then, passed_by_commit
from assay.verification.sign import load_or_create_signer, public_key_path
from tests.git_history import git
from tests.report_fixtures import signed_report, write_repository

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import json, os, pathlib, sys, time
report = pathlib.Path(sys.argv[2])
seen = {"arguments": sys.argv[1:], "path": sys.path, "isolated": sys.flags.isolated,
        "environment": dict(os.environ), "here": sorted(os.listdir()), "code": __file__}
(report / "seen.json").write_text(json.dumps(seen))
time.sleep(float((report / "seconds").read_text()) if (report / "seconds").exists() else 0)
sys.stderr.write((report / "errs").read_text() if (report / "errs").exists() else "")
print((report / "says").read_text())
sys.exit(int((report / "code").read_text()))
"""
HOLDS = "ok   shape: plain files only\nok   verdicts: 6 verdicts, the same\nverified: it"


def commit_all(root: Path) -> str:
    """Commit everything; the commit."""
    git(root, "add", "--all")
    git(root, "commit", "-q", "--allow-empty", "-m", "as it stands")
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of two commits; the first one's code is ``CODE``, today's would fail."""
    root = tmp_path / "checkout"
    for name, text in {
        "src/assay/__init__.py": "",
        "src/assay/cli.py": CODE,
        "assay": "#!/usr/bin/env python3\n" + CODE,
        "requirements/host.txt": "packages of then\n",
        "reports/published/big/verdicts.json": "{}",
        "tests/test_it.py": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "assay").chmod(0o755)
    git(tmp_path, "init", "-q", str(root))
    commit_all(root)
    (root / "src" / "assay" / "cli.py").write_text("raise SystemExit(9)\n")
    commit_all(root)
    return root


@pytest.fixture
def first(checkout: Path) -> str:
    return git(checkout, "rev-parse", "HEAD~1")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = tmp_path / "report"
    folder.mkdir()
    return tell(folder, 0, HOLDS)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; nothing of it may be left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def tell(report: Path, code: int, says: str = "", errs: str = "") -> Path:
    """What the commit's code is to end with and say."""
    for name, text in {"code": str(code), "says": says, "errs": errs}.items():
        (report / name).write_text(text)
    return report


def seen(report: Path) -> dict[str, Any]:
    """What the commit's code saw."""
    found: dict[str, Any] = json.loads((report / "seen.json").read_text())
    return found


class TestWhatItDecides:
    """Exit code and words of the commit's own verification."""

    def test_checks_that_it_passed_are_told_by_name(
        self, checkout: Path, first: str, report: Path, temporary: Path
    ) -> None:
        passed = passed_by_commit(report, first, [checkout / "a.pub"], checkout)
        assert passed == {"shape": "plain files only", "verdicts": "6 verdicts, the same"}
        assert seen(report)["arguments"] == [
            "verify", str(report), "--key", str(checkout / "a.pub"),
        ]  # fmt: skip
        assert list(temporary.iterdir()) == []

    @pytest.mark.parametrize("linked", [False, True])
    def test_a_name_of_several_lines_passes_no_check(
        self, checkout: Path, first: str, report: Path, temporary: Path, linked: bool
    ) -> None:
        """Earlier versions print the report's path as it is."""
        code = checkout / "src" / "assay" / "cli.py"
        code.write_text(CODE.replace("print((report", 'print("note:", report)\nprint((report'))
        commit = commit_all(checkout)
        named = report.with_name("h\nok   texts: x")
        if linked:
            named.symlink_to(report)
        else:
            report.rename(named)
        assert set(passed_by_commit(named, commit, [], checkout)) == {"shape", "verdicts"}
        assert list(temporary.iterdir()) == []

    @pytest.mark.parametrize(
        ("code", "says", "errs"),
        [
            (1, "", "assay: {report} does not verify:\n  verdicts: other ones\n"),
            (2, "", "assay: {report}/evidence/plan.json: is malformed\n"),
        ],
    )
    def test_what_it_finds_wrong_is_a_failed_check(
        self, checkout: Path, first: str, report: Path, code: int, says: str, errs: str
    ) -> None:
        tell(report, code, says, errs.format(report=report))
        with pytest.raises(CheckFailed, match=r"commit \w{12} .*(verdicts: other ones|malformed)"):
            passed_by_commit(report, first, [], checkout)

    @pytest.mark.parametrize(
        ("code", "says", "errs"),
        [
            (0, "ok   shape: plain files only\nverified: it", ""),
            (0, "", ""),
            (1, "", "ModuleNotFoundError: No module named 'pydantic'\n"),
            (3, HOLDS, "assay: step 2 (installing) failed: give this machine access\n"),
            (9, HOLDS, ""),
        ],
    )
    def test_where_nothing_judged_the_verdicts_nothing_passed(
        self, checkout: Path, first: str, report: Path, code: int, says: str, errs: str
    ) -> None:
        tell(report, code, says, errs)
        with pytest.raises(MissingEnvironment, match=f"ended with code {code} and verified"):
            passed_by_commit(report, first, [], checkout)

    def test_what_its_last_sentence_speaks_of_is_shown(
        self, checkout: Path, first: str, report: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        tell(report, 3, errs="no such wheel\nassay: it failed, see the lines above\n")
        with pytest.raises(MissingEnvironment):
            passed_by_commit(report, first, [], checkout)
        assert "assay:   no such wheel" in capsys.readouterr().err

    def test_a_commits_code_starts_no_other(
        self, checkout: Path, first: str, report: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else a report that lies about its rules would start its commit again and again."""
        passed_by_commit(report, first, [], checkout)
        assert seen(report)["environment"][STARTED_FOR] == "1"
        monkeypatch.setenv(STARTED_FOR, "1")
        with pytest.raises(CheckFailed, match="judges by other rules than it says"):
            passed_by_commit(report, first, [], checkout)


class TestHowApartItRuns:
    """Nothing of the caller's surroundings gets into it, and nothing of it stays."""

    def test_only_the_commits_code_and_the_environments_packages_are_found(
        self,
        checkout: Path,
        first: str,
        report: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name in ("path", "here"):
            (tmp_path / name / "assay").mkdir(parents=True)
            (tmp_path / name / "assay" / "__init__.py").write_text("raise SystemExit(7)")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
        monkeypatch.setenv("ASSAY_ROOT", str(tmp_path / "here"))
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "here"))
        monkeypatch.chdir(tmp_path / "here")
        passed_by_commit(report, first, [], checkout)
        found = seen(report)
        tree = Path(found["path"][0]).parent
        assert found["code"] == str(tree / "src" / "assay" / "cli.py")
        assert found["isolated"] == 1
        assert not {str(tmp_path / "path"), str(tmp_path / "here"), ""} & set(found["path"])
        assert not {"ASSAY_ROOT", "GIT_DIR", "PYTHONPATH"} & found["environment"].keys()
        assert found["here"] == ["assay", "requirements", "src"]

    def test_no_hook_or_filter_runs_and_the_checkout_stays_as_it_is(
        self, checkout: Path, report: Path, tmp_path: Path
    ) -> None:
        mark = tmp_path / "ran"
        (checkout / ".gitattributes").write_text("* filter=marks\n")
        (checkout / "src" / "assay" / "cli.py").write_text(CODE)
        commit = commit_all(checkout)
        git(checkout, "config", "filter.marks.smudge", f"touch {mark}; cat")
        for hook in ("post-checkout", "post-index-change", "reference-transaction"):
            (checkout / ".git" / "hooks" / hook).write_text(f"#!/bin/sh\ntouch {mark}\n")
            (checkout / ".git" / "hooks" / hook).chmod(0o755)
        before = {path: path.stat().st_mtime_ns for path in checkout.rglob("*")}
        passed_by_commit(report, commit, [], checkout)
        assert not mark.exists()
        assert {path: path.stat().st_mtime_ns for path in checkout.rglob("*")} == before

    def test_other_packages_are_left_to_the_commits_own_launcher(
        self,
        checkout: Path,
        first: str,
        report: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("ASSAY_WHEELHOUSE", "/wheels")
        monkeypatch.setenv("ASSAY_NO_VENV", "1")
        (checkout / "requirements" / "host.txt").write_text("packages of today\n")
        assert "verdicts" in passed_by_commit(report, first, [], checkout)
        found = seen(report)
        assert Path(found["code"]).name == "assay"
        assert found["environment"]["ASSAY_WHEELHOUSE"] == "/wheels"
        assert "ASSAY_NO_VENV" not in found["environment"]
        assert "with the packages that it locks" in capsys.readouterr().err

    def test_several_at_once_do_not_meet(self, checkout: Path, first: str, tmp_path: Path) -> None:
        reports = [tmp_path / f"report{number}" for number in range(4)]
        for folder in reports:
            folder.mkdir()
            tell(folder, 0, HOLDS)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda one: passed_by_commit(one, first, [], checkout), reports))
        assert all("verdicts" in passed for passed in found)
        assert len({seen(folder)["code"] for folder in reports}) == 4

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_an_interrupted_one_is_ended_and_taken_away(
        self, checkout: Path, first: str, report: Path, temporary: Path, number: int
    ) -> None:
        (report / "seconds").write_text("600")
        code = (
            "import sys; from pathlib import Path\n"
            "from assay.base.signals import leave_on_signals\n"
            "from assay.verification.own_rules import passed_by_commit\n"
            "leave_on_signals()\n"
            "passed_by_commit(Path(sys.argv[1]), sys.argv[2], [], Path(sys.argv[3]))\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(report), first, str(checkout)],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until = time.monotonic() + 60
            while not (report / "seen.json").exists() and time.monotonic() < until:
                time.sleep(0.05)
            assert list(temporary.iterdir())
            process.send_signal(number)
            assert process.wait(60) != 0
        finally:
            process.kill()
        assert list(temporary.iterdir()) == []


class TestWhichCommitsCodeRuns:
    """One that this checkout's HEAD descends from; where none tells, what would help."""

    def test_heads_own_and_its_ancestors(self, checkout: Path, first: str) -> None:
        head = git(checkout, "rev-parse", "HEAD")
        assert [require_ancestor(checkout, one) for one in (head, first)] == [head, first]

    @pytest.mark.parametrize(
        "name",
        ["HEAD", "--output=x", "main", "", "../x", "a" * 39, "A" * 40, "a" * 40 + "\n", "a" * 41],
    )
    def test_a_text_that_names_no_commit_fails(self, checkout: Path, name: str) -> None:
        with pytest.raises(CheckFailed, match="as the commit that made it"):
            require_ancestor(checkout, name)

    def test_a_commit_of_another_line_is_not_run(self, checkout: Path, first: str) -> None:
        git(checkout, "checkout", "-q", "-b", "side", first)
        other = commit_all(checkout)
        git(checkout, "checkout", "-q", "-")
        with pytest.raises(MissingEnvironment, match="no ancestor of what is checked out"):
            require_ancestor(checkout, other)

    def test_an_unknown_commit_is_to_be_fetched(self, checkout: Path) -> None:
        with pytest.raises(MissingEnvironment, match="is not in this clone: git fetch"):
            require_ancestor(checkout, "f" * 40)

    def test_a_shallow_clone_is_to_be_deepened(
        self, checkout: Path, first: str, tmp_path: Path
    ) -> None:
        shallow = tmp_path / "shallow"
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{checkout}", str(shallow))
        with pytest.raises(MissingEnvironment, match=r"shallow.* git fetch --unshallow"):
            require_ancestor(shallow, first)
        git(shallow, "fetch", "-q", "--unshallow")
        assert require_ancestor(shallow, first) == first

    def test_a_tree_without_history_is_to_be_cloned(
        self, checkout: Path, first: str, tmp_path: Path
    ) -> None:
        """Also where it lies in a folder of some other repository, which says nothing of it."""
        bare, inside = tmp_path / "bare", checkout / "unpacked"
        bare.mkdir()
        inside.mkdir()
        for tree in (bare, inside):
            with pytest.raises(MissingEnvironment, match="has no git history: verify it in a full"):
                require_ancestor(tree, first)

    def test_git_is_to_be_installed(
        self, checkout: Path, first: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        with pytest.raises(MissingEnvironment, match="there is no git: install it"):
            require_ancestor(checkout, first)

    def test_a_report_of_no_commit_says_so(self, checkout: Path) -> None:
        with pytest.raises(MissingEnvironment, match="names no commit"):
            require_ancestor(checkout, None)

    def test_a_replaced_commit_is_the_one_it_was(
        self, checkout: Path, first: str, tmp_path: Path
    ) -> None:
        git(checkout, "replace", first, "HEAD")
        write_tree(checkout, first, tmp_path / "tree")
        assert (tmp_path / "tree" / "src" / "assay" / "cli.py").read_text() == CODE

    def test_a_history_with_holes_is_not_run(
        self, checkout: Path, first: str, report: Path, tmp_path: Path
    ) -> None:
        blob = git(checkout, "rev-parse", f"{first}:src/assay/cli.py")
        (checkout / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
        with pytest.raises(MissingEnvironment, match="cannot be read whole here"):
            passed_by_commit(report, first, [], checkout)


def test_a_folder_that_cannot_be_written_is_named(
    checkout: Path, first: str, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(own_rules, "write_tree", full)
    with pytest.raises(MissingEnvironment, match=r"TMPDIR names another place.*No space left"):
        passed_by_commit(report, first, [], checkout)


class TestAsKnownThen:
    """Whoever signs or stamps a report later takes nothing from its own code's judgement."""

    @pytest.fixture
    def report(self, tmp_path: Path) -> Path:
        return signed_report(write_repository(tmp_path / "repo"))

    def test_a_report_as_it_was_made_is_not_copied(self, report: Path, tmp_path: Path) -> None:
        assert as_known_then(report, [report / "signer.pub"], tmp_path / "copies") == report

    def test_strangers_are_left_out_of_a_copy(self, report: Path, tmp_path: Path) -> None:
        before = {name: (report / name).read_bytes() for name in ("attestation.json", "signer.pub")}
        first = public_key_path(tmp_path / "key")
        stranger = load_or_create_signer(tmp_path / "stranger")
        envelope = parse_envelope(before["attestation.json"])
        both = signed_envelope(envelope.payload, [load_signer(tmp_path / "key"), stranger])
        write_bytes(report / "attestation.json", dump_envelope(both))
        write_bytes(report / "signer.pub", public_pem(stranger.public_key))
        known = as_known_then(report, [first], tmp_path / "copies")
        assert known.name == report.name
        assert {name: (known / name).read_bytes() for name in before} == before
        assert (known / "evidence/plan.json").read_bytes() == (
            report / "evidence/plan.json"
        ).read_bytes()
