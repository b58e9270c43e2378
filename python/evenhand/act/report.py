"""The outcome of acting: one row per step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.table import Table

__all__ = ["Report", "Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one step.

    Attributes
    ----------
    step : int
        Its number in the plan; -1 of what an earlier driver left open.
    beneficiary : str or None
        The job that it serves; None for a repair.
    victims : tuple of str
        Jobs that were asked to leave, or, in a refused step or a dry run, would have been.
    outcome : str
        ``"started"``, ``"repaired"``, ``"not_started"``, ``"unwatched"`` (stopped before it was seen),
        ``"refused"``, ``"stopped"``, ``"dry_run"`` or ``"nothing_to_do"``.
    codes : tuple of str
        Of a refusal.
    why : str
        The same in words; names in it are untrusted.
    commands : tuple of tuple of str
        Of a dry run: what would be run.
    seconds : float
        How long it took.
    """

    step: int
    beneficiary: str | None
    victims: tuple[str, ...]
    outcome: str
    codes: tuple[str, ...] = ()
    why: str = ""
    commands: tuple[tuple[str, ...], ...] = ()
    seconds: float = 0.0


@dataclass(slots=True)
class Report:
    """The outcome of a plan, or of several.

    Attributes
    ----------
    rows : list of Row
        In the order of the steps.
    """

    rows: list[Row] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How many steps came to which outcome."""
        found: dict[str, int] = {}
        for row in self.rows:
            found[row.outcome] = found.get(row.outcome, 0) + 1
        return found

    @property
    def evicted(self) -> list[str]:
        """Jobs that were asked to leave."""
        acted = ("started", "repaired", "not_started", "unwatched")
        return [victim for row in self.rows if row.outcome in acted for victim in row.victims]

    def table(self) -> Table:
        """Return one row a step."""
        from evenhand.table import Table

        columns: dict[str, list[Any]] = {
            "step": [row.step for row in self.rows],
            "beneficiary": [row.beneficiary for row in self.rows],
            "victims": [" ".join(row.victims) for row in self.rows],
            "outcome": [row.outcome for row in self.rows],
            "why": [row.why for row in self.rows],
            "seconds": [round(row.seconds, 2) for row in self.rows],
        }
        return Table(columns, title="steps")

    def to_dict(self) -> dict[str, Any]:
        """Return counts and rows as plain values."""
        rows = [
            {
                "step": row.step,
                "beneficiary": row.beneficiary,
                "victims": list(row.victims),
                "outcome": row.outcome,
                "codes": list(row.codes),
                "why": row.why,
                "commands": [list(command) for command in row.commands],
                "seconds": row.seconds,
            }
            for row in self.rows
        ]
        return {"counts": self.counts, "steps": rows}

    def __repr__(self) -> str:
        from evenhand.display import table_text

        return table_text(self.table())

    def _repr_html_(self) -> str:
        from evenhand.display import table_html

        return table_html(self.table())
