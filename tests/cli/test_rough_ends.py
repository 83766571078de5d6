"""Whatever is odd about arguments, outputs or variables: one sentence, and the right exit code."""

import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONG = "x" * 300


def start(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Start the command line by a shell's line, in which ``ASSAY`` stands for it."""
    kept = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(
        ["bash", "-c", line.replace("ASSAY", f"{shlex.quote(sys.executable)} -m assay.cli")],
        env={**kept, "PYTHONPATH": str(ROOT / "src"), **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


class TestOutput:
    """What cannot be printed is no success."""

    @pytest.mark.parametrize(
        ("line", "code", "says"),
        [
            ("ASSAY --version >/dev/full", 3, os.strerror(errno.ENOSPC)),
            ("ASSAY verify nowhere --json >/dev/full", 2, "no such report directory"),
        ],
    )
    def test_that_takes_nothing(self, line: str, code: int, says: str) -> None:
        done = start(line)
        assert done.returncode == code
        assert says in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
        assert "Exception" not in done.stderr

    @pytest.mark.parametrize(
        ("line", "shown"),
        [
            ("ASSAY claims --json --source 001 --source 002 | head -1", 1),
            ("ASSAY --help 2>&1 | true", 0),
        ],
    )
    def test_whose_reader_is_gone_ends_quietly(self, line: str, shown: int) -> None:
        """A pipe that is closed behind the first line (of more than a pipe holds), or before it."""
        done = start(f"{line}; exit ${{PIPESTATUS[0]}}")
        assert (done.returncode, done.stderr) == (141, "")
        assert len(done.stdout.splitlines()) == shown

    @pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full"])
    def test_without_anybody_to_be_told(self, closed: str) -> None:
        done = start(f"ASSAY verify nowhere {closed}")
        assert (done.returncode, done.stdout) == (2, "")


class TestArguments:
    """A path that is none, or nothing."""

    @pytest.mark.parametrize(
        "arguments",
        [
            ("verify", LONG), ("compare", LONG, LONG), ("key", "show", LONG), ("key", "new", LONG),
            ("verify", "reports/published/hopper_20261130", "--key", LONG),
        ],
    )  # fmt: skip
    def test_a_name_that_no_file_can_have(self, assay: Any, arguments: tuple[str, ...]) -> None:
        answer = assay(*arguments)
        assert answer.code == 2
        assert answer.out == ""
        assert os.strerror(errno.ENAMETOOLONG) in answer.err
        assert len(answer.err.splitlines()) == 1

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (("nowhere",), "bad-input"), ((LONG,), "file-unreadable"),
            (("hopper_20261130", "--key", "none"), "bad-input"), (("src",), "bad-input"),
        ],
    )  # fmt: skip
    def test_a_program_is_told_in_json(self, assay, arguments, code):
        answer = assay("verify", "--json", *arguments)
        told = json.loads(answer.out)
        assert (told["code"], told["exit_code"], told["verified"]) == (code, answer.code, False)
        assert answer.code == 2
        assert told["error"] in answer.err


@pytest.mark.parametrize(
    "command",
    [
        ("new", "PLACE"),
        ("site", "PLACE", "nowhere"),
        ("export", "nowhere", "--out", "PLACE"),
        ("export", "nowhere", "--format", "svg", "--out", "PLACE"),
        ("compare", "nowhere", "nowhere_2", "--html", "PLACE"),
    ],
)
@pytest.mark.parametrize(
    "place",
    ["/proc/x", "/proc/x/y/z", "FOLDER/file/x", "FOLDER/loop/x", "FOLDER/loop", f"/tmp/{LONG}"],
)
def test_it_is_one_sentence_about_the_place(assay, tmp_path, command, place):
    """A place where nothing can be made is refused before any report is looked at."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    place = place.replace("FOLDER", str(tmp_path))
    answer = assay(*(place if word == "PLACE" else word for word in command))
    assert (answer.code, answer.out) == (3, "")
    (line,) = answer.err.splitlines()
    assert line.startswith(f"assay: {place}: ")
    assert {path.name for path in tmp_path.iterdir()} == {"file", "loop"}
