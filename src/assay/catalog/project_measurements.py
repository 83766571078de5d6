"""Measurements of a project, lowered to problems, variants and comparisons."""

from assay.base.strict_yaml import YamlPath
from assay.catalog.claim_documents import ProjectReading, placed
from assay.catalog.project_folder import PROJECT_FILE
from assay.records.builds import refused_words
from assay.records.kernels import Variant
from assay.records.projects import Measurement
from assay.records.workloads import CodeParameter, Comparison, Operation, Workload
from assay.shared.project_calls import GIVEN, RESERVED
from assay.shared.specs import CodeSpec

KEPT = ("id", "dtype", "seed", "relative_tolerance", "max_abs_tolerance", "parameters", "small",
        "flops", "bytes")  # fmt: skip
"""What a workload has of its measurement as it stands there."""
LARGEST_INT = 2**31 - 1
"""Of a C int, as launchers take sizes."""


def lower_measurements(
    reading: ProjectReading, entries: tuple[Measurement, ...], files: dict[str, str]
) -> tuple[dict[str, Comparison], dict[str, Variant], dict[str, Workload]]:
    """Return comparisons, variants and workloads by id; ``files``: digests of its code."""
    comparisons: dict[str, Comparison] = {}
    variants: dict[str, Variant] = {}
    workloads: dict[str, Workload] = {}
    read = {name: sha256 for name, sha256 in files.items() if name != PROJECT_FILE}
    for at, entry in placed("measurements", entries):
        called = f"measurement '{entry.id}'"
        keys = {key: (key,) for key in ("protocol", "parameters", "relative_tolerance")}
        arms = {arm: ("arms", arm) for arm in entry.arms}
        reading.note_lines(entry.id, at, {**keys, **arms})
        for arm in entry.arms:
            line = reading.document.places.line((*at, "arms", arm))
            reading.lines.setdefault(_arm_id(entry.id, arm), line)
        file, function = entry.callable.split(":")
        reading.knows((*at, "callable"), f"{called}: there is no file", file, files)
        _check_names(reading, at, entry)
        _check_packages(reading, at, entry)
        _check_cuda(reading, at, entry, files)
        ids = {arm: _arm_id(entry.id, arm) for arm in entry.arms}
        for name in sorted(variants.keys() & ids.values()):
            says = f"{called}: two arms are both called {name} in records: rename one of them"
            reading.refuse(at, says)
        if reading.problems:
            continue
        code = CodeSpec(file=file, function=function, files=read)
        workload = reading.made(Workload, at, called, {
            **{name: getattr(entry, name) for name in KEPT},
            "operation": Operation.CALLABLE, "distribution": "own", "code": code,
        })  # fmt: skip
        comparison = reading.made(Comparison, at, called, {
            "id": entry.id, "title": entry.title, "protocol": entry.protocol,
            "arms": tuple({"id": arm, "variant": name, "workload": entry.id}
                          for arm, name in ids.items()),
            "control": entry.control or list(entry.arms)[-1],
        })  # fmt: skip
        if workload is None or comparison is None:
            continue
        workloads[entry.id], comparisons[entry.id] = workload, comparison
        variants |= {name: _variant(entry, arm) for arm, name in ids.items()}
    return comparisons, variants, workloads


def _arm_id(measurement: str, arm: str) -> str:
    return f"{measurement}_{arm}"


def _variant(entry: Measurement, arm: str) -> Variant:
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


def _check_names(reading: ProjectReading, at: YamlPath, entry: Measurement) -> None:
    called = f"measurement '{entry.id}'"
    if GIVEN in entry.parameters:
        says = f"the function is given '{GIVEN}' besides: name the parameter otherwise"
        reading.refuse((*at, "parameters", GIVEN), f"{called}: parameters: {says}")
    for arm in sorted(entry.arms.keys() & RESERVED):
        says = f"'{arm}' is no arm in what the function returns: name the arm otherwise"
        reading.refuse((*at, "arms", arm), f"{called}: arms: {says}")


def _check_packages(reading: ProjectReading, at: YamlPath, entry: Measurement) -> None:
    """Note packages of arms that are not there, or are compiled here."""
    for arm in entry.packages:
        here, called = (*at, "packages"), f"measurement '{entry.id}': packages"
        known = reading.knows(here, f"{called}: no arm", arm, entry.arms)
        if known and not isinstance(entry.arms[arm], str):
            says = f"{called}: arm '{arm}' is compiled here, and comes from no package"
            reading.refuse(here, says)


def _check_cuda(
    reading: ProjectReading, at: YamlPath, entry: Measurement, files: dict[str, str]
) -> None:
    for name, arm in entry.arms.items():
        if isinstance(arm, str):
            continue
        called, here = f"measurement '{entry.id}': arm '{name}'", (*at, "arms", name)
        reading.knows((*here, "source"), f"{called}: there is no file", arm.source, files)
        for size in arm.sizes:
            value = entry.parameters.get(size)
            says = f"{called}: sizes: there is no parameter"
            known = reading.knows((*here, "sizes"), says, size, entry.parameters)
            if known and not _is_size(value):
                says = f"{called}: sizes: '{size}' is {value}, and no whole number of 32 bits"
                reading.refuse((*here, "sizes"), says)
            if size in entry.small and not _is_size(small := entry.small[size]):
                says = f"{called}: small: '{size}' is {small}, and no whole number of 32 bits"
                reading.refuse((*at, "small", size), says)
        if refused := refused_words(arm.flags):
            says = f"{called}: flags: {refused[0]} is not among those that a stranger's code may"
            reading.refuse((*here, "flags"), f"{says} be compiled with")


def _is_size(value: CodeParameter | None) -> bool:
    """Return whether a launcher can take a value as a size."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INT
