"""What all policies are: a preset, settings that differ from it, and a function that plans."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_type_hints

import numpy as np

from evenhand import _core
from evenhand.arguments import expect
from evenhand.building.problems import shorten
from evenhand.building.readback import seconds
from evenhand.config.kinds import unit_of
from evenhand.config.triggers import PASSES, Heartbeat
from evenhand.errors import InputError, Problem, printable
from evenhand.plans.columns import rows_by_name
from evenhand.plans.memory import next_state, read_memory
from evenhand.plans.own import expect_unchanged
from evenhand.state import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.config.checked import CheckedSettings
    from evenhand.diagnostics import Diagnostic
    from evenhand.model import Snapshot
    from evenhand.plans.memory import LiveRows
    from evenhand.plans.plan import Plan
    from evenhand.simulate.result import Result
    from evenhand.systems.record import System

__all__ = ["Policy"]


class Policy:
    """A scheduler's rules with their settings; immutable.

    Parameters
    ----------
    preset : {"documented", "upstream"}
        What the published description says (the default), or what the system does.
    **settings
        Fields of the policy's settings that differ from the preset.

    Attributes
    ----------
    preset : str
    settings : CheckedSettings

    Raises
    ------
    InputError
        If a setting is unknown or breaks a rule.
    """

    #: What its system is.
    RECORD: ClassVar[System]
    #: The system's word, as in file names and state files.
    system: ClassVar[str]
    #: Model of the settings.
    model: ClassVar[type[CheckedSettings]]

    #: Names and defaults (seconds) of the intervals at which a simulation runs it.
    CLOCKS: ClassVar[Mapping[str, float]] = {}

    #: What a simulation counts where nothing happens: its updates, passes, cycles or runs.
    ROUNDS: ClassVar[str] = "scheduling runs"

    #: Settings, by name, whose effect on a run can be detected, so that equal runs are shared.
    SHARED: ClassVar[Mapping[str, str]] = {}

    #: What a plan of it answers to who asks for fair shares that it has not.
    INSTEAD_OF_SHARES: ClassVar[str] = ""

    #: Plans snapshots of one system together that share something; None: each is planned for itself.
    together: ClassVar[Callable[..., dict[str, Plan] | None] | None] = None

    __slots__ = ("preset", "settings")

    preset: str
    settings: Any

    def __init_subclass__(cls) -> None:
        cls.system = cls.RECORD.word
        cls.__signature__ = _signature(cls)  # type: ignore[attr-defined]
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\n{_listed(cls.model)}"

    def __init__(self, preset: str = "documented", **settings: Any) -> None:
        object.__setattr__(self, "preset", preset)
        object.__setattr__(self, "settings", self.model.preset(preset, **settings))

    @property
    def serves_in_order(self) -> bool:
        """Whether the system starts nothing behind the first that waits: then no job leaves for those."""
        return False

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a policy is immutable; replace() returns a changed one")

    def replace(self, **changes: Any) -> Self:
        """Return a policy with other settings.

        Parameters
        ----------
        **changes
            New values by field.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            If the result would break a rule.
        """
        return _restore(type(self), self.preset, self.settings.replace(**changes), self._beside)

    def setting(self, name: str, otherwise: Any = None) -> Any:
        """Return a setting by its name; something else of a system that has none of that name."""
        if isinstance(name, str):
            return getattr(self.settings, name, otherwise)
        expect(False, "setting", "name", name, "the name of a setting")
        return otherwise

    @property
    def period(self) -> int | None:
        """For how many microseconds a live cluster's heartbeats use an update; None: plans have their own."""
        return None

    def noted(self, plan: Plan) -> tuple[Diagnostic, ...]:  # noqa: ARG002
        """Return what there is to say of a plan, beside what is said of its input."""
        return ()

    def made_for(self, snapshot: Snapshot) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what a plan's provenance says beside policy and snapshot."""
        return {}

    def noted_of_run(self, result: Result) -> tuple[Diagnostic, ...]:  # noqa: ARG002
        """Return what there is to say of a simulation."""
        return ()

    @property
    def reads(self) -> Mapping[str, frozenset[str]]:
        """Fields of a snapshot that are read with these settings, by table."""
        return self.RECORD.reads_with(self.settings)

    def to_dict(self) -> dict[str, Any]:
        """Return system, preset and all settings as plain values."""
        return {"system": self.system, "preset": self.preset, **self.settings.model_dump(mode="json")}

    def plan(
        self,
        snapshot: Snapshot,
        state: State | None = None,
        on: Any = None,
        given: Mapping[str, Any] | None = None,
    ) -> Plan:
        """Plan what a trigger asks for; see `evenhand.plan`.

        Parameters
        ----------
        snapshot : Snapshot
        state : State, optional
            What the plan before left.
        on : trigger, optional
            One of the system's; by default its first.
        given : mapping, optional
            Values in the place of computed ones by name, of a system that computes such.

        Returns
        -------
        Plan

        Raises
        ------
        InputError
            If the settings of a row, the state, the trigger or a given value do not fit the snapshot.
        """
        from evenhand.plans.plan import Plan

        self._expect(snapshot, state, given)
        on, given = self._trigger(on), self._given(snapshot, given)
        decides = self.decides(on, partial(_rows_of, snapshot))
        core, found = self._planner(snapshot, state, given)
        core.plan(**decides)
        return Plan(snapshot, self, core, state, on, given, (*found, *self._said(snapshot, on, core)))

    def live(self, stage: LiveRows, state: State | None, given: Mapping[str, Any] | None) -> Any:
        """Return a planner that follows a live cluster in which nothing has happened since its snapshot.

        Raises
        ------
        InputError
            As of `plan`.
        """
        inputs, _ = self._inputs(stage.base, state, self._given(stage.base, given))
        return _core.live_planner(self.system, stage.core, inputs, stage.total_stated)

    def _planner(
        self, snapshot: Snapshot, state: State | None = None, given: Mapping[str, Any] | None = None
    ) -> tuple[Any, tuple[Diagnostic, ...]]:
        """Return a planner that has not planned yet, and what there is to say of the state."""
        inputs, found = self._inputs(snapshot, state, given)
        return _core.planner(self.system, snapshot._core, inputs), found

    def _inputs(
        self, snapshot: Snapshot, state: State | None, given: Mapping[str, Any] | None
    ) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
        """Return what a planner needs beside its rows, and what there is to say of the state."""
        made = self._columns(snapshot, given)
        memory, found = read_memory(snapshot, self, state)
        return {**made, "memory": memory}, found

    def _columns(self, snapshot: Snapshot, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what the core knows of settings ("settings") and of what rows set ("rows"), by column."""
        raise NotImplementedError

    def _said(self, snapshot: Snapshot, on: Any, core: Any) -> Iterable[Diagnostic]:  # noqa: ARG002
        """Return what there is to say of a planner that has planned."""
        return ()

    def came(self, planner: Any, stage: LiveRows, rows: Iterable[tuple[str, Any]]) -> None:
        """Hand over to a planner what rows that came, changed or went say, by table and name.

        Raises
        ------
        InputError
            If it does not fit.
        """
        for table, found in stage.settings_by_row(rows).items():
            planner.rows_came(table, np.array([*found], np.int32), self._later(stage, table, found))

    def _later(self, stage: LiveRows, table: str, rows: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
        """Return columns of rows that came or changed, a cell for each; their settings are by row."""
        raise NotImplementedError

    @classmethod
    def acts(cls) -> bool:
        """Whether a simulation can ask it as time goes by."""
        return cls.follows() and cls.drive is not Policy.drive and cls.coming is not Policy.coming

    @classmethod
    def follows(cls) -> bool:
        """Whether a planner of the core plans for it, which can follow a live cluster."""
        return cls._columns is not Policy._columns

    def drive(self, clocks: Mapping[str, int]) -> dict[str, Any]:
        """Return how a simulation asks it; clocks are microseconds by name."""
        raise NotImplementedError

    def coming(self, rows: Snapshot) -> dict[str, Any]:
        """Return columns of what the operations of a workload set, a cell for each; empty: nothing.

        Raises
        ------
        InputError
            If what they say does not fit.
        """
        raise NotImplementedError

    def decides(
        self,
        on: Any,
        find: Callable[[list[Any]], list[int]] | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return a trigger as arguments of a planner; `find` gives the rows of nodes, -1: there is none."""
        return {f"{name}_pass": name in on.passes for name in PASSES}

    def remembered(self, planner: Any, stage: LiveRows, decided: int) -> State:
        """Return what a planner remembers, as the state of its last decision's instant (microseconds)."""
        time = float(seconds(np.array([decided]))[0])
        return next_state(stage, self, State(time), planner.memory())

    def counted(self, code: str, queue: int, count: int, most: int) -> dict[str, Any]:  # noqa: ARG002
        """Return what was counted in a queue where work was left as it is; nothing of most codes."""
        return {}

    def order_numbers(self, snapshot: Snapshot, row: int) -> dict[str, Any]:  # noqa: ARG002
        """Return numbers that say why an operation comes when it comes."""
        return {}

    def standing(self, snapshot: Snapshot, row: int) -> str:
        """Say how an operation stands, by its row; of systems without fair shares."""
        raise NotImplementedError

    def fate(self, snapshot: Snapshot, row: int) -> str:  # noqa: ARG002
        """Say what becomes of an operation that is preempted, by its row; of most systems nothing."""
        return ""

    @staticmethod
    def _expect(snapshot: Any, state: Any = None, given: Any = None) -> None:
        """Refuse arguments of another kind."""
        from evenhand.model import Snapshot

        expect(isinstance(snapshot, Snapshot), "plan", "snapshot", snapshot, "a Snapshot")
        expect(state is None or isinstance(state, State), "plan", "state", state, "a State")
        right = given is None or isinstance(given, Mapping)
        expect(right, "plan", "given", given, "an object (what: values by name)")

    def _trigger(self, on: Any) -> Any:
        """Return what is acted on: `on`, or by default the system's first trigger."""
        triggers: tuple[type[Any], ...] = self.RECORD.triggers
        if on is None:
            return triggers[0]()
        if isinstance(on, triggers):
            return on
        if Heartbeat in triggers and isinstance(on, list | tuple) and {*map(type, on)} <= {Heartbeat}:
            return tuple(on)
        known = " or ".join(f"{t.__name__}({', '.join(f.name for f in fields(t))})" for t in triggers)
        message = f"on is {shorten(on)}; the {type(self).__name__} policy acts on {known}"
        raise InputError([Problem("trigger", None, None, "on", "type", shorten(on), printable(message))])

    def _given(self, snapshot: Any, given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:  # noqa: ARG002
        """Return values in the place of computed ones; of a policy that computes none they are refused."""
        if given:
            name = str(next(iter(given)))
            message = (
                f"given has {name!r}; the {type(self).__name__} policy computes nothing that could be given"
            )
            raise InputError([Problem("given", None, None, name, "unknown_field", None, message)])
        return given

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self.settings == other.settings)

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.settings.model_dump(mode="json"), sort_keys=True)))

    def __reduce__(self) -> tuple[Any, ...]:
        expect_unchanged("pickle", self, "a pickle")
        return _restore, (type(self), self.preset, self.settings, self._beside)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @property
    def _beside(self) -> dict[str, Any]:
        """What a subclass keeps beside preset and settings."""
        return self._attributes

    @property
    def _attributes(self) -> dict[str, Any]:
        """What this one alone has, where its class has no slots for it."""
        return dict(getattr(self, "__dict__", {}))

    def _repr_html_(self) -> str:
        from evenhand.display.settings import policy_html

        return policy_html(self)

    def __repr__(self) -> str:
        base = self.model.preset(self.preset)
        changed = [
            f"{name}={value!r}"
            for name in self.model.model_fields
            if (value := getattr(self.settings, name)) != getattr(base, name)
        ]
        return f"{type(self).__name__}({', '.join([repr(self.preset), *changed])})"


