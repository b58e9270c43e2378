"""The configuration within what Kubernetes keeps it in: ConfigMaps, alone or among other manifests."""

from __future__ import annotations

import base64
import binascii
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from evenhand.systems.yunikorn.text.tree import Found, Listed, Mapped, Text, Tree, parse_all

__all__ = ["Configured", "configuration"]

_KIND: Final = "ConfigMap"
#: YuniKorn reads both; what the second one has takes the place of what the first one has.
_NAMES: Final = ("yunikorn-defaults", "yunikorn-configs")
_GROUP: Final = "service.policyGroup"
_MOST: Final = 1 << 26  # bytes that a compressed value may have; etcd holds a megabyte of it


@dataclass(frozen=True, slots=True)
class Configured:
    """The tree of a configuration, and what stood beside it and is not read."""

    tree: Tree
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Map:
    """A ConfigMap: its texts by key, those that are compressed without their ``.gz``."""

    line: int
    name: str
    texts: Mapping[str, Text]

    def said(self, key: str) -> str:
        return (self.texts[key].said or "") if key in self.texts else ""


def configuration(source: str | os.PathLike[str], found: Found) -> Configured:
    """Return the configuration of a text: as it is, or in ConfigMaps of one or several documents."""
    documents = parse_all(source, found)
    objects = [one for document in documents for one in _objects(document)]
    if not any(_word(one, "kind") for one in objects):
        if len(documents) > 1:
            message = "here begins a second document, and none of them is a ConfigMap"
            _refuse(documents[1].line, "yaml", message)
        return Configured(documents[0])
    maps = [_map(one) for one in objects if _word(one, "kind") == _KIND]
    maps.sort(key=lambda one: one.name == _NAMES[1])
    group = next((one.said(_GROUP) for one in reversed(maps) if one.said(_GROUP)), "queues")
    key = f"{group}.yaml"
    having = [one for one in maps if key in one.texts]
    if not having:
        there = ", ".join(sorted({name for one in maps for name in one.texts})) or "none"
        said = f"no {_KIND} has the key {key}; keys are: {there}" if maps else f"there is no {_KIND}"
        _refuse(documents[0].line, "required", said)
    if len(having) > 1 and {one.name for one in having} != set(_NAMES):
        names = ", ".join(one.name or f"that of line {one.line}" for one in having)
        _refuse(having[1].line, "unique", f"several ConfigMaps have {key}: {names}; give one of them")
    text = having[-1].texts[key]
    inner = parse_all(text.said or "", found, text.line if text.block else 0)
    if len(inner) > 1:
        _refuse(inner[1].line, "yaml", f"here begins a second document of {key}")
    others = [_kind(one) for one in objects if _word(one, "kind") != _KIND]
    keys = [name for one in maps for name in one.texts if name not in (key, _GROUP)]
    unused = [f"{key} of {one.name}" for one in having[:-1]]
    return Configured(inner[0], tuple(dict.fromkeys([*others, *keys, *unused])))


def _refuse(line: int, rule: str, message: str) -> None:
    wrong = Found()
    wrong.add(line, None, None, rule, None, message)
    wrong.complain()


def _objects(tree: Tree) -> Iterator[Tree]:
    """Yield a manifest, or those of a list such as ``kubectl get -o yaml`` makes."""
    items = tree.parts.get("items") if isinstance(tree, Mapped) else None
    if items is not None and _word(tree, "kind").endswith("List") and isinstance(items[1], Listed):
        yield from items[1].parts
    else:
        yield tree


def _word(tree: Tree, key: str) -> str:
    part = tree.parts.get(key) if isinstance(tree, Mapped) else None
    return (part[1].said or "") if part is not None and isinstance(part[1], Text) else ""


def _within(tree: Tree, key: str) -> Mapping[str, tuple[int, Tree]]:
    part = tree.parts.get(key) if isinstance(tree, Mapped) else None
    return part[1].parts if part is not None and isinstance(part[1], Mapped) else {}


def _kind(tree: Tree) -> str:
    return _word(tree, "kind") or f"the document of line {tree.line}"


def _map(tree: Tree) -> _Map:
    texts = {key: value for key, (_, value) in _within(tree, "data").items() if isinstance(value, Text)}
    for key, (line, value) in _within(tree, "binaryData").items():
        name = key.removesuffix(".gz")
        if name != key and isinstance(value, Text):
            texts[name] = Text(line, _unpacked(value.said or "", line, key), plain=False)
    name = next(
        (
            (v.said or "")
            for k, (_, v) in _within(tree, "metadata").items()
            if k == "name" and isinstance(v, Text)
        ),
        "",
    )
    return _Map(tree.line, name, texts)


def _unpacked(said: str, line: int, key: str) -> str:
    """Return the text of a value that is compressed and in base 64."""
    try:
        reader = zlib.decompressobj(wbits=31)
        data = reader.decompress(base64.b64decode(said), _MOST)
        if not reader.eof:
            _refuse(line, "damaged", f"{key} is cut short, or larger than {_MOST >> 20} MiB")
        return data.decode()
    except (binascii.Error, zlib.error, UnicodeDecodeError) as error:
        _refuse(line, "damaged", f"{key} cannot be unpacked: {error}")
        raise
