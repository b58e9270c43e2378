"""Grid Engine's configuration, as ``qconf`` shows it: complexes, queues, scheduler, hosts, environments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.building.problems import nearest, shorten
from evenhand.systems.gridengine.subordinates import SubordinateList
from evenhand.systems.gridengine.text.values import AMOUNTS, amount, flag, seconds, whole
from evenhand.systems.texts import Found

__all__ = [
    "Complex",
    "Host",
    "Parallel",
    "Queue",
    "read_complexes",
    "read_hosts",
    "read_parallel",
    "read_queues",
    "read_scheduler",
]

_TYPES: Final = (*AMOUNTS, "BOOL", "STRING", "CSTRING", "RESTRING", "HOST")
_RELOPS: Final = ("==", ">=", ">", "<=", "<", "!=", "EXCL")
_COLUMNS: Final = ("name", "shortcut", "type", "relop", "requestable", "consumable", "default", "urgency")
#: Beyond those: aapre (Univa's from 8.3 on), affinity, do_report and is_static.
_WIDTHS: Final = (8, 9, 10, 12)
_NONE: Final = "NONE"
_DIGITS: Final = 10
_RULES: Final = ("$pe_slots", "$fill_up", "$round_robin")


@dataclass(frozen=True, slots=True)
class Complex:
    """An attribute that jobs may request."""

    name: str
    shortcut: str
    kind: str
    relop: str
    consumable: str
    default: str
    aapre: bool | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """A cluster queue, as far as plans read it."""

    name: str
    slots: int
    rerun: bool
    suspend_method: str | None
    seq_no: int
    batch: bool
    environments: tuple[str, ...]
    checkpoints: tuple[str, ...]
    limits: Mapping[str, str] = field(default_factory=dict)
    complex_values: Mapping[str, str] = field(default_factory=dict)
    subordinate_list: str | None = None
    restricted: tuple[str, ...] = ()
    varies: tuple[str, ...] = ()
    slots_at: Mapping[str, int] = field(default_factory=dict)
    values_line: int = 1


@dataclass(frozen=True, slots=True)
class Host:
    """A host, or ``global``: capacities of consumables and fixed values, as they are written."""

    name: str
    complex_values: Mapping[str, str]
    line: int = 1


@dataclass(frozen=True, slots=True)
class Parallel:
    """A parallel environment: how many slots it has, and how they are spread over hosts."""

    name: str
    slots: int
    allocation_rule: str

    @property
    def known(self) -> bool:
        """Whether the rule is one that plans know; of others no job that waits is judged."""
        rule = self.allocation_rule
        return rule in _RULES or (
            rule.isascii() and rule.isdecimal() and len(rule) < _DIGITS and int(rule) > 0
        )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; a backslash at the end joins the next."""
    begun, said = 0, ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        begun = begun or number
        plain = line.strip()
        joined = plain.endswith("\\")
        said += plain[:-1].rstrip() if joined else plain
        if joined:
            said += "" if said.endswith(",") else " "
            continue
        if said.strip() and not said.startswith("#"):
            yield begun, said.strip()
        begun, said = 0, ""


def read_complexes(text: str) -> dict[str, Complex]:
    """Read ``qconf -sc``."""
    found = Found("qconf -sc")
    complexes: dict[str, Complex] = {}
    short: dict[str, Complex] = {}
    for line, said in _lines(text):
        cells = said.split()
        if cells == ["..."]:  # as manuals abridge
            continue
        if len(cells) not in _WIDTHS:
            message = (
                f"a complex has 8 columns, 9 with aapre, 10 with affinity or 12 with do_report and is_static;"
                f" here are {len(cells)}"
            )
            found.add(line, None, "columns", said, message)
            continue
        row = _complex(cells, line, found)
        for kind, name, known in (("name", row.name, complexes), ("shortcut", row.shortcut, short)):
            if name in known:
                found.add(line, kind, "unique", name, f"the {kind} {shorten(name)} appears twice")
        complexes[row.name] = row
        short[row.shortcut] = row
    if not complexes and not found.problems:
        found.add(None, None, "required", None, "there is no complex; qconf -sc always has some")
    found.complain()
    return complexes


