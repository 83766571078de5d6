"""The site file of a cluster, read whole, and what it says of one job."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.base.errors import BadInput
from assay.base.yaml_problems import (
    PlacedYaml,
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

USUAL = JobWishes(minutes=60, memory_mb=8000, cores=1)
"""Of a job that the site says nothing of."""
USUAL_OF_STAGE = {
    # Up to three arms are checked side by side, each in a process with a CUDA context of its own.
    "correctness": JobWishes(memory_mb=14000),
    # Timed: a process, its sampler, and compilers at run time beside each other.
    "benchmark": JobWishes(cores=4),
    "program": JobWishes(cores=4),
    "original": JobWishes(cores=4),
}


def cluster_files(root: Path, project: Path | None) -> list[Path]:
    """Return the site files that are there: the repository's, then a project's own."""
    found = [root / CLUSTER_FILE]
    if project is not None:
        found.append(project / PROJECT_CLUSTER_FILE)
    return [path for path in found if path.is_file()]


def load_cluster(
    root: Path, project: Path | None, targets: Iterable[str], stages: Iterable[str]
) -> ClusterFile:
    """Read what the site says; a project's file goes before the repository's, key by key.

    ``targets`` and ``stages``: the names that may stand there. Raises BadInput with all that is
    wrong with either file.
    """
    known_targets, known_stages = list(targets), list(stages)
    wrong: list[str] = []
    merged: dict[str, Any] = {}
    for path in cluster_files(root, project):
        try:
            merged = _over(merged, _read(path, known_targets, known_stages))
        except BadInput as error:
            wrong.append(str(error))
    if wrong:
        raise BadInput("\n".join(wrong), code="record")
    return ClusterFile.model_validate(merged) if merged else NO_CLUSTER


def gpu_type_of(cluster: ClusterFile, target: Target) -> str:
    """Return the type that the site's Slurm gives the GPU of a target."""
    return cluster.targets.get(target.id, TargetSite()).gpu_type or target.gpu_model


def wishes_of(cluster: ClusterFile, target: str, stage: str) -> JobWishes:
    """Return what a job is to ask for, each key by whatever says most of this job."""
    at = cluster.targets.get(target, TargetSite())
    layers = (
        USUAL,
        USUAL_OF_STAGE.get(stage, JobWishes()),
        cluster.jobs,
        cluster.stages.get(stage, JobWishes()),
        at,
        at.stages.get(stage, JobWishes()),
    )
    said: dict[str, Any] = {}
    for layer in layers:
        given = {name: getattr(layer, name) for name in JobWishes.model_fields}
        said |= {name: value for name, value in given.items() if value}
    return JobWishes.model_validate(said)


def _read(path: Path, targets: list[str], stages: list[str]) -> dict[str, Any]:
    """Return the keys that a file gives. Raises BadInput."""
    document = read_placed_yaml(path)
    if not isinstance(document.value, dict):
        raise YamlProblems(path, [YamlProblem(1, "is no mapping: schema: assay/cluster/1, ...")])
    found, problems = read_part(ClusterFile, document.value, document, ())
    if found is not None:
        problems = list(_strange_names(document, found, targets, stages))
    if problems or found is None:
        raise YamlProblems(path, problems)
    return found.model_dump(by_alias=True, exclude_unset=True)


def _strange_names(
    document: PlacedYaml, found: ClusterFile, targets: list[str], stages: list[str]
) -> Iterator[YamlProblem]:
    """Yield what names no target, or no stage that has a job of its own."""
    sites = found.targets.items()
    below = [("targets", site, "stages", name) for site, at in sites for name in at.stages]
    for at, noun, known in (
        *((("targets", name), "target", targets) for name in found.targets),
        *((("stages", name), "stage", stages) for name in found.stages),
        *((at, "stage", stages) for at in below),
    ):
        if at[-1] not in known:
            says = f"there is no {noun} '{at[-1]}'{suggest(at[-1], known)}"
            yield document.problem(at, says)


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
