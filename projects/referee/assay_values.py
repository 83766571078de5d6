"""What all formats do with values and modules. Written by `./assay new`; yours now."""

import functools
import sys
from pathlib import Path

import torch


class Refused(Exception):
    """A solution's output is not of the form or type that is wanted, or its own check says so."""

    refuses_output = True


def changed(values, change, path=()):
    """Return nested tuples, lists and mappings with what ``change`` makes of each path and leaf."""
    if isinstance(values, dict):
        return {name: changed(each, change, (*path, name)) for name, each in values.items()}
    if isinstance(values, tuple | list):
        found = [changed(each, change, (*path, name)) for name, each in enumerate(values)]
        return type(values)(*found) if hasattr(values, "_fields") else type(values)(found)
    return change(path, values)


def leaves(values) -> dict:
    """Return all that nested tuples, lists and mappings hold, by its path."""
    found = {}
    changed(values, found.setdefault)
    return found


def results(found) -> dict:
    """Return all of a result by its path. One in a tuple is as good as without."""
    return leaves(found if isinstance(found, tuple | list) else [found])


def types_of(parts: dict) -> dict:
    """Return the type of each part, of a tensor that of its elements."""
    return {path: getattr(part, "dtype", type(part).__name__) for path, part in parts.items()}


def compared(parts: dict, paths, device: str) -> tuple:
    """Return the tensors and numbers of a result in the order of ``paths``: nothing of None."""
    found = [parts[path] for path in paths if parts[path] is not None]
    return tuple(each if tensor(each) else torch.tensor(each, device=device) for each in found)


def open_values(values):
    """Return inputs as they are. Raises NotImplementedError for tensors inside of an object of a
    class, a cache say: nobody would draw them anew, or see that they change.
    """
    for value in leaves(values).values():
        if not tensor(value) and any(map(tensor, leaves(getattr(value, "__dict__", {})).values())):
            raise NotImplementedError(f"an input is a {type(value).__name__} that has tensors")
    return values


def without_tensors(values):
    return changed(values, lambda _path, value: None if tensor(value) else value)


def wide(value):
    try:
        return value.double() if tensor(value) and value.is_floating_point() else value
    except NotImplementedError:
        return value  # of 4 bits, which nothing converts


def tensor(value) -> bool:
    return isinstance(value, torch.Tensor)


def lazily(load):
    """Return the function that ``load`` gives, which is asked for at its first call: where the
    reference runs alone, a solution is never loaded. What its loading raises, each call raises.
    """

    @functools.cache
    def loaded():
        try:
            return load(), None
        except (Exception, SystemExit) as error:  # of the solution alone
            return None, error

    def launch(*values):
        found, error = loaded()
        if error is not None:
            raise error if isinstance(error, Exception) else ImportError(f"it ends by {error!r}")
        return found(*values)

    return launch


def forget_others(project: Path) -> None:
    """Import nothing of the project's other problems and solutions: files may have one name."""
    others = []
    for name, module in list(sys.modules.items()):
        has = getattr(module, "__dict__", {})
        places = [has.get("__file__") or "", *(has.get("__path__") or ())]
        others += [name for each in places if project in Path(each).parent.parents]
    for name in others:  # only now: a namespace's path asks for the package around it
        sys.modules.pop(name, None)
    sys.path[:] = [each for each in sys.path if project not in Path(each).parents]
