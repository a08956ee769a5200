"""The page that a rater labels on: one trace laid out as steps, one criterion, what was said.

It looks as the run report does and marks evidence the same way. Every value carries its address,
so that a selection is a ref.
"""

from __future__ import annotations

import json
from typing import Final

from helix.fieldpath import render_steps
from helix.grounding import resolve_refs
from helix.judging.packet import agent_steps
from helix.labels.desk import Desk, Task
from helix.labels.record import WORDS
from helix.model.verdict import Ref
from helix.reports.html import asset, environment
from helix.reports.trajectory import lay_out
from helix.reports.visible import one_line

ASSETS: Final = {
    "report.css": "text/css; charset=utf-8",
    "label.css": "text/css; charset=utf-8",
    "label.js": "text/javascript; charset=utf-8",
}
KEYS: Final = {"pass": "1", "fail": "2", "cannot-decide": "D"}
LOOKS: Final = {"pass": "pass", "fail": "fail", "cannot-decide": "uncertain"}


def assets() -> dict[str, tuple[str, bytes]]:
    """Return the media type and the bytes of everything that the page loads."""
    return {name: (kind, asset(name).encode("utf-8")) for name, kind in ASSETS.items()}


def render(desk: Desk, task: Task) -> str:
    """Return the page of one cell; text of the trace is escaped, acting characters spelled out."""
    label = desk.label_of(task)
    cited = [Ref(obs=r.obs, path=r.path, value=r.value) for r in label.refs] if label else []
    refs = resolve_refs(task.trace, cited, complete_channels=())
    steps, places = lay_out(task.trace, "t", refs, {s.id: s.n for s in agent_steps(task.trace)})
    page = environment().get_template("label.html.j2")
    return page.render(
        desk=desk,
        task=task,
        label=label,
        verdict=desk.verdict_of(task),
        refs=[(ref, places.get(ref)) for ref in refs],
        steps=steps,
        of_trace=[other for other in desk.tasks if other.trace is task.trace],
        sent=json.dumps([{"obs": r.obs, "path": r.path, "value": r.value} for r in refs]),
        plain=json.dumps,
        path_of=render_steps,
        title=one_line(f"{task.criterion.criterion_id} on {task.trace.id}", 120),
        marks=WORDS,
        keys=KEYS,
        looks=LOOKS,
        count=len(desk.tasks),
    )
