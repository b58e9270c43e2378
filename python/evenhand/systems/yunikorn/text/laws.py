"""The laws that YuniKorn's core holds a configuration to; it takes all of a text or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from evenhand.systems.yunikorn.text.config import ROOT, Amounts, Limit, Partition, Queue, Rule
from evenhand.systems.yunikorn.text.quantities import fits_where_set, smallest, zero
from evenhand.systems.yunikorn.text.tree import Found

__all__ = ["LAWS", "check"]

#: Law to what it says; a problem's `rule` is one of these, or says that a value cannot be read.
LAWS: Final[Mapping[str, str]] = {
    "partition_unique": "Names of partitions differ, whatever their case; none is the same as default.",
    "root_resources": "The root queue has neither a maximum nor a guarantee: its maximum is the nodes'.",
    "queue_name": "A queue's name has 1 to 64 letters, digits and characters of _ : # / @ -.",
    "queue_unique": "Queues of one parent have different names, whatever their case.",
    "acl": "An access list has a list of users and, after a blank, one of groups.",
    "child_template": "Only queues that have or may get children have a child template.",
    "guaranteed_within_max": "A guarantee fits in the queue's maximum.",
    "max_within_parent": "A maximum fits in the smallest one above it.",
    "guaranteed_sum": "Guarantees of children add up to the guarantee and to the maximum at most.",
    "max_applications": "Where a queue limits its applications, so do its children, at most as high.",
    "limit_subjects": "A limit names users or groups.",
    "limit_name": "Users and groups of limits have names of operating systems, or are *.",
    "limit_unique": "A user or a group stands in one limit of a queue.",
    "limit_wildcard_last": "Nobody is named after *.",
    "limit_wildcard_group": "Where the group * has a limit, so has some group by its name.",
    "limit_empty": "A limit has a maximum of applications or of resources.",
    "limit_resources": "The maximum of a limit is not zero in all resources.",
    "limit_within_queue": "A limit fits in the maxima of its queue.",
    "limit_within_parent": "A limit fits in the one that the same user or group has above.",
    "node_sort_policy": "Nodes are sorted fair or binpacking, by weights that are not negative.",
    "placement_rule": "A placement rule's name is an identifier, and its filter allows or denies.",
    "placement_filter": "The only user or group of a placement filter is a name or a regular expression.",
}

_NAME = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")
_USER = re.compile(r"[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?")
_GROUP = re.compile(r"[_a-zA-Z][a-zA-Z0-9:_.-]*")
_RULE = re.compile(r"[_a-zA-Z][a-zA-Z0-9_]*")
_SPECIAL = re.compile(r"[\^$*+?()\[{}|]")  # what tells a regular expression from a name
_ALL = "*"

#: Of a user or a group: what it may have of resources, and of applications (0: any number).
_Above = Mapping[tuple[str, str], tuple[Amounts, int]]


def check(partitions: Iterable[Partition], found: Found) -> None:
    """Find what breaks a law."""
    seen: set[str] = set()
    for partition in partitions:
        if partition.name.lower() in seen:
            message = f"the partition {partition.name} appears twice"
            found.add(partition.line, None, None, "partition_unique", partition.name, message)
        seen.add(partition.name.lower())
        root = partition.root
        for name, amounts in (("resources.guaranteed", root.guaranteed), ("resources.max", root.max)):
            if amounts is not None:
                message = "must not be given; what the root has are the nodes"
                found.add(root.line, ROOT, name, "root_resources", None, message)
        for queue in root.tree():
            _own(queue, found)
            _limits(queue.limits, queue, queue.path, found)
        _limits(partition.limits, root, f"partition {partition.name}", found)
        _resources(root, {}, found)
        _applications(root, found)
        _limits_above(root, {}, found)
        if partition.node_sort not in ("", "fair", "binpacking"):
            message = f"is {partition.node_sort}; it must be fair or binpacking"
            found.add(
                partition.line, None, "nodesortpolicy.type", "node_sort_policy", partition.node_sort, message
            )
        for resource, weight in partition.weights.items():
            if not weight >= 0:
                where = f"nodesortpolicy.resourceweights.{resource}"
                message = f"is {weight:g}; it must not be negative"
                found.add(partition.line, None, where, "node_sort_policy", weight, message)
        for rule in partition.rules:
            _rule(rule, found)


def _own(queue: Queue, found: Found) -> None:
    """Check what stands in a queue by itself, and the names of its children."""
    for name, acl in (("adminacl", queue.adminacl), ("submitacl", queue.submitacl)):
        if len(acl.split()) > 2:
            message = "has several blanks; it must be users, a blank, groups, or *"
            found.add(queue.line, queue.path, name, "acl", acl, message)
    if queue.template is not None and not (queue.parent or queue.queues or queue.path == ROOT):
        message = "must not be given; the queue has no children and is no parent"
        found.add(queue.template.line, queue.path, "childtemplate", "child_template", None, message)
    seen: set[str] = set()
    for child in queue.queues:
        if not _NAME.fullmatch(child.name):
            message = f"is {child.name or 'missing'}; it must have 1 to 64 letters, digits or _ : # / @ -"
            found.add(child.line, child.path, "name", "queue_name", child.name, message)
        elif child.name.lower() in seen:
            message = f"is {child.name}, as that of another queue of {queue.path}"
            found.add(child.line, child.path, "name", "queue_unique", child.name, message)
        seen.add(child.name.lower())


def _resources(queue: Queue, above: Amounts, found: Found) -> Amounts:
    """Check maxima and guarantees, and return the guarantee that counts above."""
    guaranteed, most = queue.guaranteed or {}, queue.max or {}
    for resource in fits_where_set(most, guaranteed):
        message = f"is {guaranteed[resource]}; its maximum is {most[resource]}"
        _beyond(queue, "guaranteed", resource, "guaranteed_within_max", guaranteed, message, found)
    for resource in fits_where_set(above, most):
        message = f"is {most[resource]}; above it {above[resource]} is the most"
        _beyond(queue, "max", resource, "max_within_parent", most, message, found)
    effective = smallest(most, above)
    total: dict[str, int] = {}
    for child in queue.queues:
        for resource, amount in _resources(child, effective, found).items():
            total[resource] = total.get(resource, 0) + amount
    for what, bound in (("guarantee", guaranteed), ("maximum", effective)):
        for resource in fits_where_set(bound, total):
            message = f"adds up to {total[resource]} over its children; its {what} is {bound[resource]}"
            _beyond(queue, "guaranteed", resource, "guaranteed_sum", total, message, found)
    return total if zero(guaranteed) else guaranteed


def _beyond(
    queue: Queue, name: str, resource: str, law: str, amounts: Amounts, message: str, found: Found
) -> None:
    found.add(queue.line, queue.path, f"resources.{name}.{resource}", law, amounts[resource], message)


def _applications(queue: Queue, found: Found) -> None:
    for child in queue.queues:
        own = child.maxapplications
        if queue.maxapplications and not 0 < own <= queue.maxapplications:
            message = f"is {own or 'not set'}; {queue.path} has {queue.maxapplications}"
            found.add(child.line, child.path, "maxapplications", "max_applications", own, message)
        _applications(child, found)


def _limits(limits: tuple[Limit, ...], queue: Queue, where: str, found: Found) -> None:
    """Check the limits of a queue, or of a partition, which are held against its root."""
    seen: dict[str, set[str]] = {"users": set(), "groups": set()}
    for place, limit in enumerate(limits):
        name = f"limits[{place}]"

        def wrong(law: str, field: str, message: str, limit: Limit = limit, name: str = name) -> None:
            found.add(limit.line, where, f"{name}{field}", law, None, message)

        if not limit.users and not limit.groups:
            wrong("limit_subjects", "", "names no users and no groups; it must name some")
        for kind, names, pattern in (("users", limit.users, _USER), ("groups", limit.groups, _GROUP)):
            for who in names:
                if who != _ALL and not pattern.fullmatch(who):
                    wrong("limit_name", f".{kind}", f"has {who!r}, which is no name")
                if who in seen[kind]:
                    wrong("limit_unique", f".{kind}", f"has {who}, which has a limit here already")
                elif _ALL in seen[kind]:
                    wrong("limit_wildcard_last", f".{kind}", f"has {who} after *, which must be the last")
                seen[kind].add(who)
        if seen["groups"] == {_ALL}:
            wrong("limit_wildcard_group", ".groups", "has * where no group is named before it")
        if limit.maxresources and zero(limit.maxresources):
            wrong("limit_resources", ".maxresources", "is zero in all resources")
        elif not limit.maxresources and not limit.maxapplications:
            wrong("limit_empty", "", "has neither maxapplications nor maxresources")
        if 0 < queue.maxapplications < limit.maxapplications:
            message = f"is {limit.maxapplications}; its queue has {queue.maxapplications}"
            wrong("limit_within_queue", ".maxapplications", message)
        for resource in fits_where_set(queue.max or {}, limit.maxresources):
            amount, most = limit.maxresources[resource], (queue.max or {})[resource]
            wrong("limit_within_queue", f".maxresources.{resource}", f"is {amount}; its queue has {most}")


def _limits_above(queue: Queue, above: _Above, found: Found) -> None:
    """Check limits against those above; a queue with limits hands down its own alone."""
    here = {} if queue.limits else dict(above)
    for place, limit in enumerate(queue.limits):
        for who in [("users", u) for u in limit.users] + [("groups", g) for g in limit.groups]:
            most, count = above.get(who, ({}, 0))
            own = limit.maxapplications
            for resource in fits_where_set(most, limit.maxresources):
                where = f"limits[{place}].maxresources.{resource}"
                message = f"is {limit.maxresources[resource]}; {who[1]} has {most[resource]} above"
                found.add(limit.line, queue.path, where, "limit_within_parent", None, message)
            if count and not 0 < own <= count:
                where = f"limits[{place}].maxapplications"
                message = f"is {own or 'not set'}; {who[1]} has {count} above"
                found.add(limit.line, queue.path, where, "limit_within_parent", None, message)
            here[who] = (smallest(limit.maxresources, most), own or count)
    for child in queue.queues:
        _limits_above(child, here, found)


def _rule(rule: Rule, found: Found) -> None:
    if not _RULE.fullmatch(rule.name):
        message = f"of a placement rule is {rule.name or 'missing'}; it must be an identifier"
        found.add(rule.line, None, "name", "placement_rule", rule.name, message)
    if rule.filter_type.lower() not in ("", "allow", "deny"):
        message = f"of a placement rule is {rule.filter_type}; it must be allow or deny"
        found.add(rule.line, None, "filter.type", "placement_rule", rule.filter_type, message)
    for kind, names, pattern in (("users", rule.users, _USER), ("groups", rule.groups, _GROUP)):
        # Of several, those that are no names are ignored; the only one must be good.
        if len(names) == 1 and not pattern.fullmatch(names[0]) and not _expression(names[0]):
            message = (
                f"of a placement rule is {names[0] or 'empty'}; it must be a name or a regular expression"
            )
            found.add(rule.line, None, f"filter.{kind}", "placement_filter", names[0], message)
    if rule.parent is not None:
        _rule(rule.parent, found)


def _expression(said: str) -> bool:
    try:
        re.compile(said)
    except (re.error, RecursionError, OverflowError):
        return False
    return _SPECIAL.search(said) is not None
