"""Every example that a reader may copy runs: README, pages, docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import evenhand as eh
from tests.packaging.layers import ROOT

OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    """Every module of the package that can be imported without side effects."""
    found = [m.name for m in pkgutil.walk_packages(eh.__path__, "evenhand.")]
    return [name for name in found if not name.endswith(("__main__", "_core"))]


@pytest.mark.parametrize("name", modules())
def test_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert result.failed == 0


def test_docstrings_have_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = sum(len(t.examples) for m in modules() for t in finder.find(importlib.import_module(m)))
    assert examples > 10


def test_readme(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    assert blocks[0].count("\n") <= 30
    names: dict[str, object] = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    plan = names["plan"]
    assert isinstance(plan, eh.Plan)
    assert [d.allocation for d in plan.decisions.victims] == [f"notebook-{i}" for i in (7, 6, 5, 4)]
    assert [d.request for d in plan.decisions.starts] == ["train"]
    told = capsys.readouterr().out
    assert "notebook-7 is preemptible" in told
    assert (
        "Allocation notebook-3 of operation notebooks on node n1 was not preempted: in the preemptive stage"
        in told
    )


def test_readme_has_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    first, second = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert "evenhand demo" in first
    assert "pytest" in second


def test_links_of_pages_lead_somewhere() -> None:
    """Relative links in Markdown outside the built documentation, which Sphinx checks itself."""
    for page in (ROOT / "README.md", ROOT / "cpp" / "README.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / Path(target)).exists(), f"{page.name}: {target}"
