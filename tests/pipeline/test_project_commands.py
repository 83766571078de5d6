"""A project's command, from its lines to a verdict through the workflow; the GPU is made up."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.cli.options import code_that_runs, require_trust, use_own_cache
from assay.evidence.load import load_evidence
from assay.pipeline.failures import outputs_to_retry
from assay.pipeline.original_requests import project_commands
from assay.pipeline.plan import make_plan
from assay.records.verdicts import Status
from tests.pipeline.test_batched_workflow import RUN, Checkout, checkout_in, claimed, project
from tests.pipeline.test_original_requests import RUN_IT

COMPILER = "g++"
IMAGE = f"images.example/bench@sha256:{'ab' * 32}"
PROGRAM = """\
#include <cstdio>
#include <cstdlib>
int main(int count, char** words) {
    int m = count > 1 ? std::atoi(words[1]) : 64;
    int rate = count > 2 ? std::atoi(words[2]) * 1000 : RATE;
    std::printf("{\\"m\\": %d, \\"runs\\": [{\\"gflops\\": %d}]}\\n", m, rate);
}
"""


def document(m: int) -> dict[str, Any]:
    bench = {
        "id": "bench",
        "build": f"{COMPILER} -DRATE=607000 bench.cpp -o bench",
        "run": "./bench",
        "sizes": {"m": {"reads": "json: m", "equals": m}},
    }
    answer = {"command": "bench", "reads": "json: runs[0].gflops", "unit": "GFLOP/s"}
    claims = [claimed("rate", "607 TFLOP/s", **answer)]
    return project(claims, commands=[bench], files=["bench.cpp"])


def written(folder: Path, content: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "assay.yaml").write_text(yaml.safe_dump(content))
    (folder / "bench.cpp").write_text(PROGRAM)
    return folder


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    made = checkout_in(tmp_path, monkeypatch)
    python = tmp_path / "python"
    python.write_text(python.read_text().replace('    if job["task"] == "device":\n', RUN_IT))
    return made


def measured(checkout, folder, m, *, again=()):
    """Run the command of a project, which may be named by the size that it states, and judge what
    it printed.
    """
    written(folder, document(m) if isinstance(m, int) else m)
    return checkout.run_project(folder, again)["rate"]


def test_what_it_prints_is_judged_and_nothing_of_it_lands_in_the_checkout(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "mine"
    use_own_cache(folder)
    before = files_of(checkout.root)
    verdict = measured(checkout, folder, 64)
    assert (verdict.status, verdict.measured) == (Status.REPRODUCED, 607.0)
    assert verdict.artifact == "original"
    assert sorted(path.name for path in folder.iterdir()) == ["assay.yaml", "bench.cpp", "results"]
    assert files_of(checkout.root) == before
    assert (folder / "results" / ".snakemake").is_dir()


def files_of(root: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}


def test_a_run_of_another_problem_is_no_figure(checkout: Checkout, tmp_path: Path) -> None:
    verdict = measured(checkout, tmp_path / "mine", 128)
    assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "run_failed")


def test_it_runs_as_typed_beside_as_stated(checkout: Checkout, tmp_path: Path) -> None:
    """What the document types runs another problem than it states, at the rate that it claims."""
    content = document(64)
    (command,) = content["commands"]
    command |= {"run": "./bench 64 305", "typed": "./bench 32 302"}
    command["sizes"] = {"m": {"reads": "json: m", "equals": 64}}
    answer = {"command": "bench", "reads": "json: runs[0].gflops", "unit": "GFLOP/s"}
    content["claims"][0]["answer"] = answer
    folder = tmp_path / "mine"
    verdict = measured(checkout, folder, content)
    assert verdict.measured == 305.0
    assert verdict.status is Status.NOT_REPRODUCED
    primary, typed = verdict.readings
    assert (primary.measured, typed.id, typed.measured) == (305.0, "as_typed", 302.0)


def test_a_build_line_without_its_program_is_a_build_that_fails(checkout, tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    monkeypatch.setattr("tests.pipeline.test_project_commands.COMPILER", "nvcc-of-nobody")
    verdict = measured(checkout, folder, 64)
    assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "build_failed")
    assert "nvcc-of-nobody: not found" in verdict.explanation

    # Once there is one, a further start builds.
    run_dir = folder / "results" / RUN
    plan = load_evidence(run_dir).plan
    assert outputs_to_retry(run_dir, plan) == ["measured/h100"]
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "nvcc-of-nobody").symlink_to(shutil.which("g++") or "")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    verdict = measured(checkout, folder, 64, again=outputs_to_retry(run_dir, plan))
    assert verdict.status is Status.REPRODUCED
    assert outputs_to_retry(run_dir, plan) == []


def test_a_strangers_lines_are_said_and_run_only_where_somebody_wants_it(checkout, tmp_path):
    content = document(64)
    content["commands"][0]["image"] = IMAGE
    folder = written(tmp_path / "mine", content)
    catalog = load_catalog(checkout.root, folder)
    commands = project_commands(catalog, ["post"], folder)
    more = {"home": str(folder), "sources": ("post",), "originals": commands}
    plan = make_plan(catalog, checkout.request.model_copy(update=more))
    told = "\n".join(code_that_runs(catalog, plan))
    assert "./bench" in told and IMAGE in told
    with pytest.raises(BadInput, match="--trust-project"):
        require_trust(catalog, plan, trusted=False)
    require_trust(catalog, plan, trusted=True)


def test_without_an_engine_an_image_is_a_reason(checkout: Checkout, tmp_path: Path) -> None:
    content = document(64)
    content["commands"][0]["image"] = IMAGE
    folder = tmp_path / "mine"
    verdict = measured(checkout, folder, content)
    assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "not_installed")
    run_dir = folder / "results" / RUN
    assert outputs_to_retry(run_dir, load_evidence(run_dir).plan) == ["measured/h100"]
