"""The site file of a cluster, read whole, and what it says of one job."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from assay.base.yaml_problems import YamlProblem, YamlProblems, read_part, read_placed_yaml, suggest
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


def load_cluster(root: Path, project: Path | None, targets: Iterable[str]) -> ClusterFile:
    """Read what the site says: a project's own file, else the repository's.

    ``targets``: the names that may stand there. Raises BadInput with all that is wrong.
    """
    files = [root / CLUSTER_FILE]
    if project is not None:
        files.insert(0, project / PROJECT_CLUSTER_FILE)
    path = next((path for path in files if path.is_file()), None)
    return NO_CLUSTER if path is None else _read(path, list(targets))


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


def _read(path: Path, targets: list[str]) -> ClusterFile:
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
    return found
