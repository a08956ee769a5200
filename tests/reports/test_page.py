"""The page, read back: every state, every piece of evidence, and nothing that could act."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import msgspec
import pytest

from helix.grounding.texts import fold
from helix.model.manifest import Load, LoadFailure
from helix.model.scorecard import Gate
from helix.model.trace import Trace
from helix.model.verdict import CodePart, Fidelity, MatrixVerdictFile, Ref
from helix.reports.run import RunReport, compose
from helix.reports.visible import visible
from tests.reports.pages import Page, page_of
from tests.reports.sample import (
    HOSTILE,
    SUITE,
    judged,
    line,
    manifest,
    report,
    scorecard,
    trace,
)


@pytest.fixture(scope="module")
def made() -> RunReport:
    return report()


@pytest.fixture(scope="module")
def html(made: RunReport) -> str:
    return page_of(made, map(trace, range(14)))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_every_cell_of_the_matrix_has_the_state_of_its_verdict_line(
    page: Page, made: RunReport
) -> None:
    found = {
        (e.attributes["data-trace"], next(a for a in reversed(e.above) if a.tag == "tr"
         ).attributes["data-criterion"]): e.attributes["data-state"]
        for e in page.all("td")
        if "data-state" in e.attributes
    }  # fmt: skip
    assert found == {(m.trajectory_id, c): s for m in made.lines for c, s in m.dense_map.items()}


def test_every_verdict_beside_a_trajectory_has_the_state_of_its_line(
    page: Page, made: RunReport
) -> None:
    found = {}
    for cell in page.all("details", "cell"):
        trajectory = cell.inside("traj")
        assert trajectory is not None
        key = trajectory.attributes["data-trace"], cell.attributes["data-criterion"]
        found[key] = cell.attributes["data-state"]
    assert found == {(m.trajectory_id, c): s for m in made.lines for c, s in m.dense_map.items()}


def test_a_cell_nobody_adjudicated_is_not_shown_as_uncertain(page: Page, made: RunReport) -> None:
    shown = {
        (cell.inside("traj").attributes["data-trace"], cell.attributes["data-criterion"])  # type: ignore[union-attr]
        for cell in page.all("details", "incomplete")
        if "cell" in cell.classes
    }
    assert shown == {(m.trajectory_id, c) for m in made.lines for c in m.not_adjudicated}
    words = [e.text for e in page.all("p", "next")]
    assert any("truncated" in w and "capture the trace again" in w for w in words)


def test_the_gate_is_said_in_words_with_its_gaps(page: Page, made: RunReport) -> None:
    hero = page.by_id()["summary"].text
    assert "Gate: fail" in hero and "unvalidated for this pin" in hero
    assert "none, so verdicts are not verified" in hero and "cost not recorded" in hero
    for text in (*made.scorecard.gate.gaps, *made.scorecard.gate.failing):
        assert text in hero


def test_every_link_leads_to_a_place_in_the_page(page: Page) -> None:
    places = page.by_id()
    links = [e.attributes["href"] for e in page.elements if "href" in e.attributes]
    assert links and [h for h in links if not h.startswith("#") or h[1:] not in places] == []


def test_evidence_leads_to_the_very_text_it_cites(page: Page, made: RunReport) -> None:
    marks: dict[str, list[str]] = {}
    for mark in page.all("mark"):
        for anchor in mark.attributes["data-m"].split():
            marks.setdefault(anchor, []).append(mark.text)
    checked = 0
    for one in made.traces:
        for cell in one.cells:
            for ref in cell.refs:
                if ref.match in ("exact", "contains", "weak"):
                    anchor = one.targets[ref].anchor
                    assert fold("".join(marks[anchor])) == fold(visible(ref.value or ""))
                    checked += 1
    assert checked > 50


def test_a_dead_quote_is_struck_through_with_its_reason_and_where_it_stands(page: Page) -> None:
    dead = page.all("li", "dead")
    assert dead and all("not found: " in e.text for e in dead)
    struck = [e.text for e in page.all("s")]
    assert len(struck) == len(dead)
    away = [e for e in dead if "Show it in message m5" in e.text]
    assert away and "it stands in m5 text" in away[0].text


def test_a_scan_says_how_much_it_looked_at(page: Page) -> None:
    assert any("4 values in obs:*.name scanned for calendar: 0 found" in e.text
               for e in page.all("li", "held"))  # fmt: skip


def test_the_policy_allows_only_the_pages_own_style_and_script(page: Page) -> None:
    (policy,) = (
        e.attributes["content"]
        for e in page.all("meta")
        if e.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    (style,), (script,) = page.all("style"), page.all("script")
    for kind, element in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy and "http" not in policy
    assert "base-uri 'none'" in policy and "form-action 'none'" in policy


def test_nothing_in_the_page_asks_for_anything_or_runs_from_an_attribute(page: Page) -> None:
    names = {name for e in page.elements for name in e.attributes}
    assert not {n for n in names if n.startswith("on")} and not names & {"style", "src", "srcset"}
    assert not {e.tag for e in page.elements} & {"img", "iframe", "link", "object", "base", "embed"}


def test_text_of_traces_stays_text(page: Page, html: str) -> None:
    steps = " ".join(e.text for e in page.all("li", "step"))
    for hostile in HOSTILE:
        assert visible(hostile) in steps
    assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html) == []


def test_payloads_that_attack_judges_are_shown_as_they_are(shared) -> None:  # type: ignore[no-untyped-def]
    rows = (shared / "payloads.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [msgspec.json.decode(row)["text"] for row in rows]
    told = trace(3)
    for at, text in enumerate(texts):
        told.transcript[4].text = text
        shown = Page(page_of(compose(scorecard((line(3),)), [line(3)]), [told]))
        (said,) = (e for e in shown.all("li", "step") if e.attributes["id"] == "t0-s9")
        assert visible(text) in said.text, at


def test_without_scripts_everything_is_there_to_be_opened(page: Page, made: RunReport) -> None:
    details = page.all("details", "traj")
    assert len(details) == len(made.traces)
    hidden = [e for e in page.elements if "hidden" in e.attributes]
    assert hidden == []
    folds = [e for e in page.elements if "fold" in e.classes]
    assert folds and all(e.tag == "details" for e in folds)


def test_steps_stand_in_the_order_they_happened(page: Page) -> None:
    titles = [e.text for e in page.all("span", "title")
              if e.inside("traj").attributes["data-trace"] == "outreach-000"]  # type: ignore[union-attr]  # fmt: skip
    assert titles == [
        "what was asked", "user", "assistant", "find_opening", "assistant", "user",
        "send_message", "send_message", "read_attachment", "assistant", "user", "how it ended",
        "what was recorded beside",
    ]  # fmt: skip


def test_a_string_that_looks_like_a_number_is_told_from_one(page: Page) -> None:
    values = {e.text: e.classes for e in page.all("span", "v")}
    assert "quoted" in values["42"] and "literal" in values["70"]


def test_traces_that_were_not_read_are_counted_and_say_so() -> None:
    lines = [line(n) for n in range(3)]
    traces = [trace(2), trace(9)]
    made = compose(scorecard(tuple(lines)), lines, traces, suite=SUITE)
    assert [t.id for t in made.traces] == ["outreach-000", "outreach-001", "outreach-002"]
    assert [bool(t.steps) for t in made.traces] == [False, False, True]
    told = Page(page_of(made, traces)).by_id()["trajectories"].text
    assert "1 of 3 traces shown with steps; the rest in verdicts.jsonl." in told
    assert told.count("Steps are not shown here: its steps were not read") == 2


def test_a_trace_that_changed_since_is_not_shown_as_what_was_judged() -> None:
    changed = trace(0)
    changed.source = replace(changed.source, digest="f" * 64)
    (one,) = compose(scorecard((line(0),)), [line(0)], [changed]).traces
    assert not one.steps and one.hidden == "the trace has changed since it was evaluated"


@pytest.mark.parametrize(
    ("ref", "step"),
    [
        (Ref(obs="call_1", path="output.openings[-1].rate.max", value="75"), "step 1"),
        (Ref(obs="outreach-000", path="observations[1].output.success", value="false"), "step 2"),
        (Ref(obs="outreach-000", path="transcript[-2].text", value="Mara Linden"), "message m5"),
        (Ref(obs="outreach-000", path="output.state", value=None), "how it ended"),
        (Ref(obs="call_2", path="output", value='{"success": false'), "step 2"),
        (Ref(obs="call_2", path="error", value="mailbox is full"), "step 2"),
        (Ref(obs="outreach-000", path="metadata.attempt", value="1"), "what was recorded beside"),
        (Ref(obs="call_1", path="no such field", value="x"), "step 1"),
        (Ref(obs="nobody", path="text", value="x"), None),
        (Ref(obs="outreach-000", path="raw.x", value="x"), None),
    ],
)
def test_a_ref_leads_to_its_step(ref: Ref, step: str | None) -> None:
    one = line(0)
    verdict = msgspec.structs.replace(one.verdicts[0], refs=(ref,))
    one = msgspec.structs.replace(one, verdicts=(verdict, *one.verdicts[1:]))
    (shown,) = compose(scorecard((one,)), [one], [trace(0)]).traces
    target = shown.targets.get(ref)
    assert (target.step if target else None) == step


def shown(*lines: MatrixVerdictFile, trace: Trace | None = None, **card: object) -> Page:
    made = msgspec.structs.replace(scorecard(lines), **card)
    traces = [trace] if trace else []
    return Page(page_of(compose(made, lines, suite=SUITE, manifest=manifest(9)), traces))


def test_steps_are_numbered_as_the_judge_counts_them(page: Page, made: RunReport) -> None:
    owners = {
        e.above[-1].above[-1].attributes["id"]: e.text
        for e in page.all("span", "owner")
        if e.inside("traj").attributes["id"] == "t0"  # type: ignore[union-attr]
    }
    places = page.by_id()
    numbered = {
        owner: places[step].attributes["data-n"]
        for step, owner in owners.items()
        if "data-n" in places[step].attributes
    }
    assert numbered == {step.id: str(step.n) for step in made.lines[0].agent_steps}
    walked = [e.text for e in page.all("ol", "walked") if e.inside("traj").attributes["id"] == "t0"]  # type: ignore[union-attr]
    assert "the mailbox was full. step 2" in walked[0]


def test_a_trace_names_its_file_in_its_head_and_above_its_column(page: Page) -> None:
    heads = [e.text for e in page.all("span", "file")]
    assert "outreach.jsonl:1" in heads and len(heads) == 14
    titles = [e.attributes["title"] for e in page.all("a") if "title" in e.attributes]
    assert "outreach-000, outreach.jsonl:1" in titles
    assert "traces in" in page.by_id()["run"].text and "traces/" in page.by_id()["run"].text


def test_only_what_a_judge_said_is_called_verified_or_not(page: Page) -> None:
    told = {
        e.inside("cell").attributes["data-criterion"]  # type: ignore[union-attr]
        for e in page.all("p", "verified")
        if e.inside("traj").attributes["data-trace"] == "outreach-001"  # type: ignore[union-attr]
    }
    assert told == {"claims-are-grounded", "rate-is-in-band"}
    assert not any("verified" in e.text for e in page.all("span", "mk"))


def test_code_that_decided_a_hybrid_row_needs_no_verifier() -> None:
    code = CodePart(result="fail", critique="the rate is outside of the band")
    cell = judged("rate-is-in-band", "fail", code.critique, code=code, produced_by="hybrid")
    one = msgspec.structs.replace(line(0), verdicts=(cell,), dense_map={"rate-is-in-band": "fail"})
    assert shown(one).all("p", "verified") == []


def test_the_traces_that_fail_worst_come_first() -> None:
    def failing(name: str, *rows: str) -> MatrixVerdictFile:
        cells = tuple(judged(row, "fail", "it fails") for row in rows)
        return MatrixVerdictFile(
            trajectory_id=name, fidelity=Fidelity(complete=True), verdicts=cells,
            dense_map=dict.fromkeys(rows, "fail"),
        )  # fmt: skip

    lines = (
        failing("low", "calendar-is-checked", "rate-is-in-band"),
        failing("high", "claims-are-grounded"),
        failing("crit", "confirm-before-send"),
        failing("both", "confirm-before-send", "claims-are-grounded"),
        failing("more", "claims-are-grounded", "recover-from-failed-tool"),
    )
    order = [t.id for t in compose(scorecard(lines), lines).worst_first]
    assert order == ["both", "crit", "more", "high", "low"]


def test_what_a_message_says_is_shown_once_and_evidence_leads_to_it() -> None:
    ref = Ref(obs="outreach-000", path="input.prompt", value="data engineer", match="contains")
    one = line(0)
    verdict = msgspec.structs.replace(one.verdicts[0], refs=(ref,))
    one = msgspec.structs.replace(one, verdicts=(verdict, *one.verdicts[1:]))
    page = shown(one, trace=trace(0))
    steps = " ".join(e.text for e in page.all("li", "step"))
    assert steps.count("Please write to Mara Linden") == 1
    (asked,) = page.all("li", "asked")
    assert "prompt [said word for word in message m1]" in " ".join(asked.text.split())
    (place,) = {compose(scorecard((one,)), [one], [trace(0)]).traces[0].targets[ref]}
    assert place.step == "message m1"
    mark = page.by_id()[place.anchor]
    assert mark.text == "data engineer" and mark.inside("step").attributes["id"] == "t0-s1"  # type: ignore[union-attr]


def test_what_waits_for_answers_is_said_in_the_page_as_text(made: RunReport) -> None:
    lines = (
        "Waiting: 9 questions in here",
        *(f"  <b>{n}</b>" for n in range(9)),
        "  helix evaluate",
    )
    found = Page(page_of(replace(made, meta=replace(made.meta, waiting=lines))))
    (waits,) = found.all("details", "waits")
    assert waits.text.strip().splitlines() == [lines[0] + lines[1], *lines[2:]]
    assert "open" not in waits.attributes and waits.inside("hero")
    assert not Page(page_of(made)).all("details", "waits")


def test_waivers_and_known_failures_stand_in_the_page() -> None:
    waiver = {"criterion": "confirm-before-send", "by": "the owner", "reason": "known",
              "expires": "2031-05-01", "expired": False}  # fmt: skip
    gate = Gate(policy="strict", eligibility="default", waivers=(waiver,), baseline="d")
    rows = scorecard((line(0),)).criteria
    rows = (msgspec.structs.replace(rows[0], known=3, new=1), *rows[1:])
    page = shown(line(0), gate=gate, criteria=rows)
    assert "by the owner, until 2031-05-01 (known)" in page.by_id()["summary"].text
    assert "against the baseline (3 known failures, 1 new)" in page.by_id()["summary"].text
    assert "against the baseline: 3 known, 1 new" in page.by_id()["matrix"].text
    assert "waived by the owner until 2031-05-01" in page.by_id()["t0-c0"].text


def test_a_cell_that_nobody_adjudicated_says_why() -> None:
    one = msgspec.structs.replace(
        line(0), not_adjudicated_reasons={"claims-are-grounded": "limits.max_calls=3 is spent"}
    )
    assert "unavailable: limits.max_calls=3 is spent" in shown(one).by_id()["t0-c2"].text


def test_what_could_not_be_read_for_one_reason_is_listed_once() -> None:
    failures = tuple(LoadFailure(file=f"{n}.json", line=0, reason="not JSON") for n in range(25))
    page = shown(line(3), load=Load(files=25, traces=1, failures=failures))
    (item,) = (e for e in page.all("li") if e.inside("unread"))
    assert "25 files: not JSON" in item.text and "and 5 more" in item.text
