"""Every table and field of a snapshot, once.

The builders from dicts, JSON and frames, the JSON Schema, the way back to
dicts and frames, and the table reference of the documentation are all made
from `TABLES`; a test holds it against the columns of the C++ core.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = [
    "BESIDE",
    "HEAD",
    "RESOURCE_KINDS",
    "SCHEMA",
    "TABLES",
    "Field",
    "Kind",
    "TableSpec",
    "json_schema",
    "reference_markdown",
    "resource_kind",
    "usual_quantum",
]

#: Value of the key "schema" of a snapshot.
SCHEMA: Final = "evenhand/snapshot/1"

Kind = Literal[
    "name",  # unique in its table: text or an integer
    "reference",  # name of a row of another table (or of this one)
    "label",  # a name that need not exist
    "labels",  # a list of those
    "amounts",  # resource -> amount, in the resource's unit
    "amount",  # one of a resource, in its unit
    "shares",  # resource -> fraction
    "number",
    "integer",
    "time",  # seconds of any epoch
    "duration",
    "flag",
    "enum",
    "text",
    "texts",
    "settings",
    "annotations",  # text or a number by name
]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table.

    Attributes
    ----------
    name : str
        As in files; a field of an inner object is dotted (``integral.type``).
    kind : str
        What a cell holds; see `Kind`.
    description : str
        One sentence.
    default : object
        Value of an absent cell; None where there is none, or where `default_says` describes it.
    default_says : str
        The default in words, where it is computed.
    unit : str
        Unit of the values, empty for pure numbers.
    words : tuple of str
        The words of an enum, in the order of the core's codes.
    target : str
        The table that a reference points into.
    required : bool
        Whether every row must have it.
    """

    name: str
    kind: Kind
    description: str
    default: Any = None
    default_says: str = ""
    unit: str = ""
    words: tuple[str, ...] = ()
    target: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table: its name, what a row is, and its fields in their usual order."""

    name: str
    description: str
    fields: tuple[Field, ...]
    names: tuple[str, ...] = dataclasses.field(init=False, repr=False)
    """Dotted names of all fields."""
    heads: tuple[str, ...] = dataclasses.field(init=False, repr=False)
    """Keys that rows may have: names up to their dot."""

    def __post_init__(self) -> None:
        names = tuple(field.name for field in self.fields)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "heads", tuple(dict.fromkeys(name.partition(".")[0] for name in names)))

    def __getitem__(self, name: str) -> Field:
        for field in self.fields:
            if field.name == name:
                return field
        raise KeyError(name)


def _name(row: str) -> Field:
    return Field("name", "name", f"Name of the {row}, unique in the table.", required=True)


_SETTINGS = Field("settings", "settings", "What only one system knows, under its own names.", {})
#: Kinds of fields that stand beside the columns, by row.
BESIDE: Final = ("settings", "annotations")

_LABELS = Field("labels", "annotations", "Yours, text or numbers by name; no policy reads them.", {})
_ORDER = Field("order", "number", "Place among the rows; those without one follow, by name.")
_FOLLOWS_OPERATION = "its operation's"

_RESOURCES = TableSpec(
    "resources",
    "A kind of thing that is shared: an entry of the object `resources`, whose key is its name.",
    (
        Field(
            "unit",
            "text",
            "What its amounts are counted in: a word such as GiB or core. Texts such as 512Gi and 500m are"
            " then amounts too, and are converted into it.",
        ),
        Field(
            "quantum",
            "amount",
            "Smallest amount; all amounts are multiples of it.",
            default_says="0.001 for cpu, else 1",
            unit="the resource's unit",
        ),
        Field(
            "kind",
            "enum",
            "What it is, for rules that treat kinds differently.",
            default_says="recognised by the usual names, else other",
            words=("slots", "cpu", "memory", "license", "other"),
        ),
        Field("scope", "enum", "Where it is counted.", "node", words=("node", "cluster")),
        Field(
            "capacity",
            "amount",
            "How much the cluster has of a cluster-scoped resource.",
            default_says="0",
            unit="the resource's unit",
        ),
        Field("available_after_preemption", "flag", "Whether a suspended victim gives it back.", True),
    ),
)

_NODES = TableSpec(
    "nodes",
    "A machine, or a logical part of one.",
    (
        _name("node"),
        Field("capacity", "amounts", "What it offers.", {}),
        Field("tags", "texts", "Labels that requests can ask for.", []),
        Field("schedulable", "flag", "Whether anything new may start there.", True),
        Field("overcommitted_since", "time", "Since when more is used than it has.", unit="s"),
        Field("physical", "text", "The machine that a logical node is cut from."),
        Field("swap_free", "integer", "Free swap space.", unit="unit of the memory resource"),
        _SETTINGS,
        _LABELS,
        _ORDER,
    ),
)

_POOL_FIELDS = (
    Field("mode", "enum", "How its children share.", "fair_share", words=("fair_share", "fifo")),
    Field(
        "strong_guarantee",
        "amounts",
        "What it is owed at any time; absent resources are inferred from the main one.",
        {},
    ),
    Field("limits", "amounts", "What it may use at most; an absent resource is unlimited.", {}),
    Field(
        "integral.type",
        "enum",
        "How a guarantee over time is paid out.",
        "none",
        words=("none", "burst", "relaxed"),
    ),
    Field("integral.resource_flow", "amounts", "What flows into its volume.", {}, unit="amount"),
    Field("integral.burst", "amounts", "Guarantee while volume lasts.", {}),
    Field(
        "integral.relaxed_share_multiplier_limit",
        "number",
        "How many times its flow a relaxed pool may get.",
        3.0,
    ),
    Field(
        "integral.can_accept_free_volume",
        "flag",
        "Whether it takes volume that others could not keep.",
        True,
    ),
    Field(
        "integral.should_distribute_free_volume_among_children",
        "flag",
        "Whether free volume is passed on to its children.",
        False,
    ),
    Field(
        "integral.accumulated_volume",
        "amounts",
        "Volume it has, where no state is given.",
        {},
        unit="amount × s",
    ),
    Field(
        "integral.last_share_ratio",
        "number",
        "Largest component of its last integral share, where no state is given.",
        0.0,
    ),
    Field(
        "step_function_for_gang",
        "flag",
        "Whether gangs below it get all of their demand or nothing, if the tree's settings say so.",
        True,
    ),
    Field(
        "fifo_reordering",
        "flag",
        "Whether gangs that do not fit its guarantee let later ones pass.",
        False,
    ),
    Field(
        "compute_promised_guarantee",
        "flag",
        "Whether the fair share that its guarantees promise is computed.",
        False,
    ),
    Field(
        "priority_strong_guarantee",
        "flag",
        "Whether its strong guarantee is served before the others.",
        False,
    ),
    Field(
        "priority_donor",
        "flag",
        "Whether it pays for the priority guarantees of its subtree.",
        False,
    ),
    _SETTINGS,
    _LABELS,
    _ORDER,
)

_ROOT = TableSpec("root", "The implicit root pool, called <Root> in results.", _POOL_FIELDS)

_POOLS = TableSpec(
    "pools",
    "A pool (queue): pools and operations share what it gets.",
    (
        _name("pool"),
        Field("parent", "reference", "Pool that it belongs to.", default_says="the root", target="pools"),
        Field("weight", "number", "Its part of what siblings share.", 1.0),
        *_POOL_FIELDS,
    ),
)

_OPERATIONS = TableSpec(
    "operations",
    "An operation (application, job, session): what asks for resources and is owed a share.",
    (
        _name("operation"),
        Field("pool", "reference", "Pool that it runs in.", default_says="the root", target="pools"),
        Field("user", "text", "Its owner."),
        Field("project", "text", "Project that it belongs to."),
        Field("account", "text", "Account that it is charged to."),
        Field("weight", "number", "Its part of what siblings share.", 1.0),
        Field("priority", "number", "More is more urgent.", default_says="the policy's"),
        Field(
            "demand",
            "amounts",
            "All that it wants, running part included.",
            default_says="sum of its allocations and requests",
        ),
        Field("usage", "amounts", "What it has.", default_says="sum of its allocations"),
        Field("limits", "amounts", "What it may use at most; an absent resource is unlimited.", {}),
        Field(
            "gang",
            "flag",
            "Whether it needs all of its demand at once; by YTsaurus' rules that shapes its fair share, and"
            " what there is room for starts one by one.",
            False,
        ),
        Field(
            "best_allocation_share",
            "shares",
            "Largest part of a resource that placement could ever give it; absent is 1.",
            {},
        ),
        Field("start_time", "time", "When it was submitted or started.", 0.0, unit="s"),
        Field(
            "fifo_start_time",
            "time",
            "Its time for the order in FIFO pools.",
            default_says="start_time",
            unit="s",
        ),
        Field(
            "kind",
            "enum",
            "What sort of work it is.",
            "batch",
            words=("batch", "interactive", "inference", "system"),
        ),
        Field("partition", "text", "Partition that it asks for."),
        Field("qos", "text", "Quality of service that it runs under."),
        _SETTINGS,
        _LABELS,
        _ORDER,
    ),
)

_ALLOCATIONS = TableSpec(
    "allocations",
    "An allocation (container, pod, task): a part of an operation that holds room on a node.",
    (
        _name("allocation"),
        Field("operation", "reference", "Operation that it belongs to.", target="operations", required=True),
        Field("node", "reference", "Node that it runs on, if on any.", target="nodes"),
        Field("resources", "amounts", "What it holds.", {}),
        Field("start_time", "time", "When it started.", 0.0, unit="s"),
        Field(
            "last_job_start_time",
            "time",
            "When the job that runs in it started.",
            default_says="start_time",
            unit="s",
        ),
        Field("last_progress_time", "time", "When its work was last saved.", unit="s"),
        Field("planned_end", "time", "When it will end by itself.", unit="s"),
        Field("priority", "number", "More is more urgent.", default_says=_FOLLOWS_OPERATION),
        Field(
            "state",
            "enum",
            "Running, asked to leave, suspended by a person, or preempted by the engine.",
            "running",
            words=("running", "preempting", "suspended", "preempted"),
        ),
        Field("deadline", "time", "By when it must have left.", unit="s"),
        Field("beneficiary.operation", "label", "Operation that it leaves for."),
        Field("beneficiary.request", "label", "Request that it leaves for."),
        Field("held", "amounts", "What a preempted one keeps.", {}),
        Field("interruptible", "flag", "Whether it can use a grace period.", False),
        Field("checkpointable", "flag", "Whether it can save its work when asked.", False),
        Field("rerunnable", "flag", "Whether it may be started anew.", False),
        Field("preemptible", "flag", "Whether it has not opted out of preemption.", True),
        Field(
            "originator",
            "flag",
            "Whether it is its application's first and leading part.",
            False,
        ),
        Field("required_node", "reference", "The only node where it can run.", target="nodes"),
        _SETTINGS,
        _LABELS,
        _ORDER,
    ),
)

_REQUESTS = TableSpec(
    "requests",
    "A request (ask): room that an operation waits for.",
    (
        _name("request"),
        Field("operation", "reference", "Operation that asks.", target="operations", required=True),
        Field("resources", "amounts", "What one of them needs.", {}),
        Field("count", "integer", "How many of them.", 1),
        Field("gang", "flag", "Whether all of them must start at once.", default_says=_FOLLOWS_OPERATION),
        Field("submit_time", "time", "When it was made.", 0.0, unit="s"),
        Field("priority", "number", "More is more urgent.", default_says=_FOLLOWS_OPERATION),
        Field("duration", "duration", "How long it will run.", unit="s"),
        Field("node_tags", "texts", "Tags that the node must have, all of them.", []),
        Field("required_node", "reference", "The only node where it can run.", target="nodes"),
        Field("preemptible", "flag", "Whether what starts from it may be preempted.", True),
        Field("reserve", "flag", "Whether future room is reserved for it.", False),
        _SETTINGS,
        _LABELS,
        _ORDER,
    ),
)

_RESERVATIONS = TableSpec(
    "reservations",
    "Room on a node that is kept for a request or for a preempted allocation.",
    (
        _name("reservation"),
        Field("request", "reference", "Request that it is kept for.", target="requests"),
        Field("allocation", "reference", "Allocation that it is kept for.", target="allocations"),
        Field("node", "reference", "Node where it is kept.", target="nodes", required=True),
        Field("resources", "amounts", "How much is kept.", {}),
        Field("from", "time", "Start.", default_says="open", unit="s"),
        Field("until", "time", "End, exclusive.", default_says="open", unit="s"),
        Field("soft", "flag", "Whether others may use the room meanwhile.", False),
        _LABELS,
    ),
)

_COMMANDS = TableSpec(
    "commands",
    "A person's order, carried out by the policies that know such orders.",
    (
        Field("kind", "enum", "What is ordered.", "preempt", words=("preempt",)),
        Field("consumer", "label", "Operation that is to run.", required=True),
        Field("providers", "labels", "Operations that are to give way, in this order.", []),
        Field("action", "text", "How they give way: a letter of the system."),
        Field("force", "flag", "Whether checks are skipped.", False),
        Field("user", "text", "User who orders it."),
        Field("manager", "flag", "Whether that user is a manager.", False),
    ),
)

#: What stands beside the tables.
HEAD: Final = TableSpec(
    "snapshot",
    "What stands beside the tables.",
    (
        Field("schema", "enum", "Version of the format.", SCHEMA, words=(SCHEMA,)),
        Field("now", "time", "The instant that is described.", 0.0, unit="s"),
        Field("previous_update", "time", "When shares were last computed.", unit="s"),
        Field(
            "total",
            "amounts",
            "What is shared.",
            default_says="sum over schedulable nodes, and cluster-scoped capacities",
        ),
    ),
)

#: All tables by name, in the order in which problems are reported.
TABLES: Final[dict[str, TableSpec]] = {
    table.name: table
    for table in (
        _RESOURCES,
        _ROOT,
        _NODES,
        _POOLS,
        _OPERATIONS,
        _ALLOCATIONS,
        _REQUESTS,
        _RESERVATIONS,
        _COMMANDS,
    )
}

#: Names (in lower case) by which the kind of a resource is recognised.
RESOURCE_KINDS: Final[dict[str, str]] = {
    **dict.fromkeys(("slots", "slot", "user_slots", "pods"), "slots"),
    **dict.fromkeys(("cpu", "cpus", "core", "cores", "vcore", "vcores", "vcpu", "vcpus"), "cpu"),
    **dict.fromkeys(("memory", "mem", "ram", "h_vmem", "mem_free", "virtual_free"), "memory"),
    **dict.fromkeys(("license", "licenses", "licence", "licences", "lic"), "license"),
}


def resource_kind(name: str) -> str:
    """Return the kind that a resource of this name has where none is given."""
    return RESOURCE_KINDS.get(name.lower(), "other")


def usual_quantum(kind: str) -> float:
    """Return the quantum that a resource of this kind has where none is given."""
    return 0.001 if kind == "cpu" else 1.0


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a snapshot's file."""
    from evenhand.building.schema import json_schema

    return json_schema()


def reference_markdown() -> str:
    """Return the table reference as Markdown: a section a table, a row a field."""
    from evenhand.building.schema import reference_markdown

    return reference_markdown()
