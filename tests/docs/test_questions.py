"""What a newcomer asks first is answered within two clicks, in a few lines that run."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.layers import ROOT

DOCS = ROOT / "docs"
CLICKS, LINES = 2, 10
FENCE = re.compile(r"^(`{3,})(\{code-cell\} ipython3|python|sh)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)

#: The label of the section that answers, and what its answer says.
QUESTIONS = {
    "question-now": ["join-2669/26", "join-0376", "3,623 preempted"],
    "question-preempted": ["join-2669/26 is preemptible", "Operation join-0376 is starving"],
    "question-waits": ["build-0285/pending", "did not start", "is not starving"],
    "question-spared": ["3 leaves: ", "5 stays: ", "others are taken"],
    "question-day": ["30s", "2h", "lost_work.cpu"],
    "question-share": ["mobile has 2.17 %", "its child mobile/fraud is limited to"],
}
#: Likewise of sections that the front page does not name.
ANSWERS = {**QUESTIONS, "question-letter": ["has to leave node", "to make room for operation join-0376"]}


def _text(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def _pages() -> Iterator[str]:
    generated = {"generated", "_build"}
    for path in sorted(DOCS.rglob("*.md")):
        if not generated & set(path.parts):
            yield str(path.relative_to(DOCS))


@cache
def _homes() -> dict[str, str]:
    """Return the page of each label: ``(label)=`` before a heading."""
    return {
        label: page
        for page in _pages()
        for label in re.findall(r"^\(([\w-]+)\)=$", _text(page), re.MULTILINE)
    }


def _links(page: str, homes: dict[str, str]) -> set[tuple[str, str]]:
    """Return what can be clicked on a page: (page, label or nothing)."""
    text, folder, found = _text(page), Path(page).parent, set()
    for link, kind in re.findall(r"^:link: (\S+)\n:link-type: (\w+)$", text, re.MULTILINE):
        found.add((homes[link], link) if kind == "ref" else (os.path.normpath(folder / f"{link}.md"), ""))
    for toctree in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        names = [line for line in toctree.split("\n") if line and not line.startswith(":")]
        found |= {(os.path.normpath(folder / f"{name}.md"), "") for name in names if "*" not in name}
    for link in re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", text):
        found.add((os.path.normpath(folder / link), ""))
    return found


@cache
def _reached() -> tuple[set[str], set[tuple[str, str]]]:
    """Return the pages, and the links, that are at most two clicks from the front page."""
    homes = _homes()
    pages, links = {"index.md"}, set()
    for _ in range(CLICKS):
        links |= {link for page in sorted(pages) if (DOCS / page).exists() for link in _links(page, homes)}
        pages |= {page for page, _ in links}
    return pages, links


def _section(label: str) -> str:
    page = _text(_homes()[label])
    return re.split(r"^\([\w-]+\)=$", page.split(f"({label})=\n")[1], flags=re.MULTILINE)[0]


def _blocks(label: str) -> tuple[str, str]:
    """Return the lines of Python and of shell that answer a question."""
    found = {("sh" if kind == "sh" else "python"): code for _, kind, code in FENCE.findall(_section(label))}
    return found["python"], found["sh"]


def _run(code: str) -> str:
    """Return what a notebook would show: what is printed, and the value of the last line."""
    body = ast.parse(code).body
    names: dict[str, Any] = {}
    shown = StringIO()
    with redirect_stdout(shown):
        last = body.pop() if isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "section", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "section", "eval"), names)
            shown.write(value.to_string() if hasattr(value, "to_string") else repr(value))
            if "plan" in names:
                shown.write(repr(names["plan"]))
    return shown.getvalue()


@pytest.mark.parametrize("label", QUESTIONS)
def test_a_question_is_on_the_front_page(label: str) -> None:
    assert (_homes()[label], label) in _links("index.md", _homes())
    assert _homes()[label] in _reached()[0]


def test_all_pages_of_the_navigation_are_within_two_clicks() -> None:
    """So that the search for links finds what Sphinx would."""
    folders = {page for page in _pages() if Path(page).parent.name in ("how-to", "concepts", "policies")}
    assert folders <= _reached()[0]


@pytest.mark.parametrize("label", ANSWERS)
def test_an_answer_is_short_and_runs(label: str) -> None:
    code, _ = _blocks(label)
    assert 3 <= code.count("\n") <= LINES
    assert max(map(len, code.split("\n"))) <= 76, "seen without scrolling"
    told = _run(code)
    for words in ANSWERS[label]:
        assert words in told


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the commands read."""
    made = tmp_path_factory.mktemp("questions")
    first = FENCE.findall(_text("how-to/questions.md"))[0]
    assert first[1] == "sh"
    _shell(first[2], made)
    (made / "log.swf.gz").write_bytes((ROOT / "notebooks" / "small.swf.gz").read_bytes())
    return made


def _shell(block: str, folder: Path) -> str:
    words = re.sub(r"^evenhand ", f"{sys.executable} -m evenhand ", block, flags=re.MULTILINE)
    done = subprocess.run(words, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("label", ANSWERS)
def test_a_command_says_the_same(label: str, folder: Path) -> None:
    _, block = _blocks(label)
    assert 1 <= block.count("\n") <= LINES
    told = " ".join(_shell(block, folder).split())
    wanted = {
        "question-now": ["join-2669/26", "3,623 preempted"],  # long names are cut where 80 columns are full
        "question-day": ["waiting.p95", "lost_work.cpu"],
        "question-share": ["mobile", "% of"],
        "question-spared": ["join-2669/26", "was not preempted", "preemption_satisfaction_threshold 5"],
    }
    for words in wanted.get(label, ANSWERS[label]):
        assert words in told
