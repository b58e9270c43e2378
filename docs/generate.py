"""Write the generated pages, from settings to the API, and bring in the notebooks.

Called by ``conf.py`` at every build; everything it writes is ignored by git.
"""

from __future__ import annotations

import argparse
import inspect
import os
import shutil
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import evenhand as eh
from evenhand import diagnostics, fields, reasons
from evenhand.cli import arguments
from evenhand.config.kinds import unit_of
from evenhand.config.pace import PacedPool, PaceSettings
from evenhand.systems import SYSTEMS, System
from evenhand.systems.record import named

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS / "reference" / "generated"
TUTORIALS = DOCS / "tutorials" / "generated"


def main() -> None:
    """Write every generated page that changed; what Sphinx makes of the API page is made anew."""
    shutil.rmtree(REFERENCE / "api", ignore_errors=True)
    write(REFERENCE / "settings.md", settings_page())
    write(REFERENCE / "tables.md", tables_page())
    write(REFERENCE / "reading.md", reading_page())
    write(REFERENCE / "command-line.md", command_line_page())
    write(REFERENCE / "diagnostics.md", diagnostics_page())
    write(REFERENCE / "reasons.md", reasons_page())
    write(REFERENCE / "gridengine-actions.md", actions_page())
    write(REFERENCE / "api.md", api_page())
    for notebook in sorted((DOCS.parent / "notebooks").glob("*.ipynb")):
        text = notebook.read_text().replace("](../docs/", "](../../")  # links that hold on either place
        write(TUTORIALS / notebook.name, text)
    for data in sorted((DOCS.parent / "notebooks").glob("*.swf.gz")):
        shutil.copyfile(data, TUTORIALS / data.name)  # what they read stands beside them


def write(path: Path, text: str) -> None:
    """Write a page unless it is there already: Sphinx rebuilds what has a new time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


# --- settings


UNITS = """\
Durations are in seconds; text such as "30s", "5m" or "01:00:00" is read, too. Amounts of
resources are in the units of the snapshot. Thresholds and tolerances are ratios, without a unit."""


def settings_page() -> str:
    """Every field of the settings models, from the models."""
    lines = ["# Settings", "", UNITS, ""]
    said: dict[str, str | None] = {}  # rows have settings of the tree, which says what they mean
    models = (named(place) for system in SYSTEMS.values() for place in system.settings_at)
    for model in (eh.FairShareSettings, PaceSettings, PacedPool, *models):
        lines += [f"## {model.__name__}", "", (inspect.getdoc(model) or "").partition("\n\n")[0], ""]
        for name, field in model.model_fields.items():
            default = field.get_default(call_default_factory=True)
            shown = "required" if default is PydanticUndefined else f"default {default_text(default)}"
            facts = [type_name(field.annotation), unit_of(name, field), *map(bound, field.metadata), shown]
            lines += [
                f"`{name}` ({', '.join(filter(None, facts))})",
                f": {field.description or said.get(name, '')}",
                "",
            ]
            said.setdefault(name, field.description)
    return "\n".join(lines)


def default_text(default: Any) -> str:
    """Show a default; settings within settings say theirs themselves."""
    return "its own defaults" if isinstance(default, BaseModel) else f"`{default!r}`"


def bound(metadata: Any) -> str:
    """Name a bound of annotated-types in symbols; empty where there is none worth a reader's time."""
    symbols = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    for attribute, symbol in symbols.items():
        if hasattr(metadata, attribute):
            return f"{symbol} {getattr(metadata, attribute):g}"
    return ""


