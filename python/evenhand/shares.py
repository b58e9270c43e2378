"""Fair share of every pool and operation, by YTsaurus' vector HDRF."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import _core
from evenhand.accepted import checked
from evenhand.arguments import Living, expect, snapshot_of
from evenhand.building.problems import shorten
from evenhand.diagnostics import Diagnostic
from evenhand.errors import NoSuchNameError
from evenhand.frozen import Frozen, read_only, same_columns
from evenhand.implausible import of_gangs, of_guarantees
from evenhand.provenance import digest, made_by
from evenhand.quantities import AMOUNTS, INDICES, PARTS, POOLS_ONLY, SCALARS, SHARES, SPLIT, KeptShares
from evenhand.share_inputs import diagnostics_of, memory_of, options_of
from evenhand.state import State
from evenhand.table import Table, Tabular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenhand.config.fair_share import FairShareSettings
    from evenhand.explain import Explanation
    from evenhand.model import Snapshot

__all__ = ["FairShareEngine", "Shares", "fair_share"]


def fair_share(
    snapshot: Snapshot | Living, settings: FairShareSettings | None = None, *, state: State | None = None
) -> Shares:
    """Compute the fair share of every pool and operation.

    Parameters
    ----------
    snapshot : Snapshot or Cluster
    settings : FairShareSettings, optional
        Options of the pool tree; the defaults of the system if absent.
    state : State, optional
        What the update before left (``shares.state``): volumes of integral pools and the instant
        since which they fill. It takes the place of ``previous_update`` and of the pools'
        ``accumulated_volume`` and ``last_share_ratio``.

    Returns
    -------
    Shares

    Raises
    ------
    InputError
        If the snapshot is older than the state, a main resource was asked for by name that the
        snapshot has not, or an argument is of another kind.

    Notes
    -----
    The cost is n log n in the vertices of all share functions, about 13 an operation. The same
    input gives the same bytes, whatever the order of rows. The interpreter lock is released.
    Source: YTsaurus, `yt/yt/library/vector_hdrf`; the method is described in `docs/concepts`.

    Examples
    --------
    >>> import evenhand as eh
    >>> snapshot = eh.Snapshot.from_dict({
    ...     "resources": {"cpu": {}}, "total": {"cpu": 10},
    ...     "pools": [{"name": "a", "weight": 3}, {"name": "b"}],
    ...     "operations": [{"name": "x", "pool": "a", "demand": {"cpu": 10}},
    ...                    {"name": "y", "pool": "b", "demand": {"cpu": 10}}]})
    >>> eh.fair_share(snapshot)["fair_share"][:, 0].tolist()
    [1.0, 0.75, 0.25, 0.75, 0.25]
    """
    return _run(_core.fair_share, snapshot, _checked(settings), state)


class FairShareEngine:
    """Fair shares of one cluster over time, for callers that live long.

    An update builds only those share functions again whose inputs changed since the last one:
    after a change of one operation those of the pools on its way to the root. The shares have
    the same bits as those of `fair_share`.

    Parameters
    ----------
    settings : FairShareSettings, optional

    Examples
    --------
    >>> import evenhand as eh
    >>> engine = eh.FairShareEngine()
    >>> snapshot = eh.synthetic.demo()
    >>> bool((engine.update(snapshot)["fair_share"] == eh.fair_share(snapshot)["fair_share"]).all())
    True
    """

    __slots__ = ("_core", "_lock", "settings")

    def __init__(self, settings: FairShareSettings | None = None) -> None:
        self.settings = _checked(settings)
        self._core = _core.FairShareEngine()
        self._lock = Lock()

    def update(self, snapshot: Snapshot | Living, *, state: State | None = None) -> Shares:
        """Compute the shares of a snapshot; see `fair_share`.

        Any snapshot is allowed; one with other pools or operations than the last is computed afresh.

        Parameters
        ----------
        snapshot : Snapshot or Cluster
            What is.
        state : State, optional
            What the last update left; see `fair_share`.

        Returns
        -------
        Shares
        """
        with self._lock:
            return _run(self._core.update, snapshot, self.settings, state)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.settings,)  # what it remembers only saves time


def _checked(settings: FairShareSettings | None) -> FairShareSettings:
    from evenhand.config.fair_share import FairShareSettings

    right = settings is None or isinstance(settings, FairShareSettings)
    expect(right, "fair_share", "settings", settings, "FairShareSettings")
    return FairShareSettings() if settings is None else settings


def _run(
    compute: Callable[[Any, Any, Any], _core.FairShares],
    snapshot: Snapshot | Living,
    settings: FairShareSettings,
    state: State | None,
) -> Shares:
    snapshot = snapshot_of("fair_share", snapshot)
    expect(state is None or isinstance(state, State), "fair_share", "state", state, "a State")
    options, found = options_of(snapshot, settings)
    memory = None
    if state is not None:
        memory, dropped = memory_of(snapshot, settings, state)
        found += dropped
    core = compute(snapshot._core, options, memory)
    return Shares(snapshot, settings, core, (*found, *diagnostics_of(snapshot, core)))


class Shares(Frozen, Tabular):
    """Fair shares and what they were computed from, one row an element.

    Elements are the pools in canonical order, the root (``"<Root>"``) first, then the
    operations. ``shares[quantity]`` is an array of shape (E, R) for shares and amounts, (E,)
    for numbers; shares are fractions of the cluster's total of each resource.

    Attributes
    ----------
    snapshot : Snapshot
    settings : FairShareSettings
    diagnostics : tuple of Diagnostic
    """

    __slots__ = ("_cache", "_core", "_found", "settings", "snapshot")

    snapshot: Snapshot
    settings: FairShareSettings
    _found: tuple[Diagnostic, ...]
    _core: Any
    _cache: dict[str, NDArray[Any]]

    def __init__(
        self,
        snapshot: Snapshot,
        settings: FairShareSettings,
        core: _core.FairShares | KeptShares,
        diagnostics: tuple[Diagnostic, ...],
    ) -> None:
        self._keep(snapshot=snapshot, settings=settings, _found=diagnostics, _core=core, _cache={})

    def __eq__(self, other: object) -> bool:
        """Whether they are of equal snapshots, by equal settings, with the same numbers."""
        if not isinstance(other, Shares):
            return NotImplemented
        same = (self.snapshot, self.settings, self.diagnostics) == (
            other.snapshot,
            other.settings,
            other.diagnostics,
        )
        return same and same_columns(
            {q: self[q] for q in self.quantities}, {q: other[q] for q in other.quantities}
        )

    def __hash__(self) -> int:
        return hash(self.snapshot)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.snapshot, self.settings, KeptShares.of(self._core), self._found)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What there is to say of the input."""
        return (*self._found, *of_guarantees(self.snapshot), *of_gangs(self.snapshot))

    @property
    def names(self) -> list[str | int]:
        """Names of the elements."""
        return self.snapshot.element_names

    @property
    def kinds(self) -> list[str]:
        """``"pool"`` or ``"operation"`` of each element."""
        snapshot = self.snapshot
        return ["pool"] * snapshot.pool_count + ["operation"] * snapshot.operation_count

    @property
    def parents(self) -> list[str | int | None]:
        """Name of each element's pool; None for the root."""
        names = self.names
        return [None if row < 0 else names[row] for row in self._parent_rows().tolist()]

    @property
    def resources(self) -> tuple[str, ...]:
        """Names of the resources: the columns of a matrix."""
        return self.snapshot.resources

    @property
    def quantities(self) -> tuple[str, ...]:
        """Everything that ``shares[quantity]`` gives."""
        older = ("promised_fair_share",) if self.settings.promised_fair_share else ()
        return (*SHARES, *older, *AMOUNTS, *SCALARS)

    def __getitem__(self, quantity: str) -> NDArray[Any]:
        """Return one quantity as a read-only array: (E, R), or (E,) for a number an element.

        Rows to which a quantity does not apply (volumes of an operation) hold 0, indices -1.

        Raises
        ------
        KeyError
            If there is no such quantity; the message lists them.
        """
        if not isinstance(quantity, str) or quantity not in self._cache:
            if not isinstance(quantity, str) or quantity not in self.quantities:
                said = f"no quantity {shorten(quantity)!r}; there are {', '.join(self.quantities)}"
                if isinstance(quantity, str | int) and quantity in self.names:
                    said = f"{shorten(quantity)!r} is an element: element() has its numbers; {said}"
                raise NoSuchNameError.about("shares", "quantity", "exists", said, shorten(quantity))
            if quantity.startswith(SPLIT):
                self._cache_parts(quantity.partition(".")[0])
            else:
                self._cache[quantity] = read_only(self._compute(quantity))
        return self._cache[quantity]

    @property
    def state(self) -> State:
        """What the next update starts from."""
        snapshot = self.snapshot
        volumes, ratios = self["volume.accumulated_after"], self["volume.last_share_ratio_after"]
        kinds = snapshot._core.column("pools", "integral.type")
        names, settings = self.names, digest(self.settings.model_dump_json())
        return State(
            snapshot.now,
            {
                names[row]: {
                    "accumulated_volume": dict(zip(self.resources, volumes[row].tolist(), strict=True)),
                    "last_share_ratio": float(ratios[row]),
                }
                for row in np.flatnonzero(kinds).tolist()
            },
            settings,
            provenance=made_by() | {"settings": settings},
        )

    @property
    def provenance(self) -> dict[str, Any]:
        """What the shares were made by and of: version, commit, fingerprints of settings and snapshot."""
        settings = digest(self.settings.model_dump_json())
        return made_by() | {"settings": settings, "snapshot": self.snapshot.fingerprint}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values: elements by name, diagnostics, state, provenance.

        A share is an object resource → number without its zeros. An operation that has the name
        of a pool stands under ``"<name> (operation)"``.
        """
        dominant = self["dominant_resource"].tolist()
        elements: dict[str, dict[str, Any]] = {}
        for row, (name, kind, parent) in enumerate(zip(self.names, self.kinds, self.parents, strict=True)):
            key = f"{name} (operation)" if str(name) in elements else str(name)
            elements[key] = {
                "kind": kind,
                "parent": parent,
                "fair_share": self._detail("fair_share", row),
                "dominant_resource": self.resources[dominant[row]],
            }
            if self._core.has_promised:
                elements[key]["promised_guarantee_fair_share"] = self._detail(
                    "promised_guarantee_fair_share", row
                )
        for quantity in self.quantities:
            if "fair_share." in quantity or quantity in ("fair_share", "promised_guarantee_fair_share"):
                continue
            self._spread(quantity, list(elements.values()))
        return {
            "elements": elements,
            "diagnostics": [diagnostic.to_dict() for diagnostic in self.diagnostics],
            "state": self.state.to_dict(),
            "provenance": self.provenance,
        }

    def table(self) -> Table:
        """Return one row an element: ``name, kind, parent, <quantity>.<resource>, <quantity>``."""
        columns: dict[str, Any] = {"name": self.names, "kind": self.kinds, "parent": self.parents}
        for quantity in self.quantities:
            values = self[quantity]
            if quantity == "dominant_resource":
                columns[quantity] = [self.resources[r] for r in values.tolist()]
            elif values.ndim == 1:
                columns[quantity] = values
            else:
                for r, resource in enumerate(self.resources):
                    columns[f"{quantity}.{resource}"] = values[:, r]
        return Table(columns, title="shares", provenance=lambda: self.provenance)

    @checked("shares")
    def element(self, name: str | int, *, kind: str | None = None) -> Table:
        """Return what an element has and wants, a row a resource.

        Parameters
        ----------
        name, kind
            As of `why`.

        Returns
        -------
        Table
        """
        from evenhand.explain.bounds import element

        return element(self, name, kind)

    @checked("shares")
    def why(self, name: str | int, *, kind: str | None = None) -> Explanation:
        """Explain what made the fair share of an element the number that it is; O(elements × resources).

        Parameters
        ----------
        name : str or int
            Of a pool or an operation.
        kind : {"pool", "operation"}, optional
            Which of the two, where both have the name; by default the pool.

        Returns
        -------
        Explanation
            Its code is one of `evenhand.explain.bounds.CAUSES`; its numbers have the ``path`` from the root.
        """
        from evenhand.explain.bounds import why

        return why(self, name, kind)

    def __repr__(self) -> str:
        from evenhand.display import shares_text

        return shares_text(self)

    def _repr_html_(self) -> str:
        from evenhand.display import shares_html

        return shares_html(self)

    def _parent_rows(self) -> NDArray[np.int32]:
        core = self.snapshot._core
        return np.concatenate([core.column("pools", "parent"), core.column("operations", "pool")])

    def _compute(self, quantity: str) -> NDArray[Any]:
        if quantity == "estimated_guarantee_share" and self.settings.estimated_guarantee_counts_flow:
            return self._core.column("estimated_guarantee_share_with_flow")
        values = self._core.column(quantity)
        count = len(self.names)
        if quantity in AMOUNTS:
            values = values * np.array(list(self.snapshot.quantum.values()))
        if quantity in ("fifo_index", "effective_fifo_index"):
            return np.concatenate([np.full(self.snapshot.pool_count, -1, values.dtype), values])
        if len(values) == count:
            return values
        padded = np.zeros((count, *values.shape[1:]), values.dtype)
        padded[: len(values)] = values
        return padded

    def _cache_parts(self, quantity: str) -> None:
        parts = self._core.parts(quantity != "fair_share")
        shape = self["fair_share"].shape
        for name, values in zip(PARTS, parts, strict=True):
            self._cache[f"{quantity}.{name}"] = read_only(values if len(values) else np.zeros(shape))

    def _detail(self, quantity: str, row: int) -> dict[str, dict[str, float]]:
        return {
            "total": self._object(self[quantity][row].tolist()),
            **{part: self._object(self[f"{quantity}.{part}"][row].tolist()) for part in PARTS},
        }

    def _object(self, values: Sequence[float]) -> dict[str, float]:
        return {resource: value for resource, value in zip(self.resources, values, strict=True) if value}

    def _spread(self, quantity: str, elements: list[dict[str, Any]]) -> None:
        """Put one quantity into the elements' objects, dotted names as inner objects."""
        if quantity == "dominant_resource":
            return
        outer, _, inner = quantity.partition(".")
        values = self[quantity]
        rows = values.tolist()
        concerned = elements[: self.snapshot.pool_count] if quantity in POOLS_ONLY else elements
        for element, value in zip(concerned, rows, strict=False):
            if quantity in INDICES:
                if value >= 0:
                    element[quantity] = value
                continue
            plain = self._object(value) if values.ndim == 2 else value
            if not inner:
                element[outer] = plain
            elif outer == "strong_guarantee_share":
                element.setdefault("strong_guarantee_share_by_tier", {})[inner] = plain
            else:
                element.setdefault(outer, {})[inner] = plain
