"""Formulas over named facts: what they give, and all that they refuse."""

import pytest

from assay.shared.expressions import BadExpression, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 * m * n * k", 48.0),
        ("2*m*n*k * density_a", 12.0),
        ("m ** 2 + -n", 1.0),
        ("(m + n) / k", 1.25),
        ("ceil(m / n) * max(m, n, k)", 4.0),
        ("min(m, floor(7.9))", 2.0),
        ("1.5e3", 1500.0),
    ],
)
def test_a_formula_is_computed_over_the_facts(text: str, expected: float) -> None:
    facts = {"m": 2, "n": 3, "k": 4, "density_a": 0.25}
    assert parse(text).value(facts) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    [
        "", "m n", "__import__('os')", "m.real", "m[0]", "[m]", "m if n else k", "m < n",
        "lambda: 1", "'text'", "True", "m @ n", "m // n", "~m", "ceil", "ceil(m, n)", "min(m)",
        "abs(m)", "max(*m)", "max(m, key=n)", "m := 3", "1j", "(" * 400 + "m" + ")" * 400,
        "-" * 100 + "m", "m +" * 200 + "m",
    ],
)  # fmt: skip
def test_what_is_not_of_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        parse(text)


@pytest.mark.parametrize(
    "text", ["m / (n - n)", "m ** 9", "(0 - m) ** 0.5", "k + 1", "9e300 * 9e300"]
)
def test_a_formula_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        parse(text).value({"m": 2, "n": 3})
