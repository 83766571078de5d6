"""``--original`` of a source whose claims are about a file: it is compiled, and nothing runs."""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.building.toolchain import toolchain_directory
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.judging.judge import judge
from assay.pipeline.original_requests import Given, find_originals
from assay.records.originals import FileCompileRecord
from assay.records.verdicts import Status
from tests.library_checkout import add_to_claims
from tests.pipeline.stand_in import write_program
from tests.pipeline.test_batched_workflow import RUN, Checkout

SOURCES = ("003", "004")
OWN_CLAIM = """
  - id: fixture_file
    kind: support
    statement: The source's file does not compile for an L4
    place: {section: Results, line: 3}
    value: null
    unit: null
    resolution: null
    hardware: {target: h100, as_stated: L4}
    evaluation: {kind: compiles, compilation: theirs, arch: sm_89, expect: fails, text: no good}
"""
OF_SOURCE = """\
compilations:
  - id: theirs
    file: src/theirs.cu
    place: {section: Files, line: 4}
    public: it is
    archs: [sm_89]
"""
NVCC = """#!/bin/sh
[ "$1" = --version ] && { echo V13.0.88; exit; }
for last; do :; done
echo "$last(1): error: $(cat "$last")"
exit 1
"""


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
    runs, found = find_originals(catalog, SOURCES, {"004": Given(theirs)}, "host")
    assert runs == ()
    assert [each.job.key for each in found] == [("s004_triage", "sm_89")]
    assert {each.directory for each in found} == {str(theirs)}
    assert found[0].job.checkout.files == 1


def test_from_the_option_to_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the workflow, without a GPU; only the compiler is made up."""
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    made = Checkout(tmp_path)
    claims = made.root / "config" / "claims" / "fixture.yaml"
    add_to_claims(claims, OWN_CLAIM, OF_SOURCE)
    nvcc = toolchain_directory(made.root) / "nvidia" / "cu13" / "bin" / "nvcc"
    write_program(nvcc, NVCC)
    file = tmp_path / "theirs" / "src" / "theirs.cu"
    file.parent.mkdir(parents=True)
    run_dir = made.root / "results" / RUN

    def compiled(text: str) -> FileCompileRecord:
        file.write_text(text)
        given = {"fixture": Given(tmp_path / "theirs")}
        _, found = find_originals(load_catalog(made.root), ["fixture"], given, "host")
        made.request = made.request.model_copy(update={"compilations": found})
        return start()

    def start() -> FileCompileRecord:
        made.run("compiled_files/sm_89/theirs.json")
        return read_record(FileCompileRecord, run_dir / "compiled_files" / "sm_89" / "theirs.json")

    first = compiled("no good\n")
    assert first.words == ("checkout/src/theirs.cu(1): error: no good",)
    verdicts = judge(load_catalog(made.root), load_evidence(run_dir)).verdicts
    verdict = next(each for each in verdicts if each.claim == "fixture_file")
    assert (verdict.status, verdict.measured) == (Status.REPRODUCED, "shown")
    assert str(tmp_path) not in (run_dir / "plan.json").read_text() + first.model_dump_json()
    assert not any((run_dir / "originals").rglob("*.cu"))

    # The same wish again compiles nothing; another file does, and one that changes is refused.
    assert start() == first
    assert compiled("other\n").words == ("checkout/src/theirs.cu(1): error: other",)
    (run_dir / "compiled_files" / "sm_89" / "theirs.json").unlink()
    file.write_text("changed\n")
    with pytest.raises(CheckFailed):
        start()
