"""GPU MODE's tasks as Assay measures them. Written by `./assay new`; yours now.

The right answer is the task's own reference, in float64 where that takes it. A submission is asked
at the task's test shapes first, by the task's own check. A tensor of the input that the reference
returns is an output, which each launch gets anew.
"""

import importlib.util
import json
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
SEED = 42


class Refused(Exception):
    """The task's own check finds an output wrong."""

    refuses_output = True


def case(task: str, submission: str, shape: str, tests: str, device: str) -> dict:
    """Return the inputs, the arms and the right answer of a submission at one shape."""
    theirs = load(HERE / task, "reference")
    spec = json.loads(shape)
    with torch.device(device):
        example = theirs.generate_input(**spec, seed=SEED)
        kinds, written = outputs_in(theirs.ref_kernel, example)
    try:
        ours = load(HERE / task, "submission", HERE / submission).custom_kernel
        for test in json.loads(tests):
            accepted(theirs, ours, test, device)
    except Exception as error:  # of the submission alone: the reference is measured all the same
        ours = failing(error)
    empty = [torch.empty_like(leaves(example)[number]) for number in written]
    del example

    def inputs(seed: int) -> dict:
        with torch.device(device):
            found = leaves(theirs.generate_input(**spec, seed=seed))
        taken = [n for n, value in enumerate(found) if tensor(value) and n not in written]
        return {f"x{number}": found[number] for number in taken}

    def data(tensors: dict, out: tuple):
        values = {**tensors, **{f"x{number}": each for number, each in zip(written, out)}}
        return rebuilt(kinds, lambda number, constant: values.get(f"x{number}", constant))

    def arm(function):
        def launch(out=(), **tensors):
            found = function(data(tensors, out))
            for place, each in zip(out, parts(found)):
                if each.data_ptr() != place.data_ptr():
                    place.copy_(each)  # it returned a tensor of its own: this copy is timed, too
            return found

        return launch

    @torch.no_grad()
    def oracle(**tensors):
        # Contents of an output are nobody's input: the reference writes all of it.
        for convert in (wide, lambda value: value):
            out = tuple(convert(torch.zeros_like(each)) for each in empty)
            given = {name: convert(value.clone()) for name, value in tensors.items()}
            try:
                return theirs.ref_kernel(data(given, out))
            except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
                # What a reference raises that does not take float64: it is asked in its own type.
                if convert is not wide:
                    raise

    made = {"inputs": inputs, "oracle": oracle, "reference": arm(theirs.ref_kernel)}
    made["solution"] = arm(ours)
    if written:
        made["output"] = lambda: tuple(map(torch.empty_like, empty))
    return made


def load(folder: Path, name: str, path: Path | None = None):
    """Import a file as its own task's module: several tasks have files of one name. A submission at
    ``path`` hides nothing that has its name.
    """
    names = {each.stem for each in folder.glob("*.py")} | {name}
    kept = {each: sys.modules.pop(each) for each in names if each in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        if path is None:
            return __import__(name)
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(folder))
        for each in names:
            sys.modules.pop(each, None)
        sys.modules.update(kept)


def accepted(theirs, ours, test: dict, device: str) -> None:
    """Raise Refused where the task's own check refuses a submission's output at a test shape."""
    check = getattr(theirs, "check_implementation", None)
    if check is None:
        return
    with torch.device(device):
        given = theirs.generate_input(**test, seed=SEED)
        copy = rebuilt(given, lambda _number, value: value.clone() if tensor(value) else value)
        found = check(given, ours(copy))
    good, says = found if isinstance(found, tuple) else (not found, found)
    if not good:
        raise Refused(f"the task's own check refuses its output at test {test}: {says}")


def outputs_in(reference, example) -> tuple:
    """Return the example without its tensors, and the numbers of those that hold the output."""
    copy = rebuilt(example, lambda _number, value: value.clone() if tensor(value) else value)
    places = {v.data_ptr(): n for n, v in enumerate(leaves(copy)) if tensor(v) and v.numel()}
    found = parts(reference(copy))
    written = [places.get(each.data_ptr()) if tensor(each) else None for each in found]
    kinds = rebuilt(example, lambda _number, value: None if tensor(value) else value)
    return kinds, [] if None in written else written


def parts(found) -> tuple:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def leaves(data) -> list:
    """Return all values of nested tuples, lists and mappings, in order."""
    if isinstance(data, dict):
        return [leaf for value in data.values() for leaf in leaves(value)]
    if isinstance(data, tuple | list):
        return [leaf for value in data for leaf in leaves(value)]
    return [data]


def rebuilt(data, value_of):
    """Return the same nested data with other values: of a leaf's number and value."""
    numbers = iter(range(len(leaves(data))))

    def one(part):
        if isinstance(part, dict):
            return {name: one(value) for name, value in part.items()}
        if isinstance(part, tuple | list):
            values = [one(value) for value in part]
            return type(part)(*values) if hasattr(part, "_fields") else type(part)(values)
        return value_of(next(numbers), part)

    return one(data)


def wide(value):
    return value.double() if tensor(value) and value.is_floating_point() else value


def failing(error: Exception):
    def launch(_data):
        raise error

    return launch


def tensor(value) -> bool:
    return isinstance(value, torch.Tensor)
