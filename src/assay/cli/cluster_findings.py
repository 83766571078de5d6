"""What doctor tells of a cluster's site file: all that is wrong in it, and what Slurm knows not."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.yaml_problems import suggest
from assay.catalog.cluster import cluster_files, gpu_type_of, wishes_of
from assay.catalog.model import Catalog
from assay.cli.findings import Finding, State
from assay.evidence.stages import TARGET_STAGES
from assay.measuring.slurm_partitions import Partition, slurm_partitions
from assay.pipeline.request import site_of
from assay.records.cluster import ClusterFile

PART = "cluster file"


def cluster_findings(root: Path, catalog: Catalog, project: Path | None) -> Iterator[Finding]:
    """Yield what is to be said of the site's files; nothing where there is none."""
    files = cluster_files(root, project)
    if not files:
        return
    try:
        cluster = site_of(root, catalog, project)
    except BadInput as error:
        says = "; ".join(map(str.strip, str(error).splitlines()))
        yield Finding(PART, State.WRONG, f"{says}; docs/running.md has its keys")
        return
    names = ", ".join(str(path.relative_to(root) if root in path.parents else path)
                      for path in files)  # fmt: skip
    if shutil.which("sinfo") is None:
        yield Finding(PART, State.OK, f"{names}, held against no cluster: there is no sinfo here")
        return
    try:
        offered = slurm_partitions()
    except MissingEnvironment as error:
        remedy = "ask on the cluster's login node; only --executor slurm needs it"
        yield Finding(PART, State.WRONG, f"{error}; {remedy}")
        return
    wrong = list(dict.fromkeys(_unknown(cluster, catalog, offered)))
    if wrong:
        yield Finding(PART, State.WRONG, f"{'; '.join(wrong)}; see sinfo, and mend {names}")
    else:
        yield Finding(PART, State.OK, f"{names}, which this cluster can do")


def _unknown(
    cluster: ClusterFile, catalog: Catalog, offered: dict[str, Partition]
) -> Iterator[str]:
    """Yield what jobs would ask for and this cluster has not.

    Of a target whose GPU no partition has, nothing: it is measured elsewhere, or not at all.
    """
    for name, target in catalog.targets.items():
        gpu_type = gpu_type_of(cluster, target)
        said = name in cluster.targets
        if not said and not any(gpu_type in each.gpu_types for each in offered.values()):
            continue
        for stage in (entry.stage.value for entry in TARGET_STAGES if entry.holds_gpu):
            wishes = wishes_of(cluster, name, stage)
            queue = wishes.partition or target.slurm_partition
            if queue not in offered:
                yield f"there is no partition '{queue}' for {name}{suggest(queue, offered)}"
                continue
            partition = offered[queue]
            if gpu_type not in partition.gpu_types:
                meant = suggest(gpu_type, partition.gpu_types)
                yield f"partition '{queue}' has no GPU of type '{gpu_type}' for {name}{meant}"
            if partition.minutes is not None and (wishes.minutes or 0) > partition.minutes:
                yield (
                    f"{stage} on {name} asks for {wishes.minutes} minutes, and partition '{queue}' "
                    f"grants {partition.minutes}"
                )
