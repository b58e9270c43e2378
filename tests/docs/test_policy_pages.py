"""Pages of policies: the same headings everywhere, sources for what they say, no switch forgotten."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.systems import SYSTEMS, System
from tests.packaging.layers import ROOT
from tests.shared import SHARED, shared

POLICIES = ROOT / "docs" / "policies"
PAGES = [page for page in sorted(POLICIES.glob("*.md")) if page.stem != "index"]
HEADINGS = (
    "In one paragraph",
    "What may preempt",
    "What may be preempted",
    "Order and selection",
    "Feasibility and pace",
    "Actions and grace",
    "Room",
    "Repair",
    "Presets: documented and upstream",
    "What each settings field means",
    "How a snapshot is read",
    "Left out",
    "Laws that hold",
)
RULES = HEADINGS[1:8]
OF_SYSTEMS = pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.word)
MARK = re.compile(r"\[([DRTE]|S\d)\]")


def sections(page: Path) -> dict[str, str]:
    """Text of a page by heading of the second level."""
    parts = re.split(r"^## (.*)$", page.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def bullets(text: str) -> list[str]:
    """Items of the lists of a section."""
    found = re.findall(r"^\* (.*(?:\n  .*)*)", text, flags=re.MULTILINE)
    return [" ".join(item.split()) for item in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_headings(page: Path) -> None:
    assert tuple(sections(page))[: len(HEADINGS)] == HEADINGS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_rules_name_their_sources(page: Path) -> None:
    found = sections(page)
    for heading in RULES:
        items = bullets(found[heading])
        assert items, heading
        for item in items:
            assert MARK.search(item), f"{heading}: {item}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_source_is_explained(page: Path) -> None:
    text, explained = page.read_text(), sections(page)["Sources"]
    used = set(MARK.findall(text.partition("## Sources")[0]))
    assert used
    for mark in used:
        assert f"[{mark}]: #sources" in explained
        assert explained.count(f"[{mark}]") == 2, f"{mark} is a link that says nothing"


def test_every_system_has_a_page() -> None:
    assert {page.stem for page in PAGES} == set(SYSTEMS)


@OF_SYSTEMS
def test_presets_are_all_in_the_table(system: System) -> None:
    table, model = (
        sections(POLICIES / f"{system.word}.md")["Presets: documented and upstream"],
        system.policy.model,
    )
    row = r"^\* - `(\w+)`\\\n    \S.*\n  - `(.*?)` (\[.*)\n  - `(.*?)` (\[.*)$"
    rows = re.findall(row, table, re.MULTILINE)
    told = {name: (documented, upstream) for name, documented, _, upstream, _ in rows}
    documented, upstream = (model.preset(name) for name in ("documented", "upstream"))
    differing = {
        name: (repr(getattr(documented, name)), repr(getattr(upstream, name)))
        for name in model.model_fields
        if getattr(documented, name) != getattr(upstream, name)
    }
    assert told == differing
    assert all(MARK.fullmatch(mark) for row in rows for column in (2, 4) for mark in row[column].split())


@pytest.mark.shared
def test_ytsaurus_quotes_what_the_script_says() -> None:
    shared("traces", "yt-gpu-tree", "gpu_tree_subset.csv")
    text = (POLICIES / "ytsaurus.md").read_text()
    [quoted] = re.findall(r"<!-- tools/explain_gpu_tree\.py -->\n```text\n(.*?)```\n", text, flags=re.DOTALL)
    said = subprocess.run(
        [sys.executable, ROOT / "tools" / "explain_gpu_tree.py"],
        env={**os.environ, "EVENHAND_SHARED": str(SHARED)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == quoted


@OF_SYSTEMS
def test_pages_name_only_fields_that_are_read(system: System) -> None:
    """The short table of a page says nothing that the table of all systems does not."""
    text = sections(POLICIES / f"{system.word}.md")["How a snapshot is read"]
    found = re.findall(r"^\| (\w+)[^|]* \| (.*) \|$", text, re.MULTILINE)
    known = {table for other in SYSTEMS.values() for table in other.reads}
    tables = [(table, cells) for table, cells in found if table in known]
    assert len(tables) >= 6
    for table, cells in tables:
        read = {*system.reads.get(table, ()), "settings"}
        named = set(re.findall(r"`([a-z_.]+)`", cells.partition("`settings`:")[0]))
        parts = {name.partition(".")[0] for name in read}
        assert named <= read | parts, (table, named - read)
