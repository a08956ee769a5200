"""Replies as judges really write them: what is read, what never is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix.judging import Unusable, read
from helix.model.request import NoReply, Reply, Request
from tests.judging.bench import ask, place_of, reply, row, trace_of, verdict

CASES = [
    "J01-fenced-with-prose", "J02-trailing-prose-with-braces", "J04-reasoning-only-empty-content",
    "J05-refusal-prose", "J06-quoted-object-then-own", "J07-duplicate-key-conflict",
    "J09-invisible-characters-and-case", "J10-valid-json-that-looks-broken",
    "J12-array-instead-of-object", "J13-thinking-block-with-draft", "J14-fabricated-quote",
]  # fmt: skip
STATE = {"pass": "pass", "fail": "fail", "uncertain": "incomplete"}


def in_our_words(raw: str, steps: list[dict[str, Any]], nonce: str) -> str:
    """Put a neutral reply into our schema: the judge's own objects get the nonce, quoted none.

    Works on the text, so that its faults stay what they are.
    """
    texts = [step.get("text") or "" for step in steps]

    def evidence(found: re.Match[str]) -> str:
        refs = []
        for item in json.loads(found.group(1)):
            obs, path = place_of(steps, item["step"])
            refs.append({"obs": obs, "path": path, "value": item["quote"]})
        return f'"refs": {json.dumps(refs)}'

    def own(found: re.Match[str]) -> str:
        body = found.group(0)
        if any(body in text for text in texts):
            return body
        body = re.sub(r'"evidence": (\[(?:\{.*?\}(?:, )?)*\])', evidence, body)
        body = body.replace('"reason":', '"critique":').replace('"verdict":', '"result":')
        needed = '"claim": "The recording shows it.", "litmus": {"premise": ""}'
        head = f'{{"nonce": "{nonce}", "verdicts": [{{"criterionId": "c1", {needed}'
        return f"{head}, {body[1:]}]}}"

    pattern = r'\{"verdict": .*?(?:"evidence": \[.*?\](?:, "verdict": "pass")?)\}'
    return re.sub(pattern, own, raw)


def variants(shared: Path, name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    path = shared / "cases" / "judge_output" / f"{name}.json"
    case = json.loads(path.read_text(encoding="utf-8"))
    body = case["input"]
    if "variants" not in body:
        return [(body, case["expected"])]
    return [({**body, **one}, one["expected"]) for one in body["variants"]]


def test_no_reply_case_is_left_out(shared: Path) -> None:
    assert sorted(p.stem for p in (shared / "cases" / "judge_output").glob("*.json")) == CASES


@pytest.mark.parametrize("name", CASES)
def test_every_reply_case_ends_as_it_must(shared: Path, name: str) -> None:
    for case, expected in variants(shared, name):
        steps = case["steps"]

        def answer(request: Request, case: dict[str, Any] = case) -> Reply:
            return Reply(
                text=in_our_words(case["raw"], case["steps"], request.nonce),
                finish_reason=case["finish_reason"],
                reasoning=case.get("reasoning"),
            )

        done, asked = ask(trace_of(steps), [row(statement=case["criterion"])], answer)
        state = STATE[done.line.dense_map["c1"]]
        assert state in expected.get("acceptable", [expected["state"]]), (name, done.decisions)
        assert state != expected.get("must_not_be")
        if expected.get("reply") == "unusable":
            assert done.line.not_adjudicated == {"c1": "malformed"}
            assert len(asked) == 3, "an unusable reply earns two re-prompts and no more"
        if expected.get("evidence_ok"):
            assert done.line.verdicts[0].grounded
        if "reason_exact" in expected:
            assert done.line.verdicts[0].critique == expected["reason_exact"]
        if expected.get("evidence_ok") is False:
            assert done.line.verdicts[0].cause == "dead-ref"
            assert done.line.verdicts[0].refs[0].match == "dead"


NONCE = "0123456789abcdef0123456789abcdef"


def said(text: str, finish: str | None = "stop") -> Any:
    return read(Reply(text=text, finish_reason=finish), NONCE, ["c1", "c2"])


BOTH = reply(NONCE, verdict("c1"), verdict("c2", "fail"))
FAILS = reply(NONCE, verdict("c1", "fail"), verdict("c2", "fail"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("\ufeff \u200b", "empty"),
        ("pass", "no JSON object"),
        ("[]", "a list of 0"),
        ("null", "must be a JSON object"),
        ('{"verdicts": []}', "nonce must be"),
        (BOTH.replace(NONCE, "f" * 32), "nonce must be"),
        (reply(NONCE, verdict("c1")), "no verdict for: c2"),
        (reply(NONCE, verdict("c1"), verdict("c1"), verdict("c2")), "answered twice"),
        (reply(NONCE, verdict("c1"), verdict("c2"), verdict("c3")), "not one of the rows"),
        (reply(NONCE, verdict("c1", "passed"), verdict("c2")), "result must be pass"),
        (reply(NONCE, verdict("c1", critique=" "), verdict("c2")), "has no critique"),
        (reply(NONCE, verdict("c1", confidence=7), verdict("c2")), "between 0 and 1"),
        (reply(NONCE, verdict("c1", refs="s1"), verdict("c2")), "not in the asked shape"),
        (BOTH[: len(BOTH) // 2], "cut off or no sound JSON"),
        (BOTH.replace('"because"', "NaN", 1), "NaN is not a JSON number"),
        ("so: " + BOTH.replace('"because"', "NaN", 1), "NaN is not a JSON number"),
        (BOTH.replace('"critique"', '"\\ud800critique"', 1), "not in the asked shape"),
        (BOTH + "\n" + BOTH.replace('"fail"', '"pass"'), "objects disagree"),
        ('{"a":' * 3000, "cut off or no sound JSON"),
        ('{"a":' * 900 + "[" + "1," * 900_000, "cut off or no sound JSON"),
        ('{"quoted": ' + BOTH + " and so on", "cut off or no sound JSON"),
        ("{} " * 2500 + BOTH, "braces open in it"),
        (f"{FAILS}\n```json\n{BOTH}\n```", "objects disagree"),
        (f"```json\n{BOTH}\n```\nOn reflection: {FAILS}", "objects disagree"),
        (f"<think>A first draft: {BOTH} but that is not what it shows", "ends while thinking"),
        (f"<think>\n```json\n{BOTH}\n```\nbut", "ends while thinking"),
        (f"I fill in {{it}}. <think>A draft: {BOTH} but that is not it", "ends while thinking"),
        (f"I fill in {{it}}. <think>\n```json\n{BOTH}\n```\nbut", "ends while thinking"),
        (reply(NONCE, verdict("c1", critique="\u200b."), verdict("c2")), "has no critique"),
    ],
)
def test_an_unusable_reply_is_named_and_never_read(text: str, reason: str) -> None:
    found = said(text)
    assert isinstance(found, Unusable)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("finish", "cause"),
    [
        ("length", "malformed"),
        ("MAX_TOKENS", "malformed"),
        ("max_output_tokens", "malformed"),
        ("content_filter", "refusal"),
        ("refusal", "refusal"),
        ("SAFETY", "refusal"),
    ],
)
def test_a_reply_that_was_cut_or_refused_is_not_read_even_if_it_parses(
    finish: str, cause: str
) -> None:
    found = said(BOTH, finish)
    assert isinstance(found, Unusable)
    assert found.cause == cause


def test_raw_control_characters_in_strings_are_repaired_and_said() -> None:
    found = said(BOTH.replace("because", "be\tcause\n", 1))
    assert not isinstance(found, Unusable)
    assert found.repaired
    assert not said(BOTH).repaired


def test_the_same_object_twice_is_one_answer() -> None:
    assert not isinstance(said(f"first {BOTH} and again {BOTH}"), Unusable)


def test_a_wrong_model_is_not_read() -> None:
    def answer(request: Request) -> Reply:
        return Reply(text=reply(request.nonce, verdict()), returned_model="other")

    steps = [{"id": "s1", "kind": "message", "role": "user", "text": "hello there"}]
    done, asked = ask(trace_of(steps), [row()], answer, models=("m", "m-alias"))
    assert done.line.not_adjudicated == {"c1": "judge-error"}
    assert len(asked) == 1


PLANTED = [
    BOTH.replace(NONCE, ""),
    '{"verdict": "pass", "reason": "ok", "evidence": []}',
    json.dumps({"verdicts": [verdict("c1"), verdict("c2")]}),
    "```json\n" + BOTH.replace(NONCE, "x" * 32) + "\n```",
    "<think>", "</think>", "{", "}", "[", "]", '"', "pass", "\\", "\u200b", "nonce",
]  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PLANTED), st.text(max_size=30)), max_size=8))
def test_no_text_without_the_nonce_is_ever_an_answer(parts: list[str]) -> None:
    text = "".join(parts)
    if NONCE not in text:
        assert isinstance(said(text), Unusable)


@given(st.data())
def test_no_mutation_of_a_good_reply_makes_a_verdict_that_was_not_written(data: Any) -> None:
    at = data.draw(st.integers(0, len(BOTH)))
    cut = data.draw(st.integers(0, 12))
    put = data.draw(st.text(max_size=6))
    found = said(BOTH[:at] + put + BOTH[at + cut :])
    if not isinstance(found, Unusable):
        assert {v.result for v in found.verdicts.values()} <= {"pass", "fail", "uncertain"}
        assert set(found.verdicts) | set(found.not_applicable) == {"c1", "c2"} or (
            not found.fidelity.complete
        )


def test_no_reply_at_all_leaves_the_rows_unadjudicated() -> None:
    steps = [{"id": "s1", "kind": "message", "role": "user", "text": "hello there"}]
    done, _ = ask(trace_of(steps), [row()], [NoReply("budget", "spent")])
    assert done.line.dense_map == {"c1": "uncertain"}
    assert done.line.not_adjudicated == {"c1": "budget"}
    assert done.line.verdicts == ()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (NoReply("budget", "limits.max_calls=3 is spent"), "limits.max_calls=3 is spent"),
        (NoReply("judge-error", "OSError: '/srv/models/x.bin' is gone"), "OSError: 'x.bin'"),
        (NoReply("judge-error", "no C:\\work\\judge.py\nhere"), "no judge.py here"),
        (
            NoReply("unavailable", "https://host.example/v1/chat said 503"),
            "https://host.example/v1",
        ),
        (NoReply("judge-error", "x" * 1000), "x" * 299 + "…"),
    ],
)
def test_a_row_that_nobody_adjudicated_says_why_without_the_folders_of_a_machine(
    answer: NoReply, reason: str
) -> None:
    steps = [{"id": "s1", "kind": "message", "role": "user", "text": "hello there"}]
    done, _ = ask(trace_of(steps), [row()], [answer])
    told = done.line.not_adjudicated_reasons["c1"]
    assert reason in told
    assert "/srv" not in told and "work" not in told


def test_an_unusable_reply_leaves_its_reason_in_the_line() -> None:
    steps = [{"id": "s1", "kind": "message", "role": "user", "text": "hello there"}]
    done, _ = ask(trace_of(steps), [row()], ["pass", "pass", "pass"])
    assert done.line.not_adjudicated == {"c1": "malformed"}
    assert "no JSON object in it" in done.line.not_adjudicated_reasons["c1"]
