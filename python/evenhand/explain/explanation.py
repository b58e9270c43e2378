"""What an explanation is: a code, claims in sentences, a table of amounts, and what was looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

__all__ = ["Claim", "Explanation", "claims"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an explanation, with what it says as values.

    Attributes
    ----------
    code : str
        What is claimed: of the first sentence the explanation's own code, of others a word such as
        ``standing``, ``groups``, ``order`` or ``leaves``, or the code of an outcome.
    sentence : str
        A plain sentence, safe to print whatever names it holds.
    numbers : mapping
        The names and numbers that the sentence is made of, not rounded: amounts by resource, seconds.
    """

    code: str
    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain values."""
        return {"code": self.code, "sentence": self.sentence, "numbers": dict(self.numbers)}


_SENTENCES, _WORDS = 4, 90
_ENDS = re.compile(r"\.(?= [A-Z]|$)")


def claims(code: str, sentences: Iterable[str], numbers: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Return sentences as claims: the first has the code and the numbers of the whole, others are details."""
    first, *rest = sentences
    return Claim(code, first, numbers), *(Claim("detail", text) for text in rest)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something was decided, or was not.

    It begins with one sentence: what, for whom, by which rule, and what would have changed it where that
    is one comparison. A few others follow, a table of the amounts that were compared, and more sentences.

    Attributes
    ----------
    name : str or int
        What is explained.
    table : str
        The table in which it stands.
    code : str
        Code of the reason, as in results; of an element its status.
    claims : tuple of Claim
        The sentences, each with its values.
    numbers : mapping
        What was compared.
    looked_at : tuple of mapping
        What was tried, one object a kind of outcome: ``stage``, ``outcome``, ``times``, ``node``,
        ``request``, ``missing`` of the nearest; empty where nothing was tried.
    amounts : mapping of str to mapping of str to float
        Quantity (``needed``, ``free before``, ``usage of A``, ...) to resource to amount, in the order in
        which they are shown; of the resources that play a part.
    units : mapping of str to str
        Units of these resources, of those that have one.
    """

    name: str | int
    table: str
    code: str
    claims: tuple[Claim, ...]
    numbers: Mapping[str, Any] = field(default_factory=dict)
    looked_at: tuple[Mapping[str, Any], ...] = ()
    amounts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    units: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences in order."""
        return tuple(claim.sentence for claim in self.claims)

    @property
    def summary(self) -> str:
        """The first sentence."""
        return self.claims[0].sentence if self.claims else ""

    @property
    def lead(self) -> tuple[str, ...]:
        """The sentences that stand before the amounts: the first ones, at most four, of at most 90 words."""
        if not self.amounts:
            return self.sentences
        words = list(accumulate(len(text.split()) for text in self.sentences))
        ends = list(accumulate(len(_ENDS.findall(text)) for text in self.sentences))
        many = sum(w <= _WORDS and e <= _SENTENCES for w, e in zip(words, ends, strict=True))
        return self.sentences[: max(many, 1)]

    @property
    def text(self) -> str:
        """The first sentences, a line each, the amounts as aligned columns, and what else there is to say."""
        from evenhand.display.explanations import explanation_text

        return explanation_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values."""
        return {
            "name": self.name,
            "table": self.table,
            "code": self.code,
            "summary": self.summary,
            "sentences": list(self.sentences),
            "amounts": {quantity: dict(row) for quantity, row in self.amounts.items()},
            "numbers": dict(self.numbers),
            "looked_at": [dict(row) for row in self.looked_at],
            "claims": [claim.to_dict() for claim in self.claims],
        }

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from evenhand.display.explanations import explanation_html

        return explanation_html(self)
