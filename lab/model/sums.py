"""Small sums, worked out without running what was typed."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Final

WORDS: Final = (
    (r"\bplus\b", "+"),
    (r"\bminus\b", "-"),
    (r"\b(?:times|multiplied\s+by)\b|[×·]", "*"),
    (r"\bdivided\s+by\b|÷", "/"),
    (r"\bto\s+the\s+power\s+of\b|\^", "**"),
    (r"\bmod(?:ulo)?\b", "%"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
)
OPERATORS: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
LARGEST: Final = 1e15  # above it a number is not a small sum any more
LARGEST_POWER: Final = 64


def work_out(text: str) -> str | None:
    """The value of a sum such as `17 times (3 + 4)`; None when it is none, or not a small one."""
    for pattern, sign in WORDS:
        text = re.sub(pattern, sign, text, flags=re.IGNORECASE)
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError):
        return None
    return str(int(value)) if value == int(value) else f"{value:.10g}"


def _value(node: ast.expr) -> float:
    """Raises ValueError for what is not arithmetic, or grows too large."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            value: float = number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            first, second = _value(left), _value(right)
            if isinstance(sign, ast.Pow) and abs(second) > LARGEST_POWER:
                raise ValueError(second)
            value = OPERATORS[type(sign)](first, second)
        case _:
            raise ValueError(ast.dump(node))
    if isinstance(value, complex) or abs(value) > LARGEST:
        raise ValueError(value)
    return value
