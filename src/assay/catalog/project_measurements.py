"""Measurements of a project, lowered to problems, variants and comparisons."""

import re

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import suggest
from assay.catalog.project_folder import PROJECT_FILE
from assay.catalog.project_reading import ProjectReading
from assay.records.base import CALLABLE_PATTERN
from assay.records.compiler_words import refused_words
from assay.records.kernels import Variant
from assay.records.projects import Measurement
from assay.records.workloads import CodeParameter, Comparison, Operation, ProjectCode, Workload
from assay.shared.expressions import parse
from assay.shared.project_case import GIVEN, RESERVED

LARGEST_INT = 2**31 - 1
"""Of a C int, as launchers take sizes."""


def lower_measurements(
    reading: ProjectReading, entries: list[tuple[YamlPath, Measurement]], files: dict[str, str]
) -> tuple[dict[str, Comparison], dict[str, Variant], dict[str, Workload]]:
    """Return comparisons, variants and workloads by id; ``files``: digests of its code."""
    comparisons: dict[str, Comparison] = {}
    variants: dict[str, Variant] = {}
    workloads: dict[str, Workload] = {}
    read = {name: sha256 for name, sha256 in files.items() if name != PROJECT_FILE}
    apart = _arms_apart(reading, entries)
    for at, entry in entries:
        called = f"measurement '{entry.id}'"
        keys = {key: (key,) for key in ("protocol", "parameters", "relative_tolerance")}
        arms = {arm: ("arms", arm) for arm in entry.arms}
        reading.note_lines(entry.id, at, {**keys, **arms})
        file, function = entry.callable.split(":")
        _file_is_there(reading, at, called, file, files)
        if entry.control is not None and entry.control not in entry.arms:
            meant = suggest(entry.control, entry.arms)
            reading.refuse((*at, "control"), f"{called}: control: no arm '{entry.control}'{meant}")
        fits = [
            _names_fit(reading, at, entry),
            _packages_fit(reading, at, entry),
            _cuda_fits(reading, at, entry, files),
            entry.id in apart,
        ]
        if not all(fits):
            continue
        code = ProjectCode(file=file, function=function, files=read)
        kept = ("dtype", "seed", "relative_tolerance", "max_abs_tolerance", "parameters", "small",
                "flops", "bytes")  # fmt: skip
        workload = reading.made(
            Workload,
            at,
            called,
            {
                **{name: getattr(entry, name) for name in kept},
                "id": entry.id,
                "operation": Operation.CALLABLE,
                "distribution": "own",
                "code": code,
            },
        )
        comparison = reading.made(
            Comparison,
            at,
            called,
            {
                "id": entry.id,
                "title": entry.title,
                "protocol": entry.protocol,
                "arms": tuple(
                    {"id": arm, "variant": _arm_id(entry.id, arm), "workload": entry.id}
                    for arm in entry.arms
                ),
                # One that is no arm is said above, and keeps nothing else from being looked at.
                "control": entry.control if entry.control in entry.arms else list(entry.arms)[-1],
            },
        )
        if workload is None or comparison is None:
            continue
        workloads[entry.id], comparisons[entry.id] = workload, comparison
        for arm in entry.arms:
            variants[_arm_id(entry.id, arm)] = _variant(entry, arm)
    read_at = {at for at, _ in entries}
    for at, typed in reading.raw("measurements"):
        named = str(typed.get("callable", ""))
        if at not in read_at and re.fullmatch(CALLABLE_PATTERN, named):
            file = named.partition(":")[0]
            _file_is_there(reading, at, f"measurement '{typed.get('id', at[1])}'", file, files)
    return comparisons, variants, workloads


def _arm_id(measurement: str, arm: str) -> str:
    """Return the id by which records know an arm."""
    return f"{measurement}_{arm}"


def _arms_apart(
    reading: ProjectReading, entries: list[tuple[YamlPath, Measurement]]
) -> frozenset[str]:
    """Note arms of two measurements that records would know by one id; return the measurements
    that have none.
    """
    owners: dict[str, tuple[YamlPath, str, str]] = {}
    same: set[str] = set()
    for at, entry in entries:
        for arm in entry.arms:
            here = (*at, "arms", arm)
            there, other, others_arm = owners.setdefault(
                _arm_id(entry.id, arm), (here, entry.id, arm)
            )
            if other == entry.id:
                continue
            line = reading.document.places.line(there)
            says = f"measurement '{entry.id}': arm '{arm}' and arm '{others_arm}' of measurement"
            says += f" '{other}' (line {line}) are both called {_arm_id(entry.id, arm)} in records"
            reading.refuse(here, f"{says}: rename one of the two")
            same |= {entry.id, other}
    return frozenset(entry.id for _, entry in entries) - same


