"""The cluster, which is one on a machine."""

from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running
