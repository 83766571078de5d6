"""Digests of all that a measurement's meaning rests on: when one changes, it is measured again.

A digest covers where the figures come from, the target, the code that made the record and, of the
configuration, what the device side is told. What only judging reads, such as a margin, is in none.

Which modules a task runs is read off their source: nothing of the device side can be imported here.
What cannot change a record (comments, docstrings, layout) is not in a digest.
"""

import ast
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from assay.catalog.model import Catalog
from assay.evidence.entries import TargetStage
from assay.evidence.stages import (
    BENCHMARKS,
    CORRECTNESS,
    OPERATORS,
    ORIGINALS,
    PLATFORMS,
    PROFILES,
    PROGRAMS,
    SANITIZERS,
    STOPWATCHES,
)
from assay.measuring.device_jobs import comparison_spec
from assay.measuring.operator_kernels import offered
from assay.records.base import Record
from assay.records.plan import OF_SINGLE_FILES, Request, TargetPlan
from assay.records.workload_specs import as_spec
from assay.shared.files import sha256_bytes
from assay.shared.job import TASKS
from assay.shared.job_file import plain
from assay.shared.specs import ProtocolSpec, TargetSpec

PACKAGE = Path(__file__).resolve().parents[1]
START = "assay.device.__main__"
"""Runs before any task."""
ROOMS = ("device", "ops", "shared")
"""Packages that the device side is made of."""


@dataclass(frozen=True)
class Definitions:
    """The definitions of everything that one target's plan calls for."""

    catalog: Catalog
    request: Request
    plan: TargetPlan

    def stage(self, stage: TargetStage[Any, Any]) -> str:
        """Return the digest of all records of a stage."""
        comparisons: Iterable[str] = ()
        if stage.of_comparison or stage is SANITIZERS:
            keys = (CORRECTNESS if stage is SANITIZERS else stage).keys(self.plan)
            comparisons = dict.fromkeys(key[1] for key in keys)
        names = [self.measurement(stage, name) for name in comparisons]
        return _digest([self.measurement(stage), *self._planned(stage), *names])

    def measurement(self, stage: TargetStage[Any, Any], comparison: str | None = None) -> str:
        """Return the digest of one record of a stage, of a comparison where it is of one."""
        target = plain(as_spec(TargetSpec, self.catalog.targets[self.plan.target]))
        runtime = "" if self.request.runtime == "host" else self.request.runtime
        parts = [self._origin(stage), target, runtime]
        if self.request.device_paths:
            parts.append(list(self.request.device_paths))
        if stage.task is not None:
            parts.append(code_digest([START, TASKS[stage.task].full_module]))
        if stage in (PROGRAMS, ORIGINALS):
            parts.append(self.catalog.judging.program_runs)
        if stage is CORRECTNESS:
            parts.append(self.catalog.judging.correctness_seeds)
        if comparison is not None:
            # Which binaries the arms run, the job says, and the workflow by its inputs.
            parts.append(plain(comparison_spec(self.catalog, comparison, {})))
            if stage is BENCHMARKS:
                protocol = self.catalog.comparisons[comparison].protocol
                parts.append(plain(as_spec(ProtocolSpec, self.catalog.protocols[protocol])))
            if stage in (PROFILES, STOPWATCHES):
                parts.append(self.catalog.comparisons[comparison].profile)
        return _digest(parts)

    def _planned(self, stage: TargetStage[Any, Any]) -> Iterator[Any]:
        """Yield what a stage's plan lists beside comparisons."""
        if stage in (PROFILES, SANITIZERS, OPERATORS):
            yield from getattr(self.plan, stage.field or "")
        if stage is PROGRAMS:
            for job in self.plan.programs:
                yield [_content(job), list(self.catalog.programs[job.program].verify)]
        if stage is ORIGINALS:
            yield from map(_content, self.plan.originals)
        if stage is OPERATORS:
            yield from map(_content, offered(self.catalog, self.plan.target))

    def _origin(self, stage: TargetStage[Any, Any]) -> Any:
        """Return where figures come from. On how many GPUs of a machine no measurement rests, nor
        on whether they are still here; the platform's record lists them.
        """
        origin = _content(self.plan.provision)
        del origin["within"]
        origin |= dict.fromkeys(OF_SINGLE_FILES, ())  # as digests had it when plans held them
        if origin["gpus"]:
            del origin["detail"]
            origin["absence"] = None
            if stage is not PLATFORMS:
                del origin["gpus"]
        return origin


def _content(record: Record) -> Any:
    return record.model_dump(mode="json", by_alias=True)


def _digest(parts: list[Any]) -> str:
    return sha256_bytes(json.dumps(parts, sort_keys=True).encode())


def code_digest(modules: Iterable[str], package: Path = PACKAGE) -> str:
    """Return the digest of what ``modules`` and everything they import on the device side do.

    ``package`` is the folder of the ``assay`` package, whose source counts as it was when it was
    first asked for in this process.
    """
    lines = [f"{name} {_meaning(package, name)}" for name in sorted(imported(modules, package))]
    return sha256_bytes("\n".join(lines).encode())


def imported(modules: Iterable[str], package: Path = PACKAGE) -> set[str]:
    """Return ``modules`` with what they import, transitively, of the device side.

    Raises KeyError for a module that there is none of.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _imports(package, name)
    return found


@cache
def _sources(package: Path) -> dict[str, Path]:
    """Return every module of the device side: assay.shared.job for shared/job.py."""
    found = {}
    for path in (path for room in ROOMS for path in (package / room).rglob("*.py")):
        parts = ["assay", *path.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def _tree(package: Path, name: str) -> ast.Module:
    return ast.parse(_sources(package)[name].read_text(encoding="utf-8"))


@cache
def _imports(package: Path, name: str) -> frozenset[str]:
    """Return what one module imports anywhere in it, and the packages that this runs on the way."""
    known = _sources(package)
    names = {name}
    for node in ast.walk(_tree(package, name)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    parents = {each.rsplit(".", depth)[0] for each in names for depth in (1, 2)}
    return frozenset(((names | parents) & known.keys()) - {name})


@cache
def _meaning(package: Path, name: str) -> str:
    """Return the digest of what a module does: its statements, but for strings that stand alone."""
    tree = _tree(package, name)
    for node in ast.walk(tree):
        for body in ("body", "orelse", "finalbody"):
            statements = getattr(node, body, None)
            if isinstance(statements, list):
                setattr(node, body, [each for each in statements if not _is_remark(each)])
    return sha256_bytes(_text(tree).encode())


def _text(part: object) -> str:
    """Return a syntax tree as text that is the same for every release of Python.

    ``ast.dump`` is not: releases add fields, change what they print of those that are empty, and
    cut the text of f-strings into pieces in other ways.
    """
    if isinstance(part, list):
        return f"[{','.join(map(_text, part))}]"
    if not isinstance(part, ast.AST):
        return ascii(part)
    if isinstance(part, ast.JoinedStr):
        return f"JoinedStr({_text(_joined(part.values))})"
    given = ((name, getattr(part, name, None)) for name in part._fields)
    fields = (f"{name}={_text(value)}" for name, value in given if value not in (None, []))
    return f"{type(part).__name__}({','.join(fields)})"


def _joined(values: Iterable[ast.expr]) -> list[object]:
    """Return the parts of an f-string, its text in pieces as long as they can be."""
    parts: list[object] = []
    for value in values:
        text = value.value if isinstance(value, ast.Constant) else value
        if isinstance(text, str) and parts and isinstance(parts[-1], str):
            parts[-1] += text
        elif text != "":
            parts.append(text)
    return parts


def _is_remark(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
