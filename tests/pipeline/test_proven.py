"""What one run proved of kernels on a GPU is taken by the next, and measured figures are not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from assay.evidence.stages import CORRECTNESS
from assay.measuring.resume import Item, Proofs, kept_folder
from assay.records.measurements import ProgramRecord, VerificationRun
from assay.shared.job import ProgramRunsJob
from assay.shared.specs import ArtifactSpec
from tests import builders as b
from tests.jobs import TARGET
from tests.pipeline.box import H100S, NAMES, Box
from tests.pipeline.stand_in import do_stages
from tests.report_fixtures import make_request, provision

CARD, OTHER = H100S[:2]


class Runs:
    """Runs of one checkout, each by its name."""

    def __init__(self, folder: Path) -> None:
        self.box = Box(folder, {"h100": (CARD,)})

    def change(self, **device: object) -> None:
        path = self.box.folder / "device.h100.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | device))

    def measure(self, run: str, card: str = CARD, **asked: object) -> list[str]:
        """Gate and time everything; return the stages of what was done on the GPU."""
        (self.box.folder / "box.json").write_text(json.dumps({"h100": [card]}))
        given = {"device_python": str(self.box.python), **asked}
        request = make_request(run, [provision("h100", gpus=(card,))], ["fixture"])
        request = request.model_copy(update=given)
        do_stages(self.box.root, request, "h100", "platform", "correctness", "benchmark")
        return [task for task, _, _ in self.box.units()]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    monkeypatch.setenv("ASSAY_LOCK_DIR", str(tmp_path / "locks"))
    found = Runs(tmp_path)
    found.change(packages_sha256="a" * 64)
    assert found.measure("first").count("correctness") == len(NAMES)
    return found


def test_a_gate_is_taken_and_a_benchmark_is_not(runs: Runs) -> None:
    done = runs.measure("second")
    assert (done.count("correctness"), done.count("benchmark")) == (0, len(NAMES))
    record = runs.box.root / "results" / "second" / CORRECTNESS.path("h100", NAMES[0])
    assert record.is_file()


@pytest.mark.parametrize(
    ("device", "card", "asked"),
    [
        ({"packages_sha256": "b" * 64}, CARD, {}),
        ({"driver": "999.1"}, CARD, {}),
        ({"packages_sha256": None}, CARD, {}),
        ({}, OTHER, {}),
        ({}, CARD, {"prove_again": True}),
    ],
)
def test_it_is_done_again_where_anything_differs_or_the_user_asks(runs, device, card, asked):
    runs.change(**device)
    assert runs.measure("second", card, **asked).count("correctness") == len(NAMES)


def test_what_a_rival_was_tuned_to_is_taken_where_nothing_differs(runs: Runs) -> None:
    def swept(run: str) -> Path:
        return runs.box.root / "results" / run / "device_cache" / "sweeps" / "rival-problem.json"

    swept("second").parent.mkdir(parents=True)
    swept("second").write_text("{}")
    runs.measure("second")
    runs.measure("again")
    runs.measure("asked", prove_again=True)
    runs.change(driver="999.1")
    runs.measure("other")
    assert swept("again").is_file()
    assert not swept("asked").exists() and not swept("other").exists()


def test_a_programs_check_is_kept_where_the_program_ran_well(tmp_path: Path) -> None:
    run_dir = tmp_path / "results" / "first"
    artifact = ArtifactSpec(f"{run_dir}/builds/a", "a" * 64)
    job = ProgramRunsJob(TARGET, "ex88", artifact, (), 5, 60.0, ("--verify",))
    kept = kept_folder(run_dir, "program", "h100")
    item = Item("ex88", job, run_dir / "x.json.gz", ("code", "platform"), kept)
    proofs = Proofs(tmp_path / "proven", b.GPU, "software")
    checked = {"verification": VerificationRun(
        exit_code=0, seconds=1.0, stdout="Passed", stderr="", arguments=("--verify",)
    )}  # fmt: skip
    unchecked = b.program_record("ex88", (), ["1"])
    crashed = b.program_record("ex88", (), ["1"], exit_code=1).model_copy(update=checked)
    for record in (unchecked, crashed):
        proofs.put([item], {"ex88": record})
        assert proofs.found([item], ProgramRecord) == {}
    proofs.put([item], {"ex88": unchecked.model_copy(update=checked)})
    other_run = tmp_path / "results" / "second"
    moved = replace(
        item,
        job=replace(job, artifact=replace(artifact, path=f"{other_run}/builds/a")),
        folder=kept_folder(other_run, "program", "h100"),
    )
    (found,) = proofs.found([moved], ProgramRecord).values()
    assert found.verification == checked["verification"]
