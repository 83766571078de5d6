"""Units of work on the GPUs of a machine: bundles stay whole, and all are done at one time."""

import itertools
import random

import pytest

from assay.measuring.gpu_schedule import (
    GpuUnit,
    bundled,
    in_order,
    place_units,
    share_cores,
    simulate,
)

GPUS = ("one", "two", "three")


def units(**seconds: float) -> list[GpuUnit]:
    """Units that are bundles of their own."""
    return [GpuUnit(name, took, name) for name, took in seconds.items()]


def loads(placed: dict[str, str], of: list[GpuUnit]) -> dict[str, float]:
    """The seconds of each GPU that has some."""
    took: dict[str, float] = {}
    for unit in of:
        took[placed[unit.name]] = took.get(placed[unit.name], 0.0) + unit.seconds
    return took


class TestPlaces:
    """Which GPU a unit is measured on."""

    def test_the_longest_are_apart(self) -> None:
        placed = place_units(units(a=9, b=8, c=1, d=2), GPUS[:2], {})
        assert placed["a"] != placed["b"]
        assert sorted(loads(placed, units(a=9, b=8, c=1, d=2)).values()) == [10, 10]

    def test_a_bundle_shares_a_gpu(self) -> None:
        tied = [GpuUnit("a", 5, "x"), GpuUnit("b", 5, "x"), *units(c=5, d=5)]
        placed = place_units(tied, GPUS[:2], {})
        assert placed["a"] == placed["b"] != placed["c"] == placed["d"]

    def test_what_has_a_gpu_stays_and_takes_its_bundle_along(self) -> None:
        tied = [GpuUnit("a", 1, "x"), GpuUnit("b", 50, "x"), *units(c=5)]
        placed = place_units(tied, GPUS[:2], {"a": "two"})
        assert (placed["a"], placed["b"], placed["c"]) == ("two", "two", "one")

    def test_what_was_on_a_gpu_that_is_gone_goes_to_another(self) -> None:
        assert place_units(units(a=1), GPUS[:1], {"a": "gone"}) == {"a": "one"}

    def test_the_same_question_has_the_same_answer(self) -> None:
        given = units(a=3, b=3, c=3, d=3, e=3)
        assert place_units(given, GPUS, {}) == place_units(list(reversed(given)), GPUS, {})

    def test_of_no_gpu_there_is_no_place(self) -> None:
        with pytest.raises(ValueError, match="no GPU"):
            place_units(units(a=1), (), {})

    @pytest.mark.parametrize("seed", range(20))
    def test_the_fullest_holds_little_more_than_in_the_best_of_all_ways(self, seed: int) -> None:
        """MULTIFIT is at most 13/11 of the best; the longest to the emptiest alone, 4/3."""
        draw = random.Random(seed)
        given = [GpuUnit(f"u{n}", draw.uniform(1, 30), f"u{n}") for n in range(8)]
        found = max(loads(place_units(given, GPUS, {}), given).values())
        ways = itertools.product(GPUS, repeat=len(given))
        best = min(
            max(loads({u.name: g for u, g in zip(given, way, strict=True)}, given).values())
            for way in ways
        )
        assert best <= found * (1 + 1e-9)
        assert found <= best * 13 / 11

    def test_a_gpu_does_its_longest_first(self) -> None:
        assert in_order(["a", "b", "c"], {"a": 1.0, "b": 3.0, "c": 3.0}) == ["b", "c", "a"]


class TestBundles:
    """Units whose figures are divided by each other."""

    def test_ties_lead_from_one_to_the_next(self) -> None:
        found = bundled("abcde", [{"a", "b"}, {"b", "c"}, {"d"}, {"e", "elsewhere"}])
        assert found["a"] == found["b"] == found["c"]
        assert len({found[name] for name in "ade"}) == 3


class TestSimulation:
    """How long a stage takes on so many GPUs."""

    def test_of_what_each_was_expected_to_take_and_took(self) -> None:
        stage = simulate(units(a=10, b=10), {"a": 8.0, "b": 12.0}, 2, 1.0)
        assert (stage.seconds, stage.longest) == (13.0, 13.0)
        assert stage.busy == pytest.approx((8 / 13, 12 / 13))

    def test_a_bundle_bounds_it(self) -> None:
        tied = [GpuUnit(name, 10, "x") for name in "abcd"]
        stage = simulate(tied, dict.fromkeys("abcd", 10.0), 8, 2.0)
        assert stage.seconds == stage.longest == 42.0


class TestProcessors:
    """Which of the host's processors the jobs of each GPU keep to."""

    def test_those_next_to_it_shared_with_its_neighbours(self) -> None:
        near = {"a": range(4), "b": range(4), "c": range(4, 8)}
        assert share_cores(range(8), near) == {"a": (0, 1), "b": (2, 3), "c": (4, 5, 6, 7)}

    def test_all_of_them_where_nobody_says(self) -> None:
        assert share_cores(range(4), {"a": (), "b": ()}) == {"a": (0, 1), "b": (2, 3)}

    def test_none_is_given_twice(self) -> None:
        near = {"a": range(6), "b": range(3), "c": ()}
        given = share_cores(range(6), near)
        every = [core for cores in given.values() for core in cores]
        assert sorted(every) == list(range(6))

    def test_fewer_than_gpus_are_everybodys(self) -> None:
        assert share_cores({0, 1}, dict.fromkeys("abc", ())) == dict.fromkeys("abc", (0, 1))
