"""What sinfo says of partitions."""

from assay.measuring.slurm_partitions import Partition, parse_partitions

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