def type_name(annotation: Any) -> str:
    """Name a type as a reader would."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        bounds = [text for text in map(bound, arguments[1:]) if text]
        return " ".join([type_name(arguments[0]), *bounds])
    if origin is typing.Literal:
        return " or ".join(f"`{a!r}`" for a in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_name(a) for a in arguments)
    if annotation is type(None):
        return "None"
    if origin is not None:
        return f"{origin.__name__} of {', '.join(type_name(a) for a in arguments)}"
    return str(getattr(annotation, "__name__", annotation))


# --- tables


def tables_page() -> str:
    """Every table and field of a snapshot, from their one description."""
    head = ["# Tables and fields", "", "What a snapshot may hold, in files, dicts and frames alike.", ""]
    head += ["What each policy reads of it: [How systems read a snapshot](reading.md).", ""]
    return "\n".join(head) + "\n" + fields.reference_markdown().replace(" <Root>", " `<Root>`")


# --- how systems read them


READING = """\
What each policy makes of each field of the [tables](tables.md). Empty: it plays no part, whatever the
settings; with a star: some settings leave it aside, see the pages of the [policies](../../policies/index.md).
A plan whose snapshot has values that play no part says so in its diagnostics (`fields_not_read`). Names and
`order` are read by all, `settings` are those of one system."""


def reading_page() -> str:
    """How each system reads each field of a snapshot, from their one table."""
    lines = ["# How systems read a snapshot", "", READING, ""]
    for table, spec in fields.TABLES.items():
        systems = [system for system in SYSTEMS.values() if table in system.reads]
        shown = [f for f in spec.fields if f.name not in ("name", "order", "settings")]
        lines += [f"## {table}", ""]
        if not systems:
            lines += ["No policy reads it yet.", ""]
            continue
        titles = [system.title for system in SYSTEMS.values()]
        lines += [f"| field | {' | '.join(titles)} |", "| --- |" + " --- |" * len(titles)]
        for field in shown:
            words = [how_read(system, table, field.name) for system in SYSTEMS.values()]
            lines += [f"| `{field.name}` | {' | '.join(words)} |"]
        lines += [""]
    return "\n".join(lines)


def how_read(system: System, table: str, field: str) -> str:
    """How a system reads a field; with a star where some settings leave it aside."""
    said = system.reads.get(table, {}).get(field, "")
    return said + " \\*" * ((table, field) in system.only_if)


# --- command line


def command_line_page() -> str:
    """The help text of every command, from the parser."""
    os.environ["COLUMNS"] = "88"  # argparse fills the terminal; pages have one width
    parser = arguments.parser()
    lines = ["# Command line", "", *fenced(parser.format_help())]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                lines += ["", f"## evenhand {name}", "", *fenced(command.format_help())]
    return "\n".join(lines) + "\n"


def fenced(text: str) -> list[str]:
    """Return the text as a block of the terminal's type."""
    return ["```text", text.rstrip(), "```"]


# --- diagnostics


def diagnostics_page() -> str:
    """The codes of diagnostics, from their one table."""
    lines = ["# Diagnostics", "", "What a result says about its input, in `shares.diagnostics`."]
    lines += ["A code never changes its meaning.", ""]
    for code, meaning in diagnostics.CODES.items():
        lines += [f"`{code}`", f": {meaning}", ""]
    return "\n".join(lines)


# --- reasons


KINDS = {
    "victim": ("Why an allocation is preempted", "`reason` of a decision with action `preempt`."),
    "start": ("Why a request starts", "`reason` of a decision with action `start`."),
    "stage": ("Stages", "`stage` of a decision: when in a node's heartbeat it was taken."),
    "request": ("Why a request did not start", "`rule` of a refusal; and what `plan.why_not` met, by node."),
    "allocation": ("Why an allocation was left alone", "What `plan.why_not` met, by stage."),
    "unseen": ("Why nothing looked at it", "What `plan.why_not` says where there is nothing to tell."),
    "check": ("Why a decision no longer holds", "`code` of the findings of `plan.check`."),
}


