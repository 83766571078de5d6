"""The command line: one sentence and an exit code for whatever is wrong; help."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from assay.cli import main as cli
from assay.cli.commands import claims

ROOT = Path(__file__).resolve().parents[2]
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(cli.application()), "commands")  # noqa: B009

FOREIGN = ("--type", "--signature")
"""Options of other programs, cosign's, that the documents name by themselves."""


WRONG = [
    (("verify",), "missing argument 'REPORT_DIR' (./assay verify --help says more)"),
    (
        ("verify", "README.md"),
        "README.md: is a file; name the report's directory, or its archive (.tar.xz)",
    ),
    (("verify", "nowhere"), "nowhere: no such report directory"),
    (
        ("verify", "reports/published/hopper_20261130", "--key", "nowhere.pub"),
        "nowhere.pub: no such key file",
    ),
    (("verify", "--bogus", "src"), "no such option: --bogus (./assay verify --help says more)"),
    (("compare",), "name two reports"),
    (("compare", "README.md", "README.md"), "README.md: is a file; name the report's directory"),
    (("history", "s000_gap", "src"), "src: is not a report: it has no manifest.json"),
    (("compare", "src", "src"), "src: is not a report: it has no manifest.json"),
    (("nonsense",), "no such command 'nonsense' (./assay --help says more)"),
    (("--nonsense",), "no such option: --nonsense (./assay --help says more)"),
    (("claims", "--source", "nine"), "there is no source 'nine'; known: 000, 001"),
    (("reproduce", "--runtime", "lxc"), "invalid value for '--runtime': 'lxc' is not one of"),
    (("reproduce", "--cores", "0"), "invalid value for '--cores': "),
    (("reproduce", "extra"), "got unexpected extra argument"),
    (("bundle",), "missing option '--target' (./assay bundle --help says more)"),
    (("lab", "tune"), "missing option '--target' (./assay lab tune --help says more)"),
    (("tune", "--target", "b200"), "there is no target 'b200'; known: "),
]


class TestWhatIsWrong:
    """Bad usage is one sentence and exit code 2."""

    @pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=lambda value: str(value)[:40])
    def test_is_one_sentence(self, assay, monkeypatch, arguments, sentence):
        monkeypatch.chdir(ROOT)
        answer = assay(*arguments)
        assert answer.code == 2
        assert answer.out == ""
        assert answer.err.startswith(f"assay: {sentence}")
        assert answer.err.count("\n") == 1

    def test_an_interruption_says_so(self, assay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(claims, "load_catalog", interrupted)
        answer = assay("claims", "--source", "000")
        assert answer.code == 130
        assert answer.err == (
            "assay: interrupted: nothing half-made is left; to begin again: "
            "./assay claims --source 000\n"
        )


class TestHelp:
    """Help names the program as it is typed, and the documents name what help names."""

    def test_without_a_command_help_is_shown_and_it_is_bad_usage(self, assay: Any) -> None:
        alone, asked = assay(), assay("--help")
        assert (alone.code, asked.code) == (2, 0)
        assert alone.out == asked.out
        assert asked.out.startswith("Usage: ./assay ")

    @pytest.mark.parametrize(
        ("typed", "same"),
        [
            (("-h",), ("--help",)), (("verify", "-h"), ("verify", "--help")),
            (("key", "new", "-h"), ("key", "new", "--help")),
            (("tune", "-h"), ("lab", "tune", "-h")),
        ],
    )  # fmt: skip
    def test_what_people_try_works(self, assay, typed, same):
        answer = assay(*typed)
        assert (answer.code, answer.err) == (0, "")
        assert answer.out == assay(*same).out

    def test_the_command_is_named_as_it_was_typed(self, assay, monkeypatch):
        monkeypatch.setenv("ASSAY_TYPED", "../tree/assay")
        assert assay("verify", "-h").out.startswith("Usage: ../tree/assay verify ")
        assert "(../tree/assay verify --help says more)" in assay("verify").err
        assert "(../tree/assay claims lists them)" in assay("reproduce", "--claim", "none").err

    @pytest.mark.parametrize("command", COMMANDS)
    def test_its_example_can_be_typed(self, command: str) -> None:
        (typed,) = [group[command] for group in cli.GROUPS.values() if command in group]
        COMMANDS[command].make_context(command, shlex.split(typed)[1:], resilient_parsing=True)

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_is_documented(self, command: str) -> None:
        told = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
        assert f"`./assay {command}" in told

    def test_every_command_and_option_that_a_user_reads_of_exists(self) -> None:
        places = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        told = "\n".join(place.read_text(encoding="utf-8") for place in places)
        group = typer.main.get_command(cli.application())
        below = getattr(COMMANDS["lab"], "commands")  # noqa: B009
        every = (group, *COMMANDS.values(), *below.values())
        ours = {option for command in every for p in command.params for option in p.opts}
        blocks = re.findall(r"^(?:\$ )?(\./assay .*(?:\\\n.*)*)", told, re.M)
        spans = [*re.findall(r"`([^`\n]+)`", told), *blocks]
        ours_spans = [span for span in spans if span.startswith(("./assay", *COMMANDS))]
        options = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
        named = {option for span in ours_spans for option in options.findall(span)}
        alone = {
            option for span in spans if span.startswith("--") for option in options.findall(span)
        }
        assert "--strict" in named | alone
        assert named | alone <= ours | {"--help", *FOREIGN}
        words = [match.groups() for match in re.finditer(r"\./assay (\w+)(?: (\w+))?", told)]
        assert {first for first, _ in words} <= set(COMMANDS)
        assert {second for first, second in words if first == "lab"} <= set(below)


def test_a_suite_of_no_tests_is_bad_usage(assay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(".")  # the command goes to the checkout
    monkeypatch.setattr(pytest, "main", lambda words: pytest.ExitCode.NO_TESTS_COLLECTED)
    answer = assay("test", "-k", "none")
    assert (answer.code, answer.err) == (2, "assay: no test is selected by -k none\n")
