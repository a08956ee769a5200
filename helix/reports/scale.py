"""The page of a run in the size that fits it: inline, packed, or with a page per trace.

Traces are composed one at a time and wait on a shelf; how large the page is to be is decided when
all of them are known, so that it follows from what is shown and not from a guess.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal
from urllib.parse import quote

from helix.registry.leaf import Leaf
from helix.reports.html import STYLES, asset, environment, page_values
from helix.reports.joined import joined
from helix.reports.outline import Outline, outline
from helix.reports.page import PageFacts
from helix.reports.run import MAX_STEPS, TraceView
from helix.reports.shelf import Shelf, in_page, pieces, shelf
from helix.reports.stream import RunStream

Layout = Literal["inline", "packed", "pages"]
INLINE_TRACES: Final = 500
"""How many traces stand in a page as they are; beyond it the list is drawn as it is scrolled."""
LARGEST_PAGE: Final = 20_000_000
"""How many characters of packed parts one page holds; beyond it every trace gets a page."""
WITHOUT_SCRIPTS: Final = 1000
"""How many traces the list holds for a browser without scripts."""
LARGE_COLUMNS: Final = 100
"""How many traces the matrix of a large page holds: its marks are most of the time it opens in."""
SCRIPT: Final = ("report-list.js", "report.js")
_BUFFERED: Final = 500
_NAME: Final = 24


@dataclass(frozen=True, slots=True)
class Kept:
    """What a page that is not inline is rendered with beside what every page is."""

    layout: Layout
    drawn: Outline
    shelf: Shelf
    folder: str

    def page_of(self, trace: TraceView) -> str | None:
        """Return where a trace has its page, seen from the report: empty for in the report.

        None where it is not listed.
        """
        if trace.index not in self.shelf:
            return None
        return f"{quote(self.folder)}/{page_name(trace)}" if self.layout == "pages" else ""

    def bodies(self) -> Iterator[tuple[TraceView, str]]:
        """Yield the trajectories, the worst first, each with its part, which is markup already."""
        for trace in self.drawn.listed:
            yield trace, self.shelf.text(trace.index)

    def parts(self) -> Iterator[tuple[int, str]]:
        """Yield the packed parts by the number of their trace."""
        if self.layout == "packed":
            for at in sorted(trace.index for trace in self.drawn.listed):
                yield at, in_page(self.shelf.data(at))

    def rows(self, facts: PageFacts) -> Iterator[str]:
        """Yield the list, packed, in pieces: a JSON list of a row per trace, the worst first."""
        row = _macro("row.html.j2", "closed")
        texts = (json.dumps(str(row(t, facts, self.page_of(t)))) for t in self.drawn.listed)
        return pieces(itertools.chain(["["], _between(", ", texts), ["]"]))

    def unscripted(self) -> tuple[TraceView, ...]:
        """Return the traces that the list without scripts holds, the worst first."""
        return self.drawn.listed[:WITHOUT_SCRIPTS]


def render_pages(run: RunStream) -> Iterator[bytes | Leaf]:
    """Yield the page of a run in parts, and before it the pages of its traces where it has any."""
    facts = PageFacts.begun(run)
    drawn = outline(run, facts)
    with shelf() as parts:
        body, steps, shown = _macro("trace.html.j2", "body"), 0, 0
        for trace in joined(run, drawn.listed):
            parts.put(trace.index, str(body(trace, facts)))
            steps += len(trace.steps)
            shown += bool(trace.steps)
        layout = layout_of(run.mode, len(drawn.listed), steps, parts.size)
        kept = Kept(layout, drawn, parts, PurePath(run.name).stem)
        if layout == "pages":
            yield from _leaves(kept, facts, run.name)
        values = page_values(run, drawn, facts, kept.page_of)
        values |= {"shown": shown, "kept": kept}
        if layout != "inline":
            values |= {"styles": STYLES, "columns": drawn.listed[:LARGE_COLUMNS]}
        stream = environment().get_template("report.html.j2").stream(values)
        stream.enable_buffering(_BUFFERED)
        for text in stream:
            yield text.encode("utf-8")


def layout_of(mode: str, traces: int, steps: int, size: int) -> Layout:
    """Choose how a page holds its traces; `size` is what they take of it when packed."""
    if mode == "directory":
        return "pages"
    if traces <= INLINE_TRACES and steps <= MAX_STEPS:
        return "inline"
    return "packed" if mode == "single" or size <= LARGEST_PAGE else "pages"


def page_name(trace: TraceView) -> str:
    """Return the file name of a trace's page: a digest, since an id is no file name."""
    text = f"{trace.id}\0{trace.line.replicate}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:_NAME] + ".html"


def _leaves(kept: Kept, facts: PageFacts, report: str) -> Iterator[Leaf]:
    yield Leaf("report.css", "".join(map(asset, STYLES)).encode("utf-8"))
    yield Leaf("report.js", "".join(map(asset, SCRIPT)).encode("utf-8"))
    template = environment().get_template("page.html.j2")
    listed = kept.drawn.listed
    for at, (trace, body) in enumerate(kept.bodies()):
        text = template.render(
            card=facts.card,
            facts=facts,
            trace=trace,
            body=body,
            at=at,
            of=kept.drawn.traces,
            before=page_name(listed[at - 1]) if at else None,
            after=page_name(listed[at + 1]) if at + 1 < len(listed) else None,
            back=f"../{quote(report)}",
        )
        yield Leaf(page_name(trace), text.encode("utf-8"))


def _between(mark: str, texts: Iterable[str]) -> Iterator[str]:
    """Yield the texts, each but the first behind a mark."""
    for at, text in enumerate(texts):
        yield mark + text if at else text


def _macro(template: str, name: str) -> Callable[..., object]:
    found: Callable[..., object] = getattr(environment().get_template(template).module, name)
    return found
