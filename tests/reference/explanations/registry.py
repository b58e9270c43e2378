"""Which check holds for which code; a code without a check is an error of the checker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tests.reference.explanations.world import without_zeros

if TYPE_CHECKING:
    from evenhand.explain.explanation import Explanation
    from tests.reference.explanations.world import Row, World

__all__ = ["CHECKS", "Said", "amounts_are", "check_of", "checks", "must"]


@dataclass(frozen=True)
class Said:
    """One thing that an explanation says, and of what.

    Attributes
    ----------
    explanation : Explanation
    row : mapping
        Of the snapshot: what is explained.
    code : str
    met : mapping
        What was tried: ``stage``, ``node``, ``request``, ``missing``, ``times``, ``compared``; or what the
        sentence says, field by field.
    """

    explanation: Explanation
    row: Row
    code: str
    met: Mapping[str, Any]

    @property
    def compared(self) -> Mapping[str, Any]:
        """Numbers that the policy compared."""
        found: Mapping[str, Any] = self.met.get("compared", {})
        return found

    def number(self, name: str) -> float:
        """Return one of them; AssertionError if it is not said."""
        value = self.compared.get(name)
        must(isinstance(value, int | float), f"{name} is not said")
        return float(value)  # type: ignore[arg-type]


Check = Callable[["World", Said], None]
_Checked = TypeVar("_Checked", bound=Check)

#: Kind, code and system ("": every one) to the check.
CHECKS: dict[tuple[str, str, str], Check] = {}


def checks(kind: str, *codes: str, system: str = "") -> Callable[[_Checked], _Checked]:
    """Register a function as the check of codes.

    Parameters
    ----------
    kind : str
        Of what the code is said, as in `evenhand.systems.reason.Reason`; ``element`` and ``node`` beside.
    *codes : str
    system : str
        Of one system only; it comes before the check of all.
    """

    def register(function: _Checked) -> _Checked:
        for code in codes:
            if (kind, code, system) in CHECKS:
                raise ValueError(f"there are two checks of {kind} {code} {system}")
            CHECKS[kind, code, system] = function
        return function

    return register


def check_of(kind: str, code: str, system: str) -> Check | None:
    """Return the check of a code for a system; None: there is none."""
    return CHECKS.get((kind, code, system)) or CHECKS.get((kind, code, ""))


def must(holds: object, why: object, *found: object) -> None:
    """Raise `AssertionError` with a reason and what was found, unless it holds."""
    if not holds:
        raise AssertionError(f"{why}: {', '.join(map(repr, found))}" if found else str(why))


def amounts_are(said: Mapping[str, float], found: Mapping[str, float], what: str) -> None:
    """Raise `AssertionError` unless amounts are the same; zeros need not be said."""
    left, right = without_zeros(said), without_zeros(found)
    close = left.keys() == right.keys() and all(abs(left[r] - right[r]) < 1e-6 for r in left)
    must(close, f"{what} is said to be {left}, and is {right}")
