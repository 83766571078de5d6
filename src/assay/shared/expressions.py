"""Formulas in configuration: arithmetic over named facts of a problem, and nothing else. Pure.

A formula such as ``2 * m * n * k * density_a`` counts the operations of one launch. The grammar:
numbers, names, ``+ - * / **``, parentheses, and the functions of ``FUNCTIONS``. It is read by
Python's own parser and computed by walking the tree; nothing is ever evaluated as code.
"""

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

LONGEST = 300
DEEPEST = 30
"""Levels of nesting; the terms of a sum stand side by side."""
LARGEST_EXPONENT = 8.0
"""No count grows with a higher power; a larger one would only make a huge number."""

FUNCTIONS: dict[str, tuple[Callable[..., float], int | None]] = {
    "min": (min, None),
    "max": (max, None),
    "ceil": (math.ceil, 1),
    "floor": (math.floor, 1),
}
"""Each with the number of its arguments; None where two or more are taken."""


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > LARGEST_EXPONENT:
        raise ValueError(f"the exponent {exponent:g} is above {LARGEST_EXPONENT:g}")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a root of a negative number")
    return float(result)


_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: _power,
}

SAMPLE_SIZES = (1.0, 3.0, 64.0, 8192.0)
"""What names stand for where it is asked whether a formula ever has a value."""


class BadExpression(ValueError):
    """A formula that is not of the grammar, or has no value; the text says why."""


@dataclass(frozen=True)
class Expression:
    """A formula that was found to be of the grammar."""

    text: str
    names: frozenset[str]

    def value(self, facts: Mapping[str, float]) -> float:
        """Return its value over ``facts``.

        Raises BadExpression for a fact that is missing, or a value that is no finite number.
        """
        missing = sorted(self.names - facts.keys())
        if missing:
            known = ", ".join(sorted(facts)) or "none"
            raise BadExpression(f"'{self.text}' asks for {missing[0]}; known here: {known}")
        try:
            result = float(_value(_tree(self.text), facts))
        except (ArithmeticError, ValueError, TypeError) as error:
            raise BadExpression(f"'{self.text}' has no value: {error}") from error
        if not math.isfinite(result):
            raise BadExpression(f"'{self.text}' has no finite value")
        return result

    def counts_something(self) -> bool:
        """Return whether it has a value above zero for any of several problems.

        Tried are problems whose facts are alike, rise or fall, and one with shares below one.
        """
        names = sorted(self.names)
        every = [dict.fromkeys(names, size) for size in SAMPLE_SIZES]
        for order in (names, names[::-1]):
            every += [
                {name: size * (i + 2) for i, name in enumerate(order)} for size in SAMPLE_SIZES
            ]
            every.append({name: 1 / (i + 2) for i, name in enumerate(order)})
        every += [{name: 0.25 if "density" in name else 8192.0 for name in names}]
        return any(self._is_positive(facts) for facts in every)

    def _is_positive(self, facts: Mapping[str, float]) -> bool:
        try:
            return self.value(facts) > 0
        except BadExpression:
            return False


@cache
def parse(text: str) -> Expression:
    """Return a formula. Raises BadExpression for what is not of the grammar."""
    tree = _tree(text)
    names: set[str] = set()
    _check(text, tree, names, 0)
    return Expression(text, frozenset(names))


@cache
def _tree(text: str) -> ast.expr:
    if len(text) > LONGEST:
        raise BadExpression(f"a formula has at most {LONGEST} characters, this one {len(text)}")
    try:
        with warnings.catch_warnings():
            # What Python merely warns of ("1if m") is no number of a formula.
            warnings.simplefilter("error")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, Warning, ValueError, MemoryError, RecursionError) as error:
        raise BadExpression(f"'{text}' is no formula") from error


def _check(text: str, node: ast.expr, names: set[str], depth: int) -> None:
    """Collect the names; raises BadExpression at the first node that the grammar lacks."""
    if depth > DEEPEST:
        raise BadExpression(f"'{text}' is nested more than {DEEPEST} levels deep")
    match node:
        case ast.Constant(value=value) if isinstance(value, int | float) and not isinstance(
            value, bool
        ):
            return
        case ast.Name(id=name) if name not in FUNCTIONS:
            names.add(name)
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            parts = [left, right]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            parts = [operand]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            wanted = FUNCTIONS[name][1]
            if (len(args) != wanted) if wanted is not None else (len(args) < 2):
                raise BadExpression(f"'{text}': {name} takes {wanted or 'two or more'} values")
            parts = list(args)
        case _:
            raise BadExpression(
                f"'{text}': a formula has numbers, names, + - * / **, and "
                f"{', '.join(FUNCTIONS)}, no '{ast.unparse(node)}'"
            )
    for part in parts:
        # A sum of many terms leans to the left, and is no deeper for it.
        beside = isinstance(node, ast.BinOp) and part is node.left
        _check(text, part, names, depth if beside else depth + 1)


def _value(node: ast.expr, facts: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.Name(id=name):
            return float(facts[name])
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_value(left, facts), _value(right, facts))
        case ast.UnaryOp(operand=operand):
            return -_value(operand, facts)
        case ast.Call(func=ast.Name(id=name), args=args):
            return float(FUNCTIONS[name][0](*(_value(arg, facts) for arg in args)))
    raise BadExpression("a formula of another grammar")
