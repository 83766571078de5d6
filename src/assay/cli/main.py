"""The parser of the command line, and the end of every error: one sentence and an exit code.

The commands are in assay.cli.commands, exit codes in assay.shared.errors.
"""

import ast
import errno
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from assay import __version__
from assay.base.commits import git_state
from assay.base.errors import AssayError, Interrupted
from assay.base.progress import show_sentence
from assay.base.signals import SignalledExit
from assay.base.writable import is_about_writing, unwritable_sentence
from assay.cli import checkout, console
from assay.shared.errors import ExitCode

GROUPS = {
    "Judge figures": {
        "reproduce": "reproduce --source 003",
        "remote": "remote me@gpu-box --source 003",
        "new": "new my-kernel",
        "check": "check --project my-kernel",
    },
    "Read reports": {
        "verify": "verify reports/published/hopper_20261130",
        "judge": "judge reports/published/h100_20261121_whole.tar.xz",
        "claims": "claims --source 002 --status misstated",
        "compare": "compare reports/published/h100_20261124_own.tar.xz reports/mine",
        "history": "history s003_fusion_gain",
        "export": "export reports/published/hopper_20261130 --format csv",
        "site": "site public reports/published/h100_20261124_own.tar.xz",
    },
    "Set up a machine": {
        "doctor": "doctor --fix docker",
        "bundle": "bundle --target h100 --out node.tar",
        "key": "key new signing_key.pem",
    },
    "Work on Assay": {
        "lab": "lab kernels --target h100",
        "test": "test tests/judging",
    },
}
"""Commands as help lists them, and how each is typed; a module of assay.cli.commands has each."""
OF_GROUPS = {
    "new": "key new signing_key.pem",
    "show": "key show signing_key.pem",
    "kernels": "lab kernels --target h100",
    "tune": "lab tune --target h100",
    "image": "lab image --target h100",
    "docs": "lab docs site",
}
"""How the commands of ``key`` and ``lab`` are typed."""
COMMANDS = tuple(name for group in GROUPS.values() for name in group)
OF_LAB = ("kernels", "tune", "image")  # commands of ``lab`` that are known by their own names, too
OUTPUT_CODES = frozenset({errno.ENOSPC, errno.EPIPE, errno.EBADF, errno.EIO, errno.EFBIG})
"""What the kernel says of an output that takes nothing more."""
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of commands that hand arguments on: to pytest, or to ``reproduce`` elsewhere."""


class Grouped(TyperGroup):
    """The command line, whose help lists commands by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group."""
        longest = max(map(len, COMMANDS))
        room = formatter.width - 6 - longest
        for title, names in GROUPS.items():
            listed = [(name, self.commands[name]) for name in names if name in self.commands]
            rows = [(f"{name:{longest}}", each.get_short_help_str(room)) for name, each in listed]
            with formatter.section(title):
                formatter.write_dl(rows)


def everywhere(
    version: Annotated[
        bool, typer.Option("--version", help="Say which Assay this is, and stop.", is_eager=True)
    ] = False,
) -> None:
    """From a published GPU-kernel figure to a signed verdict."""
    if version:
        commit, clean = git_state(checkout.ROOT)
        changed = " with changes" if clean is False else ""
        console.say(f"{__version__} (commit {commit or 'not known'}{changed})")
        raise typer.Exit


def application(names: Sequence[str] = COMMANDS, listed: bool = False) -> typer.Typer:
    """Return the command line with these commands; where ``listed`` alone, none is loaded."""
    app = typer.Typer(
        name="assay",
        cls=Grouped,
        epilog="./assay COMMAND --help says more, and gives an example.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(everywhere)
    typed = {name: each for group in GROUPS.values() for name, each in group.items()}
    for name in names:
        if listed:
            app.command(name, help=_first_sentence(name))(lambda: None)
            continue
        command = getattr(import_module(f"assay.cli.commands.{name}"), name)
        if isinstance(command, typer.Typer):
            for each in command.registered_commands:
                each.epilog = _example(OF_GROUPS[getattr(each.callback, "__name__", "")])
            app.add_typer(command, epilog=_example(typed[name]))
            continue
        settings = PASSED_ON if name in ("remote", "test") else None
        app.command(context_settings=settings, epilog=_example(typed[name]))(command)
    return app


def _example(line: str) -> str:
    return f"Example: {checkout.command()} {line}"


def _first_sentence(name: str) -> str:
    """Return what help says of a command, from its file: loading all takes a second."""
    path = Path(__file__).with_name("commands") / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    says = docstring.splitlines()[0].partition(": ")[2]
    return says[:1].upper() + says[1:]


def main() -> None:
    """Run the command line; whatever is wrong becomes one sentence and an exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] and arguments[0] in OF_LAB:
        arguments = ["lab", *arguments]
    named = [word for word in arguments[:1] if word in COMMANDS]
    try:
        _require_words(arguments)
        app = application(named or COMMANDS, listed=not set(arguments) & set(COMMANDS))
        name = shlex.quote(checkout.command())
        code = app(arguments or ["--help"], prog_name=name, standalone_mode=False)
        print(end="", flush=True)  # what cannot be written is found here, and not when all is over
        if code == ExitCode.INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
    except Interrupted as stop:
        _end(f"{stop}; to go on: {_again(stop.again or arguments)}", stop.exit_code)
    except AssayError as error:
        _end(str(error), error.exit_code)
    except TyperException as error:
        _end(_usage_sentence(error, named), ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, SignalledExit) as stop:
        code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
        _end(f"interrupted: nothing half-made is left; to begin again: {_again(arguments)}", code)
    except OSError as error:
        _end_for_system(error)
    except SystemExit as stop:  # what typer makes of a reader that is gone: 1, a failed check's
        if isinstance(stop.__context__, BrokenPipeError):
            _end_for_system(stop.__context__)
        raise
    else:
        sys.exit((code or ExitCode.DONE) if arguments else ExitCode.BAD_INPUT)


