"""``--original`` of a source whose claims are about a file: it is compiled, and nothing runs."""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record
from assay.building.toolchain import toolchain_directory
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.judging.judge import judge
from assay.pipeline.original_requests import Given, find_originals
from assay.records.originals import FileCompileRecord
from assay.records.verdicts import Status
from tests.checkout_fixtures import COMPILED, PUBLISHED
from tests.library_checkout import add_to_claims
from tests.pipeline.stand_in import write_program
from tests.pipeline.test_batched_workflow import RUN, Checkout

OWN_CLAIM = COMPILED.format(
    name="l4",
    statement="The source's file does not compile for an L4",
    line=3,
    arch="sm_89",
    expect="fails, text: no good",
)
NVCC = """#!/bin/sh
[ "$1" = --version ] && { echo V13.0.88; exit; }
for last; do :; done
echo "$last(1): error: $(cat "$last")"
exit 1
"""


def test_from_the_option_to_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the workflow, without a GPU; only the compiler is made up."""
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    made = Checkout(tmp_path)
    claims = made.root / "config" / "claims" / "fixture.yaml"
    add_to_claims(claims, OWN_CLAIM, PUBLISHED)
    nvcc = toolchain_directory(made.root) / "nvidia" / "cu13" / "bin" / "nvcc"
    write_program(nvcc, NVCC)
    file = tmp_path / "theirs" / "b.cu"
    file.parent.mkdir()
    run_dir = made.root / "results" / RUN
    record = run_dir / "compiled_files" / "sm_89" / "demo_file.json"

    def compiled(text: str) -> FileCompileRecord:
        file.write_text(text)
        given = {"fixture": Given(tmp_path / "theirs")}
        _, found = find_originals(load_catalog(made.root), ["fixture"], given, "host")
        made.request = made.request.model_copy(update={"compilations": found})
        return start()

    def start() -> FileCompileRecord:
        made.run("compiled_files/sm_89/demo_file.json")
        return read_record(FileCompileRecord, record)

    first = compiled("no good\n")
    assert first.words == ("checkout/b.cu(1): error: no good",)
    verdicts = judge(load_catalog(made.root), load_evidence(run_dir)).verdicts
    verdict = next(each for each in verdicts if each.claim == "demo_file_l4")
    assert (verdict.status, verdict.measured) == (Status.REPRODUCED, "shown")
    assert str(tmp_path) not in (run_dir / "plan.json").read_text() + first.model_dump_json()
    assert not any((run_dir / "originals").rglob("*.cu"))

    # The same wish again compiles nothing; another file does, and one that changes is refused.
    assert start() == first
    assert compiled("other\n").words == ("checkout/b.cu(1): error: other",)
    record.unlink()
    file.write_text("changed\n")
    with pytest.raises(CheckFailed):
        start()
