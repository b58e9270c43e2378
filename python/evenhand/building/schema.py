"""JSON Schema and table reference, made from the table of fields."""

from __future__ import annotations

from typing import Any

from evenhand.fields import HEAD, SCHEMA, TABLES, Field, TableSpec

_NAME = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]}
_AMOUNT = {"type": "number", "minimum": 0}
_QUANTITY = {
    "type": "string",
    "pattern": r"^\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+|[numkMGTPE]|[KMGTPE]i)?$",
}

_CELLS: dict[str, dict[str, Any]] = {
    "name": _NAME,
    "reference": {"anyOf": [*_NAME["anyOf"], {"type": "null"}]},
    "label": {"anyOf": [*_NAME["anyOf"], {"type": "null"}]},
    "labels": {"type": ["array", "null"], "items": _NAME},
    "amounts": {"$ref": "#/$defs/amounts"},
    "amount": {"anyOf": [{"type": ["number", "null"]}, _QUANTITY]},
    "shares": {"$ref": "#/$defs/shares"},
    "number": {"type": ["number", "null"]},
    "integer": {"type": ["integer", "null"]},
    "time": {"type": ["number", "null"]},
    "duration": {"$ref": "#/$defs/duration"},
    "flag": {"type": ["boolean", "null"]},
    "text": {"type": ["string", "null"]},
    "texts": {"type": ["array", "null"], "items": {"type": "string"}},
    "settings": {"type": ["object", "null"]},
    "annotations": {
        "type": ["object", "null"],
        "additionalProperties": {"type": ["string", "number", "null"]},
    },
}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a snapshot's file.

    It says what a single cell may be. What ties cells together (references,
    sums, trees, multiples of the quantum) is checked when a snapshot is built.
    """
    properties = {field.name: _cell(field) for field in HEAD.fields}
    for name, table in TABLES.items():
        rows = {"$ref": f"#/$defs/{name}"}
        if name == "resources":
            properties[name] = {
                "type": "object",
                "description": table.description,
                "additionalProperties": rows,
                "minProperties": 1,
                "maxProperties": 16,
            }
        elif name == "root":
            properties[name] = rows
        else:
            properties[name] = {"type": ["array", "null"], "description": table.description, "items": rows}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "Evenhand snapshot: one scheduling domain at an instant",
        "type": "object",
        "properties": properties,
        "required": ["resources"],
        "additionalProperties": False,
        "$defs": {
            "amounts": {
                "type": ["object", "null"],
                "description": "resource → amount, in the resource's unit, a multiple of its quantum;"
                ' where it has a `unit` also a quantity such as "500m" or "512Gi"',
                "additionalProperties": {"anyOf": [_AMOUNT, _QUANTITY, {"type": "null"}]},
            },
            "shares": {
                "type": ["object", "null"],
                "description": "resource → fraction",
                "additionalProperties": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            },
            "duration": {
                "description": 'seconds, or text such as "30s", "5m", "01:00:00"',
                "type": ["number", "string", "null"],
                "minimum": 0,
            },
            **{name: _row(table) for name, table in TABLES.items()},
        },
    }


def _cell(field: Field) -> dict[str, Any]:
    if field.kind == "enum":
        cell: dict[str, Any] = {"enum": [*field.words, None]}
    else:
        cell = dict(_CELLS[field.kind])
    cell["description"] = field.description
    if field.default is not None:
        cell["default"] = field.default
    return cell


def _row(table: TableSpec) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for field in table.fields:
        head, _, inner = field.name.partition(".")
        if inner:
            group = properties.setdefault(
                head, {"type": ["object", "null"], "properties": {}, "additionalProperties": False}
            )
            group["properties"][inner] = _cell(field)
        else:
            properties[head] = _cell(field)
    if "beneficiary" in properties:
        bare = {"description": "A bare name is that of a request.", "anyOf": _NAME["anyOf"]}
        properties["beneficiary"] = {"anyOf": [properties["beneficiary"], bare]}
    return {
        "type": ["object", "null"] if table.name in ("root", "resources") else "object",
        "description": table.description,
        "properties": properties,
        "required": [field.name for field in table.fields if field.required],
        "additionalProperties": False,
    }


def reference_markdown() -> str:
    """Return the table reference as Markdown: a section a table, a row a field."""
    return "\n\n".join(_section(table) for table in (HEAD, *TABLES.values())) + "\n"


def _section(table: TableSpec) -> str:
    lines = [
        f"## {table.name}",
        "",
        table.description,
        "",
        "| field | kind | default | unit | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for field in table.fields:
        kind = " \\| ".join(f'"{word}"' for word in field.words) if field.kind == "enum" else field.kind
        if field.kind == "reference":
            kind = f"name in {field.target}"
        cells = (
            f"`{field.name}`",
            kind,
            _default(field),
            field.unit,
            field.description,
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _default(field: Field) -> str:
    if field.required:
        return "required"
    if field.default_says:
        return field.default_says
    match field.default:
        case None:
            return "none"
        case bool():
            return str(field.default).lower()
        case str():
            return f'"{field.default}"'
        case float():
            return f"{field.default:g}"
        case _:
            return f"{field.default}"
