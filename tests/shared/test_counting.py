"""Counts agree with their nouns."""

import pytest

from assay.shared.counting import agreeing, counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 claims"), (1, "1 claim"), (2, "2 claims"), (21, "21 claims")]
)
def test_a_noun_agrees_with_its_number(number: int, words: str) -> None:
    assert counted(number, "claim") == words


def test_a_noun_may_have_a_plural_of_its_own() -> None:
    assert counted(1, "process", "processes") == "1 process"
    assert counted(3, "process", "processes") == "3 processes"


def test_a_verb_agrees_too() -> None:
    assert [agreeing(n, "is", "are") for n in (0, 1, 2)] == ["are", "is", "are"]
