"""The toolchain image, built for real once a session, in an engine of the tests' own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.base.errors import MissingEnvironment
from assay.images.obtain import obtain
from assay.records.images import ImageRecord
from assay.runtimes.base import Place
from tests.conftest import ROOT
from tests.containers.fixtures import Bench, bench

LINKED = ("config", "containers", "requirements")


def tree(folder: Path) -> Path:
    """A checkout as images see it, with results of its own."""
    folder.mkdir(parents=True)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    return folder


@dataclass(frozen=True)
class Built:
    """The toolchain image with all around it."""

    root: Path
    bench: Bench
    record: ImageRecord

    @property
    def folder(self) -> Path:
        """Its archive and record."""
        return self.root / "results" / "cache" / "images" / self.record.definition


@pytest.fixture(scope="session")
def image_engine() -> Iterator[Bench]:
    """A Docker Engine that holds images for the whole session."""
    with bench("docker") as engine:
        yield engine


@pytest.fixture(scope="session")
def built(image_engine: Bench, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The toolchain image, built from Debian packages and wheels."""
    root = tree(tmp_path_factory.mktemp("images") / "checkout")
    try:
        record = obtain(root, "h100", "toolchain", image_engine.engine, "docker")
    except MissingEnvironment as error:
        pytest.skip(f"the toolchain image cannot be built here: {error}")
    return Built(root, image_engine, record)


@pytest.fixture(scope="session")
def toolchain_place(built: Built) -> Place:
    """Where nvcc runs inside of the toolchain image."""
    return Place(built.bench.runtime, built.record)
