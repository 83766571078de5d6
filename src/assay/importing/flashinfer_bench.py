"""FlashInfer-Bench: JSON of definitions, workloads and solutions, and safetensors beside them.

The format is that of FlashInfer Trace (flashinfer-ai/flashinfer-bench, docs/flashinfer-trace).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from assay.base.errors import BadInput
from assay.importing.imported import Imported, Pair, below, identifier, read_below, read_source
from assay.shared.files import sha256_bytes

TOLERANCE = 1e-2
"""Relative, as FlashInfer-Bench has it for every type."""
DTYPES = {"float16": "float16", "bfloat16": "bfloat16", "float32": "float32",
          "float8_e4m3fn": "float8_e4m3"}  # fmt: skip
OTHER = {"float64", "float8_e5m2", "int64", "int32", "int16", "int8", "uint8", "bool"}
"""Further types that are drawn."""
OPEN = re.compile(r"\b(?:multinomial|topk|rand\w*)\b")
"""What leaves open which whole numbers an answer has."""
ENTRIES = (".py", ".c", ".cc", ".cpp", ".cu", ".cxx")


@dataclass
class _Trace:
    """What the files hold, by the names that they give themselves."""

    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    defined: dict[str, list[Path]] = field(default_factory=dict)
    """The files that define a name, each otherwise."""
    workloads: list[tuple[Path, dict[str, Any]]] = field(default_factory=list)
    solutions: list[tuple[Path, dict[str, Any]]] = field(default_factory=list)


def import_flashinfer_bench(paths: Sequence[Path]) -> Imported:
    """Return each solution at each workload of its definition. Raises BadInput for a path that is
    not there.
    """
    imported = Imported("Solutions to FlashInfer-Bench definitions", "flashinfer_bench.py")
    trace = _Trace()
    for path in below(paths, ".json", ".jsonl"):
        with imported.leaving_out(path):
            text = read_source(path).decode("utf-8-sig", "replace")
            lines = text.split("\n") if path.suffix == ".jsonl" else [text]
            for number, line in enumerate(lines, start=1):
                with imported.leaving_out(path):
                    _sort(trace, path, _object(path, number, line))
    for path, solution in trace.solutions:
        with imported.leaving_out(path, _called(path, solution)):
            if why := _why_not(trace, solution):
                raise BadInput(f"{path}: {why}")
            _take(imported, trace, path, solution)
    if trace.definitions and not imported.pairs and not imported.left_out:
        imported.left_out.append(f"{next(iter(trace.definitions))}: no solution is among the files")
    return imported


def _object(path: Path, number: int, text: str) -> dict[str, Any]:
    """Return the object that a text from this line on is; empty for any other value."""
    try:
        found = json.loads(text) if text.strip() else {}
    except json.JSONDecodeError as error:
        line = number + error.lineno - 1
        raise BadInput(f"{path}: line {line}: is no JSON: {error.msg}") from error
    return found if isinstance(found, dict) else {}


def _called(path: Path, solution: Mapping[str, Any]) -> str:
    return f"{solution['definition']}/{solution.get('name', path.stem)}"


def _sort(trace: _Trace, path: Path, found: dict[str, Any]) -> None:
    if {"axes", "inputs", "outputs", "reference"} <= found.keys():
        name = str(found.get("name"))
        if trace.definitions.get(name) != found:
            trace.defined.setdefault(name, []).append(path)
        trace.definitions[name] = found
    elif {"sources", "spec", "definition"} <= found.keys():
        trace.solutions.append((path, found))
    elif isinstance(found.get("workload"), dict) and found.get("solution") is None:
        trace.workloads.append((path, found))
    elif {"uuid", "axes", "inputs"} <= found.keys():
        raise BadInput(f"{path}: its workloads name no definition: SOL-ExecBench's are not read")


def _why_not(trace: _Trace, solution: Mapping[str, Any]) -> str | None:
    """Return why a solution cannot be measured here; None where it can."""
    name, spec = solution["definition"], solution["spec"]
    if name not in trace.definitions:
        return f"its definition '{name}' is not among the files"
    if len(files := trace.defined[name]) > 1:
        return f"two files define '{name}', each otherwise: {files[0]} and {files[1]}"
    if says := _unlike(trace.definitions[name]):
        return says
    file, _, function = str(spec.get("entry_point", "")).partition("::")
    if not function or file not in {source.get("path") for source in solution["sources"]}:
        return "its entry point is no FILE::FUNCTION of its sources"
    if not file.endswith(ENTRIES):
        return f"its entry point {file} is neither Python nor C++ nor CUDA"
    there = any(found["definition"] == name for _, found in trace.workloads)
    return None if there else f"no workload of '{name}' is among the files"


def _unlike(definition: Mapping[str, Any]) -> str | None:
    """Return why answers to a definition cannot be held against each other; None where they can."""
    outputs = [str(each["dtype"]) for each in definition["outputs"].values()]
    inputs = [str(each["dtype"]) for each in definition["inputs"].values()]
    if other := sorted({*inputs, *outputs} - DTYPES.keys() - OTHER):
        return f"its definition has values of {other[0]}, which are not drawn here"
    if any("int" in each for each in outputs) and (by := OPEN.search(definition["reference"])):
        says = f"its definition answers with whole numbers by {by[0]}"
        return f"{says}, where others may be as right: they cannot be compared"
    return None


def _take(imported: Imported, trace: _Trace, path: Path, solution: Mapping[str, Any]) -> None:
    name, called = solution["definition"], str(solution.get("name", path.stem))
    definition, folder = trace.definitions[name], f"solutions/{identifier(name, called)}"
    described = f"definitions/{identifier(name)}.json"
    imported.add(described, _text(definition))
    own = {f"{folder}/{source['path']}" for source in solution["sources"]}
    there = {each for each in imported.contents if each.startswith(f"{folder}/")}
    if there and there != own | {f"{folder}/spec.json"}:
        raise BadInput(f"{path}: another solution to '{name}' is called '{called}': rename one")
    for source in solution["sources"]:
        imported.add(f"{folder}/{source['path']}", str(source["content"]).encode())
    imported.add(f"{folder}/spec.json", _text(solution["spec"]))
    dtypes = [each["dtype"] for each in definition["inputs"].values() if each.get("shape")]
    pair = Pair(
        id=called,
        title=name,
        solution=f"{called} by {solution.get('author', 'an author who is not named')}",
        parameters={"definition": described, "solution": folder},
        file=f"{folder}/{solution['spec']['entry_point'].partition('::')[0]}",
        dtype=next((DTYPES[each] for each in dtypes if each in DTYPES), "float32"),
        relative_tolerance=TOLERANCE,
        called=_called(path, solution),
    )
    before = len(imported.pairs)
    for beside, found in trace.workloads:
        if found["definition"] == name:
            with imported.leaving_out(beside):
                _whole(definition, beside, found["workload"])
                _add(imported, pair, beside, found["workload"])
    if len(imported.pairs) == before:
        raise BadInput(f"{path}: no workload of '{name}' can be drawn")


def _whole(definition: Mapping[str, Any], beside: Path, workload: Mapping[str, Any]) -> None:
    words = f"{beside}: a workload of '{definition['name']}' has"
    if lacks := [each for each in ("uuid", "axes", "inputs") if each not in workload]:
        raise BadInput(f"{words} no '{lacks[0]}'")
    for name, axis in definition["axes"].items():
        if axis.get("value") is None and not isinstance(workload["axes"].get(name), int):
            raise BadInput(f"{words} no size of the axis '{name}'")
    for name in definition["inputs"]:
        kind = workload["inputs"].get(name, {}).get("type")
        if kind not in ("random", "scalar", "safetensors"):
            raise BadInput(f"{words} no input '{name}' that is random, a scalar or of safetensors")


def _add(imported: Imported, pair: Pair, beside: Path, workload: dict[str, Any]) -> None:
    """Add a solution's pair at a workload. Raises BadInput for one whose tensors are not there."""
    uuid = str(workload["uuid"])
    stored = f"workloads/{identifier(pair.title, uuid)}.json"
    imported.add(stored, _text(_with_tensors(imported, beside, workload)))
    sizes = ", ".join(f"{axis}={size}" for axis, size in workload["axes"].items())
    imported.pairs.append(
        replace(
            pair,
            id=identifier(pair.id, uuid[:8]),
            title=f"{pair.title}, {sizes}, workload {uuid[:8]}",
            parameters={**pair.parameters, "workload": stored},
        )
    )