def reasons_page() -> str:
    """The codes of plans, from their one table."""
    lines = ["# Reasons", "", "Every decision and every refusal of a plan has a code.", ""]
    lines += ["A code never changes its meaning.", ""]
    for kind, (title, about) in KINDS.items():
        lines += [f"## {title}", "", about, ""]
        for row in reasons.TABLE:
            if row.kind == kind:
                lines += [f"`{row.code}` ({row.source})", f": {row.doc}", ""]
    lines += ["## Renamed codes", "", "What earlier versions wrote is read by the name of today.", ""]
    lines += [f"* `{old}`: now `{new}`" for old, new in reasons.RENAMED.items()]
    forgotten = {row.kind for row in reasons.TABLE} - set(KINDS)
    if forgotten:
        raise LookupError(f"codes of no section: {sorted(forgotten)}")
    return "\n".join([*lines, ""])


# --- what Grid Engine's actions free


ACTIONS = (
    "What becomes of what a job holds, by [Grid Engine's](../../policies/gridengine.md) action, the kind of"
    " resource, and\nwhether it is available after preemption (`aapre`). The last column is with"
    " `preemptees_keep_resources`: what is freed is\nthen the smaller of what the job holds and what its"
    " preemptor takes beyond what is free. Action S does not look at `aapre`:\nit frees slots, whatever is"
    " said of them. T, R and C end the job's processes, which keep nothing."
)


def actions_page() -> str:
    """Action by kind of resource, `aapre` and `preemptees_keep_resources`, from the table that plans use."""
    columns = eh.policies.GridEngine.effects().to_dict()
    names = ("action", "mode", "resource", "aapre", "frees", "keeping")
    lines = ["# What Grid Engine's actions free", "", ACTIONS, ""]
    lines += ["| action | mode | resource | `aapre` | is | with `preemptees_keep_resources` |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for row in zip(*(columns[name] for name in names), strict=True):
        cells = ["yes" if cell is True else "no" if cell is False else str(cell) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


# --- API


# Public modules, beside the names in the package itself.
MODULES = (
    "act",
    "adapters",
    "adapters.protocol",
    "adapters.recording",
    "adapters.slurm",
    "adapters.gridengine",
    "adapters.yunikorn",
    "adapters.ytsaurus",
    "history",
    "history.backendai",
    "history.gridengine",
    "history.slurm",
    "plans.certificates",
    "plans.check",
    "plans.comparison",
    "plans.decisions",
    "plans.diff",
    "plans.refusals",
    "plans.statuses",
    "plans.steps",
    "plot",
    "policies",
    "reasons",
    "simulate",
    "sweep",
    "synthetic",
    "systems.record",
    "systems.registry",
    "testing",
    "testing.acting",
    "testing.adapters",
    "testing.assertions",
    "testing.certificates",
    "testing.fewest",
    "testing.fewest_jobs",
    "testing.happened",
    "testing.invariants",
    "testing.job_laws",
    "testing.living",
    "testing.machines",
    "testing.metamorphic",
    "testing.plan_laws",
    "testing.priority_laws",
    "testing.queue_laws",
    "testing.relations",
    "testing.strategies",
    "testing.successive",
    "traces",
)


def api_page() -> str:
    """All public names by kind."""
    public = {name: getattr(eh, name) for name in eh.__all__ if not name.startswith("_")}
    kinds = {
        "Functions": [n for n, v in public.items() if inspect.isroutine(v)],
        "Classes": [n for n, v in public.items() if inspect.isclass(v) and not issubclass(v, Exception)],
        "Exceptions": [n for n, v in public.items() if inspect.isclass(v) and issubclass(v, Exception)],
        "Modules": sorted(MODULES),
    }
    forgotten = set(public) - {n for names in kinds.values() for n in names}
    if forgotten:
        raise LookupError(f"public names of no kind: {sorted(forgotten)}")
    lines = ["# Python API", "", "All of it is in the namespace `evenhand`, usually imported as `eh`.", ""]
    for kind, names in kinds.items():
        lines += [f"## {kind}", "", "```{eval-rst}", ".. currentmodule:: evenhand", "", ".. autosummary::"]
        lines += ["   :toctree: api", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in sorted(names)]
        lines += ["```", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