def _complex(cells: list[str], line: int, found: Found) -> Complex:
    row = dict(zip(_COLUMNS, cells, strict=False))
    name = row["name"]
    choices = {
        "type": _TYPES,
        "relop": _RELOPS,
        "requestable": ("YES", "NO", "FORCED", "Y", "N", "F"),
        "consumable": ("YES", "NO", "JOB", "HOST", "Y", "N", "J", "H"),
    }
    for column, words in choices.items():
        if row[column].upper() not in words:
            message = f"{column} of {name} is {shorten(row[column])}; it must be one of {', '.join(words)}"
            found.add(line, column, "choice", row[column], message)
    consumable = {"Y": "YES", "N": "NO", "J": "JOB", "H": "HOST"}.get(
        row["consumable"].upper(), row["consumable"].upper()
    )
    kind = row["type"].upper()
    if consumable != "NO" and kind in AMOUNTS:
        _value(found, line, f"default of {name}", "default", row["default"], lambda said: amount(kind, said))
    aapre = None
    if len(cells) > len(_COLUMNS):
        aapre = _value(found, line, f"aapre of {name}", "aapre", cells[8], flag)
    return Complex(name, row["shortcut"], kind, row["relop"].upper(), consumable, row["default"], aapre)


def _value(
    found: Found, line: int | None, subject: str, name: str, said: str, reader: Callable[[str], Any]
) -> Any:
    """Return what a reader makes of a value; a wrong one is found, and None returned."""
    try:
        return reader(said)
    except ValueError as error:
        found.add(line, name, "type", said, f"{subject} is {shorten(said)}; it {error}")
        return None


def _fields(text: str, found: Found, begins: str) -> list[dict[str, tuple[int, str]]]:
    """Return fields and values of each object; one begins where its first field stands."""
    objects: list[dict[str, tuple[int, str]]] = []
    for line, said in _lines(text):
        name, *rest = said.split(None, 1)
        if name == begins:
            objects.append({})
        if not objects:
            found.add(line, name, "order", None, f"{name} stands before any {begins}")
            objects.append({})
        if name in objects[-1]:
            found.add(line, name, "unique", None, f"{name} appears twice")
        objects[-1][name] = (line, rest[0].strip() if rest else "")
    return objects


#: What separates values; of a RSMAP's, ``gpu=2(0 1)``, not what stands between brackets.
_BETWEEN: Final = re.compile(r"[,\s]+(?![^()]*\))")


def _list(said: str, between: re.Pattern[str] = re.compile(r"[,\s]+")) -> tuple[str, ...]:
    return () if said.upper() == _NONE else tuple(part for part in between.split(said) if part)


def _values(found: Found, line: int, said: str) -> dict[str, str]:
    """Return names and values of ``a=1,b=2``."""
    values = {}
    for part in _list(said, _BETWEEN):
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            found.add(line, "complex_values", "syntax", part, f"{shorten(part)} is no name=value")
            continue
        values[name] = value
    return values


#: Fields of a queue whose values for single hosts, ``default,[host=value]``, are not told apart.
_RESTRICTING: Final = ("user_lists", "xuser_lists", "projects", "xprojects")
_LIMITS: Final = tuple(
    f"{side}_{what}"
    for side in "sh"
    for what in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
)


def read_queues(text: str) -> dict[str, Queue]:
    """Read ``qconf -sq QUEUE...``: one object after the other."""
    found, queues = Found("qconf -sq"), {}
    for given in _fields(text, found, "qname"):
        name = given["qname"][1] if "qname" in given else ""
        if name in queues:
            found.add(given["qname"][0], "qname", "unique", name, f"the queue {name} appears twice")
        varies = tuple(key for key, (_, said) in given.items() if re.search(r"\[[^\]]*=", said))
        plain = {
            key: (line, re.sub(r",?\s*\[[^\]]*\]", "", said).strip() or _NONE)
            for key, (line, said) in given.items()
        }
        slots_at = {}
        line, said = given.get("slots", (0, ""))
        for host, value in re.findall(r"\[([^\[\]=]*)=([^\[\]]*)\]", said):
            slots = _value(found, line, f"slots of {name} at {shorten(host)}", "slots", value.strip(), whole)
            slots_at[host.strip()] = slots or 0
        queues[name] = _queue(name, plain, varies, slots_at, found)
    found.complain()
    return queues


def _list_of_subordinates(text: str) -> str | None:
    return text if SubordinateList.parse(text).below else None


