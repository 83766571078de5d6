"""What sinfo says of partitions, and of a node."""

from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.measuring.slurm_partitions import Partition, gpus_of_node, parse_partitions

SHOWN = """\
gpu                 1-02:30:00          gpu:l4:1,nvme:2
gpu                 1-02:30:00          gpu:h100:8(S:0-1)
debug               30:00               (null)
long                infinite            gpu:nvidia_h100_80gb_hbm3:4
"""


def test_a_partition_has_the_gpus_of_all_its_nodes_and_one_limit():
    assert parse_partitions(SHOWN) == {
        "gpu": Partition(frozenset({"l4", "h100"}), 1590),
        "debug": Partition(frozenset(), 30),
        "long": Partition(frozenset({"nvidia_h100_80gb_hbm3"}), None),
    }


def test_a_node_has_so_many_gpus_of_a_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sinfo = tmp_path / "sinfo"
    # A line for each partition that it is in.
    sinfo.write_text(
        "#!/bin/sh\n"
        'test "$*" = "--noheader --Node --nodes=gpu07 --Format=Gres:400" || exit 1\n'
        "echo 'gpu:h100:8(S:0-1),gpu:l4:1'\necho 'gpu:h100:8(S:0-1),gpu:l4:1'\n"
    )
    sinfo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = {name: gpus_of_node("gpu07", name) for name in ("h100", "l4", "h200")}
    assert found == {"h100": 8, "l4": 1, "h200": 0}
    with pytest.raises(MissingEnvironment, match="Slurm does not answer sinfo"):
        gpus_of_node("gpu08", "h100")
