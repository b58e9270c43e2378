"""Strategies for resources and amounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from evenhand.testing.strategies._arguments import Resources, check_range, quanta_of
from evenhand.testing.strategies._scale import Scale

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

MOST_RESOURCES = 16
USUAL = ("cpu", "memory", "gpu", "user_slots", "network", "disk")
NAMES = (
    (*USUAL, *(f"r{i}" for i in range(len(USUAL), MOST_RESOURCES))),
    tuple(f"r{i}" for i in range(MOST_RESOURCES)),
    tuple(f"licence-{chr(ord('α') + i)}" for i in range(MOST_RESOURCES)),
)
QUANTA = (1, 0.001, 0.01, 0.5, 64)


def resource_spaces(*, min_size: int = 1, max_size: int = MOST_RESOURCES) -> SearchStrategy[dict[str, Any]]:
    """Draw the resources of a snapshot: name -> {"quantum": ...}.

    Parameters
    ----------
    min_size, max_size : int
        How many resources; 1 to 16.

    Returns
    -------
    SearchStrategy[dict]
    """
    return st.deferred(lambda: _resource_spaces(min_size, max_size))


def _resource_spaces(min_size: int, max_size: int) -> SearchStrategy[dict[str, Any]]:
    check_range("size", min_size, max_size, least=1, most=MOST_RESOURCES)
    names = st.sampled_from(NAMES)
    quanta = st.integers(0, len(QUANTA) ** max_size - 1)  # a digit a resource
    return st.tuples(st.integers(min_size, max_size), names, quanta).map(
        lambda drawn: {
            drawn[1][i]: {"quantum": QUANTA[drawn[2] // len(QUANTA) ** i % len(QUANTA)]}
            for i in range(drawn[0])
        }
    )


def resource_vectors(
    resources: Resources, *, min_quanta: int = 0, max_quanta: int = 2**40
) -> SearchStrategy[dict[str, float]]:
    """Draw an amount of every resource.

    Parameters
    ----------
    resources : mapping or sequence of str
        As a snapshot has them, or names alone (then the quantum is 1).
    min_quanta, max_quanta : int
        Bounds of every amount, in quanta; 0 to 2**60.

    Returns
    -------
    SearchStrategy[dict]
        Resource -> amount, a multiple of its quantum.
    """

    def build() -> SearchStrategy[dict[str, float]]:
        check_range("quanta", min_quanta, max_quanta, most=2**60)
        quanta = quanta_of(resources)
        counts = st.tuples(*[st.integers(min_quanta, max_quanta)] * len(quanta))
        return counts.map(Scale(quanta, (), exact=True).units)

    return st.deferred(build)
