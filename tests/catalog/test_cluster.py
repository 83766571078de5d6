"""The site file of a cluster: all that is wrong in it at once, and what it says of a job."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.catalog.cluster import USUAL, gpu_type_of, load_cluster, wishes_of
from assay.records.cluster import CLUSTER_FILE, NO_CLUSTER, PROJECT_CLUSTER_FILE, ClusterFile
from assay.shared.files import write_bytes
from tests.builders import target

TARGETS = ("l4", "h100", "h200")
HEAD = "schema: assay/cluster/1\n"


def site(tmp_path: Path, text: str, project: str | None = None) -> ClusterFile:
    write_bytes(tmp_path / CLUSTER_FILE, (HEAD + text).encode())
    folder = None
    if project is not None:
        folder = tmp_path / "project"
        write_bytes(folder / PROJECT_CLUSTER_FILE, (HEAD + project).encode())
    return load_cluster(tmp_path, folder, TARGETS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "job: {}\nattemts: 2\njobs: {qoss: normal}",
            [
                "line 2: job: there is no such key: did you mean 'jobs'?",
                "line 3: attemts: there is no such key: did you mean 'attempts'?",
                "line 4: jobs.qoss: there is no such key: did you mean 'qos'?",
            ],
        ),
        ("targets: {h1000: {}}", ["line 2: there is no target 'h1000': did you mean 'h100'?"]),
        ("jobs: {partition: gpu --wrap=id}", ["line 2: jobs.partition: "]),
        ("jobs: {constraint: a b}", ["line 2: jobs.constraint: "]),
        ("attempts: 0", ["line 2: attempts: "]),
        ("targets: {h100: {gpu_type: a-b}}", ["line 2: targets.h100.gpu_type: "]),
    ],
)
def test_slips_are_told_together_with_their_lines(tmp_path: Path, text: str, told: list[str]):
    with pytest.raises(BadInput) as caught:
        site(tmp_path, text)
    assert CLUSTER_FILE in str(caught.value)
    for each in told:
        assert each in str(caught.value)


class TestWishes:
    """Each key by whatever says most of the job."""

    TEXT = """
jobs: {partition: common, minutes: 30, account: ours}
targets:
  h100: {partition: hopper, gpu_type: nvidia_h100, minutes: 45}
"""

    def test_they_are_found_by_layers(self, tmp_path: Path):
        found = site(tmp_path, self.TEXT)
        told = [
            (w.minutes, w.partition, w.account, w.memory_mb)
            for w in (wishes_of(found, name) for name in ("l4", "h100"))
        ]
        assert told == [
            (30, "common", "ours", USUAL.memory_mb), (45, "hopper", "ours", USUAL.memory_mb)
        ]  # fmt: skip

    def test_a_projects_own_file_takes_the_place_of_the_sites(self, tmp_path: Path):
        wishes = wishes_of(site(tmp_path, self.TEXT, "jobs: {account: theirs}\n"), "h100")
        assert (wishes.account, wishes.partition) == ("theirs", None)

    def test_the_type_of_a_gpu_is_the_targets_where_the_site_names_none(self, tmp_path: Path):
        cluster = site(tmp_path, self.TEXT)
        h100 = target("h100")
        assert gpu_type_of(cluster, h100) == "nvidia_h100"
        assert gpu_type_of(NO_CLUSTER, h100) == h100.gpu_model