def _file_is_there(
    reading: ProjectReading, at: YamlPath, called: str, file: str, files: dict[str, str]
) -> None:
    if file not in files:
        meant = suggest(file, files)
        reading.refuse((*at, "callable"), f"{called}: there is no file {file}{meant}")


def _variant(entry: Measurement, arm: str) -> Variant:
    """Return an arm: what the function returns under its name, or what is compiled."""
    made = entry.arms[arm]
    common = {
        "id": _arm_id(entry.id, arm),
        "operation": Operation.CALLABLE,
        "artifact": "original" if arm in entry.packages else entry.artifact,
        "package": entry.packages.get(arm),
    }
    if isinstance(made, str):
        by = f"arm {arm} of {entry.callable} of the project"
        return Variant.model_validate(
            {**common, "title": made, "kind": "callable", "entry": arm,
             "built_from": entry.built_from or by}
        )  # fmt: skip
    kept = ("title", "source", "symbol", "operands", "sizes", "archs", "defines", "flags")
    return Variant.model_validate(
        {
            **common,
            **{name: getattr(made, name) for name in kept},
            "kind": "kernel",
            "abi": "project",
            "built_from": entry.built_from or f"{made.source} of the project",
        }
    )


def _names_fit(reading: ProjectReading, at: YamlPath, entry: Measurement) -> bool:
    """Note names that are no parameters, in formulas or at its smaller size, and those that mean
    something else to the function; return whether there are no such.
    """
    before = len(reading.problems)
    called = f"measurement '{entry.id}'"
    numbers = {name for name, value in entry.parameters.items() if isinstance(value, int | float)}
    for key, formula in (("flops", entry.flops), ("bytes", entry.bytes)):
        for name in sorted(parse(formula).names - numbers):
            says = f"{called}: {key} names '{name}', which is no parameter that is a number"
            reading.refuse((*at, key), f"{says}{suggest(name, sorted(numbers))}")
    if GIVEN in entry.parameters:
        says = f"the function is given '{GIVEN}' besides: name the parameter otherwise"
        reading.refuse((*at, "parameters", GIVEN), f"{called}: parameters: {says}")
    for arm in sorted(entry.arms.keys() & RESERVED):
        says = f"'{arm}' is no arm in what the function returns: name the arm otherwise"
        reading.refuse((*at, "arms", arm), f"{called}: arms: {says}")
    for name in sorted(entry.small.keys() - entry.parameters.keys()):
        meant = suggest(name, entry.parameters)
        reading.refuse(
            (*at, "small", name), f"{called}: small: there is no parameter '{name}'{meant}"
        )
    return len(reading.problems) == before


def _packages_fit(reading: ProjectReading, at: YamlPath, entry: Measurement) -> bool:
    """Note packages of arms that are not there, or are compiled here; return whether none is."""
    before = len(reading.problems)
    for arm in entry.packages:
        called = f"measurement '{entry.id}': packages"
        if arm not in entry.arms:
            meant = suggest(arm, entry.arms)
            reading.refuse((*at, "packages"), f"{called}: no arm '{arm}'{meant}")
        elif not isinstance(entry.arms[arm], str):
            says = f"{called}: arm '{arm}' is compiled here, and comes from no package"
            reading.refuse((*at, "packages"), says)
    return len(reading.problems) == before


def _cuda_fits(
    reading: ProjectReading, at: YamlPath, entry: Measurement, files: dict[str, str]
) -> bool:
    """Note what is wrong with compiled arms, and return whether nothing is."""
    before = len(reading.problems)
    for name, arm in entry.arms.items():
        if isinstance(arm, str):
            continue
        called, here = f"measurement '{entry.id}': arm '{name}'", (*at, "arms", name)
        if arm.source not in files:
            meant = suggest(arm.source, files)
            reading.refuse((*here, "source"), f"{called}: there is no file {arm.source}{meant}")
        for size in arm.sizes:
            value = entry.parameters.get(size)
            if size not in entry.parameters:
                meant = suggest(size, entry.parameters)
                says = f"{called}: sizes: there is no parameter '{size}'{meant}"
                reading.refuse((*here, "sizes"), says)
            elif not _is_size(value):
                says = f"{called}: sizes: '{size}' is {value}, and no whole number of 32 bits"
                reading.refuse((*here, "sizes"), says)
            if size in entry.small and not _is_size(small := entry.small[size]):
                says = f"{called}: small: '{size}' is {small}, and no whole number of 32 bits"
                reading.refuse((*at, "small", size), says)
        if refused := refused_words(arm.flags):
            says = f"{called}: flags: {refused[0]} is not among those that a stranger's code may"
            reading.refuse((*here, "flags"), f"{says} be compiled with")
    return len(reading.problems) == before


def _is_size(value: CodeParameter | None) -> bool:
    """Return whether a launcher can take a value as a size."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INT
