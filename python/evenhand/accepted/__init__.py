"""What functions accept: kinds by annotations, spans and counts, and a decorator that refuses all else."""

from __future__ import annotations

from evenhand.accepted.checked import checked, fit_together, refuse, taken
from evenhand.accepted.kinds import Kind, Refused, kind_of_annotation, plain
from evenhand.accepted.spans import (
    COUNT,
    FLAG,
    LATEST,
    MOST,
    NUMBER,
    PATH,
    SCALE,
    SEED,
    SIZE,
    count_of,
    instant_from,
    part_of,
    scale_of,
    seconds_of,
)

__all__ = [
    "COUNT",
    "FLAG",
    "LATEST",
    "MOST",
    "NUMBER",
    "PATH",
    "SCALE",
    "SEED",
    "SIZE",
    "Kind",
    "Refused",
    "checked",
    "count_of",
    "fit_together",
    "instant_from",
    "kind_of_annotation",
    "part_of",
    "plain",
    "refuse",
    "scale_of",
    "seconds_of",
    "taken",
]
