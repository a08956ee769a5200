"""A question read back shows what the trace holds: the same places, the same complaints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helix.demo.generator import write
from helix.grounding import Ground, resolve_refs
from helix.grounding.texts import fold
from helix.ingest import Input
from helix.judging.asked import read_back
from helix.judging.conversation import faults
from helix.judging.packet import PacketSettings, build
from helix.judging.rendering import render
from helix.judging.reply import Unusable, read
from helix.model.config import SubjectConfig
from helix.model.packet import MatrixPacket
from helix.model.request import Pin, Reply, Request, Unit
from helix.model.trace import Trace
from helix.model.verdict import MAX_CITED, Ref
from helix.registry import load
from tests.judging.bench import row, verdict

PIN = Pin("scripted", "m", "scripted:m")
CHANNELS = ("observations[*].name", "transcript[*].text")
TERMS = ("the wish", "R-88213", "refund")
KINDS = ("tau_bench_airline_gpt4o", "otlp_spans", "claude_code_sessions", "langfuse_exports")


def question(trace: Trace, tokens: int = 400_000, **packet: Any) -> tuple[MatrixPacket, Request]:
    """Return what a judge is shown of a trace, and the question that shows it."""
    settings = PacketSettings(SubjectConfig(name="desk"), PIN, tokens, tools=("refund",), **packet)
    shown = build(trace, [row(terms=TERMS), row("c2")], {}, settings)
    unit = Unit(
        role="judge", axis="trajectory", trace_id=trace.id, trace_digest="d", criteria=("c1", "c2"),
        criteria_digest="c", replicate=0,
    )  # fmt: skip
    return shown, render(shown, unit, PIN, CHANNELS)


def places(packet: MatrixPacket) -> Iterator[tuple[str, str, str]]:
    for leaf in (*packet.input, *packet.output, *(x for s in packet.trajectory for x in s.leaves)):
        if leaf.same_as is None and not leaf.elided:
            yield leaf.obs, leaf.path, leaf.text
    yield from ((m.id, "text", m.text) for m in packet.transcript if not m.elided)


def real(shared: Path, tmp_path: Path) -> Iterator[Trace]:
    """Yield the demo's traces, and the first of each of some real formats."""
    demo = tmp_path / "demo.jsonl"
    write(demo)
    for source in (demo, *(shared / "traces" / kind for kind in KINDS)):
        found = [t for t in Input.open(str(source), "auto", load()) if isinstance(t, Trace)]
        yield from found if source == demo else found[:4]


def test_every_value_that_a_question_shows_is_found_where_it_stands(
    shared: Path, tmp_path: Path
) -> None:
    seen = 0
    for trace in list(real(shared, tmp_path))[::3]:
        packet, request = question(trace)
        asked = read_back(request)
        assert [o.name for o in asked.ground.trace.observations] == [
            step.name for step in packet.trajectory
        ]
        for obs, path, text in places(packet):
            words = fold(text)
            if not words or len(words) > MAX_CITED or not words.isprintable():
                continue
            seen += 1
            (here,) = resolve_refs(trace, [_ref(obs, path, words)], complete_channels=CHANNELS)
            (there,) = asked.ground.resolved([_ref(obs, path, words)])
            assert here.match == there.match, (trace.id, here, there)
            found = [(ref.obs, ref.path) for ref, _ in asked.places(words)]
            assert (obs, path) in found, (trace.id, words)
    assert seen > 700


def test_an_answer_is_held_to_the_same_complaints_as_in_the_run(
    shared: Path, tmp_path: Path
) -> None:
    for trace in list(real(shared, tmp_path))[::6]:
        packet, request = question(trace)
        asked = read_back(request)
        ground = Ground.of(trace, packet, CHANNELS, verified=True)
        for cell in _cells(trace):
            assert asked.wrong("c1", request.nonce, cell) == _told(cell, packet, ground), trace.id


def _told(cell: dict[str, Any], packet: MatrixPacket, ground: Ground) -> list[str]:
    """Return what the run says of one row, its terms that code looks up aside."""
    excused = cell["result"] == "na"
    text = json.dumps({"nonce": "n", "verdicts": [] if excused else [cell],
                       "notApplicable": [cell] if excused else []})  # fmt: skip
    answer = read(Reply(text=text), "n", ["c1"])
    if isinstance(answer, Unusable):
        return [answer.reason]
    (first, _) = packet.criteria
    kept = type(first)(criterion_id="c1", statement="", severity="HIGH", terms=("the wish",))
    return [fault.removeprefix("c1: ") for fault in faults(answer, [kept], ground)]


def _cells(trace: Trace) -> Iterator[dict[str, Any]]:
    good = _cited(trace.transcript[0].id, "text", trace.transcript[0].text)
    bound = [{"term": "the wish", "ref": good}]
    yield verdict(refs=[good], bindings=bound)
    yield verdict(refs=[], bindings=bound)
    yield verdict(refs=[{**good, "value": "words that nobody said"}], bindings=bound)
    yield verdict(refs=[{**good, "obs": "nothing"}], bindings=bound)
    yield verdict(refs=[good])
    yield verdict(refs=[good], bindings=bound, claim=" ")
    yield verdict(refs=[good], bindings=bound, litmus={"premise": "x", "groundedBy": "y"})
    yield verdict(result="na", refs=[])
    yield verdict(result="perhaps", refs=[good])
    scan = {"channel": CHANNELS[0], "pattern": "^nothing_of_this_name$", "matches": 0}
    for items in (len(trace.observations), len(trace.observations) + 1):
        ref = {"obs": trace.id, "path": CHANNELS[0], "scan": {**scan, "items": items}}
        yield verdict(refs=[ref], bindings=bound)


def _cited(obs: str, path: str, text: str) -> dict[str, Any]:
    return {"obs": obs, "path": path, "value": fold(text)[:MAX_CITED].rpartition(" ")[0]}


def _ref(obs: str, path: str, words: str) -> Ref:
    return Ref(obs=obs, path=path, value=words)
