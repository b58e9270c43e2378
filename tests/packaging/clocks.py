"""Where a source reads a clock, waits for less than a hang takes, draws without a seed, or counts cores."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

LEAST_WAIT = 120.0

#: Names of modules that no test has a use for, but for what stands behind them.
FORBIDDEN: dict[str, tuple[str, ...]] = {
    "time": (
        *("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime"),
        *("time_ns", "monotonic_ns", "perf_counter_ns", "process_time_ns", "thread_time_ns", "sleep"),
    ),
    "datetime": ("now", "utcnow", "today"),
    "date": ("today",),
    "threading": ("Timer",),
    "signal": ("alarm", "setitimer"),
    "os": ("cpu_count", "process_cpu_count", "sched_getaffinity", "getloadavg", "times", "urandom"),
    "multiprocessing": ("cpu_count",),
    "resource": ("getrusage",),
    "uuid": ("uuid1", "uuid4"),
    "random": (
        *("random", "randint", "randrange", "choice", "choices", "shuffle", "sample", "uniform", "gauss"),
        *("seed", "getrandbits", "SystemRandom"),
    ),
}
SEEDED = {"Random", "default_rng", "RandomState"}
OF_NUMPY = {"default_rng", "RandomState", "Generator", "PCG64", "SeedSequence"}
WAITING = {"join", "wait", "result", "communicate", "acquire"}
BOUNDS = {"timeout", "patience"}


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{_dotted(value)}.{attr}"
    return ""


def _imported(tree: ast.AST) -> dict[str, str]:
    """What the names of a source stand for, where they were imported under another."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.asname or name.name.split(".")[0]: name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    return found


def _short(value: ast.expr) -> bool:
    """Whether a bound is a number of seconds below a hang; 0 is no wait."""
    return (
        isinstance(value, ast.Constant)
        and isinstance(value.value, int | float)
        and 0 < value.value < LEAST_WAIT
    )


def _named(name: str) -> bool:
    *outer, last = name.split(".")
    if not outer or not outer[0]:
        return False
    if outer[0] == "secrets":
        return True
    if len(outer) > 1 and outer[-1] == "random":  # numpy.random
        return last not in OF_NUMPY
    return last in FORBIDDEN.get(outer[-1], ())


def _called(node: ast.Call, name: str) -> str | None:
    last = name.rsplit(".", 1)[-1]
    if last in SEEDED and not node.args and not node.keywords:
        return f"{last}() without a seed"
    for keyword in node.keywords:
        if keyword.arg in BOUNDS and _short(keyword.value):
            return f"{keyword.arg}={ast.unparse(keyword.value)}"
        if keyword.arg == "derandomize" and getattr(keyword.value, "value", None) is False:
            return "derandomize=False"
    if last in WAITING and "." in name and any(_short(argument) for argument in node.args):
        return f"{last}({ast.unparse(node.args[0])})"
    if name == "asyncio.sleep" and not (node.args and getattr(node.args[0], "value", None) == 0):
        return f"{name}()"
    return None


def _inner(node: ast.AST) -> ast.AST | None:
    """The source of another process, which a text holds."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return None
    if "import " not in node.value and "sleep(" not in node.value:
        return None
    try:
        return ast.parse(textwrap.dedent(node.value))
    except SyntaxError:
        return None


def uses(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield lines, and what of the above stands there; in texts that are Python themselves, too."""
    imported = _imported(tree)
    for node in ast.walk(tree):
        if (inner := _inner(node)) is not None:
            yield from ((node.lineno, what) for _, what in uses(inner))  # type: ignore[attr-defined]
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{name.name}" for name in node.names]
            yield from ((node.lineno, name) for name in names if _named(name))
        if isinstance(node, ast.Attribute) and _named(name := _resolved(node, imported)):
            yield node.lineno, name
        if isinstance(node, ast.Call) and (what := _called(node, _resolved(node.func, imported))):
            yield node.lineno, what


def _resolved(node: ast.expr, imported: dict[str, str]) -> str:
    """A dotted name in full; one that was not imported begins with a dot."""
    first, _, rest = _dotted(node).partition(".")
    if first not in imported:
        return f".{first}.{rest}" if rest else first
    return ".".join(part for part in (imported[first], rest) if part)