def _require_words(arguments: Sequence[str]) -> None:
    if arguments[:1] == ["test"]:
        return
    for number, word in enumerate(arguments, start=1):
        if not word or (word.startswith("--") and word.endswith("=")):
            what = f"argument {number}" if not word else f"what follows '{word}'"
            raise TyperException(f"{what} is empty")


def _end_for_system(error: OSError) -> NoReturn:
    """End for what the system refuses: a name, a place that cannot be written, our own output."""
    if isinstance(error, shutil.Error):  # of many copies, as (from, to, why)
        _, place, why = error.args[0][0]
        brief = why.rpartition("] ")[2].partition(": '")[0]
        _end(f"{place}: cannot be written: {brief}", ExitCode.MACHINE_LACKS)
    if error.errno == errno.EPIPE and error.filename is None:
        _send_nowhere(1)
        _send_nowhere(2)
        sys.exit(ExitCode.READER_GONE)  # who reads the first lines alone is told nothing
    if not isinstance(error.filename, str | Path):
        if error.errno not in OUTPUT_CODES:
            raise error
        _end(f"nothing more can be written or printed: {error.strerror}", ExitCode.MACHINE_LACKS)
    if error.errno == errno.ENAMETOOLONG:
        _end(f"{error.filename}: {error.strerror}", ExitCode.BAD_INPUT)
    if not is_about_writing(error):
        raise error
    _end(unwritable_sentence(error, checkout.ROOT), ExitCode.MACHINE_LACKS)


def _again(arguments: Sequence[str]) -> str:
    return shlex.join([checkout.command(), *arguments])


def _usage_sentence(error: TyperException, named: Sequence[str]) -> str:
    context: typer.Context | None = getattr(error, "ctx", None)
    called = shlex.join([checkout.command(), *named])
    command = context.command_path if context else called
    problem = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")
    return f"{problem[:1].lower()}{problem[1:]} ({command} --help says more)"


def _end(sentence: str, exit_code: int) -> NoReturn:
    # Where nobody can be told, the exit code is left; the end of Python would change that, too.
    try:
        print(end="", flush=True)
    except OSError:
        _send_nowhere(1)
    try:
        show_sentence(sentence)
    except OSError:
        _send_nowhere(2)
    sys.exit(exit_code)


def _send_nowhere(output: int) -> None:
    """Let what is written to an output from now on, or is still held back, be lost."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output)
    os.close(nowhere)
