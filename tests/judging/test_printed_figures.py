"""Interval arithmetic over printed figures."""

import math
import statistics
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judging.printed_figures import PrintedRange, audit, evaluate
from assay.records.arithmetic import Formula, Operand
from assay.records.claims import Relation


def literal(value: float, resolution: float = 0.0) -> Operand:
    return Operand(value=value, resolution=resolution, what="a number")


def consistent(formula, operands, claimed, relation=Relation.EQUALS):
    return audit(formula, operands, claimed, {}, relation).consistent


class TestMultiple:
    def test_blocks_that_leave_a_rest_are_no_multiple(self) -> None:
        result = audit(Formula.MULTIPLE, [literal(8192), literal(112)], None, {})
        assert not result.consistent
        assert result.sentence == "8192 is no multiple of 112: 73 times leave 16."
        assert consistent(Formula.MULTIPLE, [literal(8192), literal(128)], None)

    def test_a_quotient_rounded_down_leaves_the_rest_out(self) -> None:
        assert consistent(Formula.WHOLE_QUOTIENT, [literal(8192), literal(112)], literal(73))
        assert not consistent(Formula.WHOLE_QUOTIENT, [literal(8192), literal(112)], literal(74))

    def test_is_asked_of_exact_counts_alone(self) -> None:
        with pytest.raises(ValueError, match="exact counts"):
            audit(Formula.MULTIPLE, [literal(8192, 1), literal(112)], None, {})


def test_two_ranges_disagree_where_the_third_is_their_only_bridge() -> None:
    low, high = (Operand(value=a, to=z, resolution=0, what="x") for a, z in ((1, 2), (3, 4)))
    bridge = Operand(value=1, to=4, resolution=0, what="y")
    assert consistent(Formula.AGREE, [low, bridge], None)
    assert not consistent(Formula.AGREE, [low, bridge, high], None)


def test_a_difference_is_taken_from_the_larger() -> None:
    assert consistent(Formula.DIFFERENCE, [literal(607, 1), literal(603, 1)], literal(4))
    with pytest.raises(ValueError, match="larger"):
        audit(Formula.DIFFERENCE, [literal(1), literal(2)], literal(1), {})


def test_at_least_asks_the_recomputed_value_to_reach_the_figure() -> None:
    operands = [literal(300), literal(100)]
    assert consistent(Formula.QUOTIENT, operands, literal(2), Relation.AT_LEAST)
    assert not consistent(Formula.QUOTIENT, operands, literal(4), Relation.AT_LEAST)
    assert consistent(Formula.QUOTIENT, operands, literal(4), Relation.AT_MOST)
    assert not consistent(Formula.QUOTIENT, operands, literal(2), Relation.AT_MOST)


class TestMisuse:
    @pytest.mark.parametrize("formula", [Formula.QUOTIENT, Formula.GREATER])
    def test_wrong_number_of_operands_is_refused(self, formula: Formula) -> None:
        with pytest.raises(ValueError, match="two operands, not 3"):
            audit(formula, [literal(1)] * 3, literal(1), {})

    def test_a_figure_is_needed(self) -> None:
        with pytest.raises(ValueError, match="needs a claimed figure"):
            audit(Formula.MEAN, [literal(1)], None, {})


numbers = st.floats(0.01, 1e6, allow_nan=False)
inside = st.floats(0, 1)


class TestSoundness:
    """Whatever the true figures behind the printed digits are, the interval holds the result."""

    @given(st.lists(st.tuples(numbers, st.floats(0, 0.01), inside), min_size=2, max_size=6))
    def test_statistics_of_any_true_values_lie_inside(self, drawn):
        intervals = [PrintedRange(v, v - h, v + h) for v, h, _ in drawn]
        truth = [v - h + 2 * h * u for v, h, u in drawn]
        slack = 1e-9 * max(truth) + 1e-9
        functions: dict[Formula, Callable[[list[float]], float]] = {
            Formula.MEAN: statistics.fmean,
            Formula.MAXIMUM: max,
            Formula.MINIMUM: min,
            Formula.SUM: math.fsum,
            Formula.SAMPLE_STDEV: statistics.stdev,
            Formula.PRODUCT: math.prod,
        }
        for formula, function in functions.items():
            result = evaluate(formula, intervals)
            value = function(truth)
            scale = slack if formula is not Formula.PRODUCT else 1e-9 * value
            assert result.low - scale <= value <= result.high + scale

    @given(numbers, numbers, st.floats(0, 0.005), st.floats(0, 0.005), inside, inside)
    def test_quotients_of_any_true_values_lie_inside(self, a, d, ha, hd, ua, ud):
        top, bottom = PrintedRange(a, a - ha, a + ha), PrintedRange(d, d - hd, d + hd)
        result = evaluate(Formula.QUOTIENT, [top, bottom])
        value = (a - ha + 2 * ha * ua) / (d - hd + 2 * hd * ud)
        assert result.low * (1 - 1e-9) <= value <= result.high * (1 + 1e-9)
