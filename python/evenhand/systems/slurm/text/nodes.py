"""Nodes of slurm.conf: their weights, and node sets, one name for several nodes, listed or with a feature."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evenhand.building.problems import shorten
from evenhand.systems.slurm.text.hostlist import expand_hostlist
from evenhand.systems.texts import Found

__all__ = ["NodeLines", "weights_of"]

_USUAL, _MOST = 1, 2**32 - 1  # weights: of nodes that say none; there are none above
_NODE = re.compile(r"^NodeName=(\S+)", re.MULTILINE)
_WEIGHT = re.compile(r"\sWeight=(\d+)")


def weights_of(text: str) -> dict[str, int]:
    """Return the weights of nodes that ``scontrol show node`` shows, where they are not 1."""
    found = {}
    starts = list(_NODE.finditer(text))
    for node, end in zip(starts, [*(other.start() for other in starts[1:]), len(text)], strict=True):
        weight = _WEIGHT.search(text, node.end(), end)
        if weight and int(weight[1]) != _USUAL:
            found[node[1]] = int(weight[1])
    return found


class NodeLines:
    """What lines of nodes and of node sets say."""

    def __init__(self) -> None:
        self._features: dict[str, set[str]] = {}
        self._sets: dict[str, tuple[str, str]] = {}
        self._usual: dict[str, str] = {}  # of nodes that do not say
        self.weights: dict[str, int] = {}

    def read(self, kind: str, pairs: list[tuple[str, str]], line: int, found: Found) -> None:
        """Take one line in; lines of other kinds say nothing here."""
        said = {name.lower(): value for name, value in pairs}
        if kind == "NodeSet":
            unknown = set(said) - {"nodeset", "nodes", "feature"}
            for name in sorted(unknown):
                found.add(
                    line, name, "unknown_field", None, f"{name} is unknown; there are Nodes and Feature"
                )
            if said["nodeset"] in self._sets:
                found.add(
                    line, "NodeSet", "unique", None, f"NodeSet {shorten(said['nodeset'])} is there twice"
                )
            self._sets[said["nodeset"]] = (said.get("nodes", ""), said.get("feature", ""))
        elif kind == "NodeName":
            if "features" in said:
                said.setdefault("feature", said["features"])
            if said["nodename"].upper() == "DEFAULT":
                self._usual |= said
                return
            self._node(said["nodename"], self._usual | said, line, found)

    def _node(self, nodes: str, said: Mapping[str, str], line: int, found: Found) -> None:
        features, weight = said.get("feature", ""), _weight(said, line, found)
        if said.get("state", "").upper() == "FUTURE":
            weight = _USUAL
        if not features and weight == _USUAL and not self.weights:
            return
        try:
            names = expand_hostlist(nodes)
        except ValueError as error:
            found.add(line, "NodeName", "host_list", shorten(nodes), f"NodeName: {error}")
            return
        for feature in features.split(",") if features else ():
            self._features.setdefault(feature, set()).update(names)
        for name in names:
            self.weights.pop(name, None)
            if weight != _USUAL:
                self.weights[name] = weight

    def expanded(self, nodes: str) -> str:
        """Return a host list in which names of sets are replaced by their nodes."""
        try:
            names = expand_hostlist(nodes)
            if not set(names) & set(self._sets):
                return nodes
            return ",".join(dict.fromkeys(node for name in names for node in self._of(name)))
        except ValueError:
            return nodes

    def _of(self, name: str) -> tuple[str, ...]:
        if name not in self._sets:
            return (name,)
        listed, feature = self._sets[name]
        return (*expand_hostlist(listed), *sorted(self._features.get(feature, ())))


def _weight(said: Mapping[str, str], line: int, found: Found) -> int:
    weight = said.get("weight", str(_USUAL))
    if not (weight.isascii() and weight.isdecimal() and len(weight) < 20) or int(weight) > _MOST:
        message = f"Weight is {shorten(weight)}; it must be a whole number of at most {_MOST}"
        found.add(line, "Weight", "range", shorten(weight), message)
        return _USUAL
    return int(weight)
