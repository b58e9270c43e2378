"""Snapshots as JSON text of about a size: right ones, and ones in which everything is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

_NODES = 1000


def _row(i: int) -> dict[str, Any]:
    return {
        "name": f"allocation-{i:07}",
        "operation": f"op-{i % 50:06}",
        "node": f"node-{i % _NODES:04}",
        "resources": {"cpu": 1, "memory": 4},
        "start_time": 1000.0 + i,
        "priority": 3,
    }


#: What is done to row i of the allocations, by the name of the shape.
SPOILS: dict[str, Callable[[dict[str, Any], int], Any]] = {
    "right": lambda row, i: row,
    "settings": lambda row, i: row | {"settings": {"a": [i, {"b": 2.5}]}},
    "a text for a time": lambda row, i: row | {"start_time": "soon"},
    "a number for an object": lambda row, i: row | {"resources": 5},
    "a text for an amount": lambda row, i: row | {"resources": {"cpu": "one"}},
    "another word in each row": lambda row, i: row | {"state": f"wieght{i}"},
    "a text for a flag": lambda row, i: row | {"preemptible": "yes"},
    "settings that do not fit": lambda row, i: row | {"settings": {"a": 2**70}},
    "negative": lambda row, i: row | {"resources": {"cpu": -1}},
    "no multiple": lambda row, i: row | {"resources": {"cpu": 0.00001}},
    "not a number": lambda row, i: row | {"start_time": float("nan")},
    "half a surrogate": lambda row, i: row | {"name": f"\ud800{i}"},
    "lists everywhere": lambda row, i: {key: [] for key in row},
    "one unknown field": lambda row, i: row | {"color": 1},
    "an unknown field of its own": lambda row, i: row | {f"color{i}": 1},
    "one unknown resource": lambda row, i: row | {"resources": {"gpu": 1}},
    "an unknown resource of its own": lambda row, i: row | {"resources": {f"gpu{i}": 1}},
    "no name": lambda row, i: {key: cell for key, cell in row.items() if key != "name"},
    "a list for a name": lambda row, i: row | {"name": [1]},
    "the same name": lambda row, i: row | {"name": "same"},
    "no such operation": lambda row, i: row | {"operation": f"nobody-{i}"},
    "no such node": lambda row, i: row | {"node": f"nobody-{i}"},
    "numbers for rows": lambda row, i: i,
    "nulls for rows": lambda row, i: None,
    "texts for rows": lambda row, i: "allocation",
    "lists for rows": lambda row, i: [i],
}

#: Shapes whose text JSON's own writer would not make: every object names a key twice.
TWICE = "a key twice in each row"
SHAPES = (*SPOILS, TWICE)
RIGHT = ("right", "settings")

#: What stands before a table, so that rows of few bytes refer to something.
_BEFORE = {
    "allocations": '"operations":[{"name":"o"}],',
    "requests": '"operations":[{"name":"o"}],',
    "reservations": '"nodes":[{"name":"n"}],',
}

#: Rows of few bytes, of which a file has the most, and rows in which one thing is long: the table and
#: the text of row i.
TINY: dict[str, tuple[str, Callable[[int], str]]] = {
    "empty rows": ("allocations", lambda i: "{}"),
    "names alone": ("operations", lambda i: f'{{"name":"{i}"}}'),
    "names that are no ASCII": ("operations", lambda i: f'{{"name":"\u00e9{i}"}}'),
    "names with escapes": ("operations", lambda i: f'{{"name":"\\u00e9{i}"}}'),
    "long names": ("operations", lambda i: f'{{"name":"{"n" * 200}{i}"}}'),
    "names in disorder": ("operations", lambda i: f'{{"name":"{i * 7919 % 9_999_991}"}}'),
    "integers for names": ("operations", lambda i: f'{{"name":{i}}}'),
    "users alone": ("operations", lambda i: f'{{"name":{i},"user":"u{i}","pool":null}}'),
    "a user of its own": ("operations", lambda i: f'{{"name":{i},"user":"{i}"}}'),
    "long users": ("operations", lambda i: f'{{"name":{i},"user":"{"u" * 200}{i}"}}'),
    "users that are no ASCII": ("operations", lambda i: f'{{"name":{i},"user":"\u00fc{i}"}}'),
    "integers for parents": ("pools", lambda i: f'{{"name":{i},"parent":{i // 2 or "null"}}}'),
    "right allocations": ("allocations", lambda i: f'{{"name":{i},"operation":"o"}}'),
    "no name, an operation": ("allocations", lambda i: '{"operation":"o"}'),
    "labels": ("allocations", lambda i: f'{{"name":{i},"operation":"o","beneficiary":"{i}"}}'),
    "labels inside": (
        "allocations",
        lambda i: f'{{"name":{i},"operation":"o","beneficiary":{{"request":{i},"operation":"o"}}}}',
    ),
    "amounts": ("allocations", lambda i: f'{{"name":{i},"operation":"o","resources":{{"cpu":1}}}}'),
    "limits": ("pools", lambda i: f'{{"name":{i},"limits":{{"cpu":{i}}}}}'),
    "flags": ("requests", lambda i: f'{{"name":{i},"operation":"o","gang":true}}'),
    "words": ("operations", lambda i: f'{{"name":{i},"kind":"batch"}}'),
    "durations": ("requests", lambda i: f'{{"name":{i},"operation":"o","duration":"5m"}}'),
    "reservations": ("reservations", lambda i: f'{{"name":{i},"node":"n","from":1}}'),
    "huge integers": ("operations", lambda i: f'{{"name":{i},"weight":1{"0" * 300}}}'),
    "integers beyond 64 bits": ("operations", lambda i: f'{{"name":{i},"weight":1{"0" * 20}}}'),
    "floats of many digits": ("operations", lambda i: f'{{"name":{i},"weight":0.{"12345" * 20}{i}}}'),
    "floats": ("operations", lambda i: f'{{"name":{i},"weight":{i}.25,"priority":1e3}}'),
    "one unknown key": ("allocations", lambda i: '{"a":1}'),
    "an unknown key of its own": ("allocations", lambda i: f'{{"{i}":1}}'),
    "one of many unknown keys": ("pools", lambda i: f'{{"name":{i},"k{i % 900}":1}}'),
    "empty amounts": ("allocations", lambda i: '{"resources":{}}'),
    "empty settings": ("pools", lambda i: f'{{"name":{i},"settings":{{}}}}'),
    "settings with a float": ("pools", lambda i: f'{{"name":{i},"settings":{{"a":1.0}}}}'),
    "settings deep": ("pools", lambda i: f'{{"name":{i},"settings":{{"a":[[[[]]]]}}}}'),
    "settings at the limit": ("pools", lambda i: f'{{"name":{i},"settings":{{"a":{"[" * 31}{"]" * 31}}}}}'),
    "settings too deep": ("pools", lambda i: f'{{"name":{i},"settings":{{"a":{"[" * 200}{"]" * 200}}}}}'),
    "empty integrals": ("pools", lambda i: f'{{"name":{i},"integral":{{}}}}'),
    "integrals": ("pools", lambda i: f'{{"name":{i},"integral":{{"type":"burst","burst":{{"cpu":1}}}}}}'),
    "tags": ("nodes", lambda i: f'{{"name":{i},"tags":["a","b"]}}'),
    "tags of its own": ("nodes", lambda i: f'{{"name":{i},"tags":["a{i}","b{i}"]}}'),
    "empty tags": ("nodes", lambda i: f'{{"name":{i},"tags":[]}}'),
    "bare beneficiaries": ("allocations", lambda i: f'{{"name":{i},"beneficiary":"r"}}'),
    "a list in each cell": ("nodes", lambda i: '{"name":[],"physical":[]}'),
    "empty commands": ("commands", lambda i: "{}"),
    "right commands": ("commands", lambda i: '{"consumer":"o"}'),
    "whole commands": (
        "commands",
        lambda i: f'{{"consumer":"{i}","providers":["a",{i}],"action":"x","force":true,"user":"u"}}',
    ),
    "labels of rows": ("operations", lambda i: f'{{"name":{i},"labels":{{"a":{i}}}}}'),
    "labels of rows that are null": ("operations", lambda i: f'{{"name":{i},"labels":{{"a":null}}}}'),
    "labels of rows that are wrong": ("operations", lambda i: f'{{"name":{i},"labels":{{"a":true}}}}'),
    "a key twice": ("allocations", lambda i: '{"a":1,"a":1}'),
    "constants": ("allocations", lambda i: "NaN"),
    "nulls": ("allocations", lambda i: "null"),
}

#: Texts in which one value has all that there is: what stands before it, its parts, and what follows.
SINGLE: dict[str, tuple[str, Callable[[int], str], str]] = {
    "tags of one node": ('"nodes":[{"name":1,"tags":[', lambda i: f'"t{i}"', "]}]"),
    "the same tag of one node": ('"nodes":[{"name":1,"tags":[', lambda i: '"t"', "]}]"),
    "settings of one pool": ('"pools":[{"name":1,"settings":{', lambda i: f'"{i}":{i}', "}}]"),
    "keys twice in one pool's settings": (
        '"pools":[{"name":1,"settings":{',
        lambda i: f'"{i // 2}":1',
        "}}]",
    ),
    "a list in one pool's settings": ('"pools":[{"name":1,"settings":{"a":[', lambda i: "1", "]}}]"),
    "amounts of one pool": ('"pools":[{"name":1,"limits":{', lambda i: f'"{i}":{i}', "}}]"),
    "unknown keys of one pool": ('"pools":[{"name":1,', lambda i: f'"{i}":{i}', "}]"),
    "unknown tables": ("", lambda i: f'"{i}":{i}', ""),
    "providers of one command": ('"commands":[{"consumer":1,"providers":[', lambda i: f'"{i}"', "]}]"),
    "a list for a table": ('"pools":[[', lambda i: "1", "]]"),
    "an object for a table": ('"pools":{', lambda i: f'"{i}":{i}', "}"),
    "the root": ('"root":{"settings":{', lambda i: f'"{i}":{i}', "}}"),
    "amounts of the root": ('"root":{"limits":{', lambda i: f'"{i}":{i}', "}}"),
    "unknown keys of the root": ('"root":{', lambda i: f'"{i}":{i}', "}"),
    "the total": ('"total":{', lambda i: f'"{i}":{i}', "}"),
    "resources": ('"resources":{', lambda i: f'"{i}":{{}}', "}"),
    "unknown keys of one resource": ('"resources":{"cpu":{', lambda i: f'"{i}":{i}', "}}"),
    "labels of one pool": ('"pools":[{"name":1,"labels":{', lambda i: f'"{i}":{i}', "}}]"),
    "one name": ('"pools":[{"name":"', lambda i: "name", '"}]'),
    "one name that is no ASCII": ('"pools":[{"name":"', lambda i: "\u00e9", '"}]'),
    "one name with escapes": ('"pools":[{"name":"', lambda i: "\\u00e9", '"}]'),
    "one user": ('"operations":[{"name":1,"user":"', lambda i: "user", '"}]'),
    "one tag": ('"nodes":[{"name":1,"tags":["', lambda i: "tag", '"]}]'),
    "one setting": ('"pools":[{"name":1,"settings":{"a":"', lambda i: "a", '"}}]'),
    "one key that is unknown": ('"pools":[{"name":1,"', lambda i: "key", '":1}]'),
    "one unknown reference": ('"pools":[{"name":1,"parent":"', lambda i: "pool", '"}]'),
    "one wrong word": ('"operations":[{"name":1,"kind":"', lambda i: "kind", '"}]'),
    "what is deep beside names": (
        f'"a":{"[" * 100}{"]" * 100},"operations":[',
        lambda i: f'{{"name":"{i}"}}',
        "]",
    ),
}


def tiny_text_of(shape: str, size: int) -> str:
    """Return the JSON text of a table of tiny rows, or with one large value, of about so many bytes."""
    if shape in SINGLE:
        before, part, after = SINGLE[shape]
    else:
        table, part = TINY[shape]
        before, after = f'{_BEFORE.get(table, "")}"{table}":[', "]"
    count = size // (len(part(10_000)) + 1)
    resources = "" if before.startswith('"resources"') else '"resources":{"cpu":{}},'
    return f"{{{resources}{before}{','.join(map(part, range(count)))}{after}}}"


def text_of(shape: str, size: int) -> str:
    """Return the JSON text of a shape, of about so many bytes."""
    head = {
        "now": 1e6,
        "resources": {"cpu": {}, "memory": {}},
        "nodes": [
            {"name": f"node-{i:04}", "capacity": {"cpu": 10**6, "memory": 10**7}} for i in range(_NODES)
        ],
        "operations": [{"name": f"op-{i:06}"} for i in range(50)],
    }
    start = json.dumps(head)[:-1] + ', "allocations": ['
    return f"{start}{', '.join(_rows(shape, size - len(start)))}]}}"


def _rows(shape: str, size: int) -> Iterator[str]:
    i = 0
    while size > 0:
        if shape == TWICE:
            row = json.dumps(_row(i))[:-1] + ', "priority": 4}'
        else:
            row = json.dumps(SPOILS[shape](_row(i), i))
        size -= len(row) + 2
        i += 1
        yield row


def _element(i: int) -> str:
    return f'{{"name":"op-{i:06}","kind":"operation","since":{i}.25,"starvation":"starving"}}'


#: States: the table, the text of row i, and of a row at the end that is wrong.
STATES: dict[str, tuple[str, Callable[[int], str], str]] = {
    "right elements": ("elements", _element, ""),
    "right nodes": (
        "nodes",
        lambda i: f'{{"name":{i},"last_preemptive":{i}.5,"overcommitted_since":null}}',
        "",
    ),
    "right operations": ("operations", lambda i: f'{{"name":{i}}}', ""),
    "right pools": (
        "pools",
        lambda i: f'{{"name":{i},"accumulated_volume":{{"cpu":{i}.5,"gpu":{i}}},"last_share_ratio":0.5}}',
        "",
    ),
    "a text for an instant": ("elements", _element, _element(-1).replace("-1.25", '"soon"')),
    "a name of before": ("elements", _element, _element(0)),
    "a field of its own": ("nodes", lambda i: f'{{"name":{i},"k{i}":1}}', ""),
    "a field twice": ("elements", _element, '{"name":"x","name":"y"}'),
    "a number too large": ("elements", _element, _element(-1).replace("-1.25", "1e999")),
    "no number": ("elements", _element, _element(-1).replace("-1.25", "NaN")),
}


def state_text_of(shape: str, size: int) -> str:
    """Return a state of a shape as JSON, of about so many bytes."""
    table, row, last = STATES[shape]
    head = '{"schema":"evenhand/state/1","time":1e9,"' + table + '":['
    rows = [row(i) for i in range(size // (len(row(1000)) + 1))]
    return head + ",".join([*rows, *([last] if last else [])]) + "]}"
