"""Whether a sentence says nothing but what belongs to it: its claim's names and numbers, and the row's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.testing.explanations.registry import must
from evenhand.testing.explanations.text import instants_and_numbers, names_in, quoted

if TYPE_CHECKING:
    from evenhand.testing.explanations.world import Row, World

__all__ = ["check_sentence"]


def check_sentence(world: World, row: Row, sentence: str, numbers: Iterable[Mapping[str, Any]]) -> None:
    """Raise `AssertionError` if a sentence shows a number, or names a row, that is none of its claim's.

    Parameters
    ----------
    world : World
    row : mapping
        Of the snapshot: what is explained.
    sentence : str
    numbers : iterable of mappings
        What belongs to the sentence: its claim's values, and of an outcome what was met.

    Notes
    -----
    A number may be shown rounded, as a share in percent, or as the time that is left until an instant; then it
    must be that to the last digit shown.
    """
    values, texts = quoted(list(numbers))
    own = [row.get(field) for field in ("name", "operation", "node", "pool", "parent")]
    texts |= {str(one) for one in own if one is not None}
    known = _known(world)
    for name in sorted(names_in(sentence, known) - set(world.resources)):
        must(any(name in text for text in texts), f"{name!r} is none of the names that belong to it")
    for number in instants_and_numbers(sentence, known):
        right = any(number.means(value, world.now) for value in values)
        must(right, f"{number.text} is none of the numbers that belong to it", *sorted(set(values))[:20])


def _known(world: World) -> dict[str, Any]:
    known = world.__dict__.get("_names")
    if known is None:
        known = {name: None for table in world.tables.values() for name in table}
        known |= dict.fromkeys(world.resources)
        world.__dict__["_names"] = known
    return known  # type: ignore[no-any-return]
