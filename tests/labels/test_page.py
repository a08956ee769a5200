"""The page without a browser: whatever it shows of a real trace can be cited from it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from helix.errors import TraceError
from helix.grounding import resolve_refs
from helix.ingest import Input
from helix.labels.desk import Desk, tasks
from helix.labels.store import Store
from helix.model.criterion import Criterion
from helix.model.trace import Trace
from helix.model.verdict import Ref
from helix.registry import load
from helix.reports.labelling import render
from tests.labels.page import row

MOST_VALUES = 40
MOST_TRACES = 12


class Values(HTMLParser):
    """Reads values off a page as its script does: an escape stands for one character."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []
        self._obs, self._path, self._text = "", "", ""
        self._open: list[str] = []
        self._whole = True
        self.scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.scripts += tag == "script"
        if "data-obs" in given:
            self._obs = json.loads(given["data-obs"] or "")
        if "data-path" in given:
            self._path, self._text, self._whole = json.loads(given["data-path"] or ""), "", True
            self._open = ["value"]
        elif self._open and tag == "span":
            self._open.append(given.get("class") or "")
            self._whole = self._whole and self._open[-1] != "gap"

    def handle_endtag(self, tag: str) -> None:
        if self._open and tag == "span" and self._open.pop() == "value" and self._whole:
            self.found.append((self._obs, self._path, self._text))

    def handle_data(self, data: str) -> None:
        if self._open:
            escape = self._open[-1] == "esc"
            self._text += chr(int(data[2:], 16)) if escape else data


def read(page: str) -> Values:
    values = Values()
    values.feed(page)
    return values


@pytest.mark.parametrize(
    "folder",
    ["agentrx_tau_retail", "atif", "claude_code_sessions", "codex_rollouts", "inspect_logs",
     "langfuse_exports", "mutagent_unitf/traces.jsonl", "openhands", "otlp_spans",
     "provider_api_items", "swe_agent_traj", "trajectory_judge_generated", "who_and_when"],
)  # fmt: skip
def test_every_value_on_the_page_of_a_real_trace_can_be_cited(
    shared: Path, folder: str, tmp_path: Path
) -> None:
    source = Input.open(str(shared / "traces" / folder), "auto", load([]))
    traces: list[Trace] = []
    try:
        traces += [item for item in source if isinstance(item, Trace)]
    except TraceError:
        assert traces
    store = Store(tmp_path / "ada.jsonl", "ada")
    desk = Desk(tasks(traces, [Criterion.model_validate(row("kind"))]), store, "ada", lambda: "")
    cited = 0
    for task in desk.tasks[:MOST_TRACES]:
        values = read(render(desk, task))
        assert values.scripts == 1
        short = [v for v in values.found if v[2].strip() and len(v[2]) <= 200]
        refs = [Ref(obs=obs, path=path, value=text) for obs, path, text in short[:MOST_VALUES]]
        dead = [
            r for r in resolve_refs(task.trace, refs, complete_channels=()) if r.match == "dead"
        ]
        assert dead == []
        cited += len(refs)
    store.close()
    assert cited > 10
