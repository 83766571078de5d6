"""What GPUs will take is told before: of published runs, and of one on two H200s, it is known."""

import pytest

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.stages import plan_path, timings_path
from assay.pipeline.gpu_forecast import gpu_forecast
from assay.pipeline.plan import make_plan
from assay.pipeline.preview import every_step, known_seconds, step_seconds
from assay.pipeline.stage_progress import StageProgress, mean_seconds
from assay.records.plan import Plan, Request
from assay.records.timings import Stage, TimingsRecord
from assay.verification.report_archive import opened_report
from tests.library_checkout import REPOSITORY
from tests.pipeline.test_unit_seconds import CLAIMS, GPUS, TAKEN
from tests.report_fixtures import make_request, provision

H200 = frozenset({"target": "h200"}.items())
BENCHMARK_S = 317.0
"""Of those 24 comparisons; by one guess for all that was new, they were placed 10 % worse."""

PROJECT = REPOSITORY / "projects" / "deepgemm"
MEASURED = ("h100_20261121_whole", "h100_20261121_settled", "h200_20261123_rivals")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(REPOSITORY)


def asked(catalog: Catalog, *gpus: str) -> tuple[Request, Plan]:
    """The request and the plan of that run, on so many GPUs."""
    request = make_request("box", [provision("h200", gpus=gpus)], sorted(catalog.sources))
    request = request.model_copy(update={"claims": CLAIMS, "tuning": True})
    return request, make_plan(catalog, request)


def stage_seconds(catalog: Catalog, request: Request, plan: Plan) -> dict[str, float]:
    """What a step of each stage takes."""
    return mean_seconds(step_seconds(REPOSITORY, catalog, request, plan, every_step(plan)))


def test_benchmarks_take_what_the_fuller_gpu_does(catalog: Catalog) -> None:
    _, plan = asked(catalog, *GPUS)
    two = gpu_forecast(REPOSITORY, catalog, plan)[Stage.BENCHMARK, H200]
    assert BENCHMARK_S * 0.85 < two < BENCHMARK_S * 1.05
    _, plan = asked(catalog, *GPUS, "GPU-2", "GPU-3")
    four = gpu_forecast(REPOSITORY, catalog, plan)[Stage.BENCHMARK, H200]
    assert max(TAKEN.values()) < four < 0.6 * two


def test_one_gpu_does_all_after_another(catalog: Catalog) -> None:
    _, plan = asked(catalog, *GPUS[:1])
    forecast = gpu_forecast(REPOSITORY, catalog, plan)
    assert forecast.keys() == {(Stage.CORRECTNESS, H200), (Stage.BENCHMARK, H200)}
    assert forecast[Stage.BENCHMARK, H200] == pytest.approx(sum(TAKEN.values()), rel=0.1)
    _, on_two = asked(catalog, *GPUS)
    gate = gpu_forecast(REPOSITORY, catalog, on_two)[Stage.CORRECTNESS, H200]
    assert 0.4 * forecast[Stage.CORRECTNESS, H200] < gate < 0.8 * forecast[Stage.CORRECTNESS, H200]


def test_what_is_taken_over_takes_no_gpu(catalog: Catalog) -> None:
    recorded = make_request("box", [provision("h200", kind="recorded")], sorted(catalog.sources))
    assert gpu_forecast(REPOSITORY, catalog, make_plan(catalog, recorded)) == {}


@pytest.mark.parametrize("report", MEASURED)
def test_a_published_run_took_what_is_forecast_of_it(catalog: Catalog, report: str) -> None:
    """All of it was measured in one start on one GPU, with today's protocols."""
    path = REPOSITORY / "reports" / "published" / f"{report}.tar.xz"
    with opened_report(path) as folder:
        took = read_record(TimingsRecord, folder / "evidence" / timings_path()).steps
        plan = read_record(Plan, folder / "evidence" / plan_path())
    stages = (Stage.CORRECTNESS, Stage.BENCHMARK, Stage.PROGRAM)
    recorded = {
        (step.stage, frozenset(step.arguments.items())): step.seconds
        for step in took
        if step.stage in stages
    }
    forecast = gpu_forecast(REPOSITORY, catalog, plan)
    assert {step: forecast[step] for step in recorded} == {
        step: pytest.approx(seconds, rel=0.25) for step, seconds in recorded.items()
    }


def test_a_projects_own_report_says_more_than_a_guess_on_one_gpu(catalog: Catalog) -> None:
    request, plan = asked(catalog, *GPUS[:1])
    request = request.model_copy(update={"home": str(PROJECT)})
    recorded = known_seconds(REPOSITORY, request)[Stage.BENCHMARK, H200]
    assert stage_seconds(catalog, request, plan)["benchmark"] == recorded
    request, plan = asked(catalog, *GPUS)
    request = request.model_copy(update={"home": str(PROJECT)})
    forecast = gpu_forecast(REPOSITORY, catalog, plan)[Stage.BENCHMARK, H200]
    assert stage_seconds(catalog, request, plan)["benchmark"] == forecast


def test_the_live_line_knows_the_stage_and_counts_it_in(catalog: Catalog) -> None:
    request, plan = asked(catalog, *GPUS)
    known = stage_seconds(catalog, request, plan)
    forecast = gpu_forecast(REPOSITORY, catalog, plan)
    assert known["benchmark"] == forecast[Stage.BENCHMARK, H200]
    stages = (Stage.CORRECTNESS, Stage.BENCHMARK)
    progress = StageProgress({stage.value: known[stage.value] for stage in stages}, cores=2)
    for stage in stages:
        progress.see(f"{stage.value} 1")
    both = sum(forecast[stage, H200] for stage in stages)
    assert progress.left_s("benchmark") == pytest.approx(forecast[Stage.BENCHMARK, H200], abs=5)
    assert progress.all_left_s() == pytest.approx(both, abs=10)
