"""The layers of the library, and how to read which layer a source file touches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: A layer may use itself and what stands before it.
ORDER = ("core", "model", "share", "starve", "place", "preempt", "policy", "sim", "sweep", "front")

#: Python packages by layer, in the order in which they may import each other: those before, never those
#: behind. A new one must be entered here: that is the moment to decide where it belongs. The front is what
#: people and tests touch.
PYTHON = {
    "core": (
        *("_core", "frozen", "files", "provenance", "units", "errors", "packed", "arrow_export"),
        *("table", "diagnostics"),
    ),
    "model": ("fields", "building", "arguments", "accepted", "model"),
    "share": (
        *("quantities", "config", "systems/records", "state_tables", "state", "share_inputs"),
        *("implausible", "shares", "history"),
    ),
    "starve": ("starvation",),
    "place": (),
    "preempt": ("groups", "reasons"),
    "policy": ("plans", "explain", "systems", "policies", "cluster"),
    "sim": ("simulate",),
    "sweep": ("sweep", "tune"),
    "front": (
        *(
            "versions",
            "display",
            "plot",
            "adapters",
            "systems/adapter",
            "adapters/slurm",
            "adapters/gridengine",
            "act",
        ),
        *("traces", "synthetic", "testing", "__init__", "cli", "__main__"),
    ),
}
PLACES = [place for places in PYTHON.values() for place in places]

#: What a system says before any policy is needed: its record and what the record is made of.
RECORDS = {"__init__", "record", "reads", "reason", "reasons", "says", "says_of_limits", "letters"}

#: Functions that hand on to a package behind: an error's table, the schema of the fields, the snapshot of an
#: argument, what becomes of a snapshot once a plan is carried out, what a plan or shares say of a name, a
#: plan's policy as a file has it; and what anything shows of itself.
HANDED_ON = {
    ("errors", "table"),
    ("fields", "building"),
    ("arguments", "model"),
    ("model", "cluster"),
    ("plans", "explain"),
    ("plans", "systems"),
    ("shares", "explain"),
}
SHOWS = "display"

#: Only the bindings know Python, and only one header of theirs includes pybind11.
PYBIND_HEADER = "cpp/bindings/pybind.h"

_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class Use:
    """One include or import: where it stands and what it names."""

    file: str
    line: int
    names: str
    place: str
    used: str | None
    points_up: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.place} names {self.used} ({self.names})"


def cpp_layer(path: Path) -> str | None:
    """Layer of a C++ file by its folder; None outside the layers (bindings, fuzz targets, benchmarks)."""
    return next((part for part in path.parts[1:] if part in ORDER), None)


def includes(text: str) -> Iterator[tuple[int, str]]:
    """Line number and target of every include of a C++ text."""
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def cpp_uses(path: Path, text: str) -> Iterator[Use]:
    """Yield the project's own headers that a C++ file of a layer includes."""
    layer = cpp_layer(path)
    if layer is None:
        return
    for line, target in includes(text):
        parts = target.split("/")
        if parts[0] == "evenhand" and len(parts) > 2:
            known = parts[1] in ORDER
            upward = known and ORDER.index(parts[1]) > ORDER.index(layer)
            yield Use(str(path), line, target, layer, parts[1] if known else None, upward)


def python_place(*parts: str) -> str:
    """Place of a module of the package in the order; its name in parts."""
    if parts[0] == "systems" and (len(parts) == 1 or parts[-1] in RECORDS or parts[1] in RECORDS):
        return "systems/records"
    if parts[0] == "systems" and "adapter" in parts:
        return "systems/adapter"
    for name in ("/".join(parts[:2]), parts[0]):
        if name in PLACES:
            return name
    raise LookupError(f"enter the module {parts[0]!r} in {Path(__file__).name}: where is its place?")


def python_uses(path: Path, text: str) -> Iterator[Use]:
    """Yield the package's own modules that a Python file imports, but for types; ``path`` is relative."""
    place = python_place(*_named(path))
    tree = ast.parse(text)
    deferred: set[int] = set()
    types_only: set[int] = set()
    for block in ast.walk(tree):
        if isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef):
            deferred |= {id(n) for n in ast.walk(block)}
        elif isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test):
            types_only |= {id(n) for n in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            raise SyntaxError(f"{path}:{node.lineno}: relative import; name the module in full")
        if id(node) in types_only:
            continue
        for module in _modules(node):
            used = python_place(*module)
            upward = PLACES.index(used) > PLACES.index(place)
            if id(node) in deferred and (used == SHOWS or (place, used) in HANDED_ON):
                upward = False
            yield Use(str(path), node.lineno, ".".join(module), place, used, upward)  # type: ignore[attr-defined]


def _named(path: Path) -> tuple[str, ...]:
    return tuple(part.removesuffix(".py") for part in path.parts)


def _modules(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """Yield the package's own modules that a statement imports, below ``evenhand``."""
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        named = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in named:
        first, *parts = name.split(".")
        if first != "evenhand":
            continue
        while parts and not _is_module(parts):
            parts.pop()  # an attribute of the module, or of the package itself
        yield tuple(parts) or ("__init__",)


def _is_module(parts: list[str]) -> bool:
    place = ROOT.joinpath("python", "evenhand", *parts)
    return parts in (["_core"], ["__init__"]) or place.is_dir() or place.with_suffix(".py").exists()


#: Modules outside of a system's own folder that may name one, with the reason.
NAMES_A_SYSTEM = {
    "systems/__init__.py": "lists the records",
    "adapters/": "public names of the systems' adapters, and recordings of one",
    "history/": "decays and trees of one system each, which its adapter and its settings ask for",
    "testing/": "draws and laws of single systems",
    "cli/": "options of the live adapters, and what files are told by",
    "diagnostics.py": "codes that begin with a system's word, all in one table",
    "accepted/kinds.py": "annotations by their names",
    "config/rows.py": "what readers note for their own system's rules; records are above it",
    "fields.py": "documents of whom a field is",
}
_SYSTEM = re.compile(r"ytsaurus|slurm|backend\.?ai|grid ?engine|yunikorn", re.IGNORECASE)


def systems_named(path: Path, text: str) -> list[str]:
    """Where a module of a shared room names a system, but for docstrings and comments."""
    name = path.as_posix()
    if any(name.startswith(known) for known in NAMES_A_SYSTEM) or (
        path.parts[0] == "systems" and len(path.parts) > 2
    ):
        return []
    tree = ast.parse(text)
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        f"{name}:{node.lineno}: {word}"  # type: ignore[attr-defined]
        for node in ast.walk(tree)
        if id(node) not in said
        for word in _words(node)
        if _SYSTEM.search(word)
    ]


def _words(node: ast.AST) -> tuple[str, ...]:
    """Return what a node of a syntax tree says by itself."""
    match node:
        case ast.Constant(str(text)):
            return (text,)
        case ast.Name(name) | ast.Attribute(_, name) | ast.FunctionDef(name) | ast.ClassDef(name):
            return (name,)
        case ast.ImportFrom(module, names):
            return (module or "", *(alias.name for alias in names))
        case ast.Import(names):
            return tuple(alias.name for alias in names)
    return ()
