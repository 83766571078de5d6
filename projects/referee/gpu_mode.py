"""GPU MODE's tasks as Assay measures them. Written by `./assay new`; yours now.

The right answer is the task's own reference, in float64 where that takes it. A submission is asked
at the task's test shapes first, by the task's own check. A tensor of the input that the reference
returns is an output, which each launch gets anew. One that nobody wrote is there to be written.
"""

import importlib.util
import json
import sys
from inspect import signature
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
    wide,
    without_tensors,
)

HERE = Path(__file__).parent
SEED = 42


def case(task: str, submission: str, shape: str, tests: str, device: str) -> dict:
    """Return the inputs, the arms and the right answer of a submission at one shape."""
    forget_others(HERE)
    sys.path.append(str(HERE / task))  # for what a submission imports when it is called
    theirs = load(HERE / task, "reference")
    spec = json.loads(shape)
    example = drawn(theirs, spec, SEED, device)
    with torch.device(device):
        wanted, written = outputs_in(theirs.ref_kernel, example)

    def ours():
        found = load(HERE / task, "submission", HERE / submission).custom_kernel
        for test in json.loads(tests):
            accepted(theirs, found, test, device)
        return found

    empty = [torch.empty_like(leaves(example)[path]) for path in written]
    names = {path: f"x{number}" for number, path in enumerate(leaves(example))}
    spare = left_empty(theirs, spec, device)
    constant = without_tensors(example)
    del example

    def inputs(seed: int) -> dict:
        found = leaves(drawn(theirs, spec, seed, device))
        taken = [path for path, value in found.items() if tensor(value)]
        return {names[path]: found[path] for path in taken if path not in {*written, *spare}}

    def data(tensors: dict, out: tuple):
        values = {names[path]: each for path, each in (*spare.items(), *zip(written, out))}
        values |= tensors
        return changed(constant, lambda path, value: values.get(names[path], value))

    def arm(function):
        def launch(out=(), **tensors):
            parts = results(function(data(tensors, out)))
            if parts.keys() != {*wanted}:
                raise Refused(f"it returns {[*parts]}, and the reference {wanted}")
            found = compared(parts, wanted, device)
            for place, each in zip(out, found):
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
                return compared(results(theirs.ref_kernel(data(given, out))), wanted, device)
            except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
                # What a reference raises that does not take float64: it is asked in its own type.
                if convert is not wide:
                    raise

    made = {"inputs": inputs, "oracle": oracle, "reference": arm(theirs.ref_kernel)}
    made["solution"] = arm(lazily(ours))
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


def drawn(theirs, spec: dict, seed: int, device: str):
    """Return a task's input at a shape, of a seed, which not every task asks for."""
    torch.manual_seed(seed)
    own = {"seed": seed} if "seed" in signature(theirs.generate_input).parameters else {}
    with torch.device(device):
        return open_values(theirs.generate_input(**spec, **own))


def accepted(theirs, ours, test: dict, device: str) -> None:
    """Raise Refused where the task's own check refuses a submission's output at a test shape."""
    check = getattr(theirs, "check_implementation", None)
    if check is None:
        return
    given = drawn(theirs, test, SEED, device)
    with torch.device(device):
        found = check(given, ours(cloned(given)))
    good, says = found if isinstance(found, tuple) else (not found, found)
    if not good:
        raise Refused(f"the task's own check refuses its output at test {test}: {says}")


def outputs_in(reference, example) -> tuple:
    """Return the paths of what the reference returns, and those of the example's tensors that it
    is written into, in the same order: none where it makes tensors of its own, or where those are
    all that it is given: it returns its input.
    """
    copy = cloned(example)
    places = {v.data_ptr(): path for path, v in leaves(copy).items() if tensor(v) and v.numel()}
    found = results(reference(copy))
    parts = [each for each in found.values() if each is not None]
    written = [places.get(each.data_ptr()) if tensor(each) else None for each in parts]
    given = None in written or len({*written}) == len(places)
    return list(found), [] if given else written


def left_empty(theirs, spec: dict, device: str) -> dict:
    """Return the tensors of an input, by paths, that nobody wrote: what is computed goes there.
    PyTorch puts NaN into them where it is asked to be deterministic.
    """
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        found = leaves(drawn(theirs, spec, SEED, device))
    finally:
        torch.use_deterministic_algorithms(False)
    real = [(path, v) for path, v in found.items() if tensor(v) and v.is_floating_point()]
    return {path: v for path, v in real if v.element_size() > 1 and bool(v.isnan().all())}


def cloned(values):
    return changed(values, lambda _path, value: value.clone() if tensor(value) else value)
