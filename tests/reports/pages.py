"""Reading a report page back: its elements with their attributes and text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser

from helix.model.trace import Trace
from helix.reports.run import RunReport
from helix.reports.scale import render_pages
from helix.reports.stream import RunStream

VOID = {"meta", "input", "br", "img", "link", "hr"}


@dataclass
class Element:
    """One element: tag, attributes, the text inside it, its ancestors."""

    tag: str
    attributes: dict[str, str]
    above: tuple[Element, ...]
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def inside(self, name: str) -> Element | None:
        """Return the nearest ancestor with a class."""
        return next((e for e in reversed(self.above) if name in e.classes), None)


def page_of(made: RunReport, traces: Iterable[Trace] = ()) -> str:
    """Return the page of a run in one file; `traces` are those whose steps can be read."""
    held = tuple(traces)
    run = RunStream(
        made.scorecard,
        made.rows,
        lambda: made.lines,
        made.meta,
        made.folder,
        {trace.id: trace.file for trace in made.traces if trace.file},
        subject=made.subject,
        originals=lambda ids: (trace for trace in held if trace.id in ids),
        mode="single",
    )
    return b"".join(part for part in render_pages(run) if isinstance(part, bytes)).decode("utf-8")


class Page(HTMLParser):
    """A page as a flat list of elements; a tag that is closed wrongly raises."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        assert not self._open, [e.tag for e in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {k: v or "" for k, v in attrs}, tuple(self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1].tag == tag, (tag, [e.tag for e in self._open])
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.texts.append(data)

    def all(self, tag: str | None = None, name: str | None = None) -> list[Element]:
        return [
            e
            for e in self.elements
            if (tag is None or e.tag == tag) and (name is None or name in e.classes)
        ]

    def by_id(self) -> dict[str, Element]:
        ids = [e.attributes["id"] for e in self.elements if "id" in e.attributes]
        assert len(ids) == len(set(ids)), sorted(i for i in ids if ids.count(i) > 1)[:5]
        return {e.attributes["id"]: e for e in self.elements if "id" in e.attributes}
