"""What must be measured on one card: all that a claim divides."""

from assay.judging.needs import measured_together
from assay.measuring.card_bundles import bundled
from assay.records.evaluations import Reading
from tests import builders as b
from tests.judging.asked import quotient, rate


def test_ties_lead_from_one_to_the_next() -> None:
    found = bundled("abcde", [{"a", "b"}, {"b", "c"}, {"d"}, {"e", "elsewhere"}])
    assert found["a"] == found["b"] == found["c"]
    assert len({found[name] for name in "ade"}) == 3


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
