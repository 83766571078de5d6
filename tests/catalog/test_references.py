"""References of readings and of formulas: what is named exists, and may stand where it does."""

from typing import Any

import pytest

from assay.base.errors import BadInput
from assay.catalog.formula_names import OUTPUTS, names_of_program
from assay.catalog.model import Catalog
from assay.catalog.references import check_references
from assay.judging.cutlass_output import Shape
from assay.judging.formulas import program_facts
from assay.records.claims import Claim, ClaimKind
from assay.records.evaluations import Benchmark, Derived, Invocation, Program, Reading
from tests import builders as b
from tests.judging.asked import quotient, rate


def ex(number: int) -> Program:
    stated = Invocation(arguments=(), shape={})
    figure = "pingpong_tflop_per_s" if number == 57 else "tma"
    return Program(kind="program", program=f"ex{number}", figure=figure, typed=None, stated=stated)


def read(evaluation: Benchmark | Program | Derived, flops: str | None = None) -> Claim:
    other = Reading(id="other", says="so", differs="work", evaluation=evaluation, flops=flops)
    return b.claim("read", rate("ours"), reading="plain", readings=(other,))


def catalog(*claims: Claim) -> Catalog:
    return b.catalog(claims, comparisons=b.comparisons())


@pytest.mark.parametrize(
    ("evaluation", "told"),
    [
        (rate("ours", comparison="gone"), "there is no comparison 'gone'"),
        (rate("gone"), "there is no arm of 'duel' 'gone'"),
        (ex(99), "there is no program 'ex99'"),
        (quotient("gone", "read"), "there is no claim 'gone'"),
        (quotient("read", "read", under="gone"), "neither part has a reading 'gone'"),
    ],
)
def test_what_a_reading_names_must_exist(evaluation: Any, told: str) -> None:
    with pytest.raises(BadInput, match=f"claim 'read': reading 'other': {told}"):
        check_references(catalog(read(evaluation)))


class TestFormulas:
    """A formula for FLOPs names what every problem that it is for has."""

    @pytest.mark.parametrize(
        ("evaluation", "flops", "told"),
        [
            (rate("ours"), "2 * rows", "names 'rows', which bsr_gemm does not have; known: .*m, "),
            (rate("ours"), "4 * b * h", "names 'b', which bsr_gemm does not have"),
            (rate("attention", comparison="attend"), "2 * m", "which dense_attention does not"),
            (ex(88), "2 * m", "names 'm', which ex88 does not have; known: b, d, h, k_len, q"),
            (ex(57), "4 * b", "names 'b', which ex57 does not have; known: groups, k, m, n"),
            (quotient("read", "read"), "2 * m", "is of a measured rate"),
        ],
    )
    def test_nothing_else(self, evaluation: Any, flops: str, told: str) -> None:
        with pytest.raises(BadInput, match=f"reading 'other': .*{told}"):
            check_references(catalog(read(evaluation, flops)))

    @pytest.mark.parametrize(
        ("parser", "shape"),
        [
            ("cutlass_41", {"seq_length": 1, "seq_length_kv": 2, "head_size": 3, "head_number": 4,
                            "head_size_v": 3, "batch_size": 5}),
            ("cutlass_57", {"groups": 1, "m": 2, "n": 3, "k": 4}),
            ("cutlass_88", {"b": 1, "h": 2, "q": 3, "k": 4, "d": 5, "causal": True}),
        ],
    )  # fmt: skip
    def test_programs_report_just_what_may_be_named(self, parser: Any, shape: Shape) -> None:
        assert program_facts(parser, shape).keys() == names_of_program(parser)
        assert shape.keys() == set(OUTPUTS[parser].sizes)


def test_a_prediction_foretells_claims_that_there_are() -> None:
    changes = {"kind": ClaimKind.PREDICTION, "predicts": ("printed",)}
    told = b.claim("told", rate("ours"), **changes)
    check_references(catalog(told, b.claim("printed", rate("ours"))))
    with pytest.raises(BadInput, match="there is no claim 'printed'"):
        check_references(catalog(told))
    with pytest.raises(ValueError, match="only a prediction"):
        b.claim("told", rate("ours"), **{**changes, "kind": ClaimKind.MEASUREMENT})
