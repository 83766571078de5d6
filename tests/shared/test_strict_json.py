"""strict_json: what a dataclass declares is read, and nothing else."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest

from assay.shared.strict_json import Mismatch, parse, read


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    count: int
    share: float


@dataclass(frozen=True)
class Outer:
    name: str
    on: bool
    mode: Literal["fast", "slow"]
    colour: Colour
    path: Path
    inner: Inner
    maybe: Inner | None
    several: tuple[Inner, ...]
    pair: tuple[int, int]
    by_name: dict[str, float]
    anything: Any
    late: int = field(default=3)


def value(**changes: Any) -> dict[str, Any]:
    good = {
        "name": "n", "on": True, "mode": "fast", "colour": "red", "path": "/a/b",
        "inner": {"count": 1, "share": 0.5}, "maybe": None,
        "several": [{"count": 2, "share": 1}], "pair": [1, 2], "by_name": {"x": 2.5},
        "anything": {"of": ["all"]}, "late": 4,
    }  # fmt: skip
    return {**good, **changes}


class TestRead:
    """Types as declared, whole."""

    def test_gives_the_dataclass(self) -> None:
        found = read(Outer, value())
        assert found.inner == Inner(1, 0.5)
        assert found.several == (Inner(2, 1.0),)
        assert (found.path, found.colour, found.pair) == (Path("/a/b"), Colour.RED, (1, 2))
        assert found.late == 4

    @pytest.mark.parametrize(
        ("changes", "place"),
        [
            ({"inner": {"count": "ten", "share": 1}}, "inner.count: "),
            ({"inner": {"count": True, "share": 1}}, "inner.count: "),
            ({"inner": {"count": 1, "share": False}}, "inner.share: "),
            ({"inner": {"count": 1, "share": float("nan")}}, "inner.share: "),
            ({"inner": {"count": 1, "share": 10**400}}, "inner.share: "),
            ({"inner": {"count": 1}}, "inner: lacks 'share'"),
            ({"inner": {"count": 1, "share": 1, "shore": 2}}, "inner: has no 'shore'"),
            ({"inner": []}, "inner: "),
            ({"several": [{"count": 1, "share": 1}, {"count": 1}]}, r"several\[1\]: "),
            ({"several": {}}, "several: "),
            ({"pair": [1, 2, 3]}, "pair: "),
            ({"by_name": {"x": "y"}}, "by_name.x: "),
            ({"name": 5}, "name: "),
            ({"on": 1}, "on: "),
            ({"mode": "warp"}, "mode: "),
            ({"colour": "green"}, "colour: "),
            ({"path": ""}, "path: "),
        ],
    )
    def test_refuses_and_names_the_place(self, changes: dict[str, Any], place: str) -> None:
        with pytest.raises(Mismatch, match=f"^{place}"):
            read(Outer, value(**changes))


def test_a_key_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="'a' is given twice"):
        parse('{"b": {"a": 1, "a": 2}}')
