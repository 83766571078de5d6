"""What doctor says of a site file."""

from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.cli import diagnosis as module
from assay.cli.diagnosis import State, cluster_findings
from assay.measuring.slurm_partitions import Partition
from assay.records.cluster import CLUSTER_FILE
from assay.shared.files import write_bytes
from tests.report_fixtures import write_repository

OFFERED = {
    "gpu": Partition(frozenset({"h100"}), 90),
    "hopper": Partition(frozenset({"nvidia_h100"}), None),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one target, on a cluster of two partitions."""
    monkeypatch.setattr(module, "slurm_partitions", lambda: OFFERED)
    monkeypatch.setattr(module.shutil, "which", lambda _: "/usr/bin/sinfo")
    return write_repository(tmp_path)


def told(root: Path, text: str) -> list[tuple[State, str]]:
    write_bytes(root / CLUSTER_FILE, f"schema: assay/cluster/1\n{text}".encode())
    found = cluster_findings(root, load_catalog(root), None)
    return [(finding.state, finding.found) for finding in found]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "jobs: {partition: gpus}\n",
            "there is no partition 'gpus' for h100: did you mean 'gpu'?",
        ),
        (
            "targets: {h100: {partition: hopper}}\n",
            "partition 'hopper' has no GPU of type 'h100' for h100; known: nvidia_h100",
        ),
        (
            "stages: {benchmark: {minutes: 120}}\n",
            "benchmark on h100 asks for 120 minutes, and partition 'gpu' grants 90",
        ),
    ],
)
def test_what_the_cluster_has_not_is_said_once(root: Path, text: str, says: str) -> None:
    assert told(root, text) == [(State.WRONG, f"{says}; see sinfo, and mend {CLUSTER_FILE}")]
