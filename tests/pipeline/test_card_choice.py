"""What GPUs are held against each other by, and what that may take."""

from dataclasses import replace

import pytest

from assay.base.errors import CheckFailed
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.pipeline.card_choice import (
    ComparisonTime,
    card_candidates,
    choose_cards,
    left_out_words,
)
from tests.library_checkout import REPOSITORY

START_S = 10.0
SWEEPS = {
    "bsr_gemm_128": ComparisonTime(5.0, 10.0, 6),
    "bsr_gemm_tuning_64x64_bf16": ComparisonTime(5.0, 2.35, 5),
    "bsr_gemm_fp8": ComparisonTime(5.0, 2.9, 5),
}
"""Of a run on two H200s that planned none of those that config/judging.yaml names."""
NAMED = {
    "cublas_sizes": ComparisonTime(2.1, 5.2, 5),
    "bsr_gemm_stages": ComparisonTime(2.1, 5.2, 5),
    "attention_8k_d64": ComparisonTime(2.2, 4.8, 5),
}


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(REPOSITORY)


def within(catalog: Catalog, seconds: float) -> Catalog:
    """The catalog of a repository that gives it so many seconds."""
    return replace(catalog, judging=catalog.judging.model_copy(update={"card_seconds": seconds}))


def test_of_none_that_is_named_the_cheapest_is_the_control(catalog: Catalog) -> None:
    assert card_candidates(catalog, list(SWEEPS)) == list(SWEEPS)
    choice = choose_cards(catalog, SWEEPS, START_S)
    assert choice.comparisons == ("bsr_gemm_tuning_64x64_bf16",)
    # Four starts, the gate, and three processes alone, six beside, three alone.
    assert choice.processes == 3
    assert choice.seconds == pytest.approx(4 * START_S + 5 + 12 * 2.35)


def test_each_setting_has_the_processes_that_a_spread_is_told_from(catalog: Catalog) -> None:
    choice = choose_cards(catalog, SWEEPS, START_S)
    assert 2 * choice.processes >= catalog.judging.program_runs
    many = replace(catalog, judging=catalog.judging.model_copy(update={"program_runs": 9}))
    assert choose_cards(many, SWEEPS, START_S).processes == 5


def test_the_first_that_is_named_is_the_control_and_others_as_there_is_time(
    catalog: Catalog,
) -> None:
    assert card_candidates(catalog, [*SWEEPS, *NAMED]) == list(NAMED)
    plenty = choose_cards(within(catalog, 1000), NAMED, START_S)
    assert (plenty.comparisons, plenty.left_out) == (tuple(NAMED), ())
    assert left_out_words(plenty) == ""
    control_s = 4 * START_S + 2.1 + 12 * 5.2
    assert plenty.seconds == pytest.approx(control_s + START_S + 2.1 + 26 + 2.2 + 24)
    choice = choose_cards(within(catalog, control_s + 39), NAMED, START_S)
    assert choice.comparisons == ("cublas_sizes", "bsr_gemm_stages")
    assert left_out_words(choice) == "no time for attention_8k_d64"
    assert choice.seconds <= control_s + 39


def test_with_no_time_for_the_control_there_is_nothing_and_a_reason(catalog: Catalog) -> None:
    words = r"by cublas_sizes it would take about 104 s, and config/judging.yaml gives it 60"
    with pytest.raises(CheckFailed, match=words):
        choose_cards(within(catalog, 60), NAMED, START_S)
    with pytest.raises(CheckFailed, match="no comparison was timed"):
        choose_cards(catalog, {}, START_S)


def test_what_the_repository_gives_is_enough_for_both_kinds_of_run(catalog: Catalog) -> None:
    assert choose_cards(catalog, NAMED, START_S).comparisons[0] == "cublas_sizes"
    assert choose_cards(catalog, SWEEPS, START_S).seconds <= 90
