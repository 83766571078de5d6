"""The options of ``./assay remote``: those of ``reproduce``, and where each of them holds.

What names a file is copied; what is about signing stays here, the key with it; the rest is typed
there as it was typed here.
"""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from assay.base.errors import BadInput
from assay.remote.payload import Argument, CarriedFiles, There

NOT_THERE = frozenset({"executor", "names", "unsigned_for"})
"""Options of ``reproduce`` that are not offered: one machine has no queue."""
HERE = frozenset({"signing_key", "strict", "project"})
"""Those that hold on this machine."""
PATHS = frozenset({"prebuilt", "recorded", "key"})
"""Those that name what is copied."""


def with_options_of(command: Callable[..., None]) -> Callable[[Callable[..., None]], Any]:
    """Return a decorator that gives a function, in place of its ``**given``, another command's
    options, but for those that it has itself, and ``NOT_THERE``.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = {
            name: each
            for name, each in inspect.signature(function).parameters.items()
            if each.kind is not inspect.Parameter.VAR_KEYWORD
        }
        theirs = inspect.signature(command).parameters
        left_out = NOT_THERE | own.keys()
        added = {name: each for name, each in theirs.items() if name not in left_out}
        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (own | added).values()
        ]
        setattr(function, "__signature__", inspect.Signature(parameters))  # noqa: B010 - typer's
        function.__annotations__ = {each.name: each.annotation for each in parameters}
        return function

    return decorate


def typed_options(context: typer.Context, own: frozenset[str]) -> dict[str, tuple[str, Any]]:
    """Return the options of ``reproduce`` that were typed: by name, how it is spelled, its value.

    What only a variable of this machine says is not among them. ``own``: options of the command
    itself.
    """
    found = {}
    for param in context.command.params:
        name = param.name or ""
        source = context.get_parameter_source(name)
        if name not in own and source is not None and source.name == "COMMANDLINE":
            found[name] = (param.opts[0], context.params[name])
    return found


def arguments_there(typed: dict[str, tuple[str, Any]], inputs: CarriedFiles) -> Iterator[Argument]:
    """Yield what ``reproduce`` is called with there; files that options name join ``inputs``."""
    for name, (option, value) in typed.items():
        if name in HERE:
            continue
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                yield option
            elif name in PATHS:
                yield There(inputs.add(Path(each)), f"{option}=")
            elif name == "original":
                source, found, folder = str(each).partition("=")
                if not found:
                    raise BadInput(f"{option} {each}: give the source and its checkout, SOURCE=DIR")
                yield There(inputs.add(Path(folder)), f"{option}={source}=")
            else:
                yield f"{option}={each}"
