"""What a code is, and words that records and results share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

__all__ = ["OWN", "STARVATION", "Clause", "Kind", "Reason"]

Kind = Literal["victim", "start", "stage", "request", "allocation", "unseen", "check"]

#: Words of starvation by the core's codes.
STARVATION: Final = ("non_starving", "starving", "aggressively_starving")

#: Source of a code that no system has.
OWN = "Evenhand"


@dataclass(frozen=True, slots=True)
class Reason:
    """One code.

    Attributes
    ----------
    code : str
        As it stands in results.
    kind : str
        Of what it is said: ``victim`` and ``start`` (a decision's reason), ``stage`` (a decision's
        stage), ``request`` (what became of a request on a node, and the rule of a refusal),
        ``allocation`` (what became of a possible victim), ``unseen`` (why neither was looked at),
        ``check`` (why a decision no longer holds).
    sentence : str
        A template; its fields in braces are the names and numbers that were compared. ``{node}`` is
        "node n1" or, where none is meant, words such as "each node that was tried".
    doc : str
        What it means, for the reference.
    source : str
        The system whose word or rule it is.
    """

    code: str
    kind: Kind
    sentence: str
    doc: str
    source: str = OWN


@dataclass(frozen=True, slots=True)
class Clause:
    """What a system says beyond the sentence of a code, where all its facts are known.

    Attributes
    ----------
    sentence : str
        A template; its fields in braces are names of facts, which read as their kinds and names say:
        ``{until}`` is an instant. ``{grace:span}`` is a duration, ``{rank:exact}`` a number with all its
        digits, ``{used:of limit}`` amounts and what each is held against, ``{used:beside guaranteed}`` what
        is compared, ``{queue:name}`` no more than a name, ``{preemption_key:words}`` a word without its
        underscores, ``{placed_on:nodes}`` nodes by name, ``{row.node_tags:tags}`` tags, ``{leaving:listed}``
        names, of which the number of those that are left out is one, too (``more``);
        ``{victims:one has|have}`` is a word for one of them and another for several. ``{lacking:part}`` is a
        clause of the kind "part", empty where none is known;
        ``{spared:said}`` what is said of an allocation with that outcome, ``{stood:each}`` what is said of
        each of several codes, by clauses of the kind "stood", and ``{stood:all}`` likewise with "and".
    numbers : tuple of str or (str, str)
        Names of the facts that are its numbers; or what the number is called, in which facts may stand
        (``priority_of_{asks}``), and the name of the fact.
    where : mapping
        Facts that must have these values, or one of several in a tuple.
    says : mapping
        Numbers that are always the same, called likewise.
    then : tuple of str
        Parts that follow as sentences of their own: all that are known.
    """

    sentence: str
    numbers: tuple[str | tuple[str, str], ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    says: Mapping[str, Any] = field(default_factory=dict)
    then: tuple[str, ...] = ()
