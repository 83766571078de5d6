"""FlashInfer-Bench's solutions as Assay measures them. Written by `./assay new`; yours now.

The right answer is the definition's own reference, in float64 where that takes it. Random inputs are
drawn anew for each seed; those of files and the scalars stay as they are.
"""

import importlib
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import torch
from assay_values import Refused, forget_others, lazily, tensor, wide

HERE = Path(__file__).parent
SAFE = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
        "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
        "U8": torch.uint8, "BOOL": torch.bool, "F8_E4M3": torch.float8_e4m3fn,
        "F8_E5M2": torch.float8_e5m2}


def case(definition: str, workload: str, solution: str, device: str) -> dict:
    """Return the inputs, the arms and the right answer of a solution at one workload."""
    described, given = read(definition), read(workload)
    sizes = {name: axis.get("value") for name, axis in described["axes"].items()} | given["axes"]
    random = torch.Generator(device=device).manual_seed(0)
    fixed = {
        name: value_of(given["inputs"][name], entry, random, device)
        for name, entry in described["inputs"].items()
        if given["inputs"][name]["type"] != "random" or entry["shape"] is None
    }
    scope = {}
    exec(compile(described["reference"], definition, "exec"), scope)
    run, types = scope["run"], {name: dtype(each) for name, each in described["outputs"].items()}
    spec = read(f"{solution}/spec.json")
    passed = spec.get("destination_passing_style", True)
    ours = lazily(lambda: entry_of(HERE / solution, spec))

    def inputs(seed: int) -> dict:
        random = torch.Generator(device=device).manual_seed(seed)
        drawn = {}
        for name, entry in described["inputs"].items():
            if name not in fixed:
                drawn[name] = draw(entry, sizes, random, device)
            elif tensor(fixed[name]):
                drawn[name] = fixed[name].clone()
        return drawn

    def arguments(tensors: dict) -> list:
        return [tensors[name] if name in tensors else fixed[name] for name in described["inputs"]]

    def ordered(found) -> tuple:
        """Return results in the definition's order, numbers as tensors of its types."""
        if isinstance(found, dict):
            found = [found[name] for name in types]
        found = found if isinstance(found, tuple | list) else [found]
        parts = zip(found, types.values(), strict=True)
        return tuple(p if tensor(p) else torch.tensor(p, dtype=t, device=device) for p, t in parts)

    def reference(out=(), **tensors):
        found = ordered(run(*arguments(tensors)))
        for place, each in zip(out, found):
            place.copy_(each)
        return found

    def theirs(out=(), **tensors):
        given = arguments(tensors)
        if passed:
            return ours(*given, *out)
        found = ordered(ours(*given))
        if any(each.dtype is not kind for each, kind in zip(found, types.values())):
            raise Refused(f"it returns {[each.dtype for each in found]}, and not {types}")
        return found

    @torch.no_grad()
    def oracle(**tensors):
        for convert in (wide, lambda value: value):
            values = arguments({name: value.clone() for name, value in tensors.items()})
            try:
                return ordered(run(*map(convert, values)))
            except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError):
                # What a reference raises that does not take float64: it is asked in its own type.
                if convert is not wide:
                    raise

    made = {"inputs": inputs, "oracle": oracle, "reference": reference, "solution": theirs}
    if passed:
        made["output"] = lambda: tuple(
            torch.empty(shape(entry, sizes), dtype=dtype(entry), device=device)
            for entry in described["outputs"].values()
        )
    return made


def read(name: str) -> dict:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


def dtype(entry: dict):
    return getattr(torch, entry["dtype"])


def shape(entry: dict, sizes: dict) -> list:
    return [int(sizes[axis]) for axis in entry["shape"] or ()]


def draw(entry: dict, sizes: dict, random, device: str):
    """Return values as FlashInfer-Bench draws them: normal, or whole numbers around 0."""
    kind, size = dtype(entry), shape(entry, sizes)
    if kind.is_floating_point:
        return torch.randn(size, generator=random, device=device).to(kind)
    low, high = {torch.bool: (0, 2), torch.int8: (-128, 128)}.get(kind, (-1024, 1024))
    return torch.randint(low, high, size, generator=random, device=device).to(kind)


def value_of(given: dict, entry: dict, random, device: str):
    """Return a scalar, or a tensor of a file: its size in 8 bytes, its table as JSON, its bytes."""
    if given["type"] != "safetensors":
        return given["value"] if "value" in given else draw(entry, {}, random, device).item()
    data = (HERE / given["path"]).read_bytes()
    length = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8 : 8 + length])[given["tensor_key"]]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    count = math.prod(entry["shape"])
    flat = torch.frombuffer(bytearray(data[begin:end]), dtype=SAFE[entry["dtype"]], count=count)
    return flat.reshape(entry["shape"]).to(device)


def entry_of(folder: Path, spec: dict):
    """Return the function FILE::NAME of a solution: of C++ and CUDA, which are compiled here, or of
    Python, whose files import each other, as those of a package, too.
    """
    file, _, name = spec["entry_point"].partition("::")
    if not file.endswith(".py"):
        return getattr(compiled(folder, spec.get("binding")), name)
    forget_others(HERE)
    # These stay: a function may import when it is called.
    sys.path[:0] = [str((folder / file).parent), str(folder)]
    package = sys.modules[f"solution_{folder.name}"] = ModuleType(f"solution_{folder.name}")
    package.__path__ = [str(folder)]
    module = ".".join([package.__name__, *Path(file).with_suffix("").parts])
    return getattr(importlib.import_module(module), name)


def compiled(folder: Path, binding: str | None):
    """Return the extension that a solution's sources make, as FlashInfer-Bench compiles them."""
    files = sorted(map(str, folder.rglob("*")))
    cuda = [each for each in files if each.endswith(".cu")]
    cpp = [each for each in files if each.endswith((".cpp", ".cc", ".cxx", ".c"))]
    name, include = f"solution_{folder.name}", [str(folder)]
    if binding == "torch":
        from torch.utils.cpp_extension import load

        return load(name, cpp + cuda, extra_include_paths=include)
    import tvm_ffi.cpp

    flags = ["-lcuda", "-lcublas"] if cuda else []
    return tvm_ffi.cpp.load(
        name, cpp_files=cpp, cuda_files=cuda, extra_ldflags=flags, extra_include_paths=include
    )
