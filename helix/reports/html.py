"""The run report as one offline page: no request, no script but its own, readable without any."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from helix.reports import repeated, summary, views, words
from helix.reports.outline import Outline
from helix.reports.page import PageFacts
from helix.reports.run import CellView, TraceView
from helix.reports.stream import RunStream
from helix.reports.subject import subject_facts
from helix.reports.visible import one_line, visible

TEMPLATES = files("helix.reports") / "templates"
STYLES = ("report.css", "report-list.css")
MAX_COLUMNS = 300
"""How many traces the matrix holds; beyond it, the worst."""


def page_values(
    run: RunStream, drawn: Outline, facts: PageFacts, page: Callable[[TraceView], str | None]
) -> dict[str, Any]:
    """Return what the template of the report is rendered with.

    `page` says where a trace has a page of its own: empty for on this one, None for nowhere.
    """
    return {
        "drawn": drawn,
        "card": run.scorecard,
        "facts": facts,
        "meta": run.meta,
        "columns": drawn.listed[:MAX_COLUMNS],
        "firsts": _firsts(drawn, page),
        "execution": _execution(run),
        "who": subject_facts(run.subject) if run.subject else [],
        "unread": summary.unreadable(run.scorecard.load.failures),
        "styles": STYLES[:1],
        "page": page,
    }


def _firsts(drawn: Outline, page: Callable[[TraceView], str | None]) -> dict[str, str]:
    """Return the address of the first failing cell of each criterion, of those that are listed."""
    first: dict[str, tuple[TraceView, CellView]] = {}
    for trace in drawn.listed:
        for cell in trace.cells:
            known = first.get(cell.row.id)
            if cell.standing == "fail" and (known is None or trace.index < known[0].index):
                first[cell.row.id] = trace, cell
    return {
        name: f"{page(trace)}#t{trace.index}-c{cell.row.index}"
        for name, (trace, cell) in first.items()
    }


def _execution(run: RunStream) -> list[tuple[str, str | None]]:
    meta = run.meta
    return [
        ("traces in", run.folder or "."),
        ("run directory", meta.run_dir),
        ("started", meta.started_at),
        ("time", words.duration(meta.duration_s)),
        ("Helix", meta.helix_version),
    ]


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates of all pages: whatever they show is escaped."""
    made = Environment(
        autoescape=True,
        loader=FunctionLoader(asset),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"shown": _shown, "line": one_line}
    made.globals |= {
        "words": words,
        "repeated": repeated,
        "summary": summary,
        "views": views,
        "digest": _digest,
        "kept": None,
    }
    return made


def _shown(value: Any) -> str:
    return words.NOT_RECORDED if value is None else visible(str(value))


def asset(name: str) -> str:
    """Return the text of a template, a style sheet or a script."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _digest(*names: str) -> str:
    """Return how a policy names what stands in one element: these assets, one after the other."""
    digest = hashlib.sha256("".join(map(asset, names)).encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode()
