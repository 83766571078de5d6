"""Measurements of a project, lowered to problems, variants and comparisons."""

from assay.base.strict_yaml import YamlPath
from assay.base.yaml_problems import suggest
from assay.catalog.project_folder import PROJECT_FILE
from assay.catalog.project_reading import ProjectReading
from assay.records.kernels import Variant
from assay.records.projects import Measurement
from assay.records.workloads import Comparison, Operation, ProjectCode, Workload


def lower_measurements(
    reading: ProjectReading, entries: list[tuple[YamlPath, Measurement]], files: dict[str, str]
) -> tuple[dict[str, Comparison], dict[str, Variant], dict[str, Workload]]:
    """Return comparisons, variants and workloads by id; ``files``: digests of its code."""
    comparisons: dict[str, Comparison] = {}
    variants: dict[str, Variant] = {}
    workloads: dict[str, Workload] = {}
    for at, entry in entries:
        called = f"measurement '{entry.id}'"
        file, function = entry.callable.split(":")
        if file not in files:
            meant = suggest(file, files)
            reading.refuse((*at, "callable"), f"{called}: there is no file {file}{meant}")
        if entry.control is not None and entry.control not in entry.arms:
            meant = suggest(entry.control, entry.arms)
            reading.refuse((*at, "control"), f"{called}: control: no arm '{entry.control}'{meant}")
            continue
        read = {name: sha256 for name, sha256 in files.items() if name != PROJECT_FILE}
        code = ProjectCode(file=file, function=function, files=read)
        kept = ("dtype", "seed", "relative_tolerance", "max_abs_tolerance", "parameters",
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
                    {"id": arm, "variant": f"{entry.id}_{arm}", "workload": entry.id}
                    for arm in entry.arms
                ),
                "control": entry.control or list(entry.arms)[-1],
            },
        )
        if workload is None or comparison is None:
            continue
        workloads[entry.id], comparisons[entry.id] = workload, comparison
        for arm, title in entry.arms.items():
            variants[f"{entry.id}_{arm}"] = Variant(
                id=f"{entry.id}_{arm}",
                operation=workload.operation,
                title=title,
                kind="callable",
                entry=arm,
                artifact=entry.artifact,
                built_from=entry.built_from or f"arm {arm} of {entry.callable} of the project",
            )
    return comparisons, variants, workloads
