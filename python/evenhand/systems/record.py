"""What a system is: one record, from which all lists of systems are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from evenhand.config.triggers import Trigger
    from evenhand.systems.base import Policy
    from evenhand.systems.reason import Clause, Reason

__all__ = ["VICTIMS", "Column", "System"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of what a system remembers from one plan to the next.

    Attributes
    ----------
    table : {"elements", "nodes", "operations", "queues", "requests", "victims"}
        Whose it is. Queues are pools. Elements are pools, the root first, then operations; "victims" are
        elements too, in a table of their own.
    name : str
        As in the columns of the core and in state files.
    kind : {"instant", "word", "count", "instants", "rows"}
        In the core an instant is int64 microseconds, a word its code (uint8), a count int64. Any number of
        instants are two columns, ``<table>_element`` and ``<table>_time``, with one row an instant; any
        number of other rows of the same table, in order, ``<name>`` and ``<name>_of``.
    words : tuple of str
        By their codes; the first is what a row has that is left out.
    """

    table: str
    name: str
    kind: Literal["instant", "word", "count", "instants", "rows"] = "instant"
    words: tuple[str, ...] = ()

    @property
    def absent(self) -> Any:
        """What a row has in a state that remembers nothing."""
        if self.kind in ("instants", "rows"):
            return []
        return self.words[0] if self.words else 0 if self.kind == "count" else None


#: When victims were taken: of an operation the last time, of a pool those of the last hour; what the pace
#: of later ones depends on.
VICTIMS = Column("victims", "taken", "instants")


@dataclass(frozen=True, slots=True)
class System:
    """A scheduler whose rules the library knows.

    A record is read where no policy is needed yet, such as in the command line's help: what takes long to
    import is named, ``"package.module:Name"``, and imported when it is asked for.

    Attributes
    ----------
    word : str
        The name of its folders, of its policy in files and on the command line.
    title : str
        How people write it.
    policy_at : str
        Its policy.
    triggers : tuple of type
        Triggers that the policy accepts; the first, which takes no argument, is the default.
    reads : mapping of str to mapping of str to str
        Table to field to how it is read, in a few words, beside names, order and settings. What is not read
        is left out.
    only_if : mapping of (str, str) to callable
        Table and field to whether settings let it be read, for those that not all settings do.
    queues_at : str
        From queues of settings to names of pools that mean something by themselves; empty: none do.
    reasons : tuple of Reason
        Its codes, those of one kind in the order of its core's numbers.
    says : mapping of (str, str) to tuple of Clause
        Kind and code to what is said beyond the sentence of the code: the first clause whose facts are known.
        Beside the kinds of codes there are "part" (by its name), "stood" (of how many running jobs what
        became), and of a victim "lacking", "order", "selection" and "mode". Of letters: "letter" (what is
        said), "rule" (of a victim's reason) and "fate" (of a mode).
    follows : mapping of str to str
        Code of an outcome of which nothing is recorded, as it follows from settings and a row alone, to a
        function that returns its facts: of the settings, and of what returns the operation's cell of a field.
    memory : tuple of Column
        What its plans remember.
    shares : bool
        Whether it computes fair shares, and has a status of every element.
    preempts_operations : bool
        Whether it preempts operations (jobs, sessions) as a whole, not single allocations.
    passes : bool
        Whether a scheduling run has passes, of which one can be made alone.
    presets : tuple of str
        The first is the default.
    settings_at : tuple of str
        Models of its settings and of those of rows, for the reference.
    adapter_at : str
        Its live adapter; empty: none.
    texts_at : str
        The module that tells its own texts from others: ``PARTS``, by the reader's arguments, and
        ``part_of``; empty: none are read as a snapshot.
    reader_at : str
        What reads these texts: a function, whose result has ``snapshot``, ``policy`` and ``diagnostics``.
    implausible_at : str
        What finds what it would take as it is and can hardly be meant: a function from a snapshot and the
        settings to diagnostics; empty: none.
    """

    word: str
    title: str
    policy_at: str
    triggers: tuple[type[Trigger], ...]
    reads: Mapping[str, Mapping[str, str]]
    only_if: Mapping[tuple[str, str], Callable[[Any], bool]] = field(default_factory=dict)
    queues_at: str = ""
    reasons: tuple[Reason, ...] = ()
    says: Mapping[tuple[str, str], tuple[Clause, ...]] = field(default_factory=dict)
    follows: Mapping[str, str] = field(default_factory=dict)
    memory: tuple[Column, ...] = ()
    shares: bool = False
    preempts_operations: bool = False
    passes: bool = False
    presets: tuple[str, ...] = ("documented", "upstream")
    settings_at: tuple[str, ...] = ()
    adapter_at: str = ""
    texts_at: str = ""
    reader_at: str = ""
    implausible_at: str = ""

    @property
    def policy(self) -> type[Policy]:
        """Class of its policy."""
        found: type[Policy] = named(self.policy_at)
        return found

    def called_pools(self, settings: Any) -> frozenset[str]:
        """Return the names by which pools mean something with these settings."""
        return frozenset(named(self.queues_at)(settings.queues)) if self.queues_at else frozenset()

    def follows_of(self, code: str) -> Callable[[Any, Callable[[str], Any]], Mapping[str, Any]] | None:
        """Return what tells the facts of an outcome that follows from settings; None: they are recorded."""
        found: Callable[[Any, Callable[[str], Any]], Mapping[str, Any]] | None
        found = named(self.follows[code]) if code in self.follows else None
        return found

    def reads_with(self, settings: Any) -> dict[str, frozenset[str]]:
        """Return the fields that are read with these settings, by table."""
        return {
            table: frozenset(
                name
                for name in fields
                if (is_read := self.only_if.get((table, name))) is None or is_read(settings)
            )
            for table, fields in self.reads.items()
        }


def named(place: str) -> Any:
    """Import what ``"package.module:Name"`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
