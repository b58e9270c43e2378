"""Settings that refuse wrong values with the library's own error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from evenhand.accepted import plain
from evenhand.building.problems import kind_of, nearest, shorten
from evenhand.errors import InputError, Problem, printable
from evenhand.frozen import freeze
from evenhand.units.text import number

__all__ = ["CheckedSettings", "Settings", "broken", "problems_of", "under_own_names"]

_RULES = {
    "extra_forbidden": "unknown_field",
    "missing": "required",
    "literal_error": "choice",
    "finite_number": "finite",
    "greater_than": "range",
    "greater_than_equal": "range",
    "less_than": "range",
    "less_than_equal": "range",
    "int_from_float": "integer",
    "string_too_short": "length",
}

# What a value must be, by the kind of what is wrong with it, and with what belongs to it.
_MUST_BE = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object (name: value)",
    "mapping_type": "an object (name: value)",
    "model_type": "an object (name: value)",
    "model_attributes_type": "an object (name: value)",
    "literal_error": "{expected}",
    "finite_number": "finite",
    "string_too_short": "at least {min_length} character long",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
}


class Settings(BaseModel):
    """Settings; a wrong value raises `evenhand.InputError` with table "settings".

    Where they are made as a part of other settings, the error is that of the whole.
    """

    #: Other names of fields, to the names that they have here.
    ALIASES: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **values: Any) -> None:
        given = type(self)._renamed(values)
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise InputError(problems_of(type(self), error)) from None

    # Else pydantic would call it for what stands within other settings, and lose the place in its error.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def _renamed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values under the names that the fields have here, each given once."""
        given: dict[str, Any] = {}
        for key, value in values.items():
            name = cls.ALIASES.get(key, key)
            if name in given:
                message = f"{name} is given twice, also as {_other(cls.ALIASES, name)}"
                raise InputError([Problem("settings", None, None, name, "unique", shorten(value), message)])
            given[name] = _plain(value)
        return given


class CheckedSettings(Settings):
    """Frozen settings of a policy."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    #: Fields that are taken as the system has them, and that no plan reads.
    UNREAD: ClassVar[tuple[str, ...]] = ()

    #: Names that the system's own files have and that are no settings here, to where they are read.
    ELSEWHERE: ClassVar[Mapping[str, str]] = {}

    #: Fields that say when a live cluster plans, not what.
    TIMING: ClassVar[frozenset[str]] = frozenset()

    #: What the preset "upstream" has in the place of the defaults, which are "documented".
    UPSTREAM: ClassVar[Mapping[str, Any]] = {}

    def model_post_init(self, _: Any, /) -> None:
        """Freeze what fields hold; models within them are frozen themselves."""
        for name, value in self.__dict__.items():
            self.__dict__[name] = freeze(value)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Return the settings of a preset, with these fields changed.

        Parameters
        ----------
        name : {"documented", "upstream"}
            What the description says, or what the system does.
        **changes
            Values by field or alias.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            If there is no such preset, or a value breaks a rule.
        """
        if isinstance(name, str) and name == "documented":
            return cls(**changes)
        if isinstance(name, str) and name == "upstream":
            return cls(**{**cls.UPSTREAM, **cls._renamed(changes)})
        message = f'preset is {shorten(name) or "empty"}; it must be "documented" or "upstream"'
        raise InputError([Problem("settings", None, None, "preset", "choice", shorten(name), message)])

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed; the result is validated.

        Parameters
        ----------
        **changes
            New values by field or alias.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            If the result would break a rule.
        """
        # What was not set stays so: a default may stand where the same value would be refused.
        return type(self)(**{**self.model_dump(exclude_unset=True), **type(self)._renamed(changes)})


def under_own_names(values: Any, aliases: Mapping[str, str]) -> Any:
    """Return what a model is made of under the names that its fields have."""
    if not isinstance(values, Mapping):
        return values
    given = {aliases.get(key, key): value for key, value in values.items()}
    return {**given, **({} if len(given) == len(values) else values)}


def broken(found: Iterable[tuple[str, str, str]]) -> None:
    """Raise what a validator over several fields found, if anything."""
    issues = list(found)
    if issues:
        said = "; ".join(f"{field} {predicate}" for field, _, predicate in issues)
        raise PydanticCustomError("broken", "{said}", {"said": said, "issues": issues})


#: Of pydantic's own, within a field: a mapping's key, and the form of a value that may have two.
_BRANCHES = ("[key]", "[word]", "[columns]", "[part]", "[amounts]")


def _plain(value: Any, depth: int = 4) -> Any:
    """Return numbers and flags of NumPy as Python has them, also within objects."""
    if isinstance(value, Mapping) and depth:
        return {key: _plain(inner, depth - 1) for key, inner in value.items()}
    return plain(value)


def problems_of(
    model: type[BaseModel],
    error: ValidationError,
    table: str = "settings",
    row: int | None = None,
    name: str | int | None = None,
) -> list[Problem]:
    """Return what pydantic found as problems of a table's row."""
    prefix = "" if table == "settings" else "settings."
    named = "" if name is None else f' of the {table.removesuffix("s")} "{shorten(name)}"'
    found = []
    for detail in error.errors(include_url=False):
        for field, rule, predicate in _said(model, detail):
            value = None if detail["type"] in ("broken", "missing") else shorten(detail["input"])
            place = printable(prefix + field)
            message = printable(f"{place}{named} {predicate}")
            found.append(Problem(table, row, name, place, rule, value, message))
    return found