def _with_tensors(imported: Imported, beside: Path, workload: dict[str, Any]) -> dict[str, Any]:
    """Return a workload whose tensors lie in the project, and take them. Raises BadInput."""
    inputs = dict(workload["inputs"])
    for name, given in inputs.items():
        if given.get("type") != "safetensors":
            continue
        folders = [each for each in beside.parents[:4] if (each / given["path"]).is_file()]
        if not folders or not given["path"].endswith(".safetensors"):
            raise BadInput(f"{beside}: its tensors are not beside it: {given['path']}")
        data = read_below(folders[0], given["path"])
        if given.get("tensor_key") not in _tensors(folders[0] / given["path"], data):
            raise BadInput(f"{beside}: {given['path']} has no tensor '{given.get('tensor_key')}'")
        stem = PurePosixPath(given["path"]).stem
        kept = f"tensors/{identifier(stem)[:60]}_{sha256_bytes(data)[:8]}.safetensors"
        imported.add(kept, data)
        inputs[name] = {**given, "path": kept}
    return {**workload, "inputs": inputs}


def _tensors(path: Path, data: bytes) -> dict[str, Any]:
    """Return a safetensors file's table: 8 bytes of size, then JSON. Raises BadInput."""
    try:
        return dict(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")]))
    except (TypeError, ValueError) as error:
        fetch = ": fetch it by git lfs pull" if data.startswith(b"version https://git-lfs") else ""
        raise BadInput(f"{path}: is no file of safetensors{fetch}") from error


def _text(found: Any) -> bytes:
    return f"{json.dumps(found, indent=1)}\n".encode()
