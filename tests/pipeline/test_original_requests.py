"""``--original``: whose lines run in which checkout, and what is refused in one sentence."""

import gzip
from pathlib import Path

import pytest

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.judging.judge import judge
from assay.pipeline.original_requests import Given, find_originals, given_by_source
from assay.records.originals import OriginalRunRecord
from assay.records.verdicts import Status
from tests.library_checkout import add_to_claims
from tests.pipeline.test_batched_workflow import RUN, Checkout, checkout_in

SOURCES = ("000", "002", "003", "004")
PROGRAM = """\
#include <cstdio>
int main() { std::printf("FIRST: %.1f TFLOPS\\n", 600.0 + BK); }
"""
OWN_CLAIM = """
  - id: fixture_own
    kind: measurement
    statement: The source's own program
    place: {section: Results, line: 3}
    value: 607
    unit: tflop_per_s
    resolution: 1
    hardware: {target: h100, as_stated: H100}
    flop_formula: unstated
    evaluation: {kind: unanswerable, reason: original_unavailable, detail: Give a checkout.}
"""
OF_SOURCE = """\
original:
  id: winner
  file: src/winner.cpp
  place: {section: Files, line: 4}
  build:
    line: g++ -O1 -DBK=7
    place: {section: Files, line: 5}
    lacks: the file and the binary
  run: {line: ./winner, place: {section: Files, line: 6}}
  figures:
    - {claim: fixture_own, pattern: '{value} TFLOPS', unit: tflop_per_s}
"""
RUN_IT = """    if job["task"] == "original_run":
        from types import SimpleNamespace
        from assay.device.tasks.original_runs import run_originals
        from assay.shared.job_file import read_job
        uuid = json.loads((folder / "device.json").read_text())["gpu"]["uuid"]
        queued = next(q for q in map(read_job, map(Path, sys.argv[3:])) if q.output == output)
        gpu = SimpleNamespace(choice=SimpleNamespace(uuid=uuid))
        record = next(run_originals([queued.job], gpu))()
        output.write_bytes(gzip.compress(json.dumps(record).encode()))
    elif job["task"] == "device":
"""


@pytest.fixture
def sparse(tmp_path: Path) -> Path:
    """A made-up checkout that holds the file that source 003 names, and that of source 002."""
    folder = tmp_path / "sparse"
    (folder / "src").mkdir(parents=True)
    (folder / "sparse_attention_e2e.cu").write_text("int main() {}\n")
    (folder / "src" / "sparse_h100_winner.cu").write_text("int main() {}\n")
    return folder


def find(catalog, *checkouts: str, builds=(), runs=(), runtime="host", sources=SOURCES):
    found, _ = find_originals(catalog, sources, given_by_source(checkouts, builds, runs), runtime)
    return found


