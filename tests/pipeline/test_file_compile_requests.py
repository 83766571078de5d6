"""``--original`` of a source whose claims are about a file: it is compiled, and nothing runs."""

from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.pipeline.file_compile_requests import find_file_compiles
from assay.pipeline.original_requests import OriginalWishes, find_originals
from tests.library_checkout import REPOSITORY

SOURCES = ("003", "004")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """This repository's own."""
    return load_catalog(REPOSITORY)


@pytest.fixture
def theirs(tmp_path: Path, catalog: Catalog) -> Path:
    """A made-up checkout that holds the file that source 004 names."""
    folder = tmp_path / "theirs"
    (published,) = catalog.sources["004"].compilations
    file = folder / published.file
    file.parent.mkdir(parents=True)
    file.write_text("int none;\n")
    return folder


def test_it_is_compiled_for_each_architecture_and_nothing_runs(
    catalog: Catalog, theirs: Path
) -> None:
    wishes = OriginalWishes((f"004={theirs}",))
    assert find_originals(catalog, SOURCES, wishes, "host") == ()
    found = find_file_compiles(catalog, SOURCES, wishes)
    assert [each.job.key for each in found] == [("s004_triage", "sm_89"), ("s004_triage", "sm_90a")]
    assert {each.directory for each in found} == {str(theirs)}
    assert found[0].job.checkout.files == 1


def test_lines_that_were_given_run_beside_it(catalog: Catalog, theirs: Path) -> None:
    wishes = OriginalWishes((f"004={theirs}",), runs=("004=python3 bench.py",))
    assert len(find_originals(catalog, SOURCES, wishes, "host")) == 1
    assert len(find_file_compiles(catalog, SOURCES, wishes)) == 2


def test_a_program_runs_where_the_file_is_not(catalog: Catalog, tmp_path: Path) -> None:
    wishes = OriginalWishes((f"004={tmp_path}",), runs=("004=python3 bench.py",))
    assert len(find_originals(catalog, SOURCES, wishes, "host")) == 1
    assert find_file_compiles(catalog, SOURCES, wishes) == ()


def test_a_checkout_without_the_file(catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"holds no file csrc/kernels/attention_bleeding_edge_tma\.cu"
    ):
        find_file_compiles(catalog, SOURCES, OriginalWishes((f"004={tmp_path}",)))


def test_images_hold_no_compiler_for_it(catalog: Catalog, theirs: Path) -> None:
    with pytest.raises(BadInput, match="--original needs --runtime host"):
        find_originals(catalog, SOURCES, OriginalWishes((f"004={theirs}",)), "docker")


def test_a_source_that_is_not_asked_for(catalog: Catalog, theirs: Path) -> None:
    with pytest.raises(BadInput, match="source 004 is not asked for in this run"):
        find_originals(catalog, ["003"], OriginalWishes((f"004={theirs}",)), "host")
