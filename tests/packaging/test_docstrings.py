"""Public names are documented in full: summary, every parameter, what is returned."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import evenhand as eh


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function, and every public method written in it."""
    for name in eh.__all__:
        value = getattr(eh, name)
        if inspect.isroutine(value):
            yield name, value
        elif inspect.isclass(value):
            yield name, value
            for attribute, member in vars(value).items():
                member = getattr(member, "__func__", getattr(member, "fget", member))
                if not attribute.startswith("_") and inspect.isfunction(member):
                    yield f"{name}.{attribute}", member


def sections(doc: str) -> dict[str, str]:
    """Numpydoc sections of a docstring by title."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def parameters(function: Callable[..., Any]) -> set[str]:
    """Names that a caller may pass."""
    return {n for n in inspect.signature(function).parameters if n not in {"self", "cls"}}


def documented(text: str) -> set[str]:
    """Names described in a Parameters section; ``a, b : int`` describes two."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: : .*)?$", text, flags=re.MULTILINE)
    return {name.strip(" *") for head in heads for name in head.split(",")}


@pytest.mark.parametrize(("name", "value"), [pytest.param(n, v, id=n) for n, v in public()])
def test_docstring(name: str, value: Any) -> None:
    doc = inspect.getdoc(value)
    assert doc, f"{name} has no docstring"
    summary = doc.splitlines()[0]
    assert summary.endswith("."), f"{name}: the summary is one line and ends with a period"
    if inspect.isclass(value):
        return
    missing = parameters(value) - documented(sections(doc).get("Parameters", ""))
    assert not missing, f"{name}: undocumented parameters {sorted(missing)}"


def test_missing_parts_are_seen() -> None:
    def half(first: int, second: int, **rest: int) -> None:
        """Do something.

        Parameters
        ----------
        first : int
            The first.
        """

    text = sections(inspect.getdoc(half) or "")["Parameters"]
    assert parameters(half) - documented(text) == {"second", "rest"}
    assert documented("a, b : int\n    Both.\n**rest\n    Others.\n") == {"a", "b", "rest"}
