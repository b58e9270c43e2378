"""The configuration of YuniKorn's queues, as it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.building.problems import nearest
from evenhand.systems.yunikorn.text.quantities import quantity
from evenhand.systems.yunikorn.text.tree import Found, Listed, Mapped, Text, Tree

__all__ = ["Amounts", "Limit", "Partition", "Queue", "Rule", "Template", "read_partitions"]

#: Amounts in YuniKorn's own units, by resource.
Amounts = Mapping[str, int]

ROOT = "root"

_TRUE = frozenset(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"))
_FALSE = frozenset(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"))


@dataclass(frozen=True, slots=True)
class Limit:
    """What users and groups may have in a queue."""

    line: int
    limit: str = ""
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    maxresources: Amounts = field(default_factory=dict)
    maxapplications: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """What queues get that are made below a queue as they are needed."""

    line: int
    maxapplications: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    guaranteed: Amounts = field(default_factory=dict)
    max: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue and those below it; its path is in lower case, as YuniKorn has it."""

    line: int
    name: str
    path: str
    parent: bool = False
    guaranteed: Amounts | None = None
    max: Amounts | None = None
    maxapplications: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    adminacl: str = ""
    submitacl: str = ""
    template: Template | None = None
    queues: tuple[Queue, ...] = ()
    limits: tuple[Limit, ...] = ()

    def tree(self) -> Iterator[Queue]:
        """Yield the queue and all below it, depth first."""
        yield self
        for queue in self.queues:
            yield from queue.tree()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by which applications are put into queues."""

    line: int
    name: str = ""
    filter_type: str = ""
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    parent: Rule | None = None


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition with its root queue."""

    line: int
    name: str
    root: Queue
    limits: tuple[Limit, ...] = ()
    rules: tuple[Rule, ...] = ()
    preemption: bool = True
    quota_preemption: bool = False
    node_sort: str = ""
    weights: Mapping[str, float] = field(default_factory=dict)
    passed_over: tuple[str, ...] = ()


