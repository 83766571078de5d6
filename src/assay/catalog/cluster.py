"""The site file of a cluster, read whole, and what it says of one job."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.base.errors import BadInput
from assay.base.yaml_problems import (
    YamlProblem,
    YamlProblems,
    read_part,
    read_placed_yaml,
    suggest,
)
from assay.records.cluster import (
    CLUSTER_FILE,
    NO_CLUSTER,
    PROJECT_CLUSTER_FILE,
    ClusterFile,
    JobWishes,
    TargetSite,
)
from assay.records.platform import Target

USUAL = JobWishes(minutes=240, memory_mb=14000, cores=4)
"""Of a job that the site says nothing of: up to three arms are checked side by side, each in a
process with a CUDA context of its own; a timed process, its sampler and compilers run together."""


def cluster_files(root: Path, project: Path | None) -> list[Path]:
    """Return the site files that are there: the repository's, then a project's own."""
    found = [root / CLUSTER_FILE]
    if project is not None:
        found.append(project / PROJECT_CLUSTER_FILE)
    return [path for path in found if path.is_file()]


def load_cluster(root: Path, project: Path | None, targets: Iterable[str]) -> ClusterFile:
    """Read what the site says; a project's file goes before the repository's, key by key.

    ``targets``: the names that may stand there. Raises BadInput with all that is wrong with either
    file.
    """
    known = list(targets)
    wrong: list[str] = []
    merged: dict[str, Any] = {}
    for path in cluster_files(root, project):
        try:
            merged = _over(merged, _read(path, known))
        except BadInput as error:
            wrong.append(str(error))
    if wrong:
        raise BadInput("\n".join(wrong), code="record")
    return ClusterFile.model_validate(merged) if merged else NO_CLUSTER


def gpu_type_of(cluster: ClusterFile, target: Target) -> str:
    """Return the type that the site's Slurm gives the GPU of a target."""
    return cluster.targets.get(target.id, TargetSite()).gpu_type or target.gpu_model


def wishes_of(cluster: ClusterFile, target: str) -> JobWishes:
    """Return what a target's job is to ask for, each key by whatever says most of it."""
    said: dict[str, Any] = {}
    for layer in (USUAL, cluster.jobs, cluster.targets.get(target, TargetSite())):
        given = {name: getattr(layer, name) for name in JobWishes.model_fields}
        said |= {name: value for name, value in given.items() if value}
    return JobWishes.model_validate(said)


def _read(path: Path, targets: list[str]) -> dict[str, Any]:
    """Return the keys that a file gives. Raises BadInput."""
    document = read_placed_yaml(path)
    if not isinstance(document.value, dict):
        raise YamlProblems(path, [YamlProblem(1, "is no mapping: schema: assay/cluster/1, ...")])
    found, problems = read_part(ClusterFile, document.value, document, ())
    if found is not None:
        problems = [
            document.problem(
                ("targets", name), f"there is no target '{name}'{suggest(name, targets)}"
            )
            for name in found.targets
            if name not in targets
        ]
    if problems or found is None:
        raise YamlProblems(path, problems)
    return found.model_dump(by_alias=True, exclude_unset=True)


def _over(lower: dict[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``lower`` with the keys that ``upper`` gives, below mappings likewise."""
    merged = dict(lower)
    for name, value in upper.items():
        known = merged.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            merged[name] = _over(known, value)
        else:
            merged[name] = value
    return merged