def _rows_of(snapshot: Snapshot, nodes: list[Any]) -> list[int]:
    """Return the rows of nodes by name; -1: there is none."""
    row_of = rows_by_name(snapshot, "nodes")
    return [row_of.get(str(name), -1) for name in nodes]


def _signature(cls: type[Policy]) -> inspect.Signature:
    """Return what a policy takes, a keyword a setting with its documented default."""
    word, kind = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    preset = inspect.Parameter("preset", kind, default=cls.RECORD.presets[0], annotation=str)
    types = get_type_hints(cls.model)  # without what only validates
    return inspect.Signature(
        [
            preset,
            *(
                inspect.Parameter(
                    name,
                    word,
                    default=field.get_default(call_default_factory=True),
                    annotation=types[name],
                )
                for name, field in cls.model.model_fields.items()
            ),
        ]
    )


def _listed(model: type[CheckedSettings]) -> str:
    """Return the settings as a section of a docstring."""
    lines = ["Other Parameters", "----------------"]
    types = get_type_hints(model)
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        shown = "its own defaults" if hasattr(default, "model_fields_set") else repr(default)
        kind = re.sub(r"\b(?:\w+\.)+(?=\w)", "", inspect.formatannotation(types[name]))
        unit = unit_of(name, field)
        facts = [kind, *([unit] if unit else []), f"default {shown}"]
        lines += [f"{name} : {', '.join(facts)}", f"    {field.description or 'See the system.'}"]
    return "\n".join(lines)


def _restore(cls: type[Any], preset: str, settings: CheckedSettings, beside: Mapping[str, Any]) -> Any:
    policy = object.__new__(cls)
    for name, value in beside.items():
        object.__setattr__(policy, name, value)
    object.__setattr__(policy, "preset", preset)
    object.__setattr__(policy, "settings", settings)
    return policy
