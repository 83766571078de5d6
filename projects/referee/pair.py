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
from assay_values import (
    Refused,
    changed,
    compared,
    forget_others,
    lazily,
    leaves,
    open_values,
    results,
    tensor,
    types_of,
    wide,
    without_tensors,
)

HERE = Path(__file__).parent
SEED = 42
DEFAULT = torch.get_default_dtype()


def case(reference: str, solution: str, device: str) -> dict:
    """Return the inputs, the arms and the right answer of one pair, each as FILE.py:NAME."""
    problem, name = load(reference)
    theirs = made(problem, getattr(problem, name), device)
    exact, weights = wide_copy(theirs), weights_of(theirs)

    def ours():
        try:
            # This takes the problem away, which the solution could find and change.
            module, name = load(solution)
            found = made(problem, getattr(module, name), device)
            give_weights(found, weights)
            return found
        finally:
            # For what the reference imports when it is called.
            sys.path.append(str((HERE / reference).parent))

    example = drawn(problem, SEED, device)
    names = {path: f"x{number}" for number, path in enumerate(leaves(example))}
    constant = without_tensors(example)
    with torch.no_grad():
        types = types_of(results(theirs(*example)))

    def inputs(seed: int) -> dict:
        values = leaves(drawn(problem, seed, device))
        return {names[path]: value for path, value in values.items() if tensor(value)}

    def arguments(tensors: dict) -> list:
        return changed(constant, lambda path, value: tensors.get(names[path], value))

    def arm(function):
        @torch.no_grad()
        def launch(**tensors):
            found = results(function(*arguments(tensors)))
            if (own := types_of(found)) != types:
                raise Refused(f"it returns {words(own)}, and the reference {words(types)}")
            return compared(found, types, device)

        return launch

    @torch.no_grad()
    def oracle(**tensors):
        given = arguments({name: wide(value.clone()) for name, value in tensors.items()})
        try:
            return compared(results(exact(*given)), types, device)
        except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
            # What a reference raises that does not take float64: it is asked in its own type.
            given = arguments({name: value.clone() for name, value in tensors.items()})
            with torch.backends.cudnn.flags(allow_tf32=False):
                return compared(results(theirs(*given)), types, device)

    mine = arm(lazily(ours))
    return {"inputs": inputs, "oracle": oracle, "reference": arm(theirs), "solution": mine}


def load(place: str):
    """Return the module of FILE.py:NAME, and the name. It imports what lies beside it, as a package
    does, too, and no file of that name that another brought.
    """
    file, _, name = place.rpartition(":")
    path = HERE / file
    forget_others(HERE)
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
    by_default = torch.get_default_dtype()
    torch.set_default_dtype(DEFAULT)  # whatever a solution has set
    try:
        with torch.device(device):
            values = open_values(list(problem.get_inputs()))
    finally:
        torch.set_default_dtype(by_default)
    return changed(values, lambda _path, value: value.to(device) if tensor(value) else value)


def weights_of(theirs) -> dict:
    """Return copies of the reference's weights, before a launch changes any."""
    module = isinstance(theirs, torch.nn.Module)
    return {k: v.clone() for k, v in theirs.state_dict().items()} if module else {}


def give_weights(ours, weights: dict) -> None:
    """Give the solution the reference's weights, where its own have the same names and shapes."""
    if isinstance(ours, torch.nn.Module):
        shapes = {name: value.shape for name, value in weights.items()}
        if shapes == {name: value.shape for name, value in ours.state_dict().items()}:
            ours.load_state_dict(weights)


def wide_copy(theirs):
    """Return a module in float64; itself where it has no copy, and a function as it is."""
    if not isinstance(theirs, torch.nn.Module):
        return theirs
    try:
        return copy.deepcopy(theirs).double()
    except (RuntimeError, TypeError):
        return theirs


def words(types: dict) -> str:
    parts = (" ".join(map(str, (*path[1:], kind))) for path, kind in types.items())
    return ", ".join(parts).replace("torch.", "")


def seeded(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)