class TestWhoseLinesRun:
    """What a source types whole is run as typed; what it leaves out the user completes."""

    def test_the_sources_own(self, catalog, sparse: Path) -> None:
        (found,) = find(catalog, f"003={sparse}")
        assert (found.job.build.by, found.job.run.by) == ("source", "source")
        assert found.job.run.line == "./sparse_e2e 800"
        assert found.directory == str(sparse)
        assert found.job.checkout.files == 2

    def test_a_build_with_other_settings_changes_these_alone(self, catalog, sparse: Path) -> None:
        line = "002=nvcc -DBM=512 -DBK=112 -DWM=128 -DWN=64 a.cu -o a"
        first, *others = find(catalog, f"002={sparse}", builds=[line], runs=["002=./a"])
        built = {each.job.original: each.job for each in others}
        assert set(built) == {each.id for each in catalog.sources["002"].other_builds}
        job = built["s002_winner_phase2"]
        assert job.build.line == "nvcc -DBM=256 -DBK=32 -DWM=64 -DWN=64 a.cu -o a"
        assert (job.build.by, job.run, job.checkout) == ("user", first.job.run, first.job.checkout)

    @pytest.mark.parametrize(
        "given",
        [
            {"checkouts": ["002={}"]},
            {"checkouts": ["002={}"], "builds": ["002=nvcc a.cu"]},
            {"checkouts": ["003={}"], "runs": ["003=./mine"]},
            {"checkouts": ["003"]},
            {"checkouts": ["003={}", "003={}"]},
            {"checkouts": ["001={}"]},
            {"runs": ["002=./a"]},
            {"checkouts": ["003={}"], "sources": ["002"]},
            {"checkouts": ["003={}"], "runtime": "docker"},
            {"checkouts": ["003={}/src"]},
            {"checkouts": ["003={}/none"]},
        ],
    )
    def test_what_does_not_fit_is_one_sentence(self, catalog, sparse: Path, given: dict) -> None:
        given = dict(given)
        checkouts = [text.format(sparse) for text in given.pop("checkouts", ())]
        with pytest.raises(BadInput) as caught:
            find(catalog, *checkouts, **given)
        assert "\n" not in str(caught.value)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A run whose source has a program of its own, which a host compiler understands."""
    made = checkout_in(tmp_path, monkeypatch)
    claims = made.root / "config" / "claims" / "fixture.yaml"
    add_to_claims(claims, OWN_CLAIM, OF_SOURCE)
    python = tmp_path / "python"
    stand_in = python.read_text().replace('    if job["task"] == "device":\n', RUN_IT)
    python.write_text(stand_in)
    (tmp_path / "theirs" / "src").mkdir(parents=True)
    (tmp_path / "theirs" / "src" / "winner.cpp").write_text(PROGRAM)
    ask(made)
    return made


def ask(made: Checkout) -> None:
    line = "g++ -O1 -DBK=7 src/winner.cpp -o winner"
    given = {"fixture": Given(made.folder / "theirs", line)}
    found, _ = find_originals(load_catalog(made.root), ["fixture"], given, "host")
    made.request = made.request.model_copy(update={"originals": found})


class TestItRuns:
    """From the option to the verdict, through the workflow; only the GPU is made up."""

    def test_a_verdict_rests_on_what_it_printed(self, checkout: Checkout) -> None:
        checkout.measure("original")
        run_dir = checkout.root / "results" / RUN
        path = run_dir / "h100" / "original" / "winner.json.gz"
        found = read_record(OriginalRunRecord, path)
        runs = load_catalog(checkout.root).judging.program_runs
        assert [run.stdout for run in found.runs] == ["FIRST: 607.0 TFLOPS\n"] * runs
        assert (found.build_line.by, found.run_line.by) == ("user", "source")
        assert not (checkout.folder / "theirs" / "winner").exists()

        catalog, evidence = load_catalog(checkout.root), load_evidence(run_dir)
        verdict = next(v for v in judge(catalog, evidence).verdicts if v.claim == "fixture_own")
        assert (verdict.status, verdict.measured) == (Status.REPRODUCED, 607.0)
        assert str(checkout.folder) not in gzip.decompress(path.read_bytes()).decode()
        assert str(checkout.folder) not in (run_dir / "plan.json").read_text()

        # The same wish again measures nothing; another file in the checkout does.
        assert "original_run" in checkout.starts()
        checkout.measure("original")
        assert checkout.starts() == []
        (checkout.folder / "theirs" / "src" / "winner.cpp").write_text(
            PROGRAM.replace("600", "500")
        )
        ask(checkout)
        checkout.measure("original")
        assert checkout.starts() == ["original_run"]
        assert read_record(OriginalRunRecord, path).runs[0].stdout == "FIRST: 507.0 TFLOPS\n"

    def test_a_checkout_that_changes_under_the_run_is_refused(self, checkout: Checkout) -> None:
        (checkout.folder / "theirs" / "more").write_text("new\n")
        with pytest.raises(CheckFailed):
            checkout.measure("original")
