"""Certificates that come from elsewhere: every part is there, of its kind, and there is no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.accepted import Refused, kind_of_annotation, plain
from evenhand.building.problems import shorten
from evenhand.errors import CertificateError, printable
from evenhand.plans.certificates import Certificate, CertificateSite
from evenhand.plans.decisions import Beneficiary

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

__all__ = ["formed", "from_dict", "refuse"]

_T = TypeVar("_T")
_C = TypeVar("_C", bound=Certificate)

#: Fields whose parts are of a class, and that class.
_WITHIN: Mapping[str, type] = {"beneficiary": Beneficiary, "sites": CertificateSite}

#: What `Certificate.to_dict` has of each kind alone; it says "resources" by the keys of "quantum".
_OF_KIND = {
    "amounts": ("columns", "node", "amounts", "shortage", "multipliers"),
    "jobs": ("columns", "copies", "scale", "sites"),
    "sets": (),
}
_OF_SOME = {name for names in _OF_KIND.values() for name in names}


def refuse(field: str | None, rule: str, predicate: str, value: object = None) -> NoReturn:
    """Raise the error of a certificate's field."""
    shown = None if value is None else printable(shorten(value))
    message = printable(f"{field} {predicate}" if field else f"the certificate {predicate}")
    raise CertificateError.about("certificate", field, rule, message, shown)


def formed(of: type[_T], value: object, at: str = "") -> _T:
    """Return a certificate, or a part of one, with sequences as tuples and numbers as Python has them.

    Parameters
    ----------
    of : type
        `Certificate` or a class of its parts.
    value : object
        One of these.
    at : str
        Where it stands.

    Returns
    -------
    object
        Another of them.

    Raises
    ------
    CertificateError
        If it is something else, a field of it is not of the kind that it is declared to be, or it has not as
        many rows of one thing as of another.
    """
    if not isinstance(value, of):
        refuse(at or None, "type", f"is {shorten(value)}; it must be a {of.__name__}", value)
    found = _made(of, {one.name: getattr(value, one.name, None) for one in _fields(of)}, at)
    if isinstance(found, Certificate):
        _must_fit(found)
    return found


def from_dict(of: type[_C], data: object) -> _C:
    """Return a certificate from plain values; see `Certificate.from_dict`."""
    row = _object(data, "")
    kind = row.get("kind")
    if not isinstance(kind, str) or kind not in _OF_KIND:
        refuse("kind", "choice", f"is {shorten(kind)}; it must be one of {', '.join(_OF_KIND)}", kind)
    own = {one.name for one in _fields(of)} - _OF_SOME - {"resources"} | {*_OF_KIND[kind], "closed_by"}
    _only(row, own, "")
    values = {name: value for name, value in row.items() if name != "closed_by"}
    quantum = _object(row["quantum"], "quantum")
    values |= {"resources": tuple(quantum), "quantum": tuple(quantum.values())}
    if "columns" not in row:  # of sets, as of all that has none of its own
        values["columns"] = tuple(quantum)
    values["beneficiary"] = _part(Beneficiary, row["beneficiary"], "beneficiary")
    sites = row.get("sites")
    if isinstance(sites, list | tuple):
        values["sites"] = [_part(CertificateSite, one, f"sites[{place}]") for place, one in enumerate(sites)]
    found = formed(of, _made(of, values, ""))
    if row["closed_by"] != found.closed_by:
        said = f"is {shorten(row['closed_by'])}, by its other numbers {shorten(found.closed_by)}"
        refuse("closed_by", "sum", said, row["closed_by"])
    return found


def _must_fit(c: Certificate) -> None:
    """Refuse a certificate of which something is missing or stands once too often."""
    pairs: list[tuple[str, Any, str, Any]] = [("quantum", c.quantum, "resources", c.resources)]
    pairs += [("costs", c.costs, "candidates", c.candidates)]
    rows: list[tuple[str, Any]] = []
    if c.kind == "amounts":
        pairs += [("amounts", c.amounts, "candidates", c.candidates)]
        rows += [("amounts", c.amounts)]
        pairs += [(name, getattr(c, name), "columns", c.columns) for name in ("shortage", "multipliers")]
    for place, site in enumerate(c.sites):
        at = f"sites[{place}]."
        for name, of in (
            ("amounts", "jobs"),
            ("parts", "jobs"),
            ("bounds", "lacks"),
            ("multipliers", "lacks"),
        ):
            pairs.append((at + name, getattr(site, name), at + of, getattr(site, of)))
        rows += [(at + name, getattr(site, name)) for name in ("amounts", "lacks", "multipliers")]
    pairs += [(f"{name}[{i}]", row, "columns", c.columns) for name, of in rows for i, row in enumerate(of)]
    for name, has, other, wanted in pairs:
        if len(has) != len(wanted):
            refuse(name, "length", f"has {len(has):,} values, and {other} {len(wanted):,}")


def _fields(of: Any) -> tuple[Any, ...]:
    return fields(of)


def _object(value: object, at: str) -> Mapping[str, Any]:
    """Return an object with names as keys."""
    if not isinstance(value, Mapping):
        refuse(at or None, "type", f"is {shorten(value)}; it must be an object", value)
    for name in value:
        if not isinstance(name, str):
            refuse(at or None, "type", f"has the key {shorten(name)}, which is no text", name)
    return value


def _only(row: Mapping[str, Any], own: Iterable[str], at: str) -> None:
    """Refuse keys that are missing, and others."""
    own = set(own)
    for said, names in (("is missing", own - {*row}), ("is no part of it", {*row} - own)):
        for name in sorted(names):
            refuse(f"{at}{name}", "exists", said)


def _part(of: type[_T], value: object, at: str) -> _T:
    row = _object(value, at)
    _only(row, (one.name for one in _fields(of)), f"{at}.")
    return _made(of, row, f"{at}.")


def _made(of: type[_T], values: Mapping[str, Any], at: str) -> _T:
    given = {one.name: one for one in _fields(of) if one.name in values or one.default is MISSING}
    return of(**{name: _field(of, name, values[name], at) for name in given})


def _field(of: type, name: str, value: object, at: str) -> Any:
    """Return the value of a field."""
    where = at + name
    if name in _WITHIN:
        if name == "beneficiary":
            return formed(Beneficiary, value, f"{where}.")
        if not isinstance(value, list | tuple):
            refuse(where, "type", f"is {shorten(value)}; it must be a list of sites", value)
        return tuple(formed(CertificateSite, one, f"{where}[{place}].") for place, one in enumerate(value))
    (annotation,) = (one.type for one in _fields(of) if one.name == name)
    try:
        return _tuples(kind_of_annotation(annotation).accept(value))
    except Refused as error:
        refuse(where + error.at, error.rule, str(error), value)


def _tuples(value: Any) -> Any:
    """Return rows as tuples, which compare at once."""
    if isinstance(value, str) or not hasattr(value, "__len__"):
        return plain(value)
    return tuple(map(_tuples, value))
