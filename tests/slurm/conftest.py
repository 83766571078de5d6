"""The cluster, which is one on a machine."""

from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Cluster, running_cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as running:
        yield running
