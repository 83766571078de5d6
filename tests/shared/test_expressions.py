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


def test_a_formula_says_which_facts_it_asks_for() -> None:
    assert parse("2 * m * max(n, 4)").names == {"m", "n"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m n",
        "__import__('os')",
        "m.real",
        "m[0]",
        "[m]",
        "m if n else k",
        "m < n",
        "lambda: 1",
        "'text'",
        "True",
        "m @ n",
        "m // n",
        "m % n",
        "~m",
        "ceil",
        "ceil(m, n)",
        "min(m)",
        "abs(m)",
        "max(*m)",
        "max(m, key=n)",
        "m := 3",
        "1j",
        "(" * 400 + "m" + ")" * 400,
        "-" * 100 + "m",
        "m +" * 200 + "m",
    ],
)
def test_what_is_not_of_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        parse(text)


@pytest.mark.parametrize(
    "text", ["m / (n - n)", "m ** 9", "(0 - m) ** 0.5", "k + 1", "9e300 * 9e300"]
)
def test_a_formula_without_a_value_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        parse(text).value({"m": 2, "n": 3})


def test_a_sum_of_many_terms_is_not_nested() -> None:
    assert parse("+".join(["m"] * 60)).value({"m": 2}) == 120
    with pytest.raises(BadExpression, match="nested"):
        parse("-" * 40 + "m")


def test_what_python_merely_warns_of_is_refused_without_a_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    with pytest.raises(BadExpression, match="is no formula"):
        parse("1if m")
    assert not recwarn.list


@pytest.mark.parametrize("text", ["2**9**9", "m/(n-n)", "0-m", "m - m", "1e400"])
def test_a_formula_that_never_counts_is_told(text: str) -> None:
    assert not parse(text).counts_something()


@pytest.mark.parametrize(
    "text", ["2 * m * n * k * density_a", "m - 8191", "k - n", "n - k", "1 - density_a", "7e9"]
)
def test_a_formula_that_counts_for_some_problem_is_let_be(text: str) -> None:
    assert parse(text).counts_something()


def test_a_missing_fact_is_named_with_those_that_are_known() -> None:
    with pytest.raises(BadExpression, match="asks for density_a; known here: m, n"):
        parse("m * density_a").value({"m": 1, "n": 2})