class _Reader:
    """Reads parts of the tree; what is wrong is found, and read as if it were not there."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.queue: str | None = None

    def wrong(self, tree: Tree, name: str, kind: str) -> None:
        value = tree.said if isinstance(tree, Text) else None
        shown = "empty" if isinstance(tree, Text) and value is None else value
        shown = shown or ("a list" if isinstance(tree, Listed) else "a mapping")
        self.found.add(tree.line, self.queue, name, "type", value, f"is {shown}; it must be {kind}")

    def fields(self, tree: Tree, name: str, known: tuple[str, ...]) -> dict[str, Tree]:
        """Return the parts of a mapping that are not empty; unknown ones are found."""
        if isinstance(tree, Text) and tree.said is None:
            return {}
        if not isinstance(tree, Mapped):
            self.wrong(tree, name, "a mapping")
            return {}
        found = {}
        for key, (line, part) in tree.parts.items():
            if key not in known:
                where = f"{name}.{key}" if name else key
                message = f"is unknown{nearest(key, known)}"
                self.found.add(line, self.queue, where, "unknown_field", None, message)
            elif not (isinstance(part, Text) and part.said is None):
                found[key] = part
        return found

    def listed(self, tree: Tree | None, name: str) -> tuple[Tree, ...]:
        if tree is None:
            return ()
        if not isinstance(tree, Listed):
            self.wrong(tree, name, "a list")
            return ()
        return tree.parts

    def text(self, tree: Tree | None, name: str) -> str:
        if tree is None:
            return ""
        if not isinstance(tree, Text):
            self.wrong(tree, name, "text")
            return ""
        return tree.said or ""

    def texts(self, tree: Tree | None, name: str) -> tuple[str, ...]:
        return tuple(self.text(part, name) for part in self.listed(tree, name))

    def flag(self, tree: Tree | None, name: str, *, absent: bool) -> bool:
        if tree is None:
            return absent
        if isinstance(tree, Text) and tree.plain and tree.said in _TRUE | _FALSE:
            return tree.said in _TRUE
        self.wrong(tree, name, "true or false")
        return absent

    def whole(self, tree: Tree | None, name: str) -> int:
        if tree is None:
            return 0
        if isinstance(tree, Text) and tree.plain and (tree.said or "").isdecimal():
            return int(tree.said or 0)
        self.wrong(tree, name, "a whole number")
        return 0

    def mapped(self, tree: Tree | None, name: str, read: Callable[[Text, str], Any]) -> dict[str, Any]:
        """Read a mapping of free names to scalars."""
        if tree is None:
            return {}
        if not isinstance(tree, Mapped):
            self.wrong(tree, name, "a mapping")
            return {}
        found = {}
        for key, (_, part) in tree.parts.items():
            if isinstance(part, Text):
                found[key] = read(part, f"{name}.{key}")
            else:
                self.wrong(part, f"{name}.{key}", "text")
        return {key: value for key, value in found.items() if value is not None}

    def amounts(self, tree: Tree | None, name: str) -> dict[str, int]:
        def read(text: Text, where: str) -> int | None:
            try:
                return quantity(where.removeprefix(f"{name}."), text.said or "")
            except ValueError as error:
                message = f"is {text.said or 'empty'}; {error}"
                self.found.add(text.line, self.queue, where, "quantity", text.said, message)
                return None

        return self.mapped(tree, name, read)

    def numbers(self, tree: Tree | None, name: str) -> dict[str, float]:
        def read(text: Text, where: str) -> float | None:
            try:
                return float(text.said or "")
            except ValueError:
                self.wrong(text, where, "a number")
                return None

        return self.mapped(tree, name, read)

    def properties(self, tree: Tree | None, name: str) -> dict[str, str]:
        return self.mapped(tree, name, lambda text, _: text.said or "")

    def limits(self, tree: Tree | None) -> tuple[Limit, ...]:
        known = ("limit", "users", "groups", "maxresources", "maxapplications")
        found = []
        for place, part in enumerate(self.listed(tree, "limits")):
            name = f"limits[{place}]"
            parts = self.fields(part, name, known)
            found.append(
                Limit(
                    part.line,
                    self.text(parts.get("limit"), f"{name}.limit"),
                    self.texts(parts.get("users"), f"{name}.users"),
                    self.texts(parts.get("groups"), f"{name}.groups"),
                    self.amounts(parts.get("maxresources"), f"{name}.maxresources"),
                    self.whole(parts.get("maxapplications"), f"{name}.maxapplications"),
                )
            )
        return tuple(found)

    def resources(self, tree: Tree | None, name: str) -> tuple[Amounts | None, Amounts | None]:
        parts = {} if tree is None else self.fields(tree, name, ("guaranteed", "max"))
        guaranteed, most = (
            self.amounts(parts[key], f"{name}.{key}") if key in parts else None
            for key in ("guaranteed", "max")
        )
        return guaranteed, most

    def template(self, tree: Tree | None) -> Template | None:
        if tree is None:
            return None
        name = "childtemplate"
        parts = self.fields(tree, name, ("maxapplications", "properties", "resources"))
        guaranteed, most = self.resources(parts.get("resources"), f"{name}.resources")
        return Template(
            tree.line,
            self.whole(parts.get("maxapplications"), f"{name}.maxapplications"),
            self.properties(parts.get("properties"), f"{name}.properties"),
            guaranteed or {},
            most or {},
        )

    def queues(self, tree: Tree | None, above: str | None) -> tuple[Queue, ...]:
        return tuple(self.one_queue(part, above) for part in self.listed(tree, "queues"))

    def one_queue(self, tree: Tree, above: str | None) -> Queue:
        known = (
            *("name", "parent", "resources", "maxapplications", "properties", "adminacl", "submitacl"),
            *("childtemplate", "queues", "limits"),
        )
        outer, self.queue = self.queue, above or None
        named = tree.parts.get("name") if isinstance(tree, Mapped) else None
        name = self.text(named[1], "name") if named else ""
        path = ".".join(filter(None, (above, name.lower())))
        self.queue = path or None
        parts = self.fields(tree, "", known)
        guaranteed, most = self.resources(parts.get("resources"), "resources")
        found = Queue(
            tree.line,
            name,
            path,
            self.flag(parts.get("parent"), "parent", absent=False),
            guaranteed,
            most,
            self.whole(parts.get("maxapplications"), "maxapplications"),
            self.properties(parts.get("properties"), "properties"),
            self.text(parts.get("adminacl"), "adminacl"),
            self.text(parts.get("submitacl"), "submitacl"),
            self.template(parts.get("childtemplate")),
            self.queues(parts.get("queues"), path),
            self.limits(parts.get("limits")),
        )
        self.queue = outer
        return found

    def rule(self, tree: Tree, name: str) -> Rule:
        parts = self.fields(tree, name, ("name", "create", "filter", "parent", "value"))
        self.flag(parts.get("create"), f"{name}.create", absent=False)
        self.text(parts.get("value"), f"{name}.value")
        kept: dict[str, Tree] = {}
        if "filter" in parts:
            kept = self.fields(parts["filter"], f"{name}.filter", ("type", "users", "groups"))
        return Rule(
            tree.line,
            self.text(parts.get("name"), f"{name}.name"),
            self.text(kept.get("type"), f"{name}.filter.type"),
            self.texts(kept.get("users"), f"{name}.filter.users"),
            self.texts(kept.get("groups"), f"{name}.filter.groups"),
            self.rule(parts["parent"], f"{name}.parent") if "parent" in parts else None,
        )

    def partition(self, tree: Tree) -> Partition:
        known = (
            *("name", "queues", "placementrules", "limits", "preemption", "nodesortpolicy"),
            *("usergroupresolver", "statedumpfilepath"),
        )
        parts = self.fields(tree, "", known)
        name = self.text(parts.get("name"), "name")
        name = "default" if name.lower() in ("", "default") else name
        if "queues" not in parts:
            message = f"of the partition {name} are missing; it must have some"
            self.found.add(tree.line, None, "queues", "required", None, message)
        preemption: dict[str, Tree] = {}
        if "preemption" in parts:
            preemption = self.fields(parts["preemption"], "preemption", ("enabled", "quotapreemptionenabled"))
        sort: dict[str, Tree] = {}
        if "nodesortpolicy" in parts:
            sort = self.fields(parts["nodesortpolicy"], "nodesortpolicy", ("type", "resourceweights"))
        if "usergroupresolver" in parts:
            kept = self.fields(parts["usergroupresolver"], "usergroupresolver", ("type",))
            self.text(kept.get("type"), "usergroupresolver.type")
        self.text(parts.get("statedumpfilepath"), "statedumpfilepath")
        rules = self.listed(parts.get("placementrules"), "placementrules")
        return Partition(
            tree.line,
            name,
            self._root(parts.get("queues"), tree.line),
            self.limits(parts.get("limits")),
            tuple(self.rule(part, f"placementrules[{i}]") for i, part in enumerate(rules)),
            self.flag(preemption.get("enabled"), "preemption.enabled", absent=True),
            self.flag(
                preemption.get("quotapreemptionenabled"), "preemption.quotapreemptionenabled", absent=False
            ),
            self.text(sort.get("type"), "nodesortpolicy.type"),
            self.numbers(sort.get("resourceweights"), "nodesortpolicy.resourceweights"),
            tuple(
                key for key in ("nodesortpolicy", "usergroupresolver", "statedumpfilepath") if key in parts
            ),
        )

    def _root(self, tree: Tree | None, line: int) -> Queue:
        """Return the root queue; where it is missing, it is put above those that are there."""
        tops = self.listed(tree, "queues")
        named = [t.parts.get("name") for t in tops if isinstance(t, Mapped)]
        only = named[0] if len(tops) == 1 and named else None
        if only is not None and isinstance(only[1], Text) and (only[1].said or "").lower() == ROOT:
            return self.one_queue(tops[0], None)
        return Queue(line, ROOT, ROOT, parent=True, queues=tuple(self.one_queue(t, ROOT) for t in tops))


def read_partitions(tree: Tree, found: Found) -> list[Partition]:
    """Return the partitions of a configuration."""
    reader = _Reader(found)
    parts = reader.fields(tree, "", ("partitions", "checksum"))
    reader.text(parts.get("checksum"), "checksum")
    partitions = [reader.partition(part) for part in reader.listed(parts.get("partitions"), "partitions")]
    if not partitions and not found.problems:
        found.add(tree.line, None, "partitions", "required", None, "are missing; there must be one at least")
    return partitions
