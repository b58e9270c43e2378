"""Formulas over the tags of nodes."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["TagFilter"]

_TOKEN = re.compile(r"\s*(?:([&|!()])|([^\s&|!()]+))")

# Tags are looked up, operators are applied: a formula in postfix order.
_Postfix = list[tuple[str, str]]


class TagFilter:
    """A formula of tags with ``&``, ``|``, ``!`` and parentheses; an empty one accepts every node."""

    __slots__ = ("_postfix", "formula")

    def __init__(self, formula: str) -> None:
        self.formula = formula
        tokens = _tokens(formula)
        postfix: _Postfix = []
        if tokens:
            _either(tokens, postfix)
        if tokens:
            raise ValueError(f"is {formula!r}: {tokens[0]!r} stands where the formula should end")
        self._postfix = postfix

    def accepts(self, tags: Collection[str]) -> bool:
        """Return whether a node with these tags satisfies the formula."""
        stack: list[bool] = []
        for kind, tag in self._postfix:
            if kind == "tag":
                stack.append(tag in tags)
            elif kind == "!":
                stack.append(not stack.pop())
            else:
                right, left = stack.pop(), stack.pop()
                stack.append((left and right) if kind == "&" else (left or right))
        return stack.pop() if stack else True


def _tokens(formula: str) -> list[str]:
    return [operator or tag for operator, tag in _TOKEN.findall(formula)]


def _either(tokens: list[str], postfix: _Postfix) -> None:
    _both(tokens, postfix)
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        _both(tokens, postfix)
        postfix.append(("|", ""))


def _both(tokens: list[str], postfix: _Postfix) -> None:
    _one(tokens, postfix)
    while tokens and tokens[0] == "&":
        tokens.pop(0)
        _one(tokens, postfix)
        postfix.append(("&", ""))


def _one(tokens: list[str], postfix: _Postfix) -> None:
    negations = 0
    while tokens and tokens[0] == "!":
        tokens.pop(0)
        negations += 1
    if not tokens or tokens[0] in "&|)":
        raise ValueError("is no formula: a tag is missing")
    first = tokens.pop(0)
    if first == "(":
        _either(tokens, postfix)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError('is no formula: a ")" is missing')
    else:
        postfix.append(("tag", first))
    postfix.extend([("!", "")] * (negations % 2))
