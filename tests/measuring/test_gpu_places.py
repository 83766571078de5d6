"""Units of work on the GPUs of a machine: bundles stay whole, and all are done at one time."""

import pytest

from assay.judging.needs import measured_together
from assay.measuring.gpu_places import bundled, place_units, share_cores
from assay.records.evaluations import Reading
from tests import builders as b
from tests.judging.asked import quotient, rate

GPUS = ("one", "two")


def test_gpus_are_done_at_one_time() -> None:
    placed = place_units(bundled("abcd", []), {"a": 9, "b": 8, "c": 1, "d": 2}, GPUS, {})
    assert placed == {"a": "one", "b": "two", "d": "two", "c": "one"}


def test_a_bundle_shares_a_gpu_and_stays_where_one_of_it_is() -> None:
    tied, seconds = {"a": "x", "b": "x", "c": "c"}, {"a": 1, "b": 50, "c": 5}
    assert place_units(tied, seconds, GPUS, {"a": "two"}) == {"a": "two", "b": "two", "c": "one"}
    assert place_units({"a": "a"}, seconds, GPUS[:1], {"a": "gone"}) == {"a": "one"}


def test_ties_lead_from_one_to_the_next() -> None:
    found = bundled("abcde", [{"a", "b"}, {"b", "c"}, {"d"}, {"e", "elsewhere"}])
    assert found["a"] == found["b"] == found["c"]
    assert len({found[name] for name in "ade"}) == 3


@pytest.mark.parametrize(
    ("cores", "near", "shares"),
    [
        (8, {"a": range(4, 8), "b": range(4, 8), "c": ()}, {"a": (4, 5), "b": (6, 7), "c": (0, 1)}),
        (6, {"a": range(6), "b": range(3)}, {"a": (0, 1, 2), "b": (3, 4, 5)}),
        (2, dict.fromkeys("abc", ()), dict.fromkeys("abc", (0, 1))),
    ],
)
def test_no_processor_is_given_twice_but_where_there_are_too_few(
    cores: int, near: dict[str, range], shares: dict[str, tuple[int, ...]]
) -> None:
    assert share_cores(range(cores), near) == shares


def test_a_quotient_ties_what_any_reading_of_its_sides_is_read_from() -> None:
    """It has their readings, and one of two cards would tell of the cards."""
    attention = rate("attention", comparison="attend")
    wide = Reading(id="wide", says="wider", differs="unstated", evaluation=attention)
    top = b.claim("top", rate(), reading="narrow", readings=(wide,))
    gap = quotient("top", "top")
    claims = [top, b.claim("gap", gap)]
    assert measured_together(b.catalog(claims), claims) == [{"duel", "attend"}]
    as_wide = b.claim("gap", gap.model_copy(update={"under": "wide"}))
    assert measured_together(b.catalog([top, as_wide]), [as_wide]) == [{"attend"}]
