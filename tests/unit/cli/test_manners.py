"""What holds for every command there is: each is found from the parser, so that a new one is held, too."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand.cli import main
from evenhand.cli.advice import ADVICE, in_options
from evenhand.cli.values import File
from evenhand.display.text import width
from tests.packaging.layers import ROOT
from tests.unit.cli.manners import CALLS, COMMANDS, calls, given, standard_output

#: Options and arguments whose words are no names of files: names of what is in them, and such.
WORDS = {"name", "on", "header", "resource", "pools", "metric", "timezone", "adapter", "partition"}
WORDS |= {"consumer", "providers", "explain", "live"}
#: Commands of which a call writes nothing but what a driver does, which must not end for want of a reader.
ENDLESS = {"watch", "preempt"}


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    return calls(tmp_path, monkeypatch)


def told(error: str) -> list[str]:
    """Lines of messages, without notes."""
    return [line for line in error.splitlines() if not line.startswith("evenhand: note: ")]


def test_every_command_has_a_call() -> None:
    assert CALLS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_calls_succeed(command: str, lines: dict[str, list[str]], run: Any) -> None:
    status, out, err = run(*lines[command])
    assert (status, told(err)) == (0, [])
    assert out.strip()


# --- files and standard input


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_is_a_file_or_a_word_that_is_none(command: str) -> None:
    """What takes any text is listed above: whatever else names a file says how it takes ``-``."""
    for action in COMMANDS[command]._actions:
        if action.nargs == 0 or action.choices is not None:
            continue
        assert action.type is not None or action.dest in WORDS, action.dest
        if "FILE" in str(action.metavar) or action.dest in ("file", "trace", "save"):
            assert isinstance(action.type, File), action.dest


FILES = [
    pytest.param(command, action, id=f"{command} {action.dest}")
    for command, parser in COMMANDS.items()
    for action in parser.files()
]


def with_file(words: list[str], action: Any, name: str) -> list[str]:
    """The call with another file in the place of an argument or option."""
    if not action.option_strings:
        at = [a.dest for a in COMMANDS[words[0]].files() if not a.option_strings].index(action.dest) + 1
        return [*words[:at], name, *words[at + 1 :]]
    option = action.option_strings[0]
    if option in words:
        at = words.index(option) + 1
        return [*words[:at], name, *words[at + 1 :]]
    return [*words, option, name]


@pytest.mark.parametrize(("command", "action"), FILES)
def test_a_dash_is_standard_input_or_refused(
    command: str, action: Any, lines: dict[str, list[str]], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    """It is never a file of that name: none is read, and none is made."""
    monkeypatch.chdir(tmp_path)
    words = with_file(lines[command], action, "-")
    before = sorted(tmp_path.iterdir())
    given(monkeypatch, b"")
    if action.type.why:
        with pytest.raises(SystemExit, match="2"):
            main(words)
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 2
        assert re.search(r"argument .+: '-' cannot stand here: .+; name a file$", said[1])
        assert sorted(tmp_path.iterdir()) == before
        return
    with contextlib.suppress(SystemExit):  # nothing is what it should be in an empty file
        main(words)
    assert "No such file" not in capsys.readouterr().err
    assert sys.stdin.buffer.closed or sys.stdin.buffer.read() == b""
    assert not Path("-").exists()


@pytest.mark.parametrize("command", [c for c in COMMANDS if not CALLS[c].endswith(c)])
def test_what_comes_from_standard_input_is_what_the_file_has(
    command: str, lines: dict[str, list[str]], run: Any, monkeypatch: Any
) -> None:
    """The first file of a call, compressed or not."""
    import gzip

    words = lines[command]
    action = next((a for a in COMMANDS[command].files() if not a.option_strings), None)
    if action is None:
        pytest.skip("it has no file")
    name = words[1]
    data = Path(name).read_bytes()
    kind = ["--kind", "swf"] if name.endswith(".swf") else []
    expected = run(*words)
    for content in (data, gzip.compress(data)):
        if command == "journal" and content != data:
            continue
        given(monkeypatch, content)
        status, out, err = run(*with_file(words, action, "-"), *kind)
        assert (status, err) == (0, "")
        assert out.replace("standard input", name) == expected[1]


def test_a_trace_from_standard_input_says_its_kind(capsys: Any) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["simulate", "-"])
    said = "argument --kind: standard input does not come with a name; say which it is\n"
    assert capsys.readouterr().err.endswith(said)


@pytest.mark.parametrize("command", COMMANDS)
def test_two_files_are_not_both_standard_input(
    command: str, lines: dict[str, list[str]], monkeypatch: Any, capsys: Any
) -> None:
    taking = [action for action in COMMANDS[command].files() if not action.type.why]
    for i, first in enumerate(taking):
        for second in taking[i + 1 :]:
            words = with_file(with_file(lines[command], first, "-"), second, "-")
            given(monkeypatch, b"{}")
            with pytest.raises(SystemExit, match="2"):
                main(words)
            assert "only one of them can be" in capsys.readouterr().err
            assert sys.stdin.buffer.read() == b"{}"


def test_a_journal_from_standard_input_is_not_changed(capsys: Any) -> None:
    for option in ("--repair", "--rotate"):
        with pytest.raises(SystemExit, match="2"):
            main(["journal", "-", option])
        assert f"argument {option}: standard input cannot be changed" in capsys.readouterr().err


# --- usage


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_one_line_of_usage_and_one_of_what_is_wrong(command: str, capsys: Any) -> None:
    words = [command, "--nothing-like-it"] if command else ["--nothing-like-it"]
    with pytest.raises(SystemExit, match="2"):
        main(words)
    out, err = capsys.readouterr()
    usage, said = err.splitlines()
    prog = f"evenhand {command}".strip()
    assert out == ""
    assert usage.startswith(f"usage: {prog} [-h] ")
    assert said == f"{prog}: error: there is no option --nothing-like-it"
    if command:
        for action in COMMANDS[command]._actions:
            if action.required:
                assert str(action.metavar) in usage


# --- terminals


@pytest.mark.parametrize("command", COMMANDS)
def test_terminals_without_unicode(
    command: str, lines: dict[str, list[str]], tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    """They get other characters for what is drawn and left out, and no escapes."""
    shown = tmp_path / "shown"
    monkeypatch.setenv("COLUMNS", "60")  # something is left out
    descriptor = os.open(shown, os.O_WRONLY | os.O_CREAT)
    with standard_output(monkeypatch, descriptor, "ascii"):
        assert main(lines[command]) == 0
    text = shown.read_text(encoding="ascii")
    if command == "schema":  # JSON has escapes of its own
        text = text.replace(r"\u2192", "")
    assert not re.search(r"\\u[0-9a-f]{4}", text)


def test_what_is_drawn_stands_in_one_module() -> None:
    """No other text that a command prints has characters that a terminal may lack."""
    others = {
        *("building/problems.py", "cli/streams.py", "display/snapshots.py", "systems/gridengine/text/xml.py"),
        *("systems/yunikorn/properties.py", "systems/yunikorn/text/tree.py", "traces/philly.py"),
        *("building/schema.py", "fields.py", "systems/ytsaurus/settings.py"),  # of the schema and the pages
    }
    strange = []
    for path in sorted((ROOT / "python/evenhand").rglob("*.py")):
        at = path.relative_to(ROOT / "python/evenhand")
        if at.parts[0] in ("plot", "testing") or at.name in ("markup.py", "results.py", "text.py"):
            continue
        if at.as_posix() in others:
            continue
        if (text := path.read_text(encoding="utf-8")).isascii():
            continue
        tree = ast.parse(text)
        comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        strange += [
            f"{at}:{node.lineno}: {node.value!r}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in comments and not node.value.isascii()
        ]
    assert not strange


@pytest.mark.parametrize("columns", [40, 60, 80, 110, 200])
@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c not in ("schema", "versions", "preempt", "snapshot")]
)
def test_lines_fit_the_terminal(
    command: str, columns: int, lines: dict[str, list[str]], run: Any, monkeypatch: Any
) -> None:
    """But for words that are longer, such as paths. The demo is never narrower than it can be read."""
    monkeypatch.setenv("COLUMNS", str(columns))
    _, out, _ = run(*lines[command])
    most = max(columns, 60) if command == "demo" else columns
    for line in out.splitlines():
        assert width(line) <= most or " " not in line.strip(), line


@pytest.mark.parametrize("command", ["shares", "plan", "explain", "simulate", "sweep", "diff"])
def test_without_a_terminal_tables_are_as_in_python(
    command: str, lines: dict[str, list[str]], run: Any, monkeypatch: Any
) -> None:
    """And so they are where COLUMNS says nothing of use."""
    plain = run(*lines[command])[1]
    for said in ("", "0", "-5", "wide", "1" * 30):
        monkeypatch.setenv("COLUMNS", said)
        assert run(*lines[command])[1] == plain


# --- readers that leave, and disks that are full


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("words", [*COMMANDS, "--help", "--version", "plan --help"])
def test_a_full_disk(words: str, lines: dict[str, list[str]], monkeypatch: Any, capsys: Any) -> None:
    with standard_output(monkeypatch, os.open("/dev/full", os.O_WRONLY)):
        status = main(lines.get(words, words.split()))
    said = "evenhand: standard output: cannot be written: No space left on device"
    expected = (0, [f"{said}; the command continues"]) if words in ENDLESS else (1, [said])
    assert (status, told(capsys.readouterr().err)) == expected


@pytest.mark.parametrize("words", [*COMMANDS, "--help", "--version", "plan --help"])
def test_a_closed_pipe(words: str, lines: dict[str, list[str]], monkeypatch: Any, capsys: Any) -> None:
    read, written = os.pipe()
    os.close(read)
    with standard_output(monkeypatch, written):
        status = main(lines.get(words, words.split()))
    assert status == 0
    assert not told(capsys.readouterr().err) or words in ENDLESS


# --- advice


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_no_option_that_there_is_not(command: str) -> None:
    text = COMMANDS[command].format_help()
    others = {option for parser in COMMANDS.values() for option in parser.options()}
    for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text):
        assert option in others, option


#: Python's words that messages of the library advise: a keyword with its equals sign.
PYTHON = re.compile(r"""(?<![\w.\-"'%{<])[a-z_]{3,}=(?=["'{;,. )]|$)""")
#: Files whose texts no command prints, or which are words of a system's own.
OTHERS = ("testing/", "cli/", "plot/", "display/markup", "display/results", "display/snapshots", "history/")
OWN = {"slots=", "passes=", "class=", "victim_selection="}


def test_all_advice_in_python_has_its_option() -> None:
    """Messages of the library that advise a keyword are those of the table, which are said in options."""
    found = []
    for path in sorted(Path(eh.__file__).parent.rglob("*.py")):
        at = path.relative_to(Path(eh.__file__).parent).as_posix()
        if at.startswith(OTHERS):
            continue
        if not PYTHON.search(text := path.read_text(encoding="utf-8")):
            continue
        tree = ast.parse(text)
        comments = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in comments:
                continue
            left = in_options(node.value)
            found += [(at, word) for word in PYTHON.findall(left) if word not in OWN and "<" not in left]
    known = {
        ("building/sources.py", "timezone="),  # a mistake of a caller in Python
        ("display/plans.py", "as_if_waiting="),  # the command line has a sentence of its own
    }
    assert set(found) <= known


@pytest.mark.parametrize("option", ADVICE.values())
def test_advice_names_options_that_there_are(option: str) -> None:
    named = re.findall(r"--[a-z-]+", option)
    assert named
    for name in named:
        assert any(name in parser.options() for parser in COMMANDS.values())


def test_advice_can_be_followed(tmp_path: Path, run: Any) -> None:
    import json

    from tests.unit.cli.manners import SMALL

    odd = json.loads(json.dumps(SMALL))
    odd["allocations"][0]["resources"]["gpu"] = 3.5
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(odd))
    for words in (["validate"], ["shares"], ["plan"]):
        status, _, err = run(words[0], file)
        assert status == 1
        assert "or add --rounding nearest" in err
        assert run(words[0], file, "--rounding", "nearest")[0] == 0