def _other(aliases: Mapping[str, str], name: str) -> str:
    return " or ".join(alias for alias, field in aliases.items() if field == name)


def _said(model: type[BaseModel], detail: ErrorDetails) -> list[tuple[str, str, str]]:
    where = [str(part) for part in detail["loc"] if part not in _BRANCHES]
    context = detail.get("ctx", {})
    if detail["type"] == "broken":
        return [(".".join((*where, field)), rule, said) for field, rule, said in context["issues"]]
    field = ".".join(where)
    if detail["type"] == "extra_forbidden":
        return [(field, "unknown_field", f"is unknown{_meant(model, where)}")]
    value = detail["input"]
    if detail["type"] == "rule":
        return [(field, context["rule"], detail["msg"])]
    rule = _RULES.get(detail["type"], "type")
    if (known := _MUST_BE.get(detail["type"])) is None:
        message = detail["msg"].replace("Input", "it", 1)
    else:
        message = f"it must be {known.format(**{name: _read(of) for name, of in context.items()})}"
    return [(field, rule, f"is {_shown(value)}; {message}")]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return shorten(value) or "empty" if isinstance(value, str | int | float) else kind_of(value)


def _read(value: object) -> object:
    return number(value) if isinstance(value, int | float) else value


def _meant(model: type[BaseModel], where: list[str]) -> str:
    """Return the setting that may be meant by an unknown one: of its section, or the same of another."""
    *path, name = where
    if not path and (elsewhere := getattr(model, "ELSEWHERE", {}).get(name)):
        return f"; {elsewhere}"
    sections = [[], *([section] for section in _sections(model))]
    others = {known: ".".join((*at, known)) for at in sections if at != path for known in _known(model, at)}
    if (hint := nearest(name, _known(model, path))) and name not in others:
        return hint
    same = [others[known] for known in others if known.casefold() == name.casefold()]
    return f'; did you mean "{printable(same[0])}"?' if same else ""


def _sections(model: type[BaseModel]) -> list[str]:
    """Return the fields that are settings themselves."""
    return [name for name in model.model_fields if _known(model, [name])]


def _known(model: type[BaseModel], path: list[str]) -> list[str]:
    keys = iter(path)
    for part in keys:
        field = model.model_fields.get(part)
        inner = field and field.annotation
        if get_origin(inner) is dict:  # of models by name
            next(keys, None)
            inner = get_args(inner)[1]
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return [*model.model_fields, *getattr(model, "ALIASES", {})]
