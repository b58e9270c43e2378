"""What messages advise a caller in Python, in the words of the command line."""

from __future__ import annotations

__all__ = ["ADVICE", "in_options"]

#: What is advised, and the option that does it. A test finds advice that stands in no row.
ADVICE = {
    'pass rounding="nearest"': "add --rounding nearest",
    "the argument timezone=": "--timezone",
    "give until=": "give --until",
    "now must be given where": "--now must be given where",
    "columns={'name': COLUMN}": "--column name=COLUMN",
    "; header= has": "; --header has",
    "give random= or lhs=": "add --random N or --lhs N",
}


def in_options(text: str) -> str:
    """Return a message whose advice the command line can follow."""
    for advice, option in ADVICE.items():
        text = text.replace(advice, option)
    return text
