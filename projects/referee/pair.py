"""Pairs of a reference and a solution, as Assay measures them. Written by `./assay new`; yours now.

Either is a class, built from one seed and with equal weights, or a function. The right answer is the
reference's in float64; where it has no such, in its own type without TF32.
"""

import copy
import importlib.util
import random
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
SEED = 42


class Refused(Exception):
    """A solution gives another type of elements than the reference."""

    refuses_output = True


def case(reference: str, solution: str, device: str) -> dict:
    """Return the inputs, the arms and the right answer of one pair, each as FILE.py:NAME."""
    problem, name = load(reference)
    theirs = made(problem, getattr(problem, name), device)
    exact = wide_copy(theirs)
    try:
        # This takes the problem away, which the solution could find and change.
        module, name = load(solution)
        ours = made(problem, getattr(module, name), device)
        same_weights(theirs, ours)
    except Exception as error:  # of the solution alone: the reference is measured all the same
        ours = failing(error)
    sys.path.append(str((HERE / reference).parent))  # for what it imports when it is called

    example = drawn(problem, SEED, device)
    constant = [None if tensor(value) else value for value in example]
    with torch.no_grad():
        types = types_of(theirs(*example))

    def inputs(seed: int) -> dict:
        values = drawn(problem, seed, device)
        return {f"x{number}": value for number, value in enumerate(values) if tensor(value)}

    def arguments(tensors: dict) -> list:
        return [tensors.get(f"x{number}", value) for number, value in enumerate(constant)]

    def arm(function):
        @torch.no_grad()
        def launch(**tensors):
            found = function(*arguments(tensors))
            if types_of(found) != types:
                raise Refused(f"it returns {words(types_of(found))}, and the reference {words(types)}")
            return found

        return launch

    @torch.no_grad()
    def oracle(**tensors):
        given = arguments({name: value.clone() for name, value in tensors.items()})
        try:
            return exact(*map(wide, given))
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
            # What a reference raises that does not take float64: it is asked in its own type.
            with torch.backends.cudnn.flags(allow_tf32=False):
                return theirs(*arguments({name: each.clone() for name, each in tensors.items()}))

    return {"inputs": inputs, "oracle": oracle, "reference": arm(theirs), "solution": arm(ours)}


def load(place: str):
    """Return the module of FILE.py:NAME, and the name. It imports what lies beside it, as a package
    does, too, and no file of that name that another brought.
    """
    file, _, name = place.rpartition(":")
    path = HERE / file
    for other, loaded in list(sys.modules.items()):
        has = getattr(loaded, "__dict__", {})
        places = [has.get("__file__") or "", *(has.get("__path__") or ())]
        if any(HERE in Path(each).parent.parents for each in places):
            del sys.modules[other]
    sys.path[:] = [each for each in sys.path if HERE not in Path(each).parents]
    sys.path.append(str(path.parent))
    called, beside = file.removesuffix(".py").replace("/", "_"), [str(path.parent)]
    spec = importlib.util.spec_from_file_location(called, path, submodule_search_locations=beside)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module, name


def made(problem, what, device: str):
    """Return a function as it is; a class built with the problem's own arguments."""
    if not isinstance(what, type):
        return what
    seeded(SEED)
    with torch.device(device):
        given = getattr(problem, "get_init_inputs", list)()
        seeded(SEED)
        return what(*given).to(device)


def drawn(problem, seed: int, device: str) -> list:
    seeded(seed)
    with torch.device(device):
        values = list(problem.get_inputs())
    return [value.to(device) if tensor(value) else value for value in values]


def same_weights(theirs, ours) -> None:
    """Give the solution the reference's weights, where its own have the same names and shapes."""
    if isinstance(theirs, torch.nn.Module) and isinstance(ours, torch.nn.Module):
        weights = theirs.state_dict()
        shapes = {name: value.shape for name, value in weights.items()}
        if shapes == {name: value.shape for name, value in ours.state_dict().items()}:
            ours.load_state_dict({name: value.clone() for name, value in weights.items()})


def wide_copy(theirs):
    """Return a module in float64; itself where it has no copy, and a function as it is."""
    if not isinstance(theirs, torch.nn.Module):
        return theirs
    try:
        return copy.deepcopy(theirs).double()
    except (RuntimeError, TypeError):
        return theirs


def wide(value):
    return value.double() if tensor(value) and value.is_floating_point() else value


def types_of(found) -> list:
    parts = found if isinstance(found, tuple | list) else [found]
    return [getattr(part, "dtype", type(part)) for part in parts]


def words(types: list) -> str:
    return ", ".join(str(each).removeprefix("torch.") for each in types)


def failing(error: Exception):
    def launch(*_values):
        raise error

    return launch


def seeded(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


def tensor(value) -> bool:
    return isinstance(value, torch.Tensor)
