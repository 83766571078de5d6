"""The parser of the command line, and the end of every error: one sentence and an exit code.

The commands are in assay.cli.commands, exit codes in assay.shared.exit_codes.
"""

import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from assay.base.errors import AssayError, BadInput, Interrupted
from assay.base.isolation import HOST_PATH, host_packages
from assay.base.printable import shown_sentence
from assay.base.progress import SignalledExit, leave_on_signals
from assay.base.unwritable import is_about_writing, unwritable_sentence
from assay.cli import checkout, console
from assay.shared.exit_codes import ExitCode

COMMANDS = (
    "reproduce", "verify", "sign", "bundle", "tune", "kernels", "image", "cdi", "doctor", "claims",
    "compare", "key", "test", "version",
)  # fmt: skip
"""In the order in which help lists them; each is what its module in assay.cli.commands calls so."""
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of ``test``, which hands its arguments on."""


def everywhere(
    host_path: Annotated[
        list[str] | None,
        typer.Option(
            HOST_PATH,
            metavar="DIR",
            help="Directory of packages that this Python looks into first, absolute; repeatable. "
            "Goes with ASSAY_NO_VENV=1, and may stand behind the command, too.",
        ),
    ] = None,
) -> None:
    """From a published GPU-kernel figure to a signed verdict."""
    if host_path:
        raise BadInput(f"{HOST_PATH} is for ./assay, which reads it before anything is imported")


def application(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the command line with these commands; only their modules are loaded."""
    app = typer.Typer(
        name="assay",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(everywhere)
    for name in names:
        command = getattr(import_module(f"assay.cli.commands.{name}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command)
        else:
            app.command(context_settings=PASSED_ON if name == "test" else None)(command)
    return app


def needed(arguments: Sequence[str]) -> Sequence[str]:
    """Return the command that is asked for; all of them where that is not told, or is none."""
    return arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS


def main() -> None:
    """Run the command line; whatever is wrong becomes one sentence and an exit code."""
    arguments = sys.argv[1:]
    try:
        leave_on_signals()
        app = application(needed(arguments))
        code = app(arguments or ["--help"], prog_name="./assay", standalone_mode=False)
        if code == ExitCode.INTERRUPTED:  # what typer makes of Ctrl-C
            raise KeyboardInterrupt
    except Interrupted as stop:
        _end(f"{stop}; to go on: {_again(arguments)}", stop.exit_code)
    except AssayError as error:
        _end(str(error), error.exit_code)
    except TyperException as error:
        _end(_usage_sentence(error), ExitCode.BAD_INPUT)
    except (KeyboardInterrupt, SignalledExit) as stop:
        code = stop.code if isinstance(stop, SignalledExit) else ExitCode.INTERRUPTED
        _end(f"interrupted: nothing half-made is left; to begin again: {_again(arguments)}", code)
    except OSError as error:
        if not is_about_writing(error):
            raise
        _end(unwritable_sentence(error, checkout.ROOT), ExitCode.MACHINE_LACKS)
    else:
        sys.exit((code or ExitCode.DONE) if arguments else ExitCode.BAD_INPUT)


def _again(arguments: list[str]) -> str:
    """Return the command as it was typed."""
    given = [part for path in host_packages(os.environ) for part in (HOST_PATH, str(path))]
    return shlex.join(["./assay", *given, *arguments])


def _usage_sentence(error: TyperException) -> str:
    """Return what is wrong with the arguments, and which help says more."""
    context: typer.Context | None = getattr(error, "ctx", None)
    command = context.command_path if context else "./assay"
    problem = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")
    return f"{problem[:1].lower()}{problem[1:]} ({command} --help says more)"


def _end(sentence: str, exit_code: int) -> NoReturn:
    text = shown_sentence(f"assay: {sentence}")
    console.err.print(text, markup=False, soft_wrap=True)
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
