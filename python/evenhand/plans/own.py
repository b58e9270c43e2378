"""Policies that are not this package's as they stand: subclasses of them, and those that a user writes."""

from __future__ import annotations

from typing import Any

from evenhand.errors import InputError, Problem, printable

__all__ = ["base_of", "expect_acting", "expect_unchanged", "overridden"]

#: What only says something, or makes the policy: a subclass may have its own, and decides as its base does.
_SAYS = frozenset({"standing", "_repr_html_", "system", "ROUNDS"})
#: Of what every class has, what can change which policy it is or what it decides.
_DECIDES = frozenset(
    {"__eq__", "__hash__", "__getattribute__", "__reduce__", "__reduce_ex__", "__setstate__"}
)


def base_of(policy: Any) -> type[Any] | None:
    """Return the class of a system's policy that a policy is of; None: it is one that a user wrote."""
    for kind in type(policy).__mro__:
        record = vars(kind).get("RECORD")
        if record is not None and record.policy_at == f"{kind.__module__}:{kind.__qualname__}":
            return kind
    return None


def overridden(policy: Any) -> str | None:
    """Return what a subclass of a system's policy has in the place of its base's, as ``"Class.name"``."""
    base = base_of(policy)
    if base is None or type(policy) is base:
        return None
    kinds = type(policy).__mro__
    places = [(kind.__name__, vars(kind)) for kind in kinds[: kinds.index(base)]]
    for name, attributes in (*places, (type(policy).__name__, policy._attributes)):
        for attribute in attributes:
            special = attribute.startswith("__") and attribute.endswith("__")
            may = attribute in _DECIDES if special else hasattr(base, attribute) and attribute not in _SAYS
            if may:
                return f"{name}.{attribute}"
    return None


def expect_unchanged(function: str, policy: Any, does: str) -> None:
    """Refuse a subclass of a system's policy whose own rules would not be asked."""
    if (what := overridden(policy)) is None:
        return
    base = base_of(policy)
    assert base is not None  # noqa: S101 - something of it is overridden
    message = (
        f"policy overrides {what}, which only eh.plan uses; {does} takes {base.__name__} as it is:"
        ' put the rule into rows or settings, or write a policy of your own (see "Add a system")'
    )
    raise InputError([Problem(function, None, None, "policy", "overridden", what, printable(message))])


def expect_acting(function: str, policy: Any, does: str) -> None:
    """Refuse a policy that cannot act by itself as time goes by; see `expect_unchanged`."""
    expect_unchanged(function, policy, does)
    kind = type(policy)
    if not kind.acts():
        message = (
            f"policy is {kind.__name__}, a policy of your own; {does} takes those of evenhand.policies only:"
            " plan with yours snapshot by snapshot (eh.plan, eh.Cluster)"
        )
        raise InputError([Problem(function, None, None, "policy", "acts", kind.__name__, printable(message))])
