"""What several GPUs will take is told before: for a run on two H200s, what it took is known."""

from dataclasses import replace

import pytest

from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.pipeline.gpu_forecast import gpu_forecast
from assay.pipeline.plan import make_plan
from assay.pipeline.preview import stage_seconds
from assay.pipeline.stage_progress import StageProgress
from assay.records.plan import Plan, Request
from assay.records.timings import Stage
from tests.library_checkout import REPOSITORY
from tests.pipeline.test_unit_seconds import CLAIMS, GPUS, TAKEN
from tests.report_fixtures import make_request, provision

H200 = frozenset({"target": "h200"}.items())
BENCHMARK_S = 317.0
"""Of those 24 comparisons; by one guess for all that was new, they were placed 10 % worse."""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(REPOSITORY)


def asked(catalog: Catalog, *gpus: str) -> tuple[Request, Plan]:
    """The request and the plan of that run, on so many GPUs."""
    request = make_request("box", [provision("h200", gpus=gpus)], sorted(catalog.sources))
    request = request.model_copy(update={"claims": CLAIMS, "tuning": True})
    return request, make_plan(catalog, request)


def test_benchmarks_take_what_the_fuller_gpu_does(catalog: Catalog) -> None:
    _, plan = asked(catalog, *GPUS)
    two = gpu_forecast(REPOSITORY, catalog, plan)[Stage.BENCHMARK, H200]
    assert BENCHMARK_S * 0.85 < two < BENCHMARK_S * 1.05
    _, plan = asked(catalog, *GPUS, "GPU-2", "GPU-3")
    four = gpu_forecast(REPOSITORY, catalog, plan)[Stage.BENCHMARK, H200]
    assert max(TAKEN.values()) < four < 0.6 * two


def test_holding_them_against_each_other_is_known_and_bounded(catalog: Catalog) -> None:
    _, plan = asked(catalog, *GPUS)
    seconds = gpu_forecast(REPOSITORY, catalog, plan)[Stage.CARDS, H200]
    assert 60 < seconds <= catalog.judging.card_seconds
    little = replace(catalog, judging=catalog.judging.model_copy(update={"card_seconds": 20.0}))
    assert gpu_forecast(REPOSITORY, little, plan)[Stage.CARDS, H200] == 0.0


def test_of_one_gpu_nothing_is_forecast(catalog: Catalog) -> None:
    _, plan = asked(catalog, *GPUS[:1])
    assert gpu_forecast(REPOSITORY, catalog, plan) == {}


def test_the_live_line_knows_the_stage_and_counts_it_in(catalog: Catalog) -> None:
    request, plan = asked(catalog, *GPUS)
    known = stage_seconds(REPOSITORY, catalog, request, plan)
    forecast = gpu_forecast(REPOSITORY, catalog, plan)
    assert known["benchmark"] == forecast[Stage.BENCHMARK, H200]
    progress = StageProgress({name: known[name] for name in ("benchmark", "cards")}, cores=2)
    for line in ("benchmark 1", "cards 1"):
        progress.see(line)
    assert progress.left_s("cards") == pytest.approx(forecast[Stage.CARDS, H200], abs=5)
    assert progress.all_left_s() == pytest.approx(sum(forecast.values()), abs=10)
