"""One colour a meaning: in HTML, in terminals and in plots alike.

The hues are near Okabe and Ito's: told apart under every common colour blindness, on light and on dark
ground alike (at least 3:1 against either). Hatching and outline say the same without colour.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ABOVE", "AGGRESSIVE", "ANSI", "INK", "NEUTRAL", "PALETTE", "STARTS", "STARVES", "USED", "css"]


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour, and the one thing that it means."""

    name: str
    value: str
    means: str
    ansi: str = ""


USED = Colour("used", "#3b8fc4", "held within the fair share; stays. A tint of it: owed", "36")
ABOVE = Colour("above", "#d27c00", "held above the fair share; preemptible; is preempted", "33")
AGGRESSIVE = Colour("aggressive", "#9a6fb0", "aggressively preemptible; is preempted aggressively")
STARTS = Colour("starts", "#2f9e77", "starts; room is made for it")
STARVES = Colour("starves", "#cf5a4a", "lacks something: starves, is below its share, is warned of", "31")
NEUTRAL = Colour("neutral", "#8a8f98", "a quantity of another kind; what was decided before")
INK = Colour("ink", "#727a85", "text and axes of plots, on light and on dark ground")

#: All of them, by name.
PALETTE = {colour.name: colour for colour in (USED, ABOVE, AGGRESSIVE, STARTS, STARVES, NEUTRAL, INK)}

#: Styles of pieces of text. A guarantee's mark and heads have the colour of text, as in HTML and plots.
ANSI = {
    "head": "1",
    "dim": "2",
    "owed": "2",
    "mark": "1",
    "used": USED.ansi,
    "above": ABOVE.ansi,
    "warn": STARVES.ansi,
}


def css() -> str:
    """Return the colours as variables of a style sheet."""
    red, green, blue = (int(USED.value[i : i + 2], 16) for i in (1, 3, 5))
    owed = f"rgba({red}, {green}, {blue}, .25)"  # the tint, as in plots
    return f"--eh-used: {USED.value}; --eh-above: {ABOVE.value}; --eh-owed: {owed};"
