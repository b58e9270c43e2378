"""YuniKorn's resources: sparse maps from type to whole number, or no object at all (None)."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "Resource",
    "above_existing",
    "add",
    "compare_shares",
    "fits",
    "fits_actual",
    "fits_existing_types",
    "matches_any",
    "merge_missing",
    "min_all",
    "min_existing",
    "negated_negatives",
    "positives",
    "same",
    "shares",
    "sub",
    "sub_clamped",
    "sub_existing",
    "type_match",
    "zero",
]

#: An amount by type; None is no object, which differs from one without types; so does a type with value 0
#: from a missing one.
Resource = Mapping[str, int] | None


def zero(resource: Resource) -> bool:
    """Whether it is no object, or has nothing but zeros."""
    return not resource or not any(resource.values())


def add(left: Resource, right: Resource) -> dict[str, int]:
    """Add over the union of the types."""
    left, right = left or {}, right or {}
    return {t: left.get(t, 0) + right.get(t, 0) for t in {**left, **right}}


def sub(left: Resource, right: Resource) -> dict[str, int]:
    """Subtract over the union of the types; values may become negative."""
    left, right = left or {}, right or {}
    return {t: left.get(t, 0) - right.get(t, 0) for t in {**left, **right}}


def sub_existing(base: Resource, delta: Resource) -> dict[str, int] | None:
    """Subtract, types of the first only; no object stays none."""
    if base is None:
        return None
    return {t: v - (delta or {}).get(t, 0) for t, v in base.items()}


def sub_clamped(left: Resource, right: Resource) -> dict[str, int]:
    """Subtract over the union of the types; what would be negative is 0."""
    return {t: max(0, v) for t, v in sub(left, right).items()}


def min_all(left: Resource, right: Resource) -> dict[str, int] | None:
    """Take the smaller of each type; a type on one side only is taken from that side."""
    if left is None or right is None:
        either = left if right is None else right
        return None if either is None else dict(either)
    return {t: min(side[t] for side in (left, right) if t in side) for t in {**left, **right}}


def min_existing(left: Resource, right: Resource) -> dict[str, int] | None:
    """Take the smaller of each type of the first; a type that the second lacks stays."""
    if left is None:
        return None
    return {t: min(v, (right or {}).get(t, v)) for t, v in left.items()}


def merge_missing(left: Resource, right: Resource) -> dict[str, int] | None:
    """Return the first with those types of the second that it lacks."""
    if left is None and right is None:
        return None
    return {**(right or {}), **(left or {})}


def positives(resource: Resource) -> dict[str, int] | None:
    """Return the types that are positive."""
    return None if resource is None else {t: v for t, v in resource.items() if v > 0}


def negated_negatives(resource: Resource) -> dict[str, int]:
    """Return the types that are negative, as positive numbers."""
    return {t: -v for t, v in (resource or {}).items() if v < 0}


def fits(larger: Resource, smaller: Resource) -> bool:
    """Whether the second fits: a missing type is 0, and so is a negative one."""
    return all(v <= max(0, (larger or {}).get(t, 0)) for t, v in (smaller or {}).items())


def fits_actual(larger: Resource, smaller: Resource) -> bool:
    """Whether the second fits: a missing type is unlimited, a negative one stays negative."""
    return all(v <= (larger or {}).get(t, v) for t, v in (smaller or {}).items())


def fits_existing_types(larger: Resource, smaller: Resource) -> bool:
    """Whether the second fits in the types that the first has."""
    return all((smaller or {}).get(t, 0) <= v for t, v in (larger or {}).items())


def matches_any(left: Resource, right: Resource) -> bool:
    """Whether they share a type, whatever the values."""
    return bool(left) and bool(right) and not set(left or {}).isdisjoint(right or {})


def same(left: Resource, right: Resource) -> bool:
    """Whether they are equal where a missing type counts as 0; no object equals only none."""
    if left is None or right is None:
        return left is right
    return all(left.get(t, 0) == right.get(t, 0) for t in {**left, **right})


def above_existing(larger: Resource, smaller: Resource, *, strictly: bool) -> bool:
    """Whether the first is at least the second (strictly: and differs) in the types of the first.

    The first type that is exceeded decides; a second without any type is below whatever is positive
    everywhere; without a common type the answer is that both have types.
    """
    if not larger:
        return False
    if not smaller:
        return all(v > 0 for v in larger.values())
    common = [t for t in larger if t in smaller]
    if any(smaller[t] > larger[t] for t in common):
        return False
    if not common:
        return True
    return not strictly or any(smaller[t] != larger[t] for t in common)


def type_match(resource: Resource, target: Resource) -> int:
    """Return how many of the types of a resource are types of the target, in whole percent."""
    if not resource:
        return 0
    return 100 * sum(t in resource for t in target or {}) // len(resource)


def shares(resource: Resource, total: Resource) -> list[float]:
    """Return the share of each type that is not 0; the value itself where the total has none."""
    total = total or {}
    return [v / total[t] if total.get(t) else float(v) for t, v in (resource or {}).items() if v]


def compare_shares(left: list[float], right: list[float]) -> int:
    """Compare from the largest share down; what is left of the longer list decides by its sign."""
    first, second = sorted(left, reverse=True), sorted(right, reverse=True)
    for a, b in zip(first, second, strict=False):
        if a != b:
            return 1 if a > b else -1
    for rest, sign in ((first[len(second) :], 1), (second[len(first) :], -1)):
        for value in rest:
            if value:
                return sign if value > 0 else -sign
    return 0