def _queue(
    name: str,
    given: Mapping[str, tuple[int, str]],
    varies: tuple[str, ...],
    slots_at: Mapping[str, int],
    found: Found,
) -> Queue:
    def read(key: str, reader: Callable[[str], Any], default: Any) -> Any:
        if key not in given:
            return default
        line, said = given[key]
        return _value(found, line, f"{key} of {name}", key, said, reader)

    def text(key: str) -> str:
        return given.get(key, (0, _NONE))[1]

    for key in _LIMITS:
        read(key, seconds if key.endswith(("rt", "cpu")) else lambda said: amount("MEMORY", said), None)
    method = text("suspend_method")
    return Queue(
        name=name,
        slots=read("slots", whole, 1) or 0,
        rerun=bool(read("rerun", flag, False)),
        suspend_method=None if method.upper() == _NONE else method,
        seq_no=read("seq_no", whole, 0) or 0,
        batch="BATCH" in text("qtype").upper().split() if "qtype" in given else True,
        environments=_list(text("pe_list")),
        checkpoints=_list(text("ckpt_list")),
        limits={key: text(key) for key in _LIMITS if key in given},
        complex_values=_values(found, given.get("complex_values", (0, ""))[0], text("complex_values")),
        subordinate_list=read("subordinate_list", _list_of_subordinates, None),
        restricted=tuple(key for key in _RESTRICTING if text(key).upper() != _NONE),
        varies=varies,
        slots_at=slots_at,
        values_line=given.get("complex_values", (1, ""))[0],
    )


def read_hosts(text: str) -> dict[str, Host]:
    """Read ``qconf -se HOST``, of one host after the other, ``global`` among them."""
    found, hosts = Found("qconf -se"), {}
    for given in _fields(text, found, "hostname"):
        line, name = given.get("hostname", (1, ""))
        if name in hosts:
            found.add(line, "hostname", "unique", name, f"the host {name} appears twice")
        line, said = given.get("complex_values", (line, _NONE))
        hosts[name] = Host(name, _values(found, line, said), line)
    found.complain()
    return hosts


def read_parallel(text: str) -> dict[str, Parallel]:
    """Read ``qconf -sp NAME``, of one parallel environment after the other."""
    found, environments = Found("qconf -sp"), {}
    for given in _fields(text, found, "pe_name"):
        line, name = given.get("pe_name", (1, ""))
        if name in environments:
            found.add(line, "pe_name", "unique", name, f"the environment {name} appears twice")
        at, said = given.get("slots", (line, "0"))
        slots = _value(found, at, f"slots of {name}", "slots", said, whole) or 0
        rule = given.get("allocation_rule", (line, "$pe_slots"))[1]
        environments[name] = Parallel(name, slots, rule)
    found.complain()
    return environments


#: Settings of the policy with how the scheduler's configuration writes them.
_SCHEDULER: Final[Mapping[str, Callable[[str], Any]]] = {
    "max_reservation": whole,
    "default_duration": seconds,
    "max_preemptees": whole,
    "prioritize_preemptees": flag,
    "preemptees_keep_resources": flag,
    "preemption_distance": seconds,
    "backfilling": flag,
}
_OFFSET: Final = "DURATION_OFFSET"


def read_scheduler(text: str) -> dict[str, Any]:
    """Read ``qconf -ssconf``."""
    found, settings = Found("qconf -ssconf"), {}
    lines: dict[str, tuple[int, str]] = {}
    for line, said in _lines(text):
        name, *rest = said.split(None, 1)
        if name in lines:
            found.add(line, name, "unique", None, f"{name} appears twice")
        lines[name] = (line, rest[0].strip() if rest else "")
    if "algorithm" not in lines and "schedule_interval" not in lines:
        hint = "".join(nearest("algorithm", list(lines)))
        message = f"this is no scheduler configuration: it has no algorithm and no schedule_interval{hint}"
        found.add(None, None, "required", None, message)
    for name, reader in _SCHEDULER.items():
        if name in lines:
            line, said = lines[name]
            settings[name] = _value(found, line, name, name, said, reader)
    line, said = lines.get("params", (0, _NONE))
    for part in _list(said):
        name, equals, value = part.partition("=")
        if name.upper() == _OFFSET:
            settings[_OFFSET] = _value(found, line, _OFFSET, "params", value if equals else "", seconds)
        elif name.lower() == "backfilling":
            settings["backfilling"] = _value(found, line, name, "params", value, flag)
    found.complain()
    if settings.get("preemption_distance", 0.0) is None or settings.get(_OFFSET, 0.0) is None:
        name = _OFFSET if settings.get(_OFFSET, 0.0) is None else "preemption_distance"
        found.add(None, name, "range", "INFINITY", f"{name} is INFINITY; it must have an end")
    found.complain()
    return settings
