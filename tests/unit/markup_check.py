"""Is a piece of HTML well-formed, harmless and self-contained?"""

from __future__ import annotations

from html.parser import HTMLParser

_EMPTY = {"wbr", "br", "hr", "img", "meta", "input", "link"}
_ALLOWED = set(
    "style pre div header b span summary details i br table caption thead tbody tr th td wbr".split()  # noqa: SIM905
)
_ATTRIBUTES = {"class", "style", "open", "hidden", "title", "role", "aria-label", "aria-hidden", "scope"}


class Page(HTMLParser):
    """Parse once; `texts` are the visible texts, `labels` what a screen reader is told of the bars."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.labels: list[str] = []
        self.counts: dict[str, int] = {}
        self.broken = False  # may be broken here: the text goes on
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _ALLOWED, f"unexpected element {tag}"
        names = [name for name, _ in attrs]
        assert set(names) <= _ATTRIBUTES, f"unexpected attribute among {names}"
        assert len(set(names)) == len(names), f"an attribute twice: {names}"
        self.labels += [value or "" for name, value in attrs if name == "aria-label"]
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.broken = tag == "wbr"
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} is closed but not open"
        assert self.open.pop() == tag, f"{tag} is closed out of order"

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "pre" not in self.open:
            if self.broken:
                data = self.texts.pop() + data
            self.texts.append(data)
            self.broken = False
        for character in data:
            assert character == "\n" or character.isprintable(), f"{character!r} in the text"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")
