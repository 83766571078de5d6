"""YAML: what is refused and by which code, and what is taken."""

import tracemalloc

import pytest

from assay.base.strict_yaml import parse_yaml
from assay.shared.read_limits import Unreadable
from tests.cases.yaml.syntax import REFUSED, TAKEN


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_yaml_is_refused_by_its_code(case: str) -> None:
    text, code = REFUSED[case]
    with pytest.raises(Unreadable) as raised:
        parse_yaml(text)
    assert raised.value.code == code, str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("case", TAKEN)
def test_what_only_looks_hostile_is_taken(case: str) -> None:
    text, value = TAKEN[case]
    found = parse_yaml(text)
    if value is not None:
        assert repr(found) == repr(value)


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(Unreadable, match=r"^line 3: an alias \(\*x\)"):
        parse_yaml("a: 1\nb: 2\nc: *x\n")


def test_aliases_are_refused_before_anything_is_built() -> None:
    text, _ = REFUSED["nine levels of nine aliases each: 387 million values"]
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable):
            parse_yaml(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
