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

#: Top-level Python modules by layer. A new module must be entered here: that is the moment to
#: decide where it belongs. The front is what people and tests touch; nothing below imports it,
#: except inside functions (a ``_repr_html_`` that asks for its display).
PYTHON = {
    "core": {"_core", "errors", "diagnostics", "files", "frozen", "table", "arrow_export"},
    "model": {"arguments", "fields", "building", "model"},
    "share": {"config", "shares", "state", "history", "quantities"},
    "starve": {"starvation"},
    "place": set(),
    "preempt": {"groups", "reasons"},
    "policy": {"policies", "systems", "plan", "plans", "explain", "cluster"},
    "sim": {"simulate"},
    "sweep": {"sweep", "tune"},
    "front": {
        *("__init__", "__main__", "act", "adapters", "cli", "display", "plot", "synthetic", "testing"),
        "versions",
    },
}

#: Only the bindings know Python, and only one header of theirs includes pybind11.
PYBIND_HEADER = "cpp/bindings/pybind.h"

_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


@dataclass(frozen=True)
class Use:
    """One include or import: where it stands and what it names."""

    file: str
    line: int
    names: str
    layer: str
    used_layer: str | None
    deferred: bool = False

    @property
    def points_up(self) -> bool:
        """Whether a lower layer names a higher one."""
        if self.used_layer is None or (self.deferred and self.used_layer == "front"):
            return False
        return ORDER.index(self.used_layer) > ORDER.index(self.layer)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.layer} names {self.used_layer} ({self.names})"


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
            yield Use(str(path), line, target, layer, parts[1])


def python_layer(module: str, *below: str) -> str:
    """Layer of a module of the package: its top-level name, and the names below that."""
    if module == "systems" and "adapter" in below:
        return "front"
    for layer, modules in PYTHON.items():
        if module in modules:
            return layer
    raise LookupError(f"enter the module {module!r} in {Path(__file__).name}: which layer is it?")


def python_uses(path: Path, text: str) -> Iterator[Use]:
    """Yield the package's own modules that a Python file imports; ``path`` is relative to the package."""
    layer = python_layer(*(part.removesuffix(".py") for part in path.parts))
    tree = ast.parse(text)
    deferred: set[int] = set()
    for block in ast.walk(tree):
        function = isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef)
        types_only = isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        if function or types_only:
            deferred |= {id(n) for n in ast.walk(block)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                raise SyntaxError(f"{path}:{node.lineno}: relative import; name the module in full")
            base = node.module or ""
            modules = [f"{base}.{a.name}" for a in node.names] if base == "evenhand" else [base]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            if parts[0] != "evenhand":
                continue
            name = parts[1] if len(parts) > 1 else "__init__"
            if _is_attribute(name):
                name = "__init__"
            used = python_layer(name, *parts[2:])
            yield Use(str(path), node.lineno, module, layer, used, id(node) in deferred)


def _is_attribute(name: str) -> bool:
    """Whether ``from evenhand import name`` names an attribute of the package, not a module."""
    package = ROOT / "python" / "evenhand"
    known = any(name in modules for modules in PYTHON.values())
    return not known and not (package / name).exists() and not (package / f"{name}.py").exists()
